"""The readable form of an artefact: one JSON file that people read and compare, with a checksum of its text.

Line endings do not count, so a file keeps its checksum when a version control system changes them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from sureness.errors import KindError, VersionError
from sureness.saving._container import damaged, opened, unique_keys, unreadable
from sureness.saving.files import replacing, write_all

FORMAT = "sureness"
SCHEMA = 2

_BLANK = "0" * 64
_START = '{\n "checksum": "'


def write_record(path: str | PathLike[str], kind: str, content: Mapping[str, Any]) -> None:
    """Write plain values of one kind; a reader meets the old file or the new one, whole.

    Examples
    --------
    >>> import tempfile; path = Path(tempfile.mkdtemp()) / "greeting.json"
    >>> write_record(path, "greeting", {"to": "you"})
    >>> read_record(path, "greeting")["to"]
    'you'
    """
    whole = {"checksum": _BLANK, **heading(), "kind": kind, **content}
    text = _json(whole)
    checksum = hashlib.sha256(text.encode()).hexdigest()
    with replacing(path) as temporary:
        handle = os.open(temporary, os.O_WRONLY)
        try:
            write_all(handle, text.replace(_BLANK, checksum, 1).encode())
        finally:
            os.close(handle)


def read_record(path: str | PathLike[str], kind: str | None = None) -> dict[str, Any]:
    """Read what `write_record` wrote, if it is whole and of the expected kind."""
    place = Path(path)
    try:
        with opened(place) as file:
            raw = file.read()
    except OSError as error:
        raise unreadable(place, error) from error
    try:
        text = raw.decode("utf-8").replace("\r\n", "\n")
        content = json.loads(text, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise damaged(place, f"it is not valid JSON ({error})") from error
    if not isinstance(content, dict) or "format" not in content:
        raise KindError(f"{place} is not a saved object of sureness; give a file that sureness saved")
    check_heading(content, place)
    begin = len(_START)
    blank = text[:begin] + _BLANK + text[begin + 64 :]
    if not text.startswith(_START) or hashlib.sha256(blank.encode()).hexdigest() != content.get("checksum"):
        raise damaged(place, "its checksum does not match its content")
    if kind is not None and content.get("kind") != kind:
        raise KindError(f"{place} holds a {content.get('kind')}, expected a {kind}; give another file")
    return content


def _json(whole: Mapping[str, Any]) -> str:
    """Readable text; half of a pair of surrogates, which UTF-8 does not have, makes it all ASCII."""
    text = json.dumps(whole, indent=1, allow_nan=False, ensure_ascii=False)
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        text = json.dumps(whole, indent=1, allow_nan=False)
    return text + "\n"


def heading() -> dict[str, Any]:
    """What every saved object begins with."""
    from sureness import __version__

    return {"format": FORMAT, "schema": SCHEMA, "package": __version__}


def check_heading(content: Mapping[str, Any], place: Path) -> None:
    """Refuse what another program or another version wrote."""
    found = content.get("format")
    if found != FORMAT and not str(found).startswith("sureness-"):
        raise KindError(
            f"{place} is not a saved object of sureness (format {found!r}); give a file that sureness saved"
        )
    if found != FORMAT or content.get("schema") != SCHEMA:
        raise VersionError(
            f"{place} was written by sureness {content.get('package')} in another format (schema "
            f"{content.get('schema')!r}, this version reads {SCHEMA}); save the object again with this version, or "
            "update sureness"
        )
