"""What was observed: scored pairs, tables on disk, and a simulator that knows the truth."""
