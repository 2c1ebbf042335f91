"""The command line: one command a file; each parses, calls the library, and writes."""

from sureness.cli._app import main

__all__ = ["main"]
