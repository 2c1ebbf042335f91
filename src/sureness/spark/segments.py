"""Fit one map for each segment of pairs that lie in Spark."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Unpack

import numpy as np
import polars as pl

from sureness._settings import clone
from sureness._types import Estimand
from sureness.calibration.calibration_set import SetSettings
from sureness.calibration.field_effects import Coding
from sureness.calibration.fields import UNNAMED, Field
from sureness.calibration.segments import SegmentCalibrator
from sureness.errors import SettingError
from sureness.spark.pairs import CountedPairs, SparkPairs
from sureness.tables.columns import Columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fit_segments(
    df: DataFrame,
    calibrator: SegmentCalibrator | None = None,
    *,
    segment: str = "segment",
    score: str = "score",
    label: str = "label",
    weight: str = "weight",
    propensity: str = "propensity",
    estimand: Estimand | None = None,
    **settings: Unpack[SetSettings],
) -> SegmentCalibrator:
    """Fit a map for each segment in two passes over the pairs: that of one machine, but for the bins of scores.

    Parameters
    ----------
    df : DataFrame
    calibrator : SegmentCalibrator, optional
        Its settings; it stays as it is.
    segment : str
        The column of the segments: text or whole numbers, never missing.
    score, label, weight, propensity : str
        Columns; weight and propensity are taken where they are there.
    estimand : {"interaction", "preference"}, optional
    **settings
        What else is known about the pairs, as for `fit`.
    """
    fitted = SegmentCalibrator() if calibrator is None else clone(calibrator)
    if not isinstance(fitted, SegmentCalibrator):
        raise SettingError(f"fit_segments takes a SegmentCalibrator, got {calibrator!r}; for one map use fit")
    columns = Columns(score=score, label=label, weight=weight, propensity=propensity, segment=segment)
    pairs = SparkPairs.of(df, columns, estimand=estimand, **settings)
    risk = pairs.resolve_risk(None if fitted.base is None else fitted.base.risk)
    found = pairs.histograms(risk, by="segment")
    values = pl.Series(sorted(found))
    known = Field.learned(UNNAMED, values, None, numeric=False)
    histograms = [found[value] for value in values]
    total = reduce(add, histograms)
    points = [each.points() for each in histograms]
    codes = np.repeat(known.codes(values), [len(each.weight) for each in points])
    scores, mass, target = (
        np.concatenate([getattr(each, name) for each in points]) for name in ("scores", "weight", "target")
    )
    noise = total.points().target_noise / float(target.sum())
    data = CountedPairs.of(pairs, total)
    return fitted.fit_codes(data, Coding((known,)), [codes], scores, target / mass, mass, noise)
