"""Fit maps to pairs that lie in Spark: calibrators, maps of segments, and maps for lists to a sample of groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Unpack

import numpy as np
import polars as pl

from sureness._settings import clone
from sureness._types import Estimand, Risk
from sureness.calibration.base import Calibrator, make_calibrator
from sureness.calibration.calibration_set import CalibrationSet, SetSettings
from sureness.calibration.field_effects import Coding
from sureness.calibration.fields import UNNAMED, Field
from sureness.calibration.list_sample import ENOUGH, MOST_TIMES
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.segments import SegmentCalibrator
from sureness.errors import ColumnError, SettingError
from sureness.numerics.histogram import ScoreHistogram
from sureness.spark.frames import Kind, check_columns, check_frame, column, fetched, renamed
from sureness.spark.pairs import KINDS, MOST_COLLECTED, CountedPairs, SparkPairs, boolean_label, pair_columns
from sureness.tables.columns import Columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_FIRST = -(2**63)  # hash of a missing group, so that it is met and refused


def histogram(
    df: DataFrame,
    *,
    score: str = "score",
    label: str = "label",
    weight: str = "weight",
    propensity: str = "propensity",
    segment: str | None = None,
    risk: Risk | None = None,
    estimand: Estimand | None = None,
    **settings: Unpack[SetSettings],
) -> ScoreHistogram | dict[str | int, ScoreHistogram]:
    """Count scored, labelled pairs into a histogram, in one pass; every calibrator can be fitted on it.

    Parameters
    ----------
    df : DataFrame
    score, label : str
        Its columns.
    weight, propensity : str
        Columns that are taken where they are there; another name than the usual one must be there.
    segment : str, optional
        A column of segments, of each of which there will be a histogram.
    risk : {"naive", "unbiased", "weighted"}, optional
        What a fit on the histogram minimises; by default what `Calibrator.fit` would.
    estimand : {"interaction", "preference"}, optional
        What the probability is of; preference if there are propensities.
    **settings
        What else is known about the pairs: sampling_rate, held_out_share, base_rate and others of `CalibrationSet`.

    Returns
    -------
    ScoreHistogram, or a dictionary of them by segment
    """
    columns = Columns(score=score, label=label, weight=weight, propensity=propensity, segment=segment)
    pairs = SparkPairs.of(df, columns, estimand=estimand, **settings)
    chosen = pairs.resolve_risk(risk)
    if segment is None:
        return pairs.histogram(chosen)
    return pairs.histograms(chosen, by="segment")  # type: ignore[return-value]  # keys of segments


def fit(
    df: DataFrame,
    calibrator: Calibrator | ListCalibrator | str = "platt",
    *,
    score: str = "score",
    label: str = "label",
    weight: str = "weight",
    propensity: str = "propensity",
    user: str = "user_id",
    history: str = "history",
    traits: Sequence[str] = (),
    estimand: Estimand | None = None,
    **settings: Unpack[SetSettings],
) -> Calibrator | ListCalibrator:
    """Fit a calibrator to all pairs of a DataFrame, or a map for lists to a sample of its groups.

    A calibrator is that of the same fit on one machine. A map for lists is fitted on the driver, to the rows of as many
    groups as its ``n_groups``, chosen by a hash of their ids, and of more until these have 10,000 positives, up to
    five times as many. With up to ``n_groups`` groups it equals the local fit, except where tied scores leave open
    which candidates are the best; with more, the sample may be another one. Of more than 5 million rows only the best
    candidates are fetched.

    Parameters
    ----------
    df : DataFrame
        With a score and a label in each row, and weight and propensity where they are known.
    calibrator : Calibrator, ListCalibrator or name
        What to fit; it stays as it is.
    score, label, weight, propensity, user, history : str
        Columns; weight, propensity, user and history are taken where they are there. A map for lists needs the user,
        query or session, and looks at the history: how many items of the group the recommender was trained on.
    traits : sequence of str
        Columns with what else a map for lists should know of the group or the item.
    estimand : {"interaction", "preference"}, optional
        What the probability is of; preference if there are propensities.
    **settings
        What else is known about the pairs: sampling_rate, held_out_share, base_rate, anchor and others of
        `CalibrationSet`.

    Returns
    -------
    Calibrator or ListCalibrator
        Fitted; `save` writes it, `sureness.load` opens it anywhere.
    """
    columns = Columns(score=score, label=label, weight=weight, propensity=propensity, user_id=user)
    if isinstance(calibrator, ListCalibrator):
        return _fit_lists(df, calibrator, columns, history, traits, estimand, **settings)
    unfitted = unfitted_calibrator(calibrator)
    if traits:
        raise SettingError(f"only a ListCalibrator has traits, got {unfitted!r}; leave them out, or use fit_segments")
    return unfitted.fit(SparkPairs.of(df, columns, estimand=estimand, **settings))


def unfitted_calibrator(given: Calibrator | str) -> Calibrator:
    """A copy of a calibrator, or one by its name."""
    if isinstance(given, str):
        return make_calibrator(given)
    if not isinstance(given, Calibrator):
        raise SettingError(
            f"fit takes a calibrator such as PlattCalibrator(), its name, or ListCalibrator(), got {given!r}; for maps "
            "of segments use fit_segments"
        )
    return clone(given)


def _fit_lists(
    df: DataFrame,
    calibrator: ListCalibrator,
    columns: Columns,
    history: str,
    traits: Sequence[str],
    estimand: Estimand | None,
    **settings: Unpack[SetSettings],
) -> ListCalibrator:
    """A map for lists, fitted to groups that are chosen by a hash of their ids; see `fit`."""
    frame, names = check_frame(df), tuple(traits)
    known = pair_columns(frame, columns)
    if "user_id" not in known:
        raise ColumnError(
            f"a map for lists needs the group of each row, but there is no column {columns.user_id}; name it"
        )
    if history in frame.columns or history != "history":
        known["history"] = history
    kinds: dict[str, Kind] = dict.fromkeys(names, "any")
    check_columns(frame, kinds | {theirs: KINDS.get(ours, "number") for ours, theirs in known.items()})
    known |= {f"trait {number}": name for number, name in enumerate(names)}
    table = fetched(_sampled(renamed(frame, known, [each for each in known if each != "user_id"]), calibrator))
    given = table.select(each for each in KINDS if each in known)
    data = CalibrationSet.from_table(given, estimand=estimand, **settings)
    own = {name: table[f"trait {number}"] for number, name in enumerate(names)}
    return clone(calibrator).fit(data, history=table["history"] if "history" in known else None, traits=own or None)


def _sampled(rows: DataFrame, calibrator: ListCalibrator) -> DataFrame:
    """The rows of as many groups as the map learns from; where they are too many for the driver, its best ones."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    user, wanted = column("user_id"), calibrator.n_groups
    key = _hash(user, calibrator.seed)
    positive = sf.coalesce(boolean_label(dict(rows.dtypes)["label"])[0], sf.lit(False)).cast("int")
    sums = rows.groupBy(key.alias("key")).agg(sf.count(sf.lit(1)).alias("rows"), sf.sum(positive).alias("positives"))
    groups = fetched(sums.orderBy("key").limit(wanted * MOST_TIMES + 1)).sort("key")
    if groups.height > wanted:
        enough = int(np.searchsorted(groups["positives"].cum_sum().to_numpy(), ENOUGH)) + 1
        groups = groups.head(min(max(wanted, enough), wanted * MOST_TIMES))
        rows = rows.filter(key <= groups["key"][-1])
    if groups["rows"].sum() > MOST_COLLECTED:
        place = sf.rank().over(Window.partitionBy(user).orderBy(sf.desc("score")))
        rows = rows.withColumn("place", place).filter(sf.col("place") <= calibrator.best).drop("place")
    return rows


def _hash(user: Column, seed: int) -> Column:
    from pyspark.sql import functions as sf

    return sf.when(user.isNull(), _FIRST).otherwise(sf.xxhash64(sf.lit(seed), user.cast("string")))


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
