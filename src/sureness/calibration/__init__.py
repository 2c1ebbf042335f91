"""Scores become probabilities."""
