"""Segments of tables: the same in every file and number type, and unknown ones are said once for all batches."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import sureness as sn
from sureness import jobs
from sureness.errors import SurenessWarning
from sureness.tables.columns import Columns
from sureness.tables.writing import write_table

BY_SHOP = Columns(segment="shop")


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(0)
    shop, score = rng.integers(0, 3, 900), rng.normal(size=900)
    label = rng.random(900) < 1 / (1 + np.exp(2 - shop * 1.5 - score))
    return pl.DataFrame({"score": score, "label": label.astype(int), "shop": shop})


WRITTEN = {
    "whole numbers": (lambda table: table, "parquet"),
    "floats": (lambda table: table.with_columns(pl.col("shop").cast(pl.Float64)), "parquet"),
    "categories": (lambda table: table.with_columns(pl.col("shop").cast(pl.String).cast(pl.Categorical)), "parquet"),
    "text": (lambda table: table.with_columns(pl.col("shop").cast(pl.String)), "parquet"),
    "a text file": (lambda table: table, "csv"),
}


def written(table, how, folder):
    convert, ending = WRITTEN[how]
    path = folder / f"{how}.{ending}"
    write_table(convert(table), path)
    return path


@pytest.mark.parametrize("fitted_on", ["whole numbers", "text", "a text file"])
@pytest.mark.parametrize("asked", WRITTEN)
def test_a_column_of_segments_means_the_same_in_every_file(fitted_on, asked, pairs, tmp_path):
    (tmp_path / "fit").mkdir()
    jobs.fit(written(pairs, fitted_on, tmp_path / "fit"), columns=BY_SHOP, output=tmp_path / "map.json")
    fitted = sn.load(tmp_path / "map.json")
    names = pairs["shop"].to_numpy() if fitted_on != "text" else pairs["shop"].cast(pl.String).to_numpy()
    expected = fitted.probability(pairs["score"].to_numpy(), segments=names)
    jobs.apply(tmp_path / "map.json", written(pairs, asked, tmp_path), tmp_path / "o.parquet", columns=BY_SHOP)
    assert_array_equal(pl.read_parquet(tmp_path / "o.parquet")["probability"].to_numpy(), expected)


@pytest.mark.parametrize("asked", ["whole numbers", "text", "a text file"])
def test_unknown_segments_are_said_once_for_all_batches(asked, pairs, tmp_path):
    jobs.fit(written(pairs, "whole numbers", tmp_path), columns=BY_SHOP, output=tmp_path / "map.json")
    strange = pairs.with_columns(shop=pl.when(pl.int_range(pl.len()) % 9 == 0).then(77).otherwise("shop"))
    with pytest.warns(SurenessWarning, match="100 of 900 pairs .*77") as said:
        jobs.apply(tmp_path / "map.json", written(strange, asked, tmp_path), tmp_path / "o.csv", columns=BY_SHOP)
    assert len(said) == 1


def test_a_missing_segment_is_a_segment_that_the_map_may_not_know(pairs, tmp_path):
    jobs.fit(written(pairs, "whole numbers", tmp_path), columns=BY_SHOP, output=tmp_path / "map.json")
    holes = pairs.with_columns(shop=pl.when(pl.int_range(pl.len()) > 3).then("shop"))
    with pytest.warns(SurenessWarning, match="4 of 900 pairs .* such as none at all"):
        jobs.apply(tmp_path / "map.json", written(holes, "floats", tmp_path), tmp_path / "o.parquet", columns=BY_SHOP)
    known = sn.load(tmp_path / "map.json").global_.probability(holes["score"][:4].to_numpy())
    assert_array_equal(pl.read_parquet(tmp_path / "o.parquet")["probability"][:4].to_numpy(), known)
    jobs.fit(written(holes, "floats", tmp_path), columns=BY_SHOP, output=tmp_path / "map.json")
    jobs.apply(tmp_path / "map.json", written(holes, "floats", tmp_path), tmp_path / "o.parquet", columns=BY_SHOP)
