"""Several fields of a table: from fit to apply, in every kind of file."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness import jobs
from sureness.errors import ColumnError, FileError, SettingError, SurenessWarning
from sureness.jobs.fitting import FitOptions
from sureness.tables.columns import Columns
from sureness.tables.writing import write_table

FIELDS = FitOptions(method="platt", segments=("shop", "device"), numeric_segments=("popularity",))


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(0)
    shop, device, score = rng.integers(0, 3, 1_500), rng.integers(0, 2, 1_500), rng.normal(size=1_500)
    popularity = rng.integers(1, 500, 1_500)
    label = rng.random(1_500) < 1 / (1 + np.exp(3 - shop - device * score - np.log(popularity) / 3))
    table = {"score": score, "label": label.astype(int), "shop": shop, "popularity": popularity}
    return pl.DataFrame({**table, "device": np.array(["desk", "phone"])[device]}).with_columns(
        shop=pl.when(pl.int_range(pl.len()) % 11 > 0).then("shop")
    )


def written(table, path):
    write_table(table, path)
    return path


@pytest.mark.parametrize("fitted_on", ["parquet", "csv"])
@pytest.mark.parametrize("asked", ["parquet", "csv"])
def test_fields_mean_the_same_in_every_file(fitted_on, asked, pairs, tmp_path):
    expected = sn.SegmentCalibrator(sn.PlattCalibrator(), numeric=["popularity"]).fit(
        pairs["score"], pairs["label"], segments=pairs.select("shop", "device", "popularity")
    )
    found = jobs.fit(written(pairs, tmp_path / f"fit.{fitted_on}"), FIELDS, output=tmp_path / "map.json")
    assert found.plain()["fields"].keys() == expected.widths_.keys()
    place = written(pairs, tmp_path / f"asked.{asked}")
    jobs.apply(tmp_path / "map.json", place, tmp_path / "o.parquet")
    probability = pl.read_parquet(tmp_path / "o.parquet")["probability"]
    assert_allclose(probability, expected.probability(pairs["score"], segments=pairs), rtol=1e-9)


def test_unknown_values_are_said_once_for_all_batches(pairs, tmp_path):
    jobs.fit(written(pairs, tmp_path / "fit.parquet"), FIELDS, output=tmp_path / "map.json")
    strange = pairs.with_columns(
        device=pl.when(pl.int_range(pl.len()) % 15 == 0).then(pl.lit("tv")).otherwise("device")
    )
    with pytest.warns(SurenessWarning, match="100 of 1,500 pairs have a 'device' .*'tv'") as said:
        jobs.apply(tmp_path / "map.json", written(strange, tmp_path / "strange.csv"), tmp_path / "o.csv")
    assert len(said) == 1


def test_what_does_not_fit_together_is_refused(pairs, tmp_path):
    place = written(pairs, tmp_path / "pairs.parquet")
    with pytest.raises(SettingError, match="shop"):
        jobs.fit(place, FIELDS, columns=Columns(segment="shop"))
    with pytest.raises(SettingError, match="auto"):
        jobs.fit(place, FitOptions(method="auto", segments=("shop",)))
    with pytest.raises(ColumnError, match="market"):
        jobs.fit(place, FitOptions(segments=("market",)))
    with pytest.raises((FileError, sn.errors.DataError)):
        jobs.fit(place, FitOptions(numeric_segments=("device",)))
    jobs.fit(place, FIELDS, output=tmp_path / "map.json")
    with pytest.raises(SettingError, match="popularity"):
        jobs.apply(tmp_path / "map.json", place, tmp_path / "o.csv", columns=Columns(segment="shop"))
    with pytest.raises(ColumnError, match="device"):
        jobs.apply(tmp_path / "map.json", written(pairs.drop("device"), tmp_path / "p.csv"), tmp_path / "o.csv")
