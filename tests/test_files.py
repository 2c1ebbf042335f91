"""Files are written whole or not at all, whatever happens on the way."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from contextlib import contextmanager
from pathlib import Path

import pytest

from sureness._files import replacing
from sureness.errors import FileError


@pytest.fixture
def target(tmp_path):
    """A file with old content, alone in its folder."""
    path = tmp_path / "table.csv"
    path.write_text("old")
    return path


def assert_untouched(target):
    assert target.read_text() == "old"
    assert os.listdir(target.parent) == [target.name]


def write_half(target, problem):
    with replacing(target) as temporary:
        temporary.write_text("half of it")
        raise problem


def run_in_process(code, target):
    """Run code that may use `replacing` and the path `target` in a process of its own."""
    script = "import os, signal, sys\nfrom pathlib import Path\nfrom sureness._files import replacing\n"
    script += "target = Path(sys.argv[1])\n" + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", script, str(target)], capture_output=True, text=True, timeout=60)


def test_new_content_replaces_the_old_and_nothing_else_stays(target):
    with replacing(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
        assert temporary.parent == target.parent
    assert target.read_text() == "new"
    assert os.listdir(target.parent) == [target.name]


def test_folders_on_the_way_are_made(tmp_path):
    with replacing(tmp_path / "a" / "b" / "new.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "a" / "b" / "new.txt").read_text() == "new"


def test_a_name_without_a_folder_is_written_where_we_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with replacing("here.txt") as temporary:
        temporary.write_text("new")
    assert os.listdir(tmp_path) == ["here.txt"]


def test_a_new_file_has_the_rights_that_the_umask_leaves(tmp_path):
    old = os.umask(0o027)
    try:
        with replacing(tmp_path / "new.txt") as temporary:
            temporary.write_text("new")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_an_exception_midway_leaves_the_old_file_and_nothing_else(target, problem):
    with pytest.raises(problem):
        write_half(target, problem)
    assert_untouched(target)


def test_a_folder_is_not_replaced(tmp_path):
    with pytest.raises(FileError, match="it is a folder; give the name of a file"), replacing(tmp_path):
        pass
    assert os.listdir(tmp_path) == []


def test_a_file_cannot_be_a_folder_on_the_way(target):
    with pytest.raises(FileError, match=f"cannot write {target}/below.csv"), replacing(target / "below.csv"):
        pass
    assert_untouched(target)


@contextmanager
def as_nobody():
    """Give up the rights of root for a moment, since root may write everywhere."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.mark.parametrize("mode", [0o555, 0o000], ids=["read only", "closed"])
def test_a_folder_without_the_right_to_write_is_named(mode):
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders may not be entered by others
        target = Path(name) / "table.csv"
        target.write_text("old")
        target.parent.chmod(mode)
        try:
            with as_nobody(), pytest.raises(FileError, match=f"cannot write {target}: Permission denied"):  # noqa: SIM117
                with replacing(target):
                    pass
        finally:
            target.parent.chmod(0o755)
        assert_untouched(target)


def test_a_disk_that_is_full_when_synced_leaves_the_old_file(target, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    message = r"cannot write .*table.csv: No space left on device"
    with pytest.raises(FileError, match=message), replacing(target) as temporary:
        temporary.write_text("new")
    assert_untouched(target)


def test_a_rename_that_fails_leaves_the_old_file(target, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    with pytest.raises(FileError, match="Input/output error"), replacing(target) as temporary:
        temporary.write_text("new")
    assert_untouched(target)


def test_an_error_of_ours_keeps_its_own_words(target):
    with pytest.raises(FileError, match=r"^the words of the caller$"), replacing(target):
        raise FileError("the words of the caller")
    assert_untouched(target)


def test_a_disk_that_really_runs_full_leaves_the_old_file(target):
    """The process may not write files above 1,000 bytes, and is told so by an error instead of a signal."""
    done = run_in_process(
        """
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
        from sureness.errors import FileError
        try:
            with replacing(target) as temporary:
                temporary.write_bytes(b"x" * 100_000)
        except FileError as error:
            sys.exit(f"refused: {error}")
        """,
        target,
    )
    assert done.returncode == 1
    assert f"refused: cannot write {target}: File too large" in done.stderr
    assert_untouched(target)


def test_a_kill_midway_leaves_the_old_content(target):
    done = run_in_process(
        """
        with replacing(target) as temporary:
            temporary.write_text("half of it")
            os.kill(os.getpid(), signal.SIGKILL)
        """,
        target,
    )
    assert done.returncode == -signal.SIGKILL
    assert target.read_text() == "old"


def test_two_writers_at_once_leave_one_of_the_two_contents_whole(target):
    with replacing(target) as first, replacing(target) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert target.read_text() in {"first", "second"}
    assert os.listdir(target.parent) == [target.name]
