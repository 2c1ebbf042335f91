"""Numbers, contrasts and tables of a study whose numbers can be computed by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ttest_rel

from reproduction.tests.small import KNOWN, SmallShelf, doubled
from sureness.errors import DataError
from sureness_reproduction import pages
from sureness_reproduction.cells import CellStore
from sureness_reproduction.pages import blocks, claims_shown, markdown, run_studies, with_published
from sureness_reproduction.results import Difference, Results, drawn, holm, paired, read_csv, verdict
from sureness_reproduction.running import CellError, run_cells
from sureness_reproduction.study import Asked, Claim, find_studies


@pytest.fixture
def store(tmp_path):
    return CellStore(tmp_path / "cells", SmallShelf(tmp_path, absent=["yahoo-r3"]))


@pytest.fixture
def results(store):
    found = Results(KNOWN, Asked(), store)
    run_cells([cell for _, cell in found.points], store)
    return Results(KNOWN, Asked(), store)


def test_numbers_are_means_over_users_and_the_summary_over_seeds(results):
    assert results.keys == ["data", "model", "method", "metric"]
    row = results.summary.filter(model="two", method="good").row(0, named=True)
    assert_allclose([row["value"], row["deviation"]], [8.0, 2**0.5])  # 2 * (3.5 + seed)
    assert row["seeds"] == 2
    assert row["low"] is None


def test_a_claim_is_tested_over_users(results):
    table = results.contrasts
    assert table.height == 6
    row = table.filter(claim="good beats bad", model="one").row(0, named=True)
    good, bad = [user + 0.5 for user in range(8)], [0.1 * user for user in range(8)]
    assert_allclose(row["p"], ttest_rel(good, bad).pvalue)
    assert_allclose(row["difference"], 4.0 - 0.35)
    assert row["low"] < row["difference"] < row["high"]
    assert row["p_holm"] >= row["p"]
    assert dict(table.filter(model="one").select("claim", "holds").iter_rows()) == {
        "good beats bad": "yes", "bad beats good": "no", "good is above 4": "open",
    }  # fmt: skip


def test_one_seed_decides_nothing(results, store):
    one = Results(KNOWN, Asked(seeds=1), store).contrasts.filter(claim="good beats bad")
    assert one["p_holm"].max() < 0.05
    assert set(one["holds"]) == {"open"}


def test_nothing_is_decided_at_quick_scale(results):
    table = results.contrasts
    assert set(claims_shown(table, decided=False)["holds"]) == {"quick"}
    assert "yes" in set(claims_shown(table, decided=True)["holds"])


def test_of_several_rows_the_best_is_taken_but_not_one_with_fewer_seeds(results):
    either = Claim("x", "worth", {"method": ("bad", "good")}, 0.0)
    best = replace(results, study=replace(KNOWN, claims=(either,))).contrasts
    assert set(best["first"]) == {"good"}
    fewer = results.numbers.filter((pl.col("method") == "bad") | (pl.col("seed") == 0))
    some = replace(results, study=replace(KNOWN, claims=(either,)))
    some.__dict__["numbers"] = fewer
    assert set(some.contrasts["first"]) == {"bad"}


def test_the_lower_is_best_where_lower_is_claimed(results):
    lower = Claim("x", "worth", {"method": ("bad", "good")}, 1.0, "-")
    assert set(replace(results, study=replace(KNOWN, claims=(lower,))).contrasts["first"]) == {"bad"}


def test_seeds_are_the_units_of_a_study_without_samples(results):
    bare = replace(results)
    bare.__dict__.update({"numbers": results.numbers, "samples": pl.DataFrame()})
    row = bare.contrasts.filter(claim="good beats bad", model="one").row(0, named=True)
    assert_allclose(row["p"], ttest_rel([3.5, 4.5], [0.35, 0.35]).pvalue)


def test_draws_keep_users_paired():
    rng = pl.Series([0.1, 0.5, 0.3, 0.2, 0.4])
    first = pl.DataFrame({"unit": range(5), "seed": 0, "value": rng})
    assert drawn(-0.01, first.with_columns(pl.col("value") - 0.01), first) == Difference(
        pytest.approx(-0.01), pytest.approx(-0.01), pytest.approx(-0.01), 0.0
    )
    assert paired(first, first).p == 1.0


def test_many_clear_contrasts_of_draws_stay_clear_after_the_correction():
    rng = np.random.default_rng(0)
    low = pl.DataFrame({"unit": range(500), "seed": 0, "value": 0.1 + rng.normal(0, 0.001, 500)})
    high = low.with_columns(pl.col("value") + 0.05 + pl.Series(rng.normal(0, 0.002, 500)))
    clear, noise = drawn(-0.05, low, high), drawn(0.001, low, low.with_columns(value=rng.normal(0.1, 0.02, 500)))
    assert clear.high < 0
    assert holm([clear.p] * 200)[0] < 1e-6
    assert noise.p > 0.5


def test_p_values_are_corrected_for_their_number():
    assert holm([0.04, 0.01]) == [0.04, 0.02]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert verdict(0.1, None, "+", 2) == "open"
    assert verdict(-0.1, 0.01, "-", 2) == "yes"


def test_published_numbers_stand_beside_ours(results, monkeypatch):
    theirs = pl.DataFrame({
        "data": ["simulator", "simulator", "yahoo-r3"], "model": ["one"] * 3, "method": ["good", "else", "good"],
        "value": [3.9, 1.0, 2.0],
    })  # fmt: skip
    monkeypatch.setattr(pages, "published", lambda name: theirs)
    study = replace(KNOWN, published="known")
    joined = with_published(study, results.summary)
    assert "yahoo-r3" not in joined["data"].to_list()  # which was not run
    (block,) = blocks(study, results.summary)
    rows = {row["method"]: row for row in block.frame.to_dicts()}
    assert rows["good"]["one"] == "4.0000 ± 0.7071 / 3.9000"
    assert rows["good"]["two"] == "8.0000 ± 1.4142 / –"
    assert rows["else"]["one"] == "– / 1.0000"


def test_a_file_may_hold_more_than_is_shown(results):
    more = pl.concat([results.summary, results.summary.with_columns(metric=pl.lit("other"))])
    assert len(blocks(KNOWN, more)) == 2
    assert [block.title for block in blocks(replace(KNOWN, metrics=("worth",)), more)] == ["the simulator, worth"]


def test_seeds_that_are_missing_are_counted(results):
    summary = results.summary.with_columns(seeds=pl.when(method="good").then(1).otherwise(2))
    (block,) = blocks(KNOWN, summary)
    assert "(1 of 2 seeds)" in block.frame.filter(method="good")["one"].item()


def test_a_page_has_everything_and_tells_what_is_missing(store, tmp_path):
    (page,) = run_studies([KNOWN], Asked("full"), store, tmp_path / "out")
    text = (tmp_path / "out" / "known.md").read_text(encoding="utf-8")
    for part in (
        "# Known numbers (table 9.1)", "How to read it.", "| good | 4.5000 ± 1.0000", "good beats bad",
        "`sureness reproduce known --full`", "Not in the data folder: yahoo-r3.",
    ):  # fmt: skip
        assert part in text
    assert (tmp_path / "out" / "known.claims.csv").exists()
    for _, cell in page.results.points[:2]:
        (store.find(cell).folder / "cell.json").unlink()
    assert len(Results(KNOWN, Asked("full"), store).finished) == 4


def test_a_failing_study_leaves_the_pages_of_the_others(store, tmp_path, monkeypatch):
    broken = replace(KNOWN, name="broken", settings=lambda scale, point: {"wrong": 1})
    with pytest.raises(CellError, match="wrong"):
        run_studies([KNOWN, broken], Asked(), store, tmp_path / "out")
    assert (tmp_path / "out" / "known.md").exists()
    assert "4 of 4 cells are missing" in (tmp_path / "out" / "broken.md").read_text(encoding="utf-8")


def test_an_interrupted_run_leaves_what_is_finished(store, tmp_path):
    def interrupting(step, done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_studies([KNOWN], Asked(), store, tmp_path / "out", progress=interrupting)
    assert "3 of 4 cells are missing" in (tmp_path / "out" / "known.md").read_text(encoding="utf-8")


def test_without_data_nothing_is_run(tmp_path):
    store = CellStore(tmp_path / "cells", SmallShelf(tmp_path, absent=["simulator"]))
    with pytest.raises(DataError, match="simulator not found; set SURENESS_DATA"):
        run_studies([KNOWN], Asked(), store, tmp_path / "out")


def test_axes_are_replaced_and_methods_added():
    asked = Asked("full", seeds=1, data=("yahoo-r3", "coat"), model=("two",), method=("math:floor",))
    points = [point for point, _ in KNOWN.points(asked)]
    assert {point["data"] for point in points} == {"yahoo-r3"}
    assert {point["model"] for point in points} == {"two"}
    assert [point["methods"] for point in points] == [["good", "bad"], ["math:floor"]]
    assert doubled.cell(data="a", model="b", methods=[], seed=0).label == "doubled a b 0"


def test_markdown_survives_bars():
    assert markdown(pl.DataFrame({"a": ["x|y"]}))[-1] == "| x/y |"


RESULTS = Path(__file__).parents[1] / "results"


@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.csv")), ids=lambda file: file.stem)
def test_committed_results_can_be_shown(file):
    (study,) = find_studies([file.stem.removesuffix(".claims")])
    table = read_csv(file)
    if file.stem.endswith(".claims"):
        assert set(claims_shown(table, decided=True)["holds"]) <= {"yes", "no", "open"}
    else:
        assert {*study.rows, *study.columns} <= set(table.columns)
        assert all(block.frame.height for block in blocks(study, table))


def test_what_a_run_writes_is_read_back(results, tmp_path):
    results.summary.write_csv(tmp_path / "known.csv")
    assert read_csv(tmp_path / "known.csv").equals(results.summary.with_columns(pl.col("seeds").cast(pl.Int64)))
