"""Figures that only the dissertation's experiments need: sweeps, error by assumed share, terms of a sum."""
