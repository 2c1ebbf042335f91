"""Every job that reads a table knows the column names of other libraries, and reports which of them it took."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness import jobs
from sureness.errors import SurenessWarning
from sureness.tables.columns import Columns
from tests.conftest import draw_pairs

NAMES = {
    "LensKit": {"user_id": "user", "item_id": "item"},
    "MovieLens": {"user_id": "userId", "item_id": "movieId"},
    "Surprise": {"user_id": "uid", "item_id": "iid", "score": "est"},
    "Spark": {"user_id": "user", "item_id": "item", "score": "prediction"},
}


@pytest.fixture(scope="module")
def agreed():
    scores, labels = draw_pairs(600)
    rows = np.arange(600)
    return pl.DataFrame({"user_id": rows // 10, "item_id": rows % 10, "score": scores, "label": labels,
                         "probability": 1 / (1 + np.exp(-scores)), "history": rows // 100}).sort(
                             "user_id", "probability", descending=[False, True])  # fmt: skip


@pytest.fixture(params=[(name, ending) for name in NAMES for ending in ("csv", "parquet")], ids="-".join)
def renamed(request, agreed, tmp_path):
    """A file with the names of another library, and these names."""
    name, ending = request.param
    path = tmp_path / f"t.{ending}"
    given = agreed.rename(NAMES[name])
    given.write_csv(path) if ending == "csv" else given.write_parquet(path)
    return path, NAMES[name]


def reported(made, table, names, *ours):
    """What a job makes of a table; it must report each of these columns, and those alone, in one sentence."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", SurenessWarning)
        result = made(table)
    read = [str(each.message) for each in raised if str(each.message).startswith(f"{table} is read with")]
    taken = [f"{theirs!r} as {ours_}" for ours_, theirs in names.items() if ours_ in ours]
    assert read == ([f"{table} is read with {' and '.join(taken)}"] if taken else [])
    return result


@pytest.mark.parametrize("method", ["platt", "lists"])
def test_fit(renamed, agreed, method):
    path, names = renamed
    options = jobs.FitOptions(method=method)
    found = reported(lambda table: jobs.fit(table, options), path, names, "user_id", "score")
    wanted = jobs.fit(agreed, options)
    assert found.n_groups == wanted.n_groups
    assert found.out_of_fold == wanted.out_of_fold  # the same users are kept together
    assert found.calibrator.horizon_.scores == names.get("score")


@pytest.mark.parametrize("method", ["platt", "lists"])
def test_apply_keeps_the_names_of_the_table(renamed, agreed, method):
    path, names = renamed
    fitted = jobs.fit(agreed, jobs.FitOptions(method=method)).calibrator
    ours = ("score", "user_id") if method == "lists" else ("score",)
    columns = Columns(probability="p")
    found = reported(lambda table: jobs.apply(fitted, table, columns=columns).frame, path, names, *ours)
    assert found.columns == [*agreed.rename(names).columns, "p"]
    assert found["p"].to_list() == pytest.approx(jobs.apply(fitted, agreed, columns=columns).frame["p"].to_list())


def test_a_map_of_one_recognised_column_is_applied_to_another(agreed):
    with pytest.warns(SurenessWarning, match="'est' as score"):
        fitted = jobs.fit(agreed.rename({"score": "est"})).calibrator
    table = agreed.rename({"score": "prediction"})
    with pytest.warns(SurenessWarning) as raised:
        found = jobs.apply(fitted, table, columns=Columns(probability="p")).frame
    assert found["p"].to_list() == fitted.probability(agreed["score"].to_numpy()).tolist()
    first, second = (str(each.message) for each in raised)
    assert first.endswith("'est', which the DataFrame does not have; its column 'prediction' is read")
    assert second == "the DataFrame is read with 'prediction' as score"


@pytest.mark.parametrize("sizes_only", [False, True])
def test_list_size_keeps_the_names_of_the_table(renamed, agreed, tmp_path, sizes_only):
    path, names = renamed
    agreed.rename(names).head(5).select(names["user_id"], names["item_id"]).write_parquet(tmp_path / "seen.parquet")

    def cut(table, seen):
        return jobs.cut_table(table, options=options, seen=[seen], sizes_only=sizes_only).frame

    options = jobs.ListOptions(utility="tp")
    found = reported(lambda table: cut(table, tmp_path / "seen.parquet"), path, names, "user_id", "item_id")
    own = {theirs: ours for ours, theirs in names.items()}
    found, wanted = found.rename(own, strict=False), cut(agreed, agreed.head(5))
    assert found.columns == wanted.columns
    for name in ("user_id", "list_size", "expected_hits"):
        assert found[name].equals(wanted[name])


def test_allocate(renamed, agreed):
    path, names = renamed
    options = jobs.AllocateOptions(budget=100)
    found = reported(lambda table: jobs.allocate(table, None, options).frame, path, names, "user_id", "item_id")
    assert found.equals(jobs.allocate(agreed, None, options).frame)


@pytest.mark.parametrize("group", [(), ("user",)])
def test_report(agreed, tmp_path, group):
    """A column to group by keeps its name, even one that could be the users."""
    jobs.fit(agreed, output=tmp_path / "map.json")
    table, options = agreed.rename({"user_id": "user", "item_id": "item"}), jobs.ReportOptions(group_column=group)
    taken = "'item' as item_id" if group else "'user' as user_id and 'item' as item_id"
    with pytest.warns(SurenessWarning, match=f"is read with {taken}$"):
        jobs.report(table, [tmp_path / "map.json"], tmp_path / "page.html", options)


def test_segments_of_a_run(agreed, tmp_path):
    kinds = pl.DataFrame({"item_id": range(10), "segment": [n % 2 for n in range(10)]})
    fitted = jobs.fit(agreed.join(kinds, on="item_id"), columns=Columns(segment="segment")).calibrator
    sn.MatrixSource(np.random.default_rng(0).normal(size=(4, 10))).save(tmp_path / "source.sureness")
    columns = Columns(segment="segment")

    def listed(segments):
        options = jobs.ApplyOptions(segments=segments)
        return jobs.apply(fitted, tmp_path / "source.sureness", options=options, columns=columns).frame

    with pytest.warns(SurenessWarning, match="'movieId' as item_id"):
        assert listed(kinds.rename({"item_id": "movieId"})).equals(listed(kinds))


def test_a_trait_keeps_its_name(agreed):
    """A trait called item is no id, even where no column is called item_id."""
    table = agreed.rename({"item_id": "item"}).with_columns(pl.col("item").cast(pl.String))
    fitted = jobs.fit(table, jobs.FitOptions(method="lists", segments=("item",))).calibrator
    assert "item" in fitted.reads()
    assert jobs.apply(fitted, table, columns=Columns(probability="p")).frame["p"].is_between(0, 1).all()


def test_an_agreed_name_comes_first(agreed):
    table = agreed.with_columns(user=pl.col("user_id") * 7, prediction=pl.lit(0.0))
    fitted = jobs.fit(agreed).calibrator
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jobs.apply(fitted, table, columns=Columns(probability="p"))
        assert jobs.cut_table(table, options=jobs.ListOptions(utility="tp")).frame["user"].n_unique() == 60
