"""Numbers, contrasts, tables and merged files of a study whose numbers can be computed by hand."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal
from scipy.stats import norm, ttest_rel

from reproduction.tests.small import KNOWN, SmallShelf, doubled
from sureness.errors import DataError
from sureness_reproduction import pages
from sureness_reproduction.cells import CellError, CellStore, run_cells
from sureness_reproduction.claims import RESULTS
from sureness_reproduction.declarations import find_studies, studies
from sureness_reproduction.figures import Lines
from sureness_reproduction.pages import (
    blocks,
    claims_shown,
    merge_results,
    named,
    not_run,
    run_studies,
    with_published,
)
from sureness_reproduction.results import Results, basic_interval, merged, read_csv, resampled_difference
from sureness_reproduction.study import Asked, Claim


@pytest.fixture
def store(tmp_path):
    return CellStore(tmp_path / "cells", SmallShelf(tmp_path, absent=("yahoo-r3",)))


@pytest.fixture
def results(store):
    run_cells([cell for _, cell in KNOWN.points(Asked())], store)
    return Results(KNOWN, Asked(), store)


def test_numbers_are_means_over_users_and_the_summary_over_seeds(results):
    assert results.keys == ["data", "model", "method", "metric"]
    row = results.summary.filter(model="two", method="good").row(0, named=True)
    assert_allclose([row["value"], row["deviation"]], [8.0, 2**0.5])  # 2 * (3.5 + seed)
    assert (row["seeds"], row["low"]) == (2, None)


def test_a_claim_is_tested_over_users(results):
    table = results.contrasts
    assert table.height == 6
    row = table.filter(claim="good beats bad", model="one").row(0, named=True)
    good, bad = [user + 0.5 for user in range(8)], [0.1 * user for user in range(8)]
    assert_allclose([row["p"], row["difference"]], [ttest_rel(good, bad).pvalue, 4.0 - 0.35])
    assert row["low"] < row["difference"] < row["high"]
    assert row["p_holm"] >= row["p"]
    decided = {"good beats bad": "yes", "bad beats good": "no", "good is above 4": "open"}
    assert dict(table.filter(model="one").select("claim", "holds").iter_rows()) == decided
    assert set(claims_shown(table, decided=True)["holds"]) == {"yes", "no", "open"}
    assert set(claims_shown(table, decided=False)["holds"]) == {"quick"}


@pytest.mark.parametrize(
    ("sign", "fewer", "best"), [("+", False, "good"), ("-", False, "bad"), ("+", True, "bad")], ids=str
)
def test_of_several_rows_the_best_is_taken_but_not_one_with_fewer_seeds(results, sign, fewer, best):
    either = Claim("x", "worth", {"method": ("bad", "good")}, 1.0, sign)
    some = replace(results, study=replace(KNOWN, claims=(either,)))
    if fewer:
        some.__dict__["numbers"] = results.numbers.filter((pl.col("method") == "bad") | (pl.col("seed") == 0))
    assert set(some.contrasts["first"]) == {best}


def test_seeds_are_the_units_of_a_study_without_samples(results):
    bare = replace(results)
    bare.__dict__.update({"numbers": results.numbers, "samples": pl.DataFrame()})
    row = bare.contrasts.filter(claim="good beats bad", model="one").row(0, named=True)
    assert_allclose(row["p"], ttest_rel([3.5, 4.5], [0.35, 0.35]).pvalue)


@pytest.mark.parametrize("samples", ["users", "draws"])
def test_rows_without_a_common_seed_are_not_compared(results, samples):
    apart = replace(results, study=replace(KNOWN, samples=samples))
    seed = pl.when(method="good").then(0).otherwise(1)
    tables = {name: getattr(results, name).filter(pl.col("seed") == seed) for name in ("samples", "numbers")}
    apart.__dict__.update(tables)
    assert set(apart.contrasts["claim"]) == {"good is above 4"}


def test_draws_keep_users_paired(results):
    """A difference that is the same in every draw is certain, however much both sides vary from draw to draw."""
    drawn = replace(results, study=replace(KNOWN, samples="draws"))
    shift = pl.when(method="good").then(pl.col("value") + 0.01).otherwise(pl.col("value"))
    bad = results.samples.filter(method="bad")
    both = pl.concat([bad, bad.with_columns(method=pl.lit("good"))]).with_columns(value=shift)
    means = both.group_by("data", "model", "seed", "method", "metric", maintain_order=True).agg(pl.col("value").mean())
    drawn.__dict__.update({"samples": both, "numbers": means})
    row = drawn.contrasts.filter(claim="good beats bad", model="one").row(0, named=True)
    assert_allclose([row["low"], row["difference"], row["high"], row["p"]], [0.01, 0.01, 0.01, 0.0], atol=1e-12)


def test_published_numbers_stand_beside_ours(results, monkeypatch):
    theirs = [("simulator", "one", "good", 3.9), ("simulator", "one", "else", 1.0), ("yahoo-r3", "one", "good", 2.0)]
    frame = pl.DataFrame(theirs, schema=["data", "model", "method", "value"], orient="row")
    monkeypatch.setattr(pages, "published", lambda name: frame)
    study = replace(KNOWN, published="known")
    assert "yahoo-r3" not in with_published(study, results.summary)["data"].to_list()  # which was not run
    ((_, table),) = blocks(study, results.summary)
    assert table.rows() == [
        ("good", "4.0000 ± 0.7071 / 3.9000 (+0.1000)", "8.0000 ± 1.4142 / –"),
        ("bad", "0.3500 ± 0.0000 / –", "0.7000 ± 0.0000 / –"), ("else", "– / 1.0000", "–"),
    ]  # fmt: skip


def test_what_was_not_run_is_named_with_its_command(results):
    (line, _) = not_run(KNOWN, results.summary.filter(model="one"))
    assert line.startswith("Not run: the simulator (two); Yahoo!R3 (one, two). ")
    assert "`sureness reproduce known --full --data simulator --data yahoo-r3 --model two --model one`" in line
    everywhere = pl.concat([results.summary, results.summary.with_columns(data=pl.lit("yahoo-r3"))])
    assert not not_run(KNOWN, everywhere)


def test_a_file_may_hold_more_than_is_shown(results):
    more = pl.concat([results.summary, results.summary.with_columns(metric=pl.lit("other"))])
    assert len(blocks(KNOWN, more)) == 2
    assert [title for title, _ in blocks(replace(KNOWN, metrics=("worth",)), more)] == ["the simulator, worth"]


def test_a_page_has_everything_and_tells_what_is_missing(store, tmp_path):
    (found,) = run_studies([KNOWN], Asked("full"), store, tmp_path / "out")
    text = (tmp_path / "out" / "known.md").read_text(encoding="utf-8")
    for part in (
        "# Known numbers (table 9.1)", "How to read it.", "| good | 4.5000 ± 1.0000", "good beats bad",
        "`sureness reproduce known --full`", "Not in the data folder: yahoo-r3. Get it: `sureness data fetch yahoo-r3`",
    ):  # fmt: skip
        assert part in text
    for _, cell in found.points[:2]:
        (store.find(cell).folder / "cell.json").unlink()
    assert len(Results(KNOWN, Asked("full"), store).finished) == 4
    written = read_csv(tmp_path / "out" / "known.csv")
    assert written.equals(found.summary.with_columns(pl.col("seeds").cast(pl.Int64)))


def test_a_failing_study_leaves_the_pages_of_the_others(store, tmp_path):
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
    store = CellStore(tmp_path / "cells", SmallShelf(tmp_path, absent=("simulator",)))
    with pytest.raises(DataError, match="simulator not found; set SURENESS_DATA"):
        run_studies([KNOWN], Asked(), store, tmp_path / "out")


def test_data_that_are_not_there_are_named_with_the_command_that_gets_them(store, tmp_path):
    with pytest.raises(DataError, match="yahoo-r3 not found; .* Get it: `sureness data fetch yahoo-r3`"):
        run_studies([KNOWN], Asked("full", data=("yahoo-r3",)), store, tmp_path / "out")


def test_axes_are_replaced_and_methods_added():
    asked = Asked("full", seeds=1, data=("yahoo-r3", "coat"), model=("two",), method=("math:floor",))
    points = [point for point, _ in KNOWN.points(asked)]
    assert {(point["data"], point["model"]) for point in points} == {("yahoo-r3", "two")}
    assert [point["methods"] for point in points] == [["good", "bad"], ["math:floor"]]
    assert doubled.cell(data="a", model="b", methods=[], seed=0, on=True).label == "doubled a b 0"


@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.csv")), ids=lambda file: file.stem)
def test_committed_results_can_be_shown_and_merged(file):
    (study,) = find_studies([file.stem.removesuffix(".claims")])
    table = read_csv(file)
    assert merged(table, pl.DataFrame()).equals(table)
    corrected = ["p_holm"] if "p_holm" in table.columns else []  # of p-values that were rounded in the first files
    again = merged(table, table).select(table.columns)
    assert_frame_equal(again.drop(corrected), table.drop(corrected), check_row_order=False)
    if file.stem.endswith(".claims"):
        assert set(claims_shown(table, decided=True)["holds"]) <= {"yes", "no", "open"}
    else:
        assert {*study.rows, *study.columns} <= set(table.columns)
        assert all(frame.height for _, frame in blocks(study, table))


def test_partial_runs_add_up(store, tmp_path):
    kept = tmp_path / "kept"
    for asked in (Asked("full", model=("one",)), Asked("full", seeds=2, model=("two",))):
        (part,) = run_studies([KNOWN], asked, store, tmp_path / "out")
        merge_results(part, tmp_path / "out", kept)
    (whole,) = run_studies([KNOWN], Asked("full", seeds=2), store, tmp_path / "out")
    summary, contrasts = read_csv(kept / "known.csv"), read_csv(kept / "known.claims.csv")
    assert summary.select(whole.keys).equals(whole.summary.select(whole.keys), null_equal=True)
    assert summary["seeds"].to_list() == [3, 3, 2, 2]
    assert "(2 of 3 seeds)" in blocks(KNOWN, summary)[0][1]["two"][0]
    two = contrasts.filter(model="two").sort("claim")
    assert two["p"].to_list() == whole.contrasts.filter(model="two").sort("claim")["p"].to_list()
    alone = part.contrasts.sort("claim")["p_holm"]
    assert (two["p_holm"] > alone).any()  # corrected for twice as many
    assert contrasts.height == 6


def test_what_has_no_p_value_keeps_its_verdict_when_others_are_merged():
    row = {"model": "bpr", "claim": "x", "metric": "f1", "difference": 0.1, "p": None, "sign": "+", "holds": "yes"}
    old = pl.DataFrame([row, row | {"model": "cml", "p": 0.03, "p_holm": 0.03}])  # of a file that counts no seeds
    new = pl.DataFrame([row | {"model": "als", "p": 0.04, "seeds": 3, "data": "coat"}])
    table = merged(old, new)
    assert table.select("model", "p_holm", "holds").rows() == [
        ("bpr", None, "yes"), ("cml", 0.06, "open"), ("als", 0.06, "open")
    ]  # fmt: skip


def test_a_figure_of_means_has_a_panel_for_each_remaining_key_and_a_line_for_each_value(results):
    """Drawn from a summary alone, so committed rows are enough."""
    lines = Lines("method", "model")
    summary = results.summary.filter(metric="worth")
    figure = lines.of(results.study, summary)
    assert len(figure.axes) == 1
    drawn = {line.get_label(): line.get_ydata().tolist() for line in figure.axes[0].get_lines()}
    for model in summary["model"].unique():
        assert drawn[named(model)] == summary.filter(model=model)["value"].to_list()
    bars = Lines("model", "method", bars=True).of(results.study, results.summary)
    assert len(bars.axes) == results.summary["metric"].n_unique()
    assert len(bars.axes[0].patches) == summary.height


def test_every_figure_is_drawn_but_for_case_studies():
    """Figures 2.6 and 4.6 show single users: their tables list what the figures show."""
    told = [each for each in studies() if "figure" in each.number and each.draw is None]
    assert {number for each in told for number in each.tables_and_figures} == {"figure-2.6", "figure-4.6"}


def test_resampled_differences_are_reflected_at_the_value():
    draws = np.random.default_rng(0).normal(0.3, 0.1, size=5_000)  # too large by 0.1
    found = resampled_difference(0.2, draws)
    assert_allclose([found.low, found.high], [0.1 - 0.196, 0.1 + 0.196], atol=0.02)
    assert found.p_value == pytest.approx(norm.sf(1) * 2, rel=0.1)
    sure = resampled_difference(0.1, np.full(500, 0.1))
    assert (sure.low, sure.high, sure.p_value) == (pytest.approx(0.1), pytest.approx(0.1), 0.0)


def test_basic_intervals_are_reflected_and_stay_above_zero():
    resampled = np.linspace(0.1, 0.3, 201)
    found = basic_interval(0.25, resampled)
    assert_allclose([found.low, found.high], [0.205, 0.395])
    assert basic_interval(0.05, resampled).low == 0.0
