"""Ask a saved recommender over HTTP, and look at it in a browser (extra: serve).

A door like the command line: it parses, asks the library and presents.
"""
