"""The command that compares base models chooses on validation and runs nothing twice."""

from __future__ import annotations

import pytest

from benchmarks import base_models
from benchmarks.base_models import Case, Store, runs_of, table
from tests.models.worlds import simulated

QUICK = {"epochs": 1, "validate_every": 1}


@pytest.fixture
def small(monkeypatch):
    case = Case("a log", "bpr", 4, "ndcg@50", ({"learning_rate": 1e-9}, {"learning_rate": 0.05}), QUICK)
    monkeypatch.setattr(base_models, "CASES", {"small": case})
    monkeypatch.setattr(base_models, "split_of", lambda name: simulated())


def test_all_settings_are_tried_with_the_first_seed_and_the_best_with_all(small, tmp_path):
    store = Store(tmp_path / "runs.csv")
    found = list(runs_of("small", [0, 1, 2], store))
    assert len(store.rows) == 4  # two settings, then two more seeds of the better one
    assert len({row["settings"] for row in found}) == 1
    first = [row for row in store.rows if row["seed"] == 0]
    assert max(first, key=lambda row: row["validation"])["settings"] == found[0]["settings"]
    assert table(store).select("case", "seeds").rows() == [("small", 3)]


def test_finished_runs_are_read_from_the_file(small, tmp_path, monkeypatch):
    first = list(runs_of("small", [0, 1], Store(tmp_path / "runs.csv")))
    monkeypatch.setattr(base_models, "make_recommender", None)  # a call would fail
    assert list(runs_of("small", [0, 1], Store(tmp_path / "runs.csv"))) == first
