from __future__ import annotations

import shutil

import pytest

from reproduction.tests import works
from sureness_reproduction.cells import CellStore, in_order
from sureness_reproduction.running import run_cells
from sureness_reproduction.workbench import DataShelf

WANTED = works.total.cell(first=1, second=2)


def test_what_only_a_finished_cell_needs_is_left_out():
    other = works.total.cell(first=2, second=3)
    assert [cell.label for cell in in_order([WANTED, other], lambda cell: cell == WANTED)] == [
        "total 1 2", "number 2", "number 3", "total 2 3",
    ]  # fmt: skip


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_finished_cell_stands_without_its_needs(tmp_path, jobs):
    store = CellStore(tmp_path / "cells", DataShelf(tmp_path))
    run_cells([WANTED], store)
    for value in (1, 2):
        shutil.rmtree(store.find(works.number.cell(value=value)).folder)
    assert run_cells([WANTED], store, jobs=jobs) == (0, 1)
    assert store.find(WANTED).table("found")["value"][0] == 3
    assert run_cells([works.total.cell(first=2, second=3)], store, jobs=jobs) == (3, 0)
