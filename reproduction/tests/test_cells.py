from __future__ import annotations

import ast
import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import sureness_reproduction
from reproduction.tests import works
from sureness.errors import DataError, SurenessWarning
from sureness_reproduction.base_models import tuned
from sureness_reproduction.cells import CellStore, in_order, key_of
from sureness_reproduction.running import CellError, run_cells
from sureness_reproduction.workbench import DataShelf, SealedError, labels_are_sealed

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path):
    return CellStore(tmp_path / "cells", DataShelf(tmp_path))


@pytest.fixture
def trace(tmp_path, monkeypatch):
    file = tmp_path / "trace"
    monkeypatch.setenv("SURENESS_TRACE", str(file))
    return lambda: file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def test_needs_come_first_and_each_once():
    cells = in_order([works.total.cell(first=1, second=2), works.total.cell(first=2, second=1)])
    assert [cell.label for cell in cells] == ["number 1", "number 2", "total 1 2", "total 2 1"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_finished_is_not_computed_again(store, trace, jobs):
    wanted = [works.total.cell(first=1, second=2), works.total.cell(first=2, second=3)]
    assert run_cells(wanted, store, jobs=jobs) == (5, 0)
    assert sorted(trace()) == ["number 1", "number 2", "number 3", "total 1 2", "total 2 3"]
    assert [store.find(cell).table("found")["value"][0] for cell in wanted] == [3, 5]
    assert run_cells(wanted, store, jobs=jobs) == (0, 2)  # what they need is not asked for
    assert len(trace()) == 5


def test_a_cell_is_known_by_all_that_goes_into_it(monkeypatch):
    cell = works.total.cell(first=1, second=2)
    keys = {key_of(cell, lambda _: "")}
    keys.add(key_of(works.total.cell(first=2, second=1), lambda _: ""))
    monkeypatch.setattr(works, "number", works.work(version=2)(works.number.function))
    keys.add(key_of(cell, lambda _: ""))  # a need has another version
    assert len(keys) == 3
    named = works.number.cell(value=1, data="coat")
    assert key_of(named, lambda _: "one content") != key_of(named, lambda _: "another")
    assert works.number.cell(value=1, other=2) == works.number.cell(other=2, value=1)


def test_a_damaged_cell_is_computed_again(store, trace):
    cell = works.slow.cell(place=7)
    run_cells([cell], store)
    file = store.find(cell).folder / "found.parquet"
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.warns(SurenessWarning, match="slow 7 is computed again"):
        assert run_cells([cell], store) == (1, 0)
    assert store.find(cell).table("found")["value"][0] == 7
    assert (store.find(cell).folder / "note.txt").exists()
    assert trace() == ["slow 7", "slow 7"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failing_cell_is_named_and_the_others_are_kept(store, jobs):
    with pytest.raises(CellError, match=r"broken 3: 3 cannot be computed"):
        run_cells([works.number.cell(value=1), works.broken.cell(value=3)], store, jobs=jobs)
    assert store.has(works.number.cell(value=1))
    assert not store.has(works.broken.cell(value=3))


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_does_not_need_a_failed_cell_is_computed_all_the_same(store, jobs):
    needing = [works.needing_broken.cell(value=3, step=step) for step in (2, 1, 0)]
    wanted = [*needing, works.broken.cell(value=4), works.number.cell(value=1), works.total.cell(first=2, second=5)]
    with pytest.raises(CellError, match=r"broken (3|4): \1 cannot be computed \(and 1 more failed\)"):
        run_cells(wanted, store, jobs=jobs)
    assert store.has(works.number.cell(value=1))
    assert store.has(works.total.cell(first=2, second=5))
    assert not any(store.has(cell) for cell in needing)


def test_where_nothing_can_be_kept_nothing_more_is_computed(store, trace, monkeypatch):
    def full(self, *_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(CellError, match="number 1: .*No space left"):
        run_cells([works.number.cell(value=1), works.number.cell(value=2)], store)
    assert trace() == ["number 1"]


@pytest.mark.parametrize("how", ["test", "parts", "summary"])
def test_work_that_does_not_judge_cannot_see_the_test(store, how):
    with pytest.raises(SealedError, match="sealed"):
        store.compute(works.peeking.cell(how=how))
    assert store.compute(works.judging.cell(how=how)).table("found")["value"][0] == 2


@pytest.mark.parametrize("how", ["bench", "shelf", "prepare", "parts", "whole"])
def test_no_way_to_the_data_leads_to_test_labels(tmp_path, data_folder, how):
    store = CellStore(tmp_path / "cells", DataShelf(data_folder))
    with pytest.raises(SealedError, match="sealed"):
        store.compute(works.peeking_at_data.cell(data="coat", how=how))
    assert store.compute(works.asking_for_the_log.cell(data="coat")).table("found")["value"][0] == 6_960


def test_the_seal_is_opened_again_after_a_cell_that_failed(tmp_path, data_folder):
    store = CellStore(tmp_path / "cells", DataShelf(data_folder))
    with pytest.raises(SealedError):
        store.compute(works.peeking_at_data.cell(data="coat", how="parts"))
    assert not labels_are_sealed()


def test_tuning_does_not_see_test_labels(tmp_path, data_folder, monkeypatch):
    """The trials of a search are the same when every test rating is turned round."""
    found = []
    for name, turned in (("plain", False), ("turned", True)):
        folder = tmp_path / name / "coat"
        shutil.copytree(data_folder / "coat", folder)
        if turned:
            _turn_test_ratings(folder / "interactions.tsv.gz")
        store = CellStore(tmp_path / name / "cells", DataShelf(folder.parent))
        fixed = {"n_factors": 4, "epochs": 3}
        cell = tuned.cell(data="coat", protocol="preference", model="bpr", trials=3, fixed=fixed, start={})
        found.append(store.compute(cell).table("trials").drop("seconds"))
    assert found[0].equals(found[1])


def _turn_test_ratings(path):
    table = pl.read_csv(path, separator="\t")
    turned = pl.when(split="test").then(6 - pl.col("rating")).otherwise(pl.col("rating"))
    with gzip.open(path, "wb") as file:
        table.with_columns(rating=turned).write_csv(file, separator="\t")


def test_choices_cannot_rest_on_what_judged(store):
    run_cells([works.judging.cell(how="test")], store)
    with pytest.raises(DataError, match="looks at test labels"):
        store.compute(works.choosing_by_the_test.cell(value=1))


def test_only_declared_needs_are_found(store):
    run_cells([works.number.cell(value=1), works.number.cell(value=2)], store)
    with pytest.raises(DataError, match="not declared"):
        store.compute(works.undeclared.cell(value=1))


def test_progress_counts_expected_seconds(store):
    told = []
    run_cells([works.total.cell(first=1, second=2)], store, progress=lambda *step: told.append(step))
    assert told[0] == ("number 1", 0, 4)
    assert told[-1] == ("total 1 2", 4, 4)


def test_the_manifest_tells_what_was_run(store):
    cell = works.slow.cell(place=1)
    run_cells([cell], store)
    about = store.find(cell).about
    assert about["parameters"] == {"place": 1}
    assert about["seconds"] >= 0.4
    with pytest.raises(DataError, match="no table 'other'"):
        store.find(cell).table("other")


SCRIPT = """
import sys
from sureness_reproduction.cells import CellStore
from sureness_reproduction.running import run_cells
from sureness_reproduction.workbench import DataShelf
from reproduction.tests import works
if __name__ == "__main__":
    run_cells([works.slow.cell(place=n) for n in range(8)], CellStore(sys.argv[1], DataShelf()), jobs=int(sys.argv[2]))
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_kill_loses_at_most_the_running_cells(tmp_path, trace, jobs):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    command = [sys.executable, str(script), str(tmp_path / "cells"), str(jobs)]
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(trace()) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    store = CellStore(tmp_path / "cells", DataShelf())
    started = trace()
    assert len(started) >= 3
    done = sum(store.has(works.slow.cell(place=place)) for place in range(8))
    assert len(started) - jobs <= done < 8
    assert run_cells([works.slow.cell(place=place) for place in range(8)], store) == (8 - done, done)


def test_workers_end_with_a_killed_parent(tmp_path, trace):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("slow", "lasting"), encoding="utf-8")  # longer than we wait below
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    command = [sys.executable, str(script), str(tmp_path / "cells"), "2"]
    process = subprocess.Popen(command, env=environment)
    deadline = time.monotonic() + 60
    while len(trace()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    workers = _children_of(process.pid)
    process.kill()
    process.wait()
    assert len(workers) >= 2
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{worker}").exists() for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]


def _children_of(parent: int) -> list[int]:
    """Processes that compute for another; not the one that tracks its semaphores."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rsplit(")", 1)[1].split()
            words = (stat.parent / "cmdline").read_text(encoding="utf-8")
        except OSError:
            continue
        if int(fields[1]) == parent and "spawn_main" in words:
            found.append(int(stat.parent.name))
    return found


def test_a_full_disk_is_told_and_loses_nothing(store, monkeypatch):
    run_cells([works.number.cell(value=1)], store)

    def full(self, *_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(CellError, match="No space left"):
        run_cells([works.number.cell(value=1), works.number.cell(value=2)], store)
    monkeypatch.undo()
    assert store.has(works.number.cell(value=1))
    assert [file.name for file in store.folder.iterdir()] == [store.key(works.number.cell(value=1))]


def test_what_only_a_finished_cell_needs_is_left_out():
    wanted, other = works.total.cell(first=1, second=2), works.total.cell(first=2, second=3)
    assert [cell.label for cell in in_order([wanted, other], lambda cell: cell == wanted)] == [
        "total 1 2", "number 2", "number 3", "total 2 3",
    ]  # fmt: skip


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_finished_cell_stands_without_its_needs(store, jobs):
    wanted = works.total.cell(first=1, second=2)
    run_cells([wanted], store)
    for value in (1, 2):
        shutil.rmtree(store.find(works.number.cell(value=value)).folder)
    assert run_cells([wanted], store, jobs=jobs) == (0, 1)
    assert store.find(wanted).table("found")["value"][0] == 3
    assert run_cells([works.total.cell(first=2, second=3)], store, jobs=jobs) == (3, 0)


SOURCE = Path(sureness_reproduction.__file__).parent
READING = {"load_dataset", "prepare", "fetch_dataset"}


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda file: str(file.relative_to(SOURCE)))
def test_only_the_workbench_reads_data_sets(file):
    if file.name == "workbench.py":
        return
    tree = ast.parse(file.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    from_library = [node for node in imports if (node.module or "").split(".")[0] == "sureness"]
    assert not {alias.name for node in from_library for alias in node.names} & READING
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in READING]
