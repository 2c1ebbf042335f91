import ast
import gzip
import os
import shutil
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
from sureness_reproduction.cells import CellError, CellStore, in_order, run_cells
from sureness_reproduction.workbench import DataShelf, SealedError, load_dataset

ROOT = Path(__file__).parents[2]
NUMBERS = [works.number.cell(value=value) for value in range(4)]
TOTAL, OTHER = works.total.cell(first=1, second=2), works.total.cell(first=2, second=3)


@pytest.fixture
def store(tmp_path):
    return CellStore(tmp_path / "cells", DataShelf(tmp_path))


@pytest.fixture
def coat(tmp_path, data_folder):
    return CellStore(tmp_path / "cells", DataShelf(data_folder))


@pytest.fixture
def trace(tmp_path, monkeypatch):
    file = tmp_path / "trace"
    monkeypatch.setenv("SURENESS_TRACE", str(file))
    return lambda: file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def test_needs_come_first_and_each_once_but_not_those_of_finished_cells():
    assert in_order([TOTAL, OTHER]) == [NUMBERS[1], NUMBERS[2], TOTAL, NUMBERS[3], OTHER]
    assert in_order([TOTAL, OTHER], lambda cell: cell == TOTAL) == [TOTAL, NUMBERS[2], NUMBERS[3], OTHER]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_finished_is_not_computed_again(store, trace, jobs):
    assert run_cells([TOTAL, OTHER], store, jobs) == (5, 0)
    assert sorted(trace()) == ["number 1", "number 2", "number 3", "total 1 2", "total 2 3"]
    assert [store.find(cell).table("found")["value"][0] for cell in (TOTAL, OTHER)] == [3, 5]
    shutil.rmtree(store.find(NUMBERS[1]).folder)  # a finished cell stands without its needs
    assert run_cells([TOTAL, OTHER], store, jobs) == (0, 2)
    assert run_cells([works.total.cell(first=2, second=1)], store, jobs) == (2, 1)


def test_a_cell_is_known_by_all_that_goes_into_it(tmp_path, monkeypatch):
    def key(cell, content=""):
        shelf = DataShelf(tmp_path)
        shelf.fingerprint = lambda data: content if data else ""
        return CellStore(tmp_path, shelf).key(cell)

    file = tmp_path / "mine.py"
    file.write_text("class Mine: pass\n", encoding="utf-8")
    own, named = works.number.cell(value=1, model=f"{file}:Mine"), works.number.cell(value=1, data="coat")
    keys = [key(TOTAL), key(works.total.cell(first=2, second=1)), key(own), key(named), key(named, "another")]
    monkeypatch.setattr(works, "number", works.work(version=2)(works.number.function))
    file.write_text("class Mine: a = 1\n", encoding="utf-8")
    assert len({*keys, key(TOTAL), key(own)}) == 7  # a need has another version, and a file of the user changed
    assert works.number.cell(value=1, other=2) == works.number.cell(other=2, value=1)


def test_a_damaged_cell_is_computed_again(store, trace):
    cell = works.slow.cell(place=7)
    run_cells([cell], store)
    assert store.find(cell).about["parameters"] == {"place": 7}
    assert store.find(cell).about["seconds"] >= 0.4
    for damage in (lambda file: file.write_bytes(file.read_bytes()[:-5]), Path.unlink):
        damage(store.find(cell).folder / "note.txt")
        with pytest.warns(SurenessWarning, match="slow 7 is computed again"):
            assert run_cells([cell], store) == (1, 0)
    assert store.find(cell).table("found")["value"][0] == 7
    assert trace() == ["slow 7"] * 3
    with pytest.raises(DataError, match="no table 'other'"):
        store.find(cell).table("other")


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_does_not_need_a_failed_cell_is_computed_all_the_same(store, jobs):
    needing = [works.needing_broken.cell(value=3, step=step) for step in (2, 1, 0)]
    with pytest.raises(CellError, match=r"broken (3|4): \1 cannot be computed \(and 1 more failed\)"):
        run_cells([*needing, works.broken.cell(value=4), TOTAL], store, jobs)
    assert store.has(TOTAL)
    assert not any(store.has(cell) for cell in needing)


def test_a_full_disk_is_told_at_once_and_loses_nothing(store, trace, monkeypatch):
    def full(self, *_, **__):
        raise OSError(28, "No space left on device")

    run_cells(NUMBERS[:1], store)
    with monkeypatch.context() as patch:
        patch.setattr(pl.DataFrame, "write_parquet", full)
        with pytest.raises(CellError, match="number 1: .*No space left"):
            run_cells(NUMBERS, store)
    assert trace() == ["number 0", "number 1"]
    assert [file.name for file in store.folder.iterdir()] == [store.key(NUMBERS[0])]


