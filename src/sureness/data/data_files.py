"""The files of a data set: in a folder, compressed, or inside an archive; and the forms that several share."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sureness.errors import ColumnError, EmptyError, FileError
from sureness.tables.reading import readable

Kind = type[pl.DataType]
RATED: dict[str, Kind] = {"user_id": pl.Int64, "item_id": pl.Int64, "rating": pl.Float64, "time": pl.Int64}
"""The usual columns of a file of ratings."""
TABLE = "interactions.tsv"  # also with .gz
TABLES = (
    TABLE, "users.tsv", "items.tsv", "user_features.tsv", "item_features.tsv", "propensities.tsv",
    "official_splits.tsv", "trust.tsv",
)  # fmt: skip
_PARTS = {"val": "validation", "valid": "validation"}
RATED_UNTIMED = {name: kind for name, kind in RATED.items() if name != "time"}
_ANY_SIZE, _MOST_SHRUNK = 100_000_000, 200  # bytes that any packed file may have, and the factor beyond


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
            data = path.read_bytes() if member is None else _member(path, member)
            return _decompressed(data, path) if (member or path.name).endswith(".gz") else data
        except FileError:
            raise
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
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


def _member(path: Path, name: str) -> bytes:
    """A file of an archive, of a size that its packed size can explain."""
    with zipfile.ZipFile(path) as archive:
        found = archive.getinfo(name)
        if found.file_size > _most_bytes(found.compress_size):
            raise _too_large(path)
        return archive.read(found)  # never more than its stated size


def _decompressed(data: bytes, path: Path) -> bytes:
    most = _most_bytes(len(data))
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as opened:
        content = opened.read(most + 1)
    if len(content) > most:
        raise _too_large(path)
    return content


def _most_bytes(packed: int) -> int:
    """How large a file may be that is packed into so many bytes; logs of interactions shrink 2 to 50 times."""
    return _ANY_SIZE + _MOST_SHRUNK * packed


def _too_large(path: Path) -> FileError:
    return FileError(
        f"cannot read {path}: it unpacks to more than {_MOST_SHRUNK} times its size, as no log of interactions does; "
        "fetch it again, or unpack it by hand if you trust it"
    )


def _members(archive: Path) -> list[str]:
    try:
        with zipfile.ZipFile(archive) as opened:
            return opened.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        raise FileError(f"cannot read {archive}: {error}; it seems damaged, fetch it again") from error


# --- reading them --------------------------------------------------------------------------------------------------


def rows_of(files: DataFiles, raw: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """The prepared table if there is one, otherwise the publisher's files."""
    if not files.has(TABLE):
        return raw()
    rows = files.table(TABLE)
    return rows.with_columns(pl.col("split").replace(_PARTS)) if "split" in rows.columns else rows


def parts_of(**parts: pl.DataFrame) -> pl.DataFrame:
    """Rows of several files with the name of the part they belong to."""
    return pl.concat([rows.with_columns(split=pl.lit(name)) for name, rows in parts.items()])


def optional(files: DataFiles, name: str) -> pl.DataFrame | None:
    """A table, or None if it is missing."""
    return files.table(name) if files.has(name) else None


def as_text(key: str, *names: str) -> dict[str, Kind]:
    """A whole number, then text columns."""
    return {key: pl.Int64, **dict.fromkeys(names, pl.String)}


def separated(
    data: bytes, separator: str, columns: Mapping[str, Kind], *, header: bool = False, encoding: str = "utf8"
) -> pl.DataFrame:
    """Columns between separators, such as u.data (tabs) or ratings.dat (::); later columns are left out.

    Examples
    --------
    >>> separated(b"1::1193::5::978300760", "::", RATED).row(0)
    (1, 1193, 5.0, 978300760)
    """
    if encoding != "utf8":
        data = data.decode(encoding).encode()
    if len(separator) > 1:  # polars splits at single bytes
        data, separator = data.replace(separator.encode(), b"\t"), "\t"
    surplus = data.split(b"\n", 1)[0].count(separator.encode()) + 1 - len(columns)
    if surplus < 0:
        raise ColumnError(
            f"expected columns {', '.join(columns)}, got {surplus + len(columns)}; is this the right file?"
        )
    try:
        table = pl.read_csv(
            io.BytesIO(data), separator=separator, has_header=False, skip_rows=int(header), truncate_ragged_lines=True,
            columns=list(range(len(columns))), schema_overrides=[*columns.values(), *[pl.String] * surplus],
            infer_schema=False, quote_char='"' if header else None,
        )  # fmt: skip
    except pl.exceptions.PolarsError as error:
        raise ColumnError(
            f"expected columns {', '.join(columns)}: {str(error).splitlines()[0]}; check that the file is whole"
        ) from error
    return table.rename(dict(zip(table.columns, columns, strict=True)))
