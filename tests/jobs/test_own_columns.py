"""No job replaces a column of the user's table, whatever it is called: it is kept, or refused, and said."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness import jobs
from sureness.errors import ColumnError, SettingError, SurenessWarning
from sureness.recommender.run import Run
from sureness.tables.columns import Columns
from sureness.tables.reading import scan_table


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    score = rng.normal(size=200)
    label = rng.random(200) < 1 / (1 + np.exp(-score))
    sn.PlattCalibrator().fit(score, label).save(tmp_path / "map.json")
    sn.MatrixSource(rng.normal(size=(3, 4))).save(tmp_path / "source.sureness")
    return tmp_path


def table(**columns):
    return pl.DataFrame(
        {"user_id": [1, 1, 2], "item_id": [7, 8, 7], "score": [0.5, 0.1, 0.2], "probability": [0.6, 0.3, 0.5]} | columns
    )


def test_apply_does_not_replace_a_column(folder):
    table().write_parquet(folder / "t.parquet")
    for name in ("probability", "user_id", "score"):
        with pytest.raises(ColumnError, match=name):
            jobs.apply(folder / "map.json", folder / "t.parquet", folder / "o.csv", columns=Columns(probability=name))
        assert not (folder / "o.csv").exists()
    jobs.apply(folder / "map.json", folder / "t.parquet", folder / "o.csv", columns=Columns(probability="p"))
    assert pl.read_csv(folder / "o.csv").columns == [*table().columns, "p"]


@pytest.mark.parametrize("name", ["user_id", "rank", "item_id", "score"])
def test_apply_does_not_replace_a_column_of_its_own_lists(folder, name):
    with pytest.raises(SettingError, match=name):
        jobs.apply(folder / "map.json", folder / "source.sureness", folder / "o.csv", columns=Columns(probability=name))


def lists_of(folder, content, **settings):
    content.write_parquet(folder / "t.parquet")
    jobs.cut_table(folder / "t.parquet", folder / "o.parquet", **settings)
    return pl.read_parquet(folder / "o.parquet")


@pytest.mark.parametrize("name", ["rank", "list_size", "expected_utility", "expected_hits"])
def test_lists_keep_the_columns_that_they_have_themselves(folder, name):
    own = table(**{name: ["a", "b", "c"], f"{name}_before": ["d", "e", "f"]})
    with pytest.warns(SurenessWarning, match=name) as said:
        found = lists_of(folder, own)
    assert len(said) == 1
    kept = own.join(found, on=["user_id", "item_id"], how="semi")
    assert found[f"{name}_before"].to_list() == kept[f"{name}_before"].to_list()
    assert found[f"{name}_before_2"].to_list() == kept[name].to_list()
    assert found[name].dtype.is_numeric()


def test_all_these_columns_are_kept_at_once(folder):
    names = ["rank", "list_size", "expected_utility", "expected_hits"]
    with pytest.warns(SurenessWarning):
        found = lists_of(folder, table(**{name: ["a", "b", "c"] for name in names}))
    assert {f"{name}_before" for name in names} <= set(found.columns)


def test_a_column_with_an_agreed_name_that_holds_something_else_is_kept(folder):
    own = table(customer=["x", "x", "y"])
    found = lists_of(folder, own, columns=Columns(user_id="customer"))
    kept = own.join(found, on=["customer", "item_id"], how="semi")
    assert found["user_id"].to_list() == kept["user_id"].to_list()
    assert found["customer"].to_list() == kept["customer"].to_list()


@pytest.mark.parametrize("sizes_only", [False, True])
def test_ids_in_a_column_that_the_lists_need_are_refused(folder, sizes_only):
    own = table(list_size=[1, 1, 2])
    with pytest.raises(ColumnError, match="list_size"):
        lists_of(folder, own, columns=Columns(user_id="list_size"), sizes_only=sizes_only)


@pytest.mark.parametrize("job", ["cut", "allocate"])
def test_one_column_cannot_be_two_things(folder, job):
    table().write_parquet(folder / "t.parquet")
    columns = Columns(probability="user_id")
    with pytest.raises(SettingError, match="user_id"):
        if job == "cut":
            jobs.cut_table(folder / "t.parquet", folder / "o.csv", columns=columns)
        else:
            options = jobs.AllocateOptions(budget=2.0)
            jobs.allocate(folder / "t.parquet", folder / "o.csv", options, columns=columns)


@pytest.mark.parametrize("items", [False, True])
def test_an_allocation_writes_its_own_columns_only(folder, items):
    own = table(rank=["a", "b", "c"], list_size=["d", "e", "f"])
    own.write_parquet(folder / "t.parquet")
    jobs.allocate(folder / "t.parquet", folder / "o.parquet", jobs.AllocateOptions(budget=2.0, items=items))
    found = pl.read_parquet(folder / "o.parquet")
    wanted = ["user_id", "rank", "item_id", "probability"] if items else ["user_id", "list_size", "expected_utility"]
    assert found.columns == wanted
    assert pl.read_parquet(folder / "t.parquet").equals(own)


def test_a_table_is_read_with_all_its_columns(folder):
    own = table(customer=["x", "x", "y"], user_id_before=[0, 0, 0])
    own.write_parquet(folder / "t.parquet")
    found = scan_table(folder / "t.parquet", Columns(user_id="customer")).collect()
    assert found["user_id"].to_list() == ["x", "x", "y"]
    assert found["user_id_before"].to_list() == [0, 0, 0]
    assert found["user_id_before_2"].to_list() == [1, 1, 2]


def test_the_lists_of_a_run_have_every_column_once(folder):
    rng = np.random.default_rng(1)
    log = sn.Interactions.of(np.repeat(np.arange(3), 2), [0, 1, 1, 2, 2, 3])
    Run(sn.MatrixSource(rng.normal(size=(3, 4))), train=log.keep([0, 2, 4]), validation=log.keep([1, 3, 5])).save(
        folder / "run.sureness"
    )
    jobs.cut_run(folder / "run.sureness", folder / "o.parquet", columns=Columns(probability="user_id"))
    assert len(set(pl.read_parquet(folder / "o.parquet").columns)) == 8
