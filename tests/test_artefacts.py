"""A folder is whole or not there: whatever goes wrong, the old one can still be read."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import textwrap

import pytest

from sureness import _artefacts
from sureness._artefacts import MANIFEST, read_manifest, write_folder
from sureness.errors import ArtefactError, FileError

DESCRIPTION = {"format": "sureness-letter", "schema": 1}


def letter(text):
    def write(place):
        (place / "text").write_text(text)
        (place / "stamp").write_text("1 €")

    return write


def written(folder, text="old"):
    write_folder(folder, DESCRIPTION, letter(text))
    return folder


@pytest.fixture
def folder(tmp_path):
    """A folder with an old letter, alone where it is."""
    return written(tmp_path / "letter")


def assert_untouched(folder):
    assert read_manifest(folder, "sureness-letter", 1)["files"].keys() == {"text", "stamp"}
    assert (folder / "text").read_text() == "old"
    assert os.listdir(folder.parent) == [folder.name]


def run_in_process(code, folder):
    """Run code that may write a folder `folder` of the given text in a process of its own."""
    script = "import os, signal, sys\nfrom pathlib import Path\nfrom sureness._artefacts import write_folder\n"
    script += f"folder, description = Path(sys.argv[1]), {DESCRIPTION}\n" + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True, timeout=60)


def test_a_manifest_describes_the_files(folder):
    manifest = read_manifest(folder, "sureness-letter", 1)
    assert manifest["format"] == "sureness-letter"
    assert manifest["files"]["text"]["bytes"] == 3
    assert len(manifest["files"]["text"]["sha256"]) == 64
    assert manifest["package"]


@pytest.mark.parametrize("exchange", [True, False], ids=["one step", "two steps"])
def test_a_new_folder_replaces_the_old_and_nothing_else_stays(folder, monkeypatch, exchange):
    if not exchange:  # as on systems that cannot exchange two names
        monkeypatch.setattr(_artefacts, "_exchanged", lambda *_: False)
    inode = folder.stat().st_ino
    written(folder, "new")
    assert (folder / "text").read_text() == "new"
    assert folder.stat().st_ino != inode
    assert os.listdir(folder.parent) == [folder.name]


def test_folders_on_the_way_are_made_and_an_empty_one_is_filled(tmp_path):
    assert (written(tmp_path / "a" / "b") / "text").exists()
    (tmp_path / "empty").mkdir()
    assert (written(tmp_path / "empty") / "text").exists()


def test_a_new_folder_has_the_rights_that_the_umask_leaves(tmp_path):
    old = os.umask(0o027)
    try:
        written(tmp_path / "letter")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "letter").stat().st_mode) == 0o750


def test_what_is_no_artefact_is_never_replaced(tmp_path, folder):
    (tmp_path / "file").write_text("precious")
    with pytest.raises(FileError, match="it is a file; give the name of a folder"):
        written(tmp_path / "file")
    home = tmp_path / "home"
    home.mkdir()
    (home / "diary.txt").write_text("precious")
    with pytest.raises(FileError, match=r"it is a folder with other files \(diary.txt\); give a new name"):
        written(home)
    (folder / "notes.txt").write_text("precious")
    with pytest.raises(FileError, match=r"other files \(notes.txt\)"):
        written(folder, "new")
    assert (folder / "text").read_text() == "old"


def test_a_damaged_artefact_can_be_replaced_once_its_files_are_its_own(folder):
    (folder / "text").write_text("changed")
    written(folder, "new")
    assert (folder / "text").read_text() == "new"


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt, MemoryError])
def test_an_exception_midway_leaves_the_old_folder(folder, problem):
    def write(place):
        letter("new")(place)
        raise problem

    with pytest.raises(problem):
        write_folder(folder, DESCRIPTION, write)
    assert_untouched(folder)


def test_a_disk_that_is_full_when_synced_leaves_the_old_folder(folder, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="cannot write .*letter: No space left on device"):
        written(folder, "new")
    assert_untouched(folder)


def test_a_rename_that_fails_brings_the_old_folder_back(folder, monkeypatch):
    monkeypatch.setattr(_artefacts, "_exchanged", lambda *_: False)
    rename, failed = _artefacts.Path.rename, []

    def refuse_once(self, target):
        if not failed:
            failed.append(self)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(self, target)

    monkeypatch.setattr(_artefacts.Path, "rename", refuse_once)
    with pytest.raises(FileError, match="Input/output error"):
        written(folder, "new")
    assert_untouched(folder)


def test_a_disk_that_really_runs_full_leaves_the_old_folder(folder):
    done = run_in_process(
        """
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
        from sureness.errors import FileError
        try:
            write_folder(folder, description, lambda place: (place / "text").write_bytes(b"x" * 100_000))
        except FileError as error:
            sys.exit(f"refused: {error}")
        """,
        folder,
    )
    assert f"refused: cannot write {folder}: File too large" in done.stderr
    assert_untouched(folder)


@pytest.mark.parametrize("moment", ["_finish", "_move", "_exchanged"])
def test_a_kill_at_any_moment_leaves_an_old_or_a_new_folder_that_can_be_read(folder, moment):
    done = run_in_process(
        f"""
        from sureness import _artefacts
        _artefacts.{moment} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        write_folder(folder, description, lambda place: (place / "text").write_text("new"))
        """,
        folder,
    )
    assert done.returncode == -signal.SIGKILL
    read_manifest(folder, "sureness-letter", 1)
    assert (folder / "text").read_text() == "old"
    written(folder, "newer")  # what the killed process left behind is in nobody's way
    assert (folder / "text").read_text() == "newer"


# --- reading -------------------------------------------------------------------------------------------------------


def test_a_flipped_bit_is_noticed(folder):
    content = bytearray((folder / "text").read_bytes())
    content[1] ^= 1
    (folder / "text").write_bytes(content)
    with pytest.raises(ArtefactError, match="text is damaged: its checksum does not match its content"):
        read_manifest(folder, "sureness-letter", 1)


def test_a_cut_file_is_noticed(folder):
    (folder / "text").write_text("ol")
    with pytest.raises(ArtefactError, match="text is damaged: it has 2 bytes instead of 3; save the object again"):
        read_manifest(folder, "sureness-letter", 1)


def test_a_missing_file_is_named(folder):
    (folder / "text").unlink()
    with pytest.raises(FileError, match="cannot read .*text: No such file or directory"):
        read_manifest(folder, "sureness-letter", 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "sureness-calibrator"}, "is not a sureness-letter"),
        ({"schema": 99, "package": "9.0"}, r"schema 99 \(written by sureness 9.0\).*update sureness"),
        ({"kind": "another"}, "manifest.json is damaged: its checksum does not match"),
        ({"files": {}}, "manifest.json is damaged: its checksum does not match"),
    ],
)
def test_another_manifest_is_refused(folder, change, message):
    manifest = json.loads((folder / MANIFEST).read_text()) | change
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ArtefactError, match=message):
        read_manifest(folder, "sureness-letter", 1)


@pytest.mark.parametrize("content", [b"[]", b"{", b"\xff\xfe\x00", b""])
def test_a_manifest_that_is_none_is_refused(folder, content):
    (folder / MANIFEST).write_bytes(content)
    with pytest.raises(ArtefactError, match="manifest.json is damaged"):
        read_manifest(folder, "sureness-letter", 1)


def test_folders_that_are_not_there_or_hold_nothing_are_named(tmp_path):
    with pytest.raises(FileError, match="there is no such folder; give the folder of a saved object"):
        read_manifest(tmp_path / "nowhere", "sureness-letter", 1)
    with pytest.raises(FileError, match="it has no manifest.json"):
        read_manifest(tmp_path, "sureness-letter", 1)
