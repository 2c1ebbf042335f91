"""Download a file once: resume broken downloads, verify checksums, and cache the result."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import re
import time
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from sureness._progress import Progress, silent
from sureness._wording import counted
from sureness.errors import ChecksumError, FileError, OutputError
from sureness.saving.files import beside, replacing, sync

_log = logging.getLogger(__name__)
_CHUNK = 1 << 18
_PINS = "checksums.json"
_PIN = re.compile(r"sha256:[0-9a-f]{64}")
_CONTENT_RANGE = re.compile(r"bytes (?P<first>[0-9]{1,18})-[0-9]{1,18}/(?P<total>[0-9]{1,18}|\*)")

MOST_BYTES = 20_000_000_000
"""Downloads that are larger are stopped: no recipe has such a file, but a server may send without end."""


def cache_folder() -> Path:
    """The folder of downloads: SURENESS_CACHE, or the cache folder of the operating system."""
    given = os.environ.get("SURENESS_CACHE")
    if given:
        return Path(given)
    return Path(_pooch().os_cache("sureness"))


def fetch(
    url: str,
    path: str | PathLike[str],
    *,
    checksum: str | None = None,
    progress: Progress = silent,
    attempts: int = 4,
    pause: float = 1.0,
) -> Path:
    """Download a file, unless it is already there.

    A broken download is resumed if the server still has the same file. If no checksum is published, that of the first
    download is pinned in the cache, and later downloads must match it.

    Parameters
    ----------
    url : str
        Address of the file.
    path : path
        Where to save it.
    checksum : str, optional
        Such as ``"md5:..."`` or ``"sha256:..."``, as the publisher states it.
    progress : Progress, optional
        Called with a step, the bytes received, and the bytes in all (0 if the server does not say).
    attempts : int
        How often to try when the connection breaks.
    pause : float
        Seconds to wait after a failure, doubled each time.
    """
    target = Path(path)
    if target.is_file():
        return target
    expected = checksum or _pinned(url)
    download = Download(target, progress, attempts, pause)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        download.complete(url)
        if expected is None:
            _pin(url, download.part)  # before the file gets its name, since a file that is there is not looked at again
        elif not _pooch().hashes.hash_matches(download.part, expected):
            download.forget()
            raise ChecksumError(_mismatch(url, checksum, expected))
        download.finish(target)
    except FileError:
        raise
    except OSError as error:
        raise _explained(error, target) from error
    return target


def pins() -> dict[str, str]:
    """The checksum of the first download by address, for files without a published checksum."""
    try:
        found = json.loads((cache_folder() / _PINS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    every = found.items() if isinstance(found, dict) else ()
    return {url: pin for url, pin in every if isinstance(pin, str) and _PIN.fullmatch(pin)}


class _UnusableError(Exception):
    """What came does not continue what is there, which was thrown away; another attempt starts over."""


class Download:
    """A partial file beside the target, which is completed in several attempts and gets its name at the end."""

    def __init__(self, target: Path, progress: Progress, attempts: int, pause: float) -> None:
        self.part, self.tag = beside(target, ".part"), beside(target, ".part.json")
        self.step = f"downloading {target.name}"
        self.progress = progress
        self.attempts = attempts
        self.pause = pause

    def complete(self, url: str) -> None:
        """Complete the partial file, in several attempts if needed."""
        import requests  # slow to import

        for attempt in range(1, self.attempts + 1):
            try:
                self._complete(url)
                break
            except requests.HTTPError as error:
                status = error.response.status_code
                if status < 500 or attempt == self.attempts:
                    reason = f"the server answered {status} {error.response.reason}"
                    raise FileError(f"cannot download {url}: {reason}; check the address or try later") from error
            except _UnusableError as error:
                if attempt == self.attempts:
                    raise FileError(f"cannot download {url}: {error}; check the address or try later") from error
                continue
            except requests.RequestException as error:
                if attempt == self.attempts:
                    raise FileError(self._broken(url, error)) from error
            except ValueError as error:  # such as a redirection to an address that is none
                raise FileError(f"cannot download {url}: the answer cannot be used ({error})") from error
            _log.info("attempt %d of %d to download %s failed", attempt, self.attempts, url)
            time.sleep(self.pause * 2 ** (attempt - 1))

    def finish(self, target: Path) -> None:
        """Give the complete file its name; a kill at any moment leaves nothing that the next call does not remove."""
        sync(self.part)
        self.tag.unlink(missing_ok=True)  # first: without it the partial file is not resumed, and with it would be left
        os.replace(self.part, target)
        sync(target.parent)

    def forget(self) -> None:
        """Remove what was received."""
        self.part.unlink(missing_ok=True)
        self.tag.unlink(missing_ok=True)

    def _complete(self, url: str) -> None:
        """Request the missing bytes and append them; start over if the file on the server has changed."""
        import requests  # slow to import

        asked = self._range(url)
        with requests.get(url, headers=asked, stream=True, timeout=(10, 60)) as answer:
            start = self.part.stat().st_size if "Range" in asked else 0
            if start and answer.status_code == requests.codes.requested_range_not_satisfiable:
                self._start_over("there is less on the server than was received before")
            answer.raise_for_status()
            if answer.status_code == requests.codes.partial_content:
                total = self._whole_size(answer.headers, start, asked.get("If-Range"))
            else:
                start, total = 0, _number(answer.headers.get("Content-Length", ""))
            self._remember(url, answer.headers)
            with self.part.open("ab" if start else "wb") as part:
                self._fill(part, answer, url, start, total)

    def _whole_size(self, headers: Any, start: int, validator: str | None) -> int:
        """The size of a file of which a part came, if that is the part that was asked for."""
        found = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
        if not start or found is None or int(found["first"]) != start:
            self._start_over(f"another part came than the one from byte {start:,} on")
        if _is_packed(headers) or _validator(headers) not in ("", validator):
            self._start_over("the file on the server has changed")
        assert found is not None
        return _number(found["total"])

    def _start_over(self, why: str) -> NoReturn:
        self.forget()
        raise _UnusableError(why)

    def _fill(self, part: Any, answer: Any, url: str, start: int, total: int) -> None:
        import requests  # slow to import

        done, packed = start, _is_packed(answer.headers)  # then the length does not count the bytes we write
        for chunk in answer.iter_content(_CHUNK):
            if max(total, done + len(chunk)) > MOST_BYTES:
                self.forget()
                raise FileError(f"cannot download {url}: it is larger than {MOST_BYTES / 1e9:,.0f} GB; get it by hand")
            try:
                part.write(chunk)
                part.flush()
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    missing = f"{(total - done) / 1e6:,.1f} MB more are needed" if total else "more is needed"
                    raise OutputError(
                        f"cannot download {url}: no space left on the disk of {self.part.parent}, {missing}; make "
                        "room and run it again; the download will be resumed"
                    ) from error
                raise
            done += len(chunk)
            self.progress(self.step, done, total)
        if total and done < total and not packed:
            raise requests.ConnectionError(f"{done:,} of {counted(total, 'byte')} came")
        if total and done > total and not packed:
            self._start_over(f"{counted(done, 'byte')} came instead of {total:,}")

    def _range(self, url: str) -> dict[str, str]:
        """Headers that request the rest of the file if it has not changed."""
        plain = {"Accept-Encoding": "identity"}  # so that lengths count the bytes we write
        tag = self._tag()
        validator = tag.get("validator")
        if tag.get("url") != url or not _is_sendable(validator) or not self.part.is_file():
            self.forget()
            return plain
        size = self.part.stat().st_size
        return plain | ({"Range": f"bytes={size}-", "If-Range": str(validator)} if size else {})

    def _tag(self) -> dict[str, object]:
        try:
            return dict(json.loads(self.tag.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, RecursionError):
            return {}

    def _remember(self, url: str, headers: Any) -> None:
        validator = "" if _is_packed(headers) else _validator(headers)  # bytes of what was unpacked cannot be asked for
        self.tag.write_text(json.dumps({"url": url, "validator": validator}), encoding="utf-8")

    def _broken(self, url: str, error: Exception) -> str:
        there = self.part.stat().st_size if self.part.is_file() else 0
        if not there:
            return f"cannot download {url}: the server cannot be reached ({type(error).__name__}); check the connection"
        return (
            f"cannot download {url}: the connection broke {counted(self.attempts, 'time')} after "
            f"{counted(there, 'byte')}; run it again to resume"
        )


def _validator(headers: Any) -> str:
    """What names this version of the file; empty if the server does not say."""
    tag = str(headers.get("ETag", ""))
    return tag if tag and not tag.startswith("W/") else str(headers.get("Last-Modified", ""))


def _is_packed(headers: Any) -> bool:
    return bool(headers.get("Content-Encoding", "identity") != "identity")


def _is_sendable(validator: object) -> bool:
    return isinstance(validator, str) and validator != "" and validator.isascii() and validator.isprintable()


def _number(text: str) -> int:
    """A size; 0 if the server does not say."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0


def _pooch() -> Any:
    import pooch  # type: ignore[import-untyped]  # slow to import

    return pooch


def _pinned(url: str) -> str | None:
    return pins().get(url)


def _pin(url: str, path: Path) -> None:
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    known = pins() | {url: f"sha256:{digest}"}
    with replacing(cache_folder() / _PINS) as temporary:
        temporary.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
    _log.info("no checksum is published for %s; that of this first download is pinned: sha256 %s", url, digest)


def _mismatch(url: str, checksum: str | None, expected: str | None) -> str:
    if checksum is not None:
        return (
            f"cannot use what {url} sent: expected the published checksum {checksum}, got another file; "
            "try again, and check the publisher's page if it happens again"
        )
    return (
        f"cannot use what {url} sent: it is not the file of the first download ({expected}); "
        f"if the publisher changed it, delete its line in {cache_folder() / _PINS} and fetch again"
    )


def _explained(error: OSError, target: Path) -> FileError:
    if error.errno == errno.ENOSPC:
        return OutputError(f"cannot write {target}: no space left on the disk; make room and run it again")
    return OutputError(f"cannot write {target}: {error.strerror or error}")
