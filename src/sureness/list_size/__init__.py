"""Probabilities become list sizes: expected utility, policies, and slots shared by domains or users."""
