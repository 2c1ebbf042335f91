"""Everything that sureness raises on purpose.

SurenessError
├── DataError            what came in cannot be used (also a ValueError)
│   └── NoMinimumError   the risk has no minimum on this data, so there is nothing to fit
├── NotFittedError       a learned value was asked for before ``fit``
├── FileError            a file cannot be read or written (also an OSError)
│   └── ArtefactError    a saved object is damaged, of another kind, or from a newer version
└── MissingExtraError    an optional dependency is not installed (also an ImportError)

SurenessWarning          something works, but deserves a look (a UserWarning)

Every message says what was expected, what came, and what to do.
"""

from __future__ import annotations


class SurenessError(Exception):
    """The base of all errors of the package; the command line turns it into one sentence."""


class DataError(SurenessError, ValueError):
    """What came in cannot be used."""


class NoMinimumError(DataError):
    """The risk falls for ever in some direction, so no calibration map attains its minimum."""


class NotFittedError(SurenessError):
    """A learned value was asked for before ``fit``."""


class FileError(SurenessError, OSError):
    """A file cannot be read or written."""


class ArtefactError(FileError):
    """A saved object is damaged, of another kind, or written by a newer version."""


class MissingExtraError(SurenessError, ImportError):
    """An optional dependency is not installed."""


class SurenessWarning(UserWarning):
    """Something works, but deserves a look."""
