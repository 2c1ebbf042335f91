"""Every table and figure of the text as a named experiment: a declared grid of cells, then ours beside the text's."""