@pytest.mark.parametrize("how", ["test", "all parts", "summary", "shelf", "prepare", "parts", "whole"])
def test_no_way_to_the_data_leads_to_test_labels(coat, how):
    with pytest.raises(SealedError, match="sealed"):
        coat.compute(works.peeking.cell(data="coat", how=how))
    assert load_dataset("coat", coat.shelf.place("coat"))  # the seal is opened again


def test_training_ratings_and_for_a_judge_test_labels_are_seen(coat):
    cells = works.peeking.cell(data="coat", how="log"), works.judging.cell(data="coat")
    log, labels = (coat.compute(cell).table("found")["value"][0] for cell in cells)
    assert (log, labels > 0) == (6_960, True)
    with pytest.raises(DataError, match="looks at test labels"):
        coat.compute(works.choosing_by_the_test.cell(data="coat"))


def test_tuning_does_not_see_test_labels(tmp_path, data_folder):
    """The trials of a search are the same when every test rating is turned round."""
    recipe, found = {"trials": 3, "fixed": {"n_factors": 4, "epochs": 3}, "start": {}}, []
    for name, turned in (("plain", pl.col("rating")), ("turned", 6 - pl.col("rating"))):
        shutil.copytree(data_folder / "coat", tmp_path / name / "coat")
        path = tmp_path / name / "coat" / "interactions.tsv.gz"
        table = pl.read_csv(path, separator="\t")
        table = table.with_columns(rating=pl.when(split="test").then(turned).otherwise(pl.col("rating")))
        path.write_bytes(gzip.compress(table.write_csv(separator="\t").encode()))
        cell = tuned.cell(data="coat", protocol="preference", model="bpr", **recipe)
        store = CellStore(tmp_path / name / "cells", DataShelf(tmp_path / name))
        found.append(store.compute(cell).table("trials").drop("seconds"))
    assert found[0].equals(found[1])


def test_only_declared_needs_are_found(store):
    run_cells(NUMBERS, store)
    with pytest.raises(DataError, match="not declared"):
        store.compute(works.undeclared.cell(value=1))


def test_progress_counts_expected_seconds(store):
    told = []
    run_cells([TOTAL], store, progress=lambda *step: told.append(step))
    assert (told[0], told[-1]) == (("number 1", 0, 4), ("total 1 2", 4, 4))


SCRIPT = """
import sys
from pathlib import Path
from sureness_reproduction.cells import CellStore, run_cells
from sureness_reproduction.workbench import DataShelf
from reproduction.tests import works
if __name__ == "__main__":
    run_cells(works.SLOW, CellStore(Path(sys.argv[1]), DataShelf()), int(sys.argv[2]))
"""


def within(seconds, happened):
    deadline = time.monotonic() + seconds
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.02)
    return happened()


def is_worker(stat, parent):
    """Whether a process computes for another; the one that tracks its semaphores does not."""
    try:
        fields = stat.read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return int(fields[1]) == parent and "spawn_main" in (stat.parent / "cmdline").read_text(encoding="utf-8")
    except OSError:
        return False


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_kill_loses_at_most_the_running_cells_and_leaves_no_worker(tmp_path, trace, jobs, store):
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    process = subprocess.Popen([sys.executable, tmp_path / "script.py", store.folder, str(jobs)], env=environment)
    assert within(60, lambda: len(trace()) >= 3)
    workers = [stat.parent for stat in Path("/proc").glob("[0-9]*/stat") if is_worker(stat, process.pid)]
    process.kill()
    process.wait()
    assert len(workers) == (jobs if jobs > 1 else 0)
    assert within(10, lambda: not any(map(Path.exists, workers)))  # otherwise they would wait for ever
    done = sum(map(store.has, works.SLOW))
    assert len(trace()) - jobs <= done < 8
    for partial in store.folder.glob(".*.partial"):
        os.utime(partial, (0, 0))  # left for longer than a day
    assert run_cells(works.SLOW, store) == (8 - done, done)
    assert sorted(file.name for file in store.folder.iterdir()) == sorted(map(store.key, works.SLOW))


def test_only_the_workbench_reads_data_sets():
    reading, source = {"load_dataset", "prepare", "fetch_dataset"}, Path(sureness_reproduction.__file__).parent
    for file in {*source.rglob("*.py")} - {source / "workbench.py"}:
        nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
        library = [node for node in imports if node.module.split(".")[0] == "sureness"]
        assert not {alias.name for node in library for alias in node.names} & reading, file
        assert not [node for node in nodes if isinstance(node, ast.Attribute) and node.attr in reading], file
