"""Downloads over loopback from a server that can be told to misbehave."""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import json
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from sureness.data import fetching
from sureness.data.fetching import cache_folder, fetch, pins
from sureness.errors import ChecksumError, FileError, OutputError

CONTENT = np.random.default_rng(0).bytes(1_000_000)
OTHER = np.random.default_rng(1).bytes(900_000)


class Server:
    """What it has, how it behaves, and what it was asked for."""

    def __init__(self):
        self.content = CONTENT
        self.tag = '"first"'
        self.ranges = True
        self.length = True
        self.cut_after = []  # bytes to send before hanging up, one for each of the next answers
        self.status = []  # statuses of the next answers
        self.asked = []  # headers of each request
        self.sent = []  # bytes of each answer
        self.odd = None  # answers in place of the usual way

    def answer(self, handler):
        self.asked.append(dict(handler.headers))
        if self.odd is not None:
            self.odd(handler)
            return
        if self.status and (status := self.status.pop(0)) != 200:
            handler.send_error(status)
            self.sent.append(0)
            return
        start = self.start(handler.headers)
        if start is not None and start >= len(self.content):
            handler.send_error(416)
            self.sent.append(0)
            return
        body = self.content[start or 0 :]
        handler.send_response(206 if start is not None else 200)
        if self.length:
            handler.send_header("Content-Length", str(len(body)))
        if self.tag:
            handler.send_header("ETag", self.tag)
        if start is not None:
            handler.send_header("Content-Range", f"bytes {start}-{len(self.content) - 1}/{len(self.content)}")
        handler.end_headers()
        body = body[: self.cut_after.pop(0)] if self.cut_after else body
        self.sent.append(len(body))  # before the client can have it
        handler.wfile.write(body)

    def start(self, headers):
        wanted = headers.get("Range")
        if not self.ranges or wanted is None or headers.get("If-Range", self.tag) != self.tag:
            return None
        return int(wanted.removeprefix("bytes=").removesuffix("-"))


@pytest.fixture
def server():
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            state.answer(self)

        def log_message(self, *_):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{running.server_port}/data.zip"
    yield state
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SURENESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def target(tmp_path):
    return tmp_path / "set" / "data.zip"


def md5(content):
    return f"md5:{hashlib.md5(content).hexdigest()}"


def left(target):
    return sorted(path.name for path in target.parent.iterdir())


def test_a_file_is_fetched_checked_and_not_fetched_again(server, target):
    told = []
    found = fetch(server.url, target, checksum=md5(CONTENT), progress=lambda *step: told.append(step))
    assert found.read_bytes() == CONTENT
    assert told[-1] == ("downloading data.zip", len(CONTENT), len(CONTENT))
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    fetch(server.url, target, checksum=md5(CONTENT))
    assert len(server.asked) == 1
    assert left(target) == ["data.zip"]


def test_another_file_than_published_is_refused_and_not_kept(server, target):
    with pytest.raises(ChecksumError, match="published"):
        fetch(server.url, target, checksum=md5(OTHER))
    assert left(target) == []


