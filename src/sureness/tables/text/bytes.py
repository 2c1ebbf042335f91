"""The bytes of a text file as UTF-8, in chunks of whole lines: plain, compressed or in another encoding."""

from __future__ import annotations

import codecs
import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import polars as pl

from sureness.errors import FileError

COMPRESSED = (".gz", ".zst")
HEAD_BYTES = 64 * 1024
"""How much of a file is looked at to see how it is written."""

_HEAD_LINES = 1_000  # the same for zstd
_CHUNK = 1 << 18  # bytes; stays in the cache of a core
_LONGEST = 1 << 26  # a longer line is taken for something else than a line
_NO_SEPARATOR = "\x01"
_UTF8 = ("utf-8", "utf-8-sig", "ascii")
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def is_compressed(place: Path) -> bool:
    """Whether the name says that a file is compressed."""
    return place.suffix.lower() in COMPRESSED


def is_utf8(encoding: str) -> bool:
    """Whether polars can read this encoding from the file itself."""
    return codecs.lookup(encoding).name in _UTF8


def polars_name(place: Path) -> str:
    """A path as polars takes it: UTF-8, whatever Python takes the names of files for."""
    try:
        return os.fsencode(place).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"cannot read {place}: its name is not UTF-8; rename the file, or its folder") from error


def encoding_of(place: Path) -> tuple[str, bool]:
    """The encoding that the first bytes leave no choice about, and whether it had to be inferred from zero bytes."""
    if _is_zstd(place):
        return "utf-8", False
    with _opened(place) as opened:
        start = _read(opened, HEAD_BYTES, place)
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding, False
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):  # Latin text has a zero byte in each of its pairs
        zeros = start[first::2].count(0)
        if len(start) > 1 and zeros > 0.8 * len(start[first::2]) and not start[1 - first :: 2].count(0):
            return encoding, True
    return "utf-8", False


def line_chunks(place: Path, encoding: str = "utf-8", end: str = "\n", size: int = _CHUNK) -> Iterator[bytes]:
    """Whole lines as UTF-8; the last line of the file gets an end where it has none."""
    left, mark = b"", end.encode()
    for chunk in _chunks(place, encoding, size):
        whole, found, rest = chunk.rpartition(mark)
        if found:
            yield left + whole + mark
            left = rest
        else:
            left += chunk
        if len(left) > _LONGEST:
            raise FileError(f"cannot read {place}: a line is longer than {_LONGEST:,} bytes; is it a text table?")
    if left:
        yield left + mark


def first_lines(place: Path, encoding: str = "utf-8") -> tuple[bytes, str]:
    """The first lines of a file as UTF-8, and what ends them: a carriage return only where there is no line feed.

    A last line that may go on is left out.
    """
    lines = _zstd_lines(place, encoding, _HEAD_LINES) if _is_zstd(place) else _chunks(place, encoding, HEAD_BYTES)
    start = next(lines, b"")
    end = "\r" if b"\r" in start and b"\n" not in start else "\n"
    cut = len(start) >= HEAD_BYTES // 2 and end.encode() in start
    return (start.rpartition(end.encode())[0] if cut else start), end


def _chunks(place: Path, encoding: str, size: int) -> Iterator[bytes]:
    if _is_zstd(place):
        yield from _zstd_lines(place, encoding)
        return
    with _opened(place) as opened:
        if is_utf8(encoding):
            first = _read(opened, size, place)
            yield first.removeprefix(codecs.BOM_UTF8)
            while chunk := _read(opened, size, place):
                yield chunk
            return
        decoder = codecs.getincrementaldecoder(encoding)()
        n_lines = 0
        while True:
            chunk = _read(opened, size, place)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                line = n_lines + 1 + error.object[: error.start].decode(encoding, "ignore").count("\n")
                raise FileError(
                    f"cannot read {place}: line {line:,} is not {encoding} ({error.reason}); name its encoding with "
                    "Columns(encoding=...)"
                ) from error
            n_lines += text.count("\n")
            yield text.encode("utf-8", "surrogatepass")
            if not chunk:
                return


def _opened(place: Path) -> BinaryIO:
    if not is_compressed(place):
        return place.open("rb", buffering=0)
    return cast(BinaryIO, gzip.open(place, "rb"))


def _is_zstd(place: Path) -> bool:
    return place.suffix.lower() == ".zst"


def _read(opened: BinaryIO, size: int, place: Path) -> bytes:
    try:
        return opened.read(size)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileError(f"cannot read {place}: it is no whole gzip file ({error}); compress it again") from error


def _zstd_lines(place: Path, encoding: str, n_lines: int | None = None) -> Iterator[bytes]:
    """By way of polars, because Python has no reader of zstd."""
    if not is_utf8(encoding):
        raise FileError(f"cannot read {place}: zstd files are read as UTF-8 only; decompress it, or use gzip")
    lines = pl.scan_csv(
        polars_name(place), has_header=False, separator=_NO_SEPARATOR, quote_char=None, schema={"line": pl.String},
        n_rows=n_lines, glob=False,
    )  # fmt: skip
    for batch in lines.collect_batches(chunk_size=20_000):
        yield (batch["line"].fill_null("").str.join("\n").item() + "\n").encode()
