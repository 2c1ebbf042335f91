"""sureness inspect: what a saved file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from sureness._wording import counted
from sureness.cli._console import present, print_table
from sureness.cli._options import Json
from sureness.saving.objects import FileContents, inspect
from sureness.saving.packed import JSON


def inspect_file(
    file: Annotated[Path, typer.Argument(help="A saved file: .json or .sureness; or a part of one, after a slash.")],
    json: Json = False,
) -> None:
    """Say what a saved file holds, from its header: kind, settings, estimand, parts, arrays, and which extras it needs.

    Arrays are neither read nor checked, so this is fast for any file.
    """
    present(inspect(file), json, lambda contents: _show(file, contents))


def _show(file: Path, contents: FileContents) -> None:
    rows: list[tuple[str, object]] = [
        ("kind", contents.kind),
        ("written by", f"sureness {contents.package}"),
        ("size", counted(contents.n_bytes, "byte")),
    ]
    rows += [(name.replace("_", " "), _in_words(name, value)) for name, value in contents.about.items()]
    rows += [(f"setting {name}", value) for name, value in contents.settings.items()]
    rows += [(f"part {path}", kind) for path, kind in contents.parts.items()]
    rows += [("needs the extra", extra) for extra in contents.needs]
    print_table(str(file), ["what", "value"], rows)
    if contents.arrays:
        arrays = [(path, kind, " x ".join(map(str, shape))) for path, (kind, shape) in contents.arrays.items()]
        print_table("Arrays", ["path", "type", "shape"], arrays)


def _in_words(name: str, value: JSON) -> object:
    """A value as people read it; a horizon is a few numbers in the file."""
    if name != "horizon":
        return value
    from sureness.calibration.horizon import Horizon

    return str(Horizon.of(cast(dict[str, JSON], value)))
