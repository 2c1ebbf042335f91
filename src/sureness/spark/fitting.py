"""Fit calibrators to pairs that lie in Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack, overload

from sureness._settings import clone
from sureness._types import Estimand, Risk
from sureness.calibration.base import Calibrator, make_calibrator
from sureness.calibration.calibration_set import SetSettings
from sureness.calibration.lists import ListCalibrator
from sureness.errors import SettingError
from sureness.numerics.histogram import ScoreHistogram
from sureness.spark.list_fitting import fit_lists
from sureness.spark.pairs import SparkPairs
from sureness.tables.columns import Columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@overload
def histogram(
    df: DataFrame, *, score: str = ..., label: str = ..., weight: str = ..., propensity: str = ...,
    segment: None = ..., risk: Risk | None = ..., estimand: Estimand | None = ..., **settings: Unpack[SetSettings],
) -> ScoreHistogram: ...  # fmt: skip
@overload
def histogram(
    df: DataFrame, *, score: str = ..., label: str = ..., weight: str = ..., propensity: str = ...,
    segment: str, risk: Risk | None = ..., estimand: Estimand | None = ..., **settings: Unpack[SetSettings],
) -> dict[str | int, ScoreHistogram]: ...  # fmt: skip
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
    return pairs.histograms(chosen, by="segment")  # type: ignore[return-value]


@overload
def fit(
    df: DataFrame, calibrator: Calibrator | str = ..., *, score: str = ..., label: str = ..., weight: str = ...,
    propensity: str = ..., user: str = ..., estimand: Estimand | None = ..., **settings: Unpack[SetSettings],
) -> Calibrator: ...  # fmt: skip
@overload
def fit(
    df: DataFrame, calibrator: ListCalibrator, *, score: str = ..., label: str = ..., weight: str = ...,
    propensity: str = ..., user: str = ..., history: str = ..., traits: Sequence[str] = ...,
    estimand: Estimand | None = ..., **settings: Unpack[SetSettings],
) -> ListCalibrator: ...  # fmt: skip
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
    groups as its ``n_groups``, chosen by a hash of their ids, and of more until these have as many positives, up to 30
    times as many. With up to ``n_groups`` groups it equals the local fit, except where tied scores leave open which
    candidates are the best; with more, the sample may be another one. Of more than 5 million rows only the best
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
        return fit_lists(df, calibrator, columns, history, traits, estimand, **settings)
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
