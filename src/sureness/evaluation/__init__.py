"""How well a source ranks: full ranking over all unseen items, or inside each user's own candidates."""
