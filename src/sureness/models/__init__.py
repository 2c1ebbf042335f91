"""Interactions become scores: six recommenders, one training loop (needs torch: the extra `models`)."""
