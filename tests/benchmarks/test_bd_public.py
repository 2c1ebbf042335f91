"""The study of the authors' code: its rows differ in one thing, and its numbers are counted as they say."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import polars as pl
import pytest

from benchmarks import bd_public_tables as tables
from benchmarks.bd_public import CONTROLS, STUDIES, compute
from sureness.distillation import distillation_method
from tests.models.worlds import simulated


def differing(one, other):
    """The settings in which two differ; those of a direction count once for both."""
    first, second = asdict(one), asdict(other)
    names = {name for name in first if first[name] != second[name] and not name.startswith("to_")}
    for side in ("to_teacher", "to_student"):
        names |= {name for name in first[side] if first[side][name] != second[side][name]}
    return names


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
    assert differing(STUDIES["bpr"].rows()[row], distillation_method("bd-public", epochs=40)) == changed


def test_only_soft_labels_tell_the_public_code_from_its_first_control():
    for model, control in tables.CONTROL.items():
        rows = STUDIES[model].rows()
        assert differing(rows["bd-public"], rows[control]) == {"weight"}


def test_every_row_has_a_place_in_the_table():
    assert set(tables.ORDER) == {"alone", *CONTROLS, *STUDIES["bpr"].extra}


def test_the_public_code_counts_ranks_below_fifty():
    ranks = np.array([1, 49, 50, 51])
    public, masked = tables.measures(ranks, "public"), tables.measures(ranks, "masked")
    assert (public["h50"], masked["h50"], masked["h100"]) == (0.5, 0.75, 1.0)
    assert public["n50"] == pytest.approx((1 / np.log2(3) + 1 / np.log2(51)) / 4)
    assert masked["n50"] == pytest.approx((1 + 1 / np.log2(50) + 1 / np.log2(51)) / 4)


@pytest.mark.parametrize("model", STUDIES)
def test_a_study_goes_from_models_to_ranks_and_computes_nothing_twice(model, tmp_path, monkeypatch, capsys):
    """On a small world, with one epoch each."""
    study = STUDIES[model]
    short = {role: {**settings, "epochs": 1} for role, settings in study.alone.items()}
    monkeypatch.setitem(STUDIES, model, replace(study, alone=short, together=1))
    split = simulated()
    for _ in range(2):
        for row in ("alone", "bd-public"):
            compute(model, row, split, 0, tmp_path)
    assert len(capsys.readouterr().out.splitlines()) == 2
    found = pl.read_parquet(tmp_path / "ranks" / f"{model}~bd-public~0.parquet")
    assert found.columns == ["user", "teacher public", "teacher masked", "student public", "student masked"]
    assert found.height == len(split.test)
    assert set(tables.results(tmp_path)["row"]) == {"alone", "bd-public"}


@pytest.fixture
def cache(tmp_path):
    """Two rows of two seeds; a third seed of one of them, which must not count in the comparison."""
    (tmp_path / "ranks").mkdir()
    for row, seeds, hits in (("bd-public", 2, 6), (tables.CONTROL["bpr"], 3, 4)):
        for seed in range(seeds):
            ranks = np.where(np.arange(10) < (hits if seed < 2 else 0), 10 + seed, 80)
            columns = {f"{role} {way}": ranks for role in ("teacher", "student") for way in tables.COUNTINGS}
            path = tmp_path / "ranks" / f"bpr~{row}~{seed}.parquet"
            pl.DataFrame({"user": np.arange(10), **columns}).write_parquet(path)
    return tmp_path


def test_results_have_one_line_per_seed_learner_and_counting(cache):
    found = tables.results(cache)
    assert found.height == 5 * 2 * 2
    assert found.filter(row="bd-public")["h50"].unique().to_list() == [0.6]


def test_rows_are_compared_over_the_seeds_that_both_have(cache):
    change, p_value = tables.contrast(cache, "bpr", "bd-public", "student")
    assert change == pytest.approx(0.5)
    assert 0.1 < p_value < 0.2


def test_the_table_shows_rows_that_are_there(cache):
    lines = tables.table(tables.results(cache), cache, "bpr")
    assert len(lines) == 2 + 2
    assert "| bd-public | 2 | 0.6000 ± 0.0000 |" in lines[2]
    assert "+50.0%" in lines[2]
