"""Declared comparisons that end in tidy tables."""