def test_an_unknown_checksum_is_pinned_at_the_first_download(server, target, cache):
    fetch(server.url, target)
    assert pins() == {server.url: f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"}
    assert json.loads((cache / "checksums.json").read_text()) == pins()
    target.unlink()
    fetch(server.url, target)
    target.unlink()
    server.content = OTHER
    with pytest.raises(ChecksumError, match="file"):
        fetch(server.url, target)
    assert left(target) == []


def test_damaged_pins_are_no_pins(server, target, cache):
    cache.mkdir()
    for damaged in ("{", "[]", "", "[" * 100_000, '{"a": 5}', '{"a": "sha256:x"}'):
        (cache / "checksums.json").write_text(damaged)
        assert pins() == {}
    fetch(server.url, target)
    assert list(pins()) == [server.url]


# --- broken connections --------------------------------------------------------------------------------------------


def test_a_cut_download_is_resumed_and_only_the_rest_is_asked_for(server, target):
    server.cut_after = [300_000, 200_000]
    fetch(server.url, target, checksum=md5(CONTENT), pause=0)
    assert target.read_bytes() == CONTENT
    assert len(server.asked) == 3
    ranges = [int(asked["Range"].removeprefix("bytes=").removesuffix("-")) for asked in server.asked[1:]]
    assert 0 < ranges[0] <= 300_000 < ranges[1] + 200_000
    assert [asked["If-Range"] for asked in server.asked[1:]] == ['"first"', '"first"']
    assert server.sent[-1] == len(CONTENT) - ranges[1]


def test_what_is_there_survives_until_the_next_run(server, target):
    server.cut_after = [400_000]
    with pytest.raises(FileError, match="connection"):
        fetch(server.url, target, checksum=md5(CONTENT), attempts=1)
    there = (target.parent / "data.zip.part").stat().st_size
    assert 0 < there <= 400_000
    fetch(server.url, target, checksum=md5(CONTENT))
    assert server.asked[-1]["Range"] == f"bytes={there}-"
    assert target.read_bytes() == CONTENT
    assert left(target) == ["data.zip"]


def test_a_file_that_changed_meanwhile_starts_anew(server, target):
    server.cut_after = [400_000]
    with pytest.raises(FileError):
        fetch(server.url, target, attempts=1)
    server.content, server.tag = OTHER, '"second"'
    fetch(server.url, target)
    assert target.read_bytes() == OTHER


def test_a_server_without_ranges_sends_it_all_again(server, target):
    server.ranges = False
    server.cut_after = [400_000]
    fetch(server.url, target, checksum=md5(CONTENT), pause=0)
    assert target.read_bytes() == CONTENT
    assert server.sent[-1] == len(CONTENT)


@pytest.mark.parametrize("tag", [None, 'W/"weak"'])
def test_without_a_firm_tag_nothing_is_resumed(server, target, tag):
    server.tag = tag
    server.cut_after = [400_000]
    fetch(server.url, target, checksum=md5(CONTENT), pause=0)
    assert "Range" not in server.asked[-1]
    assert target.read_bytes() == CONTENT


def test_a_part_that_is_too_long_is_thrown_away(server, target):
    target.parent.mkdir()
    (target.parent / "data.zip.part").write_bytes(b"x" * 2_000_000)
    (target.parent / "data.zip.part.json").write_text(json.dumps({"url": server.url, "validator": server.tag}))
    fetch(server.url, target, checksum=md5(CONTENT))
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("tag", ["{", "[1]", json.dumps({"url": "http://elsewhere", "validator": '"first"'})])
def test_a_part_of_something_else_is_thrown_away(server, target, tag):
    target.parent.mkdir()
    (target.parent / "data.zip.part").write_bytes(b"x" * 1_000)
    (target.parent / "data.zip.part.json").write_text(tag)
    fetch(server.url, target, checksum=md5(CONTENT))
    assert target.read_bytes() == CONTENT


def test_a_server_that_does_not_say_how_long_is_believed(server, target):
    server.length = False
    told = []
    fetch(server.url, target, checksum=md5(CONTENT), progress=lambda *step: told.append(step))
    assert told[-1][1:] == (len(CONTENT), 0)


def test_a_server_that_is_busy_is_asked_again(server, target):
    server.status = [503, 500]
    fetch(server.url, target, pause=0)
    assert len(server.asked) == 3
    server.status = [503] * 2
    target.unlink()
    with pytest.raises(FileError, match="server"):
        fetch(server.url, target, pause=0, attempts=2)


def test_what_is_not_there_is_said_at_once(server, target):
    server.status = [404]
    with pytest.raises(FileError, match="download"):
        fetch(server.url, target)
    assert len(server.asked) == 1


def test_a_host_that_cannot_be_reached(target):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/data.zip"
    with pytest.raises(FileError, match="server"):
        fetch(url, target, attempts=2, pause=0)
    with pytest.raises(FileError, match="download"):
        fetch("http://nowhere.invalid/data.zip", target, attempts=1)


# --- servers that are damaged or mean harm -------------------------------------------------------------------------


def answering(status, body=b"", tag='"first"', **headers):
    """A way to answer, whatever is asked."""

    def answer(handler):
        handler.send_response(status)
        for name, value in {"ETag": tag, **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        with contextlib.suppress(ConnectionError):  # nobody listens any more
            handler.wfile.write(body)

    return answer


def begun(server, target, n_bytes=300_000):
    """A download that broke off."""
    target.parent.mkdir(exist_ok=True)
    (target.parent / "data.zip.part").write_bytes(CONTENT[:n_bytes])
    (target.parent / "data.zip.part.json").write_text(json.dumps({"url": server.url, "validator": server.tag}))


@pytest.mark.parametrize("part", [True, False])
def test_a_server_that_never_satisfies_is_given_up(server, target, part):
    if part:
        begun(server, target)
    server.odd = answering(416, Content_Length="0")
    with pytest.raises(FileError, match="416"):
        fetch(server.url, target, pause=0, attempts=4)
    assert len(server.asked) <= 4


WHOLE = len(CONTENT)
MISPLACED = {
    "from byte 0": f"bytes 0-{WHOLE - 1}/{WHOLE}",
    "from another byte": f"bytes 299999-{WHOLE - 1}/{WHOLE}",
    "of no kind": "items 300000-5/6",
    "of no number": "bytes x-y/z",
    "missing": "",
}


@pytest.mark.parametrize("how", MISPLACED)
def test_a_part_that_was_not_asked_for_is_not_appended(server, target, how):
    def usual_then_odd(handler):
        if "Range" in handler.headers:
            answering(206, CONTENT, Content_Range=MISPLACED[how], Content_Length=str(WHOLE))(handler)
        else:
            answering(200, CONTENT, Content_Length=str(WHOLE))(handler)

    begun(server, target)
    server.odd = usual_then_odd
    fetch(server.url, target, pause=0)  # no published checksum would catch it
    assert target.read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_a_server_that_always_sends_parts_is_given_up(server, target):
    server.odd = answering(206, CONTENT, Content_Range=f"bytes 0-{WHOLE - 1}/{WHOLE}", Content_Length=str(WHOLE))
    with pytest.raises(FileError, match="download"):
        fetch(server.url, target, pause=0, attempts=3)
    assert len(server.asked) == 3
    assert left(target) == []


def test_a_part_of_another_version_is_not_appended(server, target):
    def changed(handler):
        if "Range" in handler.headers:
            rest, place = OTHER[300_000:], f"bytes 300000-{len(OTHER) - 1}/{len(OTHER)}"
            answering(206, rest, '"second"', Content_Range=place, Content_Length=str(len(rest)))(handler)
        else:
            answering(200, OTHER, '"second"', Content_Length=str(len(OTHER)))(handler)

    begun(server, target)
    server.odd = changed
    fetch(server.url, target, pause=0)
    assert target.read_bytes() == OTHER


def test_a_download_that_was_packed_on_the_way_is_not_resumed(server, target):
    """The bytes that are there are not those of the server, so their number says nothing to it."""
    packed = gzip.compress(CONTENT)

    def answer(handler):
        assert "Range" not in handler.headers
        sent = packed if len(server.asked) > 1 else packed[:500_000]
        answering(200, sent, Content_Encoding="gzip", Content_Length=str(len(packed)))(handler)

    server.odd = answer
    fetch(server.url, target, pause=0)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("said", ["5e9", "-1", "many", "9" * 30])
def test_a_length_that_is_no_number_is_not_believed(server, target, said):
    server.odd = answering(200, CONTENT, Content_Length=said)
    try:
        fetch(server.url, target, pause=0, attempts=1)
    except FileError:
        assert not target.exists()
    else:
        assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("length", [True, False])
def test_what_has_no_end_is_stopped(server, target, monkeypatch, length):
    monkeypatch.setattr(fetching, "MOST_BYTES", 500_000)
    server.odd = answering(200, CONTENT, **({"Content_Length": str(WHOLE)} if length else {}))
    with pytest.raises(FileError, match="larger"):
        fetch(server.url, target, pause=0)
    assert len(server.asked) == 1
    assert left(target) == []


def test_a_redirection_in_a_circle_is_given_up(server, target):
    server.odd = lambda handler: answering(302, Location=server.url, Content_Length="0")(handler)
    with pytest.raises(FileError, match="download"):
        fetch(server.url, target, pause=0, attempts=2)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"url": 5}', '{"url": "%s", "validator": 5}', "\x00"])
def test_damaged_notes_about_a_part_are_no_notes(server, target, text):
    begun(server, target)
    (target.parent / "data.zip.part.json").write_text(text.replace("%s", server.url))
    fetch(server.url, target, checksum=md5(CONTENT))
    assert "Range" not in server.asked[0]
    assert target.read_bytes() == CONTENT


# --- disks ---------------------------------------------------------------------------------------------------------


class FullDisk:
    """A file on a disk with room for so many bytes."""

    def __init__(self, opened, room):
        self.opened, self.room = opened, room

    def write(self, chunk):
        if len(chunk) > self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= len(chunk)
        return self.opened.write(chunk)

    def __getattr__(self, name):
        return getattr(self.opened, name)


def test_no_space_leaves_the_part_and_says_how_much_is_needed(server, target, monkeypatch):
    fill = fetching.Download._fill
    monkeypatch.setattr(
        fetching.Download, "_fill", lambda self, part, *rest: fill(self, FullDisk(part, 600_000), *rest)
    )
    with pytest.raises(OutputError, match="space"):
        fetch(server.url, target, checksum=md5(CONTENT))
    there = (target.parent / "data.zip.part").stat().st_size
    assert there > 0
    monkeypatch.undo()
    fetch(server.url, target, checksum=md5(CONTENT))
    assert server.asked[-1]["Range"] == f"bytes={there}-"
    assert target.read_bytes() == CONTENT


@pytest.mark.skipif(sys.platform != "linux", reason="needs to mount a small disk")
def test_a_disk_that_is_really_full(server, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("may not mount a small disk here")
    try:
        with pytest.raises(OutputError, match="space"):
            fetch(server.url, disk / "data.zip", checksum=md5(CONTENT))
        assert [path.name for path in disk.iterdir() if path.suffix == ".part"] == ["data.zip.part"]
        subprocess.run(["mount", "-o", "remount,size=4m", disk], check=True)
        fetch(server.url, disk / "data.zip", checksum=md5(CONTENT))
        assert "Range" in server.asked[-1]
        assert (disk / "data.zip").read_bytes() == CONTENT
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_folder_that_cannot_be_made_is_named(server, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="write"):
        fetch(server.url, tmp_path / "file" / "data.zip")


def test_the_cache_is_where_the_system_keeps_caches(monkeypatch):
    monkeypatch.delenv("SURENESS_CACHE")
    assert cache_folder().name == "sureness"
    monkeypatch.setenv("SURENESS_CACHE", "elsewhere")
    assert cache_folder() == Path("elsewhere")


def test_nothing_is_printed(server, target, capfd):
    fetch(server.url, target)
    assert capfd.readouterr() == ("", "")
