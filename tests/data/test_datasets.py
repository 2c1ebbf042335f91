"""Downloads over loopback from a server that can be told to misbehave; recipes that cannot be checked are refused."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest

from sureness.data import datasets
from sureness.data.datasets import download
from sureness.data.recipes import Address, Recipe, recipe
from sureness.errors import ChecksumError, FileError, OutputError, SettingError

CONTENT = np.random.default_rng(0).bytes(600_000)
CHECKSUM = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    state = SimpleNamespace(content=CONTENT, sent=None, status=200)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if state.status != 200:
                self.send_error(state.status)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(state.content)))
            self.end_headers()
            self.wfile.write(state.content[: state.sent])

        def log_message(self, *_):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    state.url = f"http://127.0.0.1:{running.server_port}/data.zip"
    yield state
    running.shutdown()
    running.server_close()


def address(server, checksum=CHECKSUM):
    return Address(server.url, "data.zip", checksum)


def test_a_file_is_downloaded_once(server, tmp_path):
    target, seen = tmp_path / "set" / "data.zip", []
    download(address(server), target, lambda *step: seen.append(step))
    assert target.read_bytes() == CONTENT
    assert seen[-1] == ("downloading data.zip", len(CONTENT), len(CONTENT))
    server.status = 500
    download(address(server), target)
    assert [file.name for file in target.parent.iterdir()] == ["data.zip"]


@pytest.mark.parametrize(
    ("how", "error", "word"),
    [
        ({"content": CONTENT[:-1] + b"x"}, ChecksumError, "checksum"),
        ({"content": b""}, ChecksumError, "checksum"),
        ({"sent": 300_000}, FileError, "again"),
        ({"status": 404}, FileError, "404"),
        ({"status": 503}, FileError, "503"),
    ],
)
def test_nothing_is_left_of_what_cannot_be_used(server, tmp_path, how, error, word):
    vars(server).update(how)
    with pytest.raises(error, match=word):
        download(address(server), tmp_path / "data.zip")
    assert not list(tmp_path.iterdir())
    vars(server).update(content=CONTENT, sent=None, status=200)
    download(address(server), tmp_path / "data.zip")


def test_md5_is_checked_too(server, tmp_path):
    download(address(server, f"md5:{hashlib.md5(CONTENT).hexdigest()}"), tmp_path / "data.zip")
    with pytest.raises(ChecksumError):
        download(address(server, "md5:" + 32 * "0"), tmp_path / "again.zip")


def test_a_server_that_cannot_be_reached_is_named(server, tmp_path):
    with pytest.raises(FileError, match="127.0.0.1:1/"):
        download(Address("http://127.0.0.1:1/data.zip", "data.zip", CHECKSUM), tmp_path / "data.zip")


def test_a_download_without_end_is_stopped(server, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "MOST_BYTES", 500_000)
    with pytest.raises(FileError, match="larger"):
        download(address(server), tmp_path / "data.zip")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_named(server, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file"):
        download(address(server), tmp_path / "file" / "data.zip")


@pytest.mark.parametrize(
    ("url", "checksum"),
    [
        ("http://example.org/a.zip", CHECKSUM), ("ftp://example.org/a.zip", CHECKSUM), ("https://example.org/a", ""),
        ("https://example.org/a.zip", "md5:0"), ("https://example.org/a.zip", "sha1:" + 40 * "0"),
        ("http://127.0.0.1.example.org/a.zip", CHECKSUM),
    ],
)  # fmt: skip
def test_a_recipe_that_cannot_be_checked_is_refused(url, checksum):
    with pytest.raises(SettingError, match="checksum"):
        Recipe(name="mine", title="", licence="", read=None, addresses=(Address(url, "a.zip", checksum),))


def test_movielens_is_in_the_library_and_the_others_say_what_to_install(tmp_path):
    assert recipe("ml-100k").addresses[0].checksum
    code = (
        "import sys; sys.modules['sureness_reproduction'] = None\n"
        "from sureness import jobs\nfrom sureness.data import load_dataset\n"
        "print([each['name'] for each in jobs.list_datasets()])\n"
        "load_dataset('coat')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout.strip() == "['ml-100k', 'ml-1m']"
    assert "MissingExtraError" in done.stderr
    assert "pip install sureness-reproduction" in done.stderr
