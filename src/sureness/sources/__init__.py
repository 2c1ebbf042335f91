"""Where scores come from: anything that can score a block of users against all items."""
