"""Pure functions on arrays: no tables, no torch, no files."""
