"""Figures: `prepare_*` gives plain numbers, `draw_*` puts them on axes and returns these."""
