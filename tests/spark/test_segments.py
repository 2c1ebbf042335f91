"""Maps of segments from Spark equal those of one machine."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.errors import ColumnError, IdError, SettingError
from sureness.spark import fit_segments
from tests.spark.tables import frame_of, scored


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    pairs = scored(40_000, seed=1)
    markets = rng.choice(["de", "fr", "it", "one class"], 40_000, p=[0.6, 0.3, 0.099, 0.001])
    chance = 1 / (1 + np.exp(np.where(markets == "de", 3, 1) - 1.5 * pairs["score"].to_numpy()))
    return pairs.with_columns(label=rng.random(40_000) < np.where(markets == "one class", 0, chance), market=markets)


def test_maps_equal_those_of_one_machine_but_for_bins(spark, table):
    local = sn.SegmentCalibrator(sn.PlattCalibrator()).fit(table["score"], table["label"], segments=table["market"])
    found = fit_segments(frame_of(spark, table), sn.SegmentCalibrator(sn.PlattCalibrator()), segment="market")
    assert found.reads() == local.reads() == ("score", "segment")
    asked = {"segments": table["market"]}
    np.testing.assert_allclose(
        found.probability(table["score"], **asked), local.probability(table["score"], **asked), rtol=0, atol=0.005
    )


def test_segments_that_are_alike_are_shrunk(spark, table):
    alike = table.with_columns(market=(pl.col("item_id") % 40).cast(pl.String)).filter(pl.col("item_id") < 20_000)
    assert fit_segments(frame_of(spark, alike.head(4_000)), segment="market").widths_ == {}
    assert fit_segments(frame_of(spark, table), segment="market").widths_["segment"][0] > 0.3


def test_refusals(spark, table):
    frame = frame_of(spark, table.head(200))
    for change, error in (
        ({"segment": "shop"}, ColumnError), ({"calibrator": sn.PlattCalibrator()}, SettingError),
    ):  # fmt: skip
        with pytest.raises(error):
            fit_segments(frame, **change)
    missing = frame_of(spark, table.head(200).with_columns(market=pl.lit(None, dtype=pl.String)))
    with pytest.raises(IdError):
        fit_segments(missing, sn.SegmentCalibrator(), segment="market")
