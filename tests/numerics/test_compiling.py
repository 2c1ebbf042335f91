"""Kernels compile where nothing can be cached, and somebody who waits for the compiler is told so."""

from __future__ import annotations

import io
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import sureness
from sureness.cli import _console
from sureness.errors import SurenessWarning
from sureness.jobs import warming
from sureness.numerics import compiling
from tests.cli.runner import consoles


@pytest.fixture
def nowhere(monkeypatch):
    """A new function that is in no file, so that numba has no place for a cache."""
    monkeypatch.setattr(compiling, "_without_cache", [])
    names: dict = {}
    exec("def one_more(number):\n    return number + 1", names)
    return names["one_more"]


def test_a_kernel_without_a_cache_is_compiled_and_it_is_known(nowhere):
    assert compiling.is_cached()
    assert compiling.kernel()(nowhere)(1) == 2
    assert not compiling.is_cached()


def test_only_what_is_compiled_now_is_told_and_only_once(nowhere):
    told = []
    with compiling.before_compiling(lambda: told.append("now")):
        assert told == []
        one_more = compiling.kernel()(nowhere)
        one_more(1)
        one_more(1.0)
    assert told == ["now"]
    with compiling.before_compiling(lambda: told.append("again")):
        one_more(2)
    assert told == ["now"]
    one_more(1j)  # after the block, nobody listens
    assert told == ["now"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "quiet", "cached", "said"),
    [
        (Terminal, False, True, "once"),
        (Terminal, False, False, "NUMBA_CACHE_DIR"),
        (Terminal, True, True, ""),
        (io.StringIO, False, True, ""),
    ],
)
def test_people_at_a_terminal_are_told_that_something_is_compiled(nowhere, monkeypatch, stream, quiet, cached, said):
    one_more, err = compiling.kernel()(nowhere), stream()
    monkeypatch.setattr(compiling, "_without_cache", [] if cached else ["one_more"])
    monkeypatch.setattr(sys, "stderr", err)
    with consoles(io.StringIO(), err), _console.shown_progress(quiet):
        one_more(1)
    lines = [line for line in err.getvalue().splitlines() if "compiling" in line]
    assert len(lines) == bool(said)
    assert said in "".join(lines)


class Cell(io.StringIO):
    """What a notebook puts in place of standard error: no terminal, but shown."""

    __module__ = "ipykernel.iostream"


@pytest.fixture
def fresh(monkeypatch):
    """As in a process that has not announced anything yet."""
    monkeypatch.setattr(compiling, "_announcers", [compiling.cache(compiling.announce)])


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(("stream", "shown"), [(Terminal, 1), (Cell, 1), (io.StringIO, 0)])
def test_in_python_one_line_announces_the_first_compilation(nowhere, monkeypatch, stream, shown):
    err = stream()
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(compiling, "_without_cache", [])
    one_more = compiling.kernel()(nowhere)
    assert not err.getvalue()
    one_more(1)
    one_more(1.0)
    assert err.getvalue().count("sureness: compiling numerical kernels") == err.getvalue().count("\n") == shown
    assert "NUMBA_CACHE_DIR" in err.getvalue() or not shown


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("stream", [None, "closed"])
def test_a_stream_that_cannot_be_written_to_does_not_disturb(nowhere, monkeypatch, stream):
    closed = Terminal()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed if stream else None)
    assert compiling.kernel()(nowhere)(1) == 2


@pytest.mark.usefixtures("fresh")
def test_kernels_of_others_are_not_announced(monkeypatch):
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    assert numba.njit(lambda number: number + 1)(1) == 2
    assert not err.getvalue()


def test_warming_says_where_nothing_is_kept(nowhere, monkeypatch):
    compiling.kernel()(nowhere)
    monkeypatch.setattr(warming, "_jobs", lambda *_, **__: iter(()))
    with pytest.warns(SurenessWarning, match="NUMBA_CACHE_DIR"):
        warming.warm()


LOCKED = """
from sureness.numerics import compiling
from sureness.jobs import warming

assert list(warming.kernels())
assert not compiling.is_cached()
assert compiling.kernel()(lambda number: number + 1)(1) == 2
"""


def bound_by_permissions() -> list[str] | None:
    """How to start a process that read-only folders bind; for root, one without the right to override permissions."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    without = [str(setpriv), "--bounding-set=-dac_override,-dac_read_search,-fowner"]
    if setpriv is None or subprocess.run([*without, "true"], check=False, capture_output=True).returncode:
        return None
    return without


def test_a_locked_down_machine_can_compile(tmp_path):
    """No home, and the package in a folder that cannot be written to: numba alone refuses even the import."""
    without = bound_by_permissions()
    if without is None:
        pytest.skip("root cannot give up overriding permissions here")
    (package,) = sureness.__path__
    site = tmp_path / "site"
    shutil.copytree(package, site / "sureness", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [*site.rglob("*"), site]:
        folder.chmod(stat.S_IREAD | (stat.S_IEXEC if folder.is_dir() else 0))
    environment = {
        **os.environ, "PYTHONPATH": str(site), "HOME": str(site / "home"), "XDG_CACHE_HOME": str(site / "cache"),
        "NUMBA_CACHE_DIR": "", "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    try:
        done = subprocess.run(
            [*without, sys.executable, "-c", LOCKED], capture_output=True, text=True, check=False, env=environment,
            cwd=tmp_path,
        )  # fmt: skip
    finally:
        for folder in [site, *(path for path in site.rglob("*") if path.is_dir())]:
            folder.chmod(stat.S_IRWXU)
    assert done.returncode == 0, done.stderr
    assert not list(Path(site).rglob("__pycache__"))
