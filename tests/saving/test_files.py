"""A file is replaced whole or left alone: exceptions, full disks, kills and concurrent writers."""

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

from sureness.errors import ChecksumError, OutputError
from sureness.saving.files import replacing


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


@contextmanager
def started(code, target):
    """A process that runs code with `replacing` and the path `target` at hand; killed if it does not end."""
    script = "import os, signal, sys\nfrom pathlib import Path\nfrom sureness.saving.files import replacing\n"
    script += "target = Path(sys.argv[1])\n" + textwrap.dedent(code)
    words = [sys.executable, "-c", script, str(target)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def run_in_process(code, target):
    """Run code to its end in another process."""
    with started(code, target) as process:
        output, errors = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def test_new_content_replaces_the_old_and_leaves_no_other_file(target):
    with replacing(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
        assert temporary.parent == target.parent
    assert target.read_text() == "new"
    assert os.listdir(target.parent) == [target.name]


def test_missing_folders_are_created(tmp_path):
    with replacing(tmp_path / "a" / "b" / "new.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "a" / "b" / "new.txt").read_text() == "new"


def test_a_bare_name_is_written_to_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with replacing("here.txt") as temporary:
        temporary.write_text("new")
    assert os.listdir(tmp_path) == ["here.txt"]


def test_permissions_follow_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        with replacing(tmp_path / "new.txt") as temporary:
            temporary.write_text("new")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_a_file_that_is_replaced_keeps_its_permissions_and_is_never_open_to_others(target, mode):
    target.chmod(mode)
    with replacing(target) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == mode | 0o600
        temporary.write_text("new")
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_windows_which_has_neither_locks_nor_forks_can_import_and_save(tmp_path):
    code = (
        "import concurrent.futures, logging, os, random, sys, tempfile\n"  # these ask for it in the way of Linux
        "del os.register_at_fork; sys.modules['fcntl'] = None\n"
        "import sureness as sn\n"
        "from sureness.numerics import forks, threads\n"
        "sn.PlattCalibrator().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1]).save(sys.argv[1])\n"
        "sn.load(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "map.json"], check=True)
    assert os.listdir(tmp_path) == ["map.json"]


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_an_exception_midway_leaves_only_the_old_file(target, problem):
    with pytest.raises(problem):
        write_half(target, problem)
    assert_untouched(target)


def test_a_folder_is_not_replaced(tmp_path):
    with pytest.raises(OutputError, match="folder"), replacing(tmp_path):
        pass
    assert os.listdir(tmp_path) == []


def test_a_path_below_a_file_is_refused(target):
    with pytest.raises(OutputError, match="below.csv"), replacing(target / "below.csv"):
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
def test_a_folder_without_write_permission_is_refused(mode):
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders may not be entered by others
        target = Path(name) / "table.csv"
        target.write_text("old")
        target.parent.chmod(mode)
        try:
            with as_nobody(), pytest.raises(OutputError, match="Permission denied"):  # noqa: SIM117
                with replacing(target):
                    pass
        finally:
            target.parent.chmod(0o755)
        assert_untouched(target)


def test_a_disk_that_is_full_when_synced_leaves_the_old_file(target, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"), replacing(target) as temporary:
        temporary.write_text("new")
    assert_untouched(target)


def test_a_rename_that_fails_leaves_the_old_file(target, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OutputError, match="Input/output error"), replacing(target) as temporary:
        temporary.write_text("new")
    assert_untouched(target)


def test_an_error_of_the_caller_is_not_rewritten(target):
    problem = ChecksumError("what the caller found")
    with pytest.raises(ChecksumError) as raised, replacing(target):
        raise problem
    assert raised.value is problem
    assert_untouched(target)


def test_a_disk_that_really_runs_full_leaves_the_old_file(target):
    """The process may not write more than 1,000 bytes to a file, and gets an error instead of a signal."""
    done = run_in_process(
        """
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
        from sureness.errors import OutputError
        try:
            with replacing(target) as temporary:
                temporary.write_bytes(b"x" * 100_000)
        except OutputError as error:
            sys.exit(f"{error.code}: {error}")
        """,
        target,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("output: ")
    assert "File too large" in done.stderr
    assert_untouched(target)


AWKWARD = ["table.csv", "maps[1].sureness", "all*.csv", "what?.csv", "a [b] {c}.json", "n" * 251 + ".csv", "é" * 127]


@pytest.mark.parametrize("name", AWKWARD)
def test_a_kill_midway_leaves_the_old_content_and_the_next_writer_sweeps_up(tmp_path, name):
    target = tmp_path / name
    target.write_text("old")
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
    assert len(os.listdir(tmp_path)) == 2
    with replacing(target) as temporary:
        temporary.write_text("new")
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", AWKWARD)
def test_temporary_files_of_other_targets_are_not_swept(tmp_path, name):
    """A pattern in the name of one file must not match the abandoned files of another."""
    for other in ("maps1.sureness", "allof.csv", "whatx.csv", f"{name[:40]}.more", f"more.{name[:40]}"):
        (tmp_path / f".{other}.0a1b2c3d.partial").write_text("abandoned, but of another file")
    before = set(os.listdir(tmp_path))
    with replacing(tmp_path / name) as temporary:
        temporary.write_text("new")
    assert set(os.listdir(tmp_path)) == before | {name}


def test_a_file_that_another_process_is_still_writing_is_not_swept(target):
    script = """
    with replacing(target) as temporary:
        temporary.write_text("from the other process")
        print(temporary.name, flush=True)
        sys.stdin.readline()
    """
    with started(script, target) as other:
        in_progress = target.parent / other.stdout.readline().strip()
        with replacing(target) as temporary:
            temporary.write_text("new")
        assert in_progress.read_text() == "from the other process"
        assert target.read_text() == "new"
        other.communicate("go on\n", timeout=60)
    assert other.returncode == 0
    assert target.read_text() == "from the other process"
    assert os.listdir(target.parent) == [target.name]


def test_two_writers_at_once_leave_one_of_the_two_contents_whole(target):
    with replacing(target) as first, replacing(target) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert target.read_text() in {"first", "second"}
    assert os.listdir(target.parent) == [target.name]


# --- links and names -----------------------------------------------------------------------------------------------


@pytest.fixture
def linked(tmp_path):
    """A link in one folder to a file in another: an existing one, or one that is to be made."""

    def make(exists):
        for folder in ("real", "links"):
            (tmp_path / folder).mkdir()
        if exists:
            (tmp_path / "real" / "table.csv").write_text("old")
        (tmp_path / "links" / "middle.csv").symlink_to(Path("..") / "real" / "table.csv")
        (tmp_path / "links" / "table.csv").symlink_to("middle.csv")
        return tmp_path / "links" / "table.csv"

    return make


@pytest.mark.parametrize("exists", [True, False], ids=["existing", "dangling"])
def test_a_link_stays_and_the_file_it_leads_to_is_written(linked, exists):
    link = linked(exists)
    with replacing(link) as temporary:
        temporary.write_text("new")
        assert temporary.parent.resolve() == link.parents[1] / "real"
    assert link.is_symlink()
    assert os.readlink(link) == "middle.csv"
    assert (link.parents[1] / "real" / "table.csv").read_text() == "new"
    assert sorted(os.listdir(link.parent)) == ["middle.csv", "table.csv"]
    assert os.listdir(link.parents[1] / "real") == ["table.csv"]


def test_what_a_killed_writer_left_behind_a_link_is_swept_through_the_link_and_without_it(linked):
    link = linked(True)
    for path in (link, link.parents[1] / "real" / "table.csv"):
        (link.parents[1] / "real" / ".table.csv.0a1b2c3d.partial").write_text("abandoned")
        with replacing(path) as temporary:
            temporary.write_text("new")
        assert os.listdir(link.parents[1] / "real") == ["table.csv"]


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "one.csv").symlink_to("other.csv")
    (tmp_path / "other.csv").symlink_to("one.csv")
    with pytest.raises(OutputError, match="links"), replacing(tmp_path / "one.csv"):
        pass
    (tmp_path / "folder").symlink_to("folder")
    with pytest.raises(OutputError), replacing(tmp_path / "folder" / "table.csv"):
        pass
    assert sorted(os.listdir(tmp_path)) == ["folder", "one.csv", "other.csv"]


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(OutputError, match="pipe"), replacing(tmp_path / "pipe.csv"):
        pass
    assert stat.S_ISFIFO((tmp_path / "pipe.csv").stat().st_mode)


@pytest.mark.parametrize("name", ["n" * 245, "n" * 255, "\U0001f600" * 63])
def test_names_up_to_the_longest_that_a_file_can_have(tmp_path, name):
    with replacing(tmp_path / name) as temporary:
        temporary.write_text("new")
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["n" * 256, "a\0b"])
def test_names_that_no_file_can_have_are_refused(tmp_path, name):
    with pytest.raises(OutputError), replacing(tmp_path / name):
        pass
    assert os.listdir(tmp_path) == []


def test_a_name_that_the_system_cannot_write_is_refused(tmp_path, monkeypatch):
    def encode(path):
        return os.fspath(path).encode("ascii")

    monkeypatch.setattr(os, "fsencode", encode)
    with pytest.raises(OutputError, match="PYTHONUTF8"), replacing(tmp_path / "é.csv"):
        pass


def test_nothing_changes_the_umask_of_the_process():
    """It belongs to all threads: files that others make meanwhile would be open to everybody."""
    root = Path(__file__).parents[2]
    files = [*root.glob("src/**/*.py"), *root.glob("reproduction/src/**/*.py")]
    assert len(files) > 100
    assert not [file for file in files if "umask(" in file.read_text(encoding="utf-8")]
