"""The files of a data set: in a folder, compressed, or inside an archive."""

from __future__ import annotations

import gzip
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sureness.data.tables import readable
from sureness.errors import EmptyError, FileError


@dataclass(frozen=True)
class DataFiles:
    """A folder or zip archive whose files are found by name.

    Examples
    --------
    >>> import tempfile; folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "u.data.gz").write_bytes(gzip.compress(b"1 2"))
    >>> files = DataFiles(folder)
    >>> files.has("u.data"), files.read("u.data"), files.has("u.item")
    (True, b'1 2', False)
    """

    place: Path

    def has(self, *names: str) -> bool:
        """Whether all of these files are here."""
        return all(self.find(name) is not None for name in names)

    def read(self, name: str) -> bytes:
        """The content of a file, decompressed."""
        found = self.find(name)
        if found is None:
            raise FileError(f"cannot read {name}: it is not in {self.place}; give the folder that holds it")
        path, member = found
        try:
            if member is not None:
                with zipfile.ZipFile(path) as archive:
                    data = archive.read(member)
            else:
                data = path.read_bytes()
            return gzip.decompress(data) if (member or path.name).endswith(".gz") else data
        except (OSError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            raise FileError(f"cannot read {name} in {path}: {error}; it seems damaged, fetch it again") from error

    def table(self, name: str) -> pl.DataFrame:
        """A tab-separated table with a header, renamed to the agreed names for users, items and times."""
        with readable(self.place / name):
            try:
                table = pl.read_csv(io.BytesIO(self.read(name)), separator="\t", infer_schema_length=None)
            except pl.exceptions.NoDataError as error:
                raise EmptyError(f"{self.place / name} is empty; expected a table with a header") from error
        agreed = {"user": "user_id", "item": "item_id", "timestamp": "time"}
        return table.rename({old: new for old, new in agreed.items() if old in table.columns})

    def find(self, name: str) -> tuple[Path, str | None] | None:
        """The path of a file, or the archive that holds it and its name in the archive."""
        for pattern in self._patterns(name):
            paths = [path for path in self.place.glob(pattern) if path.is_file()]
            if len(paths) > 1:
                raise FileError(
                    f"expected one file {name} in {self.place}, got {', '.join(sorted(map(str, paths)))}; "
                    "give the folder of one of them"
                )
            if paths:
                return paths[0], None
        for archive in self._archives():
            for member in _members(archive):
                if member in (name, f"{name}.gz") or member.endswith((f"/{name}", f"/{name}.gz")):
                    return archive, member
        return None

    def _patterns(self, name: str) -> list[str]:
        """Search the folder, then its subfolders, where archives are often unpacked."""
        if not self.place.is_dir():
            return []
        folders = (
            ("",) if name.endswith(".tsv") else ("", "*/", "*/*/")
        )  # prepared tables are only in the folder itself
        return [f"{folder}{name}{ending}" for folder in folders for ending in ("", ".gz")]

    def _archives(self) -> list[Path]:
        if self.place.is_file():
            return [self.place] if zipfile.is_zipfile(self.place) else []
        return [path for path in sorted(self.place.glob("*.zip")) if path.is_file()]


def _members(archive: Path) -> list[str]:
    try:
        with zipfile.ZipFile(archive) as opened:
            return opened.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        raise FileError(f"cannot read {archive}: {error}; it seems damaged, fetch it again") from error
