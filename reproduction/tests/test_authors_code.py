"""The study of the authors' code: its rows differ in one thing, and its numbers are counted as they say."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest

from reproduction.tests.small import SmallShelf, make_small
from sureness.distillation import distillation_method
from sureness_reproduction.cells import CellStore
from sureness_reproduction.distillation.authors_code import METHODS, settings
from sureness_reproduction.distillation.measures import MASKED, PUBLIC, at_ranks
from sureness_reproduction.distillation.training import spread_over
from sureness_reproduction.pages import run_studies
from sureness_reproduction.study import Asked, find_studies


def made(row, model="bpr"):
    """The settings with which a row is trained at full scale."""
    found = settings("full", {"model": model, "methods": [row]})
    return distillation_method(found["method"], **spread_over(found["method"], found["tried"][0]))


def differing(one, other):
    """The settings in which two differ; those of a direction count once for both."""
    first, second = asdict(one), asdict(other)
    sides = [(first.pop(side), second.pop(side)) for side in ("to_teacher", "to_student")]
    names, *directions = ({name for name in a if a[name] != b[name]} for a, b in [(first, second), *sides])
    assert directions[0] == directions[1]
    return names | directions[0]


@pytest.mark.parametrize(
    ("row", "changed"),
    [
        ("bd-public", set()),
        ("printed sign", {"ranked_higher_by"}),
        ("printed sign, uniform negatives", {"ranked_higher_by", "reuse"}),
        ("weight 0, drawn negatives", {"weight"}),
        ("weight 0, uniform negatives", {"weight", "reuse"}),
        ("weight decay kept", {"keeps_weight_decay"}),
    ],
)
def test_a_control_differs_from_the_public_code_in_one_thing(row, changed):
    assert differing(made(row), distillation_method("bd-public")) == changed


def test_only_soft_labels_tell_the_public_code_of_cdae_from_its_control():
    assert differing(made("bd-public", "cdae"), made("weight 0, uniform negatives", "cdae")) == {"weight"}
    assert settings("full", {"model": "cdae", "methods": ["printed sign, uniform negatives"]}) is None


def test_the_public_code_counts_ranks_below_fifty():
    ranks = np.array([1, 49, 50, 51])
    public, masked = ({metric: found.filter(metric=metric)["value"].mean() for metric in set(found["metric"])}
                      for found in (at_ranks(ranks + 1), at_ranks(ranks)))  # fmt: skip
    assert (public["hit@50"], masked["hit@50"], masked["hit@100"]) == (0.5, 0.75, 1.0)
    assert public["ndcg@50"] == pytest.approx((1 / np.log2(3) + 1 / np.log2(51)) / 4)
    assert masked["ndcg@50"] == pytest.approx((1 + 1 / np.log2(50) + 1 / np.log2(51)) / 4)


def test_rows_can_be_chosen_and_share_the_models_trained_alone(tmp_path, data_folder, monkeypatch):
    make_small(monkeypatch)
    store = CellStore(tmp_path / "cells", SmallShelf(data_folder))
    asked = Asked(seeds=1, model=("bpr",), method=("bd-public", "weight decay kept"))
    (results,) = run_studies(find_studies(["authors-code"]), asked, store, tmp_path)
    assert set(results.summary["method"]) == {"bd-public", "weight decay kept"}
    assert set(results.summary["counting"]) == {PUBLIC, MASKED}
    trained = Counter(folder.name.split("-")[0] for folder in store.folder.iterdir())
    assert (trained["alone"], trained["distilled"], trained["counted"]) == (2, 2, 2)


@pytest.mark.parametrize("model", METHODS)
def test_the_public_code_looks_at_no_validation_data(model):
    found = settings("full", {"model": model, "methods": ["alone"]})
    assert found["start"] == "public"
    assert {each["adam"] for tried in found["bases"].values() for each in tried} == {"dense"}
