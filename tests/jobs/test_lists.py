"""The map for lists in the jobs: fitted to tables and runs, and applied in the order of the rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness import jobs
from sureness.errors import ColumnError, DataError, EmptyError, SettingError
from sureness.jobs import applying, blocks
from sureness.jobs.applying import ApplyOptions, apply
from sureness.jobs.fitting import FitOptions, fit
from sureness.recommender.run import Run
from sureness.tables.columns import Columns

LISTS = FitOptions(method="lists")
KNOWN = FitOptions(method="lists", segments=("market",), numeric_segments=("price",))


def drawn(n_groups: int = 300, n_candidates: int = 20, seed: int = 0) -> pl.DataFrame:
    """Candidates of groups in an order of their own; each group has a scale of its own."""
    rng = np.random.default_rng(seed)
    groups, n = np.repeat(np.arange(n_groups), n_candidates), n_groups * n_candidates
    place = rng.normal(size=n)
    table = pl.DataFrame({
        "user_id": groups, "item_id": np.tile(np.arange(n_candidates), n_groups),
        "score": place * (1 + groups % 3), "label": (rng.random(n) < 1 / (1 + np.exp(2 - 2 * place))).astype(int),
        "history": groups % 9, "market": pl.Series(["north", "south", None]).gather(rng.integers(0, 3, n)),
        "price": rng.random(n).round(3),
    })  # fmt: skip
    return table.sample(fraction=1.0, shuffle=True, seed=seed)


def expected(fitted: sn.ListCalibrator, table: pl.DataFrame) -> np.ndarray:
    known = fitted.reads()
    return fitted.probability(
        table["score"], groups=table["user_id"], history=table["history"] if "history" in known else None,
        traits=table.select("market", "price") if "price" in known else None,
    )  # fmt: skip


@pytest.fixture(scope="module")
def fitted() -> sn.ListCalibrator:
    return fit(drawn(), KNOWN).calibrator


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    world = sn.simulate(sn.SimulatorSettings(n_users=150, n_items=60, preference_rate=0.3, seed=3))
    log = sn.Interactions.from_matrix((world.train + world.held_out).tocsr())
    split = sn.by_ratio(log, (0.6, 0.2, 0.2), seed=0)
    path = tmp_path_factory.mktemp("run") / "run.sureness"
    Run(sn.svd_source(split.train, n_factors=4), **split.parts, about={"protocol": "ratio"}).save(path)
    return path, split


# --- fit -------------------------------------------------------------------------------------------------------------


def test_a_table_is_fitted_with_the_history_and_traits_it_has(tmp_path):
    table = drawn()
    found = fit(table, KNOWN, output=tmp_path / "lists.json")
    assert found.calibrator.reads() == ("score", "user_id", "history", "price", "market")
    assert found.plain()["n_groups"] == found.n_groups == 300
    assert found.plain()["n_positive"] == found.n_positive == table["label"].sum()
    assert found.plain()["pairs"] == 6_000
    assert_allclose(expected(sn.load(tmp_path / "lists.json"), table), expected(found.calibrator, table))
    known = {"history": table["history"], "traits": table.select("market", "price")}
    direct = sn.ListCalibrator().fit(table["score"], table["label"], groups=table["user_id"], **known)
    assert_allclose(expected(found.calibrator, table), expected(direct, table), rtol=1e-6)


def test_a_table_without_them_is_also_judged_on_other_groups():
    found = fit(drawn().drop("history"), LISTS)
    assert found.calibrator.reads() == ("score", "user_id")
    assert found.out_of_fold["ece"].value < 0.03
    platt = fit(drawn(), FitOptions(method="platt"))
    assert found.out_of_fold["nll"].value < platt.out_of_fold["nll"].value  # which knows nothing of the scales
    assert platt.n_groups is None
    assert "n_groups" not in platt.plain()


def test_numbers_of_a_text_file_are_read_as_numbers(tmp_path):
    drawn().write_csv(tmp_path / "pairs.csv")
    found = fit(tmp_path / "pairs.csv", KNOWN).calibrator
    assert found.numeric_ == ("price",)
    assert_allclose(expected(found, drawn()), expected(fit(drawn(), KNOWN).calibrator, drawn()))


def test_a_category_may_be_written_as_a_number(tmp_path):
    table = drawn().with_columns(market=pl.col("user_id") % 3)
    found = fit(table, KNOWN).calibrator
    assert found.named_ == ("market",)
    table.write_csv(tmp_path / "pairs.csv")
    given = apply(found, table).frame["probability"]
    assert_allclose(apply(found, tmp_path / "pairs.csv").frame["probability"], given)


def test_any_column_may_hold_the_groups():
    table = drawn()
    found = fit(table.rename({"user_id": "query"}), LISTS, columns=Columns(user_id="query")).calibrator
    given = apply(found, table.rename({"user_id": "query"}), columns=Columns(user_id="query")).frame
    assert_allclose(given["probability"], expected(found, table))


def test_a_run_is_fitted_as_in_python(run, tmp_path):
    path, split = run
    found = fit(path, LISTS, output=tmp_path / "lists.json")
    direct = sn.ListCalibrator().fit_source(sn.load(path).source, split.validation, seen=split.train)
    assert found.n_groups == direct.n_groups_ == 150
    assert_allclose(found.calibrator.score_terms_.intercept, direct.score_terms_.intercept)


@pytest.mark.parametrize(
    ("options", "columns", "word"),
    [
        ({"top_n": 5}, {}, "top_n"),
        ({}, {"segment": "market"}, "market"),
        ({"popularity_propensity": True}, {}, "popularity_propensity"),
    ],
)
def test_what_has_no_meaning_for_lists_is_refused(options, columns, word):
    with pytest.raises(SettingError, match=word):
        fit(drawn(), FitOptions(method="lists", **options), columns=Columns(**columns))


def test_traits_belong_to_a_table(run):
    with pytest.raises(SettingError, match="segments has no meaning for lists of a run"):
        fit(run[0], KNOWN)


@pytest.mark.parametrize("name", ["user_id", "score", "label", "market"])
def test_a_missing_column_is_refused(name):
    with pytest.raises(ColumnError, match=f"no column {name}"):
        fit(drawn().drop(name), KNOWN)


# --- apply to a table ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("order", ["shuffled", "sorted", "grouped"])
def test_rows_stay_in_their_order(fitted, tmp_path, monkeypatch, order, ending):
    monkeypatch.setattr(blocks, "BATCH_ROWS", 700)  # so that groups lie across batches
    table = drawn(seed=1)
    if order != "shuffled":
        table = table.sort("user_id", descending=order == "grouped", maintain_order=True)
    file, output = tmp_path / f"pairs.{ending}", tmp_path / f"out.{ending}"
    table.write_parquet(file) if ending == "parquet" else table.write_csv(file)
    result = apply(fitted, file, output)
    assert result.n_pairs == 6_000
    found = pl.read_parquet(output) if ending == "parquet" else pl.read_csv(output)
    assert found.columns == [*table.columns, "probability"]
    assert found.drop("probability").equals(table)
    assert_allclose(found["probability"], expected(fitted, table), rtol=1e-12)
    assert_allclose(apply(fitted, file).frame["probability"], found["probability"])


def test_a_table_in_memory_comes_back_with_its_probabilities(fitted):
    table = drawn(seed=2)
    found = apply(fitted, table.to_pandas()).frame
    assert_allclose(found["probability"], expected(fitted, table))
    assert apply(fitted, table.sort("user_id")).frame["user_id"].is_sorted()


def test_a_group_of_text_or_categories_is_a_group(fitted):
    table = drawn(seed=2)
    wanted = expected(fitted, table)
    for kind in (pl.String, pl.Categorical):
        named = table.with_columns(pl.col("user_id").cast(pl.String).cast(kind))
        assert_allclose(apply(fitted, named).frame["probability"], wanted)


def test_missing_histories_and_traits_have_an_answer(fitted):
    table = drawn(seed=2).with_columns(history=None, price=None, market=pl.lit("never heard of"))
    found = apply(fitted, table).frame["probability"]
    assert found.is_between(0, 1, closed="none").all()


@pytest.mark.parametrize("name", ["score", "user_id", "history", "market", "price"])
def test_a_column_that_the_map_reads_must_be_there(fitted, name):
    with pytest.raises(ColumnError, match=f"no column {name}"):
        apply(fitted, drawn().drop(name))


@pytest.mark.parametrize("by_user", [True, False])
@pytest.mark.parametrize(
    ("spoiled", "error", "word"),
    [
        (pl.lit(None, dtype=pl.Float64).alias("score"), ColumnError, "score has 1 empty value"),
        (pl.lit(float("nan")).alias("score"), DataError, "finite"),
        (pl.lit(None, dtype=pl.Int64).alias("user_id"), ColumnError, "user_id has 1 empty value"),
        (pl.lit(-3, dtype=pl.Int64).alias("history"), DataError, "history"),
    ],
)
def test_a_bad_row_is_refused_and_nothing_is_written(fitted, tmp_path, monkeypatch, spoiled, error, word, by_user):
    monkeypatch.setattr(blocks, "BATCH_ROWS", 700)
    table = drawn().sort("user_id") if by_user else drawn()
    row = 5_990  # beyond the first batch
    broken = pl.concat([table[:row], table[row : row + 1].with_columns(spoiled), table[row + 1 :]])
    broken.write_parquet(tmp_path / "pairs.parquet")
    with pytest.raises(error, match=word):
        apply(fitted, tmp_path / "pairs.parquet", tmp_path / "out.parquet")
    assert [each.name for each in tmp_path.iterdir()] == ["pairs.parquet"]


def test_a_history_of_words_is_refused(fitted):
    with pytest.raises(DataError, match="column history must be numbers"):
        apply(fitted, drawn().with_columns(history=pl.lit("many")))


def test_a_segment_column_has_no_meaning(fitted):
    with pytest.raises(SettingError, match="segment"):
        apply(fitted, drawn(), columns=Columns(segment="market"))


def test_columns_read_are_those_of_the_map(fitted):
    assert list(applying.columns_read(fitted)) == list(fitted.reads())


# --- apply to a run --------------------------------------------------------------------------------------------------


def test_the_lists_of_a_run_are_those_of_a_recommender(run, tmp_path):
    path, split = run
    recommender = sn.ConfidentRecommender(sn.load(path).source, expected_relevant="fitted", policy=sn.FixedSize(50))
    wanted = recommender.fit(split.train, split.validation).recommend()
    fitted = recommender.map_
    result = apply(fitted, path, tmp_path / "out.parquet")
    found = pl.read_parquet(tmp_path / "out.parquet")
    assert found.columns == ["user_id", "rank", "item_id", "score", "probability"]
    assert result.n_pairs == found.height
    assert found.drop("probability").equals(wanted.select("user_id", "rank", "item_id", "score"))
    assert_allclose(found["probability"], wanted["probability"])
    few = apply(fitted, path, options=ApplyOptions(top=3), columns=Columns(probability="p")).frame
    assert few.equals(found.filter(pl.col("rank") <= 3).rename({"probability": "p"}))


def test_a_source_without_a_log_has_no_histories(run, tmp_path):
    path, split = run
    fitted = fit(path, LISTS).calibrator
    with pytest.raises(EmptyError, match="history"):
        apply(fitted, path / "source", options=ApplyOptions(seen=("nothing",)))
    seen = ApplyOptions(seen=(split.train.table(),))
    assert apply(fitted, path / "source", options=seen).frame["probability"].is_between(0, 1).all()


def test_a_map_with_traits_needs_a_table(fitted, run):
    with pytest.raises(SettingError, match="reads the columns price, market of a table"):
        apply(fitted, run[0])


def test_a_fitted_map_is_taken_by_list_size(run, tmp_path):
    path, _ = run
    fit(path, LISTS, output=tmp_path / "lists.json")
    given = jobs.CalibrationOptions(calibrator=tmp_path / "lists.json")
    result = jobs.cut_run(path, tmp_path / "a.parquet", calibration=given)
    assert result.calibrator == "ListCalibrator()"
    usual = jobs.cut_run(path, tmp_path / "b.parquet")
    assert usual.plain()["list_size"] == result.plain()["list_size"]
