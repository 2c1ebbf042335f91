# Written by `make stubs` from the table in __init__.py.
from sureness.cli._app import app as app
from sureness.cli._app import commands as commands
from sureness.cli._console import out as out
from sureness.cli._console import present as present
from sureness.cli._console import print_json as print_json
from sureness.cli._console import print_table as print_table
from sureness.cli._console import say as say
from sureness.cli._console import shown_progress as shown_progress
from sureness.cli._options import Json as Json
from sureness.cli._options import Spread as Spread
from sureness.cli._options import spread as spread
from sureness.cli._start import main as main

__all__ = [
    "Json",
    "Spread",
    "app",
    "commands",
    "main",
    "out",
    "present",
    "print_json",
    "print_table",
    "say",
    "shown_progress",
    "spread",
]
