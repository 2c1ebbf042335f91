"""Everything that sureness raises on purpose.

SurenessError             error         the base of all
├── DataError             data          what came in cannot be used (also a ValueError)
│   ├── SettingError      setting       an argument or setting is unknown, out of range or contradicts another
│   ├── ColumnError       column        a table lacks a column, or a column holds something else than it should
│   ├── IdError           ids           users, items or segments are unknown, or of another kind than the known ones
│   ├── EmptyError        empty         nothing is left to learn from, to judge or to show
│   ├── LeakError         leak          something was learned from what it is to be judged by
│   ├── CheckpointError   checkpoint    a checkpoint belongs to another run
│   ├── NoMinimumError    no-minimum    the risk has no minimum on this data, so there is nothing to fit
│   └── DivergedError     diverged      training ran away: losses or scores are not finite any more
├── NotFittedError        not-fitted    a learned value was read before ``fit``
├── FileError             file          a file cannot be read or written (also an OSError)
│   ├── OutputError       output        a result cannot go where it was sent
│   ├── ChecksumError     checksum      a download is not the file that was expected
│   └── ArtefactError     artefact      a saved object cannot be opened
│       ├── DamagedError  damaged       its bytes are not those that were written
│       ├── KindError     kind          it is something else than was expected
│       └── VersionError  version       another version of sureness wrote it
├── ForkError             fork          a child of a fork cannot do this (also a RuntimeError)
└── MissingExtraError     extra         an optional dependency is not installed (also an ImportError)

SurenessWarning           something works, but deserves a look (a UserWarning)

The second column is the class's `code`: programs and tests rely on class and code, people read the message. A message
says what was expected, what came, and what to do.
"""

from __future__ import annotations

import sys
import warnings
from typing import ClassVar


class SurenessError(Exception):
    """The base of all errors of the package; the command line turns it into one sentence."""

    code: ClassVar[str] = "error"


class DataError(SurenessError, ValueError):
    """What came in cannot be used."""

    code = "data"


class SettingError(DataError):
    """An argument or setting is unknown, out of range, or contradicts another one."""

    code = "setting"


class ColumnError(DataError):
    """A table lacks a column, or a column holds something else than it should."""

    code = "column"


class IdError(DataError):
    """Users, items or segments are unknown, or of another kind than the known ones."""

    code = "ids"


class EmptyError(DataError):
    """Nothing is left to learn from, to judge or to show."""

    code = "empty"


class LeakError(DataError):
    """Something was learned from what it is to be judged by."""

    code = "leak"


class NoMinimumError(DataError):
    """The risk falls for ever in some direction, so no calibration map attains its minimum."""

    code = "no-minimum"


class DivergedError(DataError):
    """Training ran away: losses or scores are not finite any more."""

    code = "diverged"


class NotFittedError(SurenessError):
    """A learned value was read before ``fit``."""

    code = "not-fitted"


class FileError(SurenessError, OSError):
    """A file cannot be read or written."""

    code = "file"


class OutputError(FileError):
    """A result cannot go where it was sent."""

    code = "output"


class ChecksumError(FileError):
    """A download is not the file that was expected."""

    code = "checksum"


class ArtefactError(FileError):
    """A saved object cannot be opened."""

    code = "artefact"


class DamagedError(ArtefactError):
    """The bytes of a saved object are not those that were written."""

    code = "damaged"


class KindError(ArtefactError):
    """A saved object is something else than was expected."""

    code = "kind"


class VersionError(ArtefactError):
    """A saved object was written by another version of sureness."""

    code = "version"


class CheckpointError(DataError):
    """A checkpoint belongs to another run."""

    code = "checkpoint"


class ForkError(SurenessError, RuntimeError):
    """A child of a fork cannot do this, because threads of its parent do not exist in it."""

    code = "fork"


class MissingExtraError(SurenessError, ImportError):
    """An optional dependency is not installed."""

    code = "extra"


class SurenessWarning(UserWarning):
    """Something works, but deserves a look."""


def warn(sentence: str) -> None:
    """Warn about the line of the caller: the first one outside the library."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "sureness":
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, SurenessWarning, stacklevel=level)


def missing_extra(what: str, library: str, extra: str) -> MissingExtraError:
    """The one sentence for a library that is not installed.

    Examples
    --------
    >>> print(missing_extra("training", "torch", "models"))
    training needs torch; install it with: pip install 'sureness[models]'
    """
    return MissingExtraError(f"{what} needs {library}; install it with: pip install 'sureness[{extra}]'")
