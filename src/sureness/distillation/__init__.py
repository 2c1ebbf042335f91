"""Two recommenders teach each other: what each ranks high and the other low."""
