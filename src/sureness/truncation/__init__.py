"""Scores become list sizes by learning where to cut: AttnCut and MtCut, competitors of `list_size` (needs torch)."""
