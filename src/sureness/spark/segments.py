"""Fit one map for each segment of pairs that lie in Spark."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import numpy as np

from sureness._settings import clone
from sureness._types import Estimand, FloatArray, Risk
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import SetSettings
from sureness.calibration.maps import Who
from sureness.calibration.parametric import PlattCalibrator
from sureness.calibration.per_segment import STRENGTHS, SegmentCalibrator, own_share, refuse_one_fold
from sureness.data.ids import IdMap
from sureness.errors import ColumnError, DataError, SettingError
from sureness.numerics.hashing import salted
from sureness.numerics.histogram import ScoreHistogram, WeightedScores
from sureness.spark.pairs import CountedPairs, SparkPairs
from sureness.tables.columns import Columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Name: TypeAlias = str | int
_CERTAIN = 1e-12  # probabilities closer to 0 and 1 are judged as this


def fit_segments(
    df: DataFrame,
    calibrator: SegmentCalibrator | None = None,
    *,
    segment: str = "segment",
    score: str = "score",
    label: str = "label",
    weight: str = "weight",
    propensity: str = "propensity",
    user: str = "user_id",
    estimand: Estimand | None = None,
    **settings: Unpack[SetSettings],
) -> SegmentCalibrator:
    """Fit a map for each segment, mixed with that of all pairs, in two passes over the pairs.

    The maps, and the strength that ``strength="auto"`` chooses by folds of users, are those of the same fit on one
    machine; maps that are steps, as isotonic ones are, may have their steps a bin further.

    Parameters
    ----------
    df : DataFrame
    calibrator : SegmentCalibrator, optional
        Its settings; it stays as it is.
    segment : str
        The column of the segments: text or whole numbers, never missing.
    score, label, weight, propensity, user : str
        Columns; weight and propensity are taken where they are there. Users are needed for ``strength="auto"``.
    estimand : {"interaction", "preference"}, optional
    **settings
        What else is known about the pairs, as for `fit`.
    """
    unfitted = _checked(calibrator)
    columns = Columns(score=score, label=label, weight=weight, propensity=propensity, user_id=user, segment=segment)
    pairs = SparkPairs.of(df, columns, estimand=estimand, **settings)
    automatic = unfitted.strength == "auto"
    if automatic and "user_id" not in pairs.frame.columns:
        raise ColumnError(f"strength='auto' is chosen by folds of users, but there is no column {user}; give one")
    base = PlattCalibrator() if unfitted.base is None else unfitted.base
    risk = pairs.resolve_risk(base.risk)
    found = pairs.histograms(
        risk, by="segment", folds=partial(_fold_of, n_folds=unfitted.n_folds, seed=unfitted.seed) if automatic else None
    )
    fits = _Fits(pairs, base, risk)
    strength = fits.best_strength(found) if automatic else float(unfitted.strength)
    by_segment = _summed(found, automatic)
    overall = fits.overall(by_segment)
    maps, positives = fits.own(by_segment, overall)
    known = IdMap.of(list(by_segment))
    return SegmentCalibrator.of_fits(unfitted, overall, maps, positives, strength, known)


def _fold_of(user: Column, n_folds: int, seed: int) -> Column:
    """The fold of each user, for columns: `folds_of_ids`."""
    from pyspark.sql import functions as sf

    return sf.crc32(sf.concat(sf.lit(salted("", seed)), user.cast("string")).cast("binary")) % n_folds


def _checked(given: SegmentCalibrator | None) -> SegmentCalibrator:
    calibrator = SegmentCalibrator() if given is None else given
    if not isinstance(calibrator, SegmentCalibrator):
        raise SettingError(f"fit_segments takes a SegmentCalibrator, got {given!r}; for one map use fit")
    strength = calibrator.strength
    if strength != "auto" and (isinstance(strength, str) or not strength >= 0):
        raise SettingError(f"strength must not be negative, got {strength!r}; give a number or 'auto'")
    return calibrator


def _summed(found: dict[Any, Any], with_folds: bool, without: int | None = None) -> dict[Name, ScoreHistogram]:
    """Histograms of segments, summed over their folds except one."""
    total: dict[Name, ScoreHistogram] = {}
    for key, each in found.items():
        name, fold = key if with_folds else (key, None)
        if without is None or fold != without:
            total[name] = total[name] + each if name in total else each
    return dict(sorted(total.items()))


class _Fits:
    """Fits maps to histograms."""

    def __init__(self, pairs: SparkPairs, base: Calibrator, risk: Risk) -> None:
        self.pairs, self.base, self.risk = pairs, base, risk

    def overall(self, by_segment: dict[Name, ScoreHistogram]) -> Calibrator:
        """The calibrator for all pairs."""
        first, *others = by_segment.values()
        for each in others:
            first = first + each
        return clone(self.base).fit_set(CountedPairs.of(self.pairs, first))

    def own(
        self, by_segment: dict[Name, ScoreHistogram], overall: Calibrator
    ) -> tuple[dict[Name, Calibrator], dict[Name, float]]:
        """The map of each segment that can be fitted, and its effective number of positives."""
        maps, positives = {}, {}
        for name, counted in by_segment.items():
            part = CountedPairs.of(self.pairs, counted)
            try:
                maps[name] = clone(self.base).fit_set(part, level=overall.applied_level_)
            except DataError:  # one class, constant scores, no minimum: the global map serves this segment
                continue
            positives[name] = part.points(self.risk, exact_pairs=0).effective_positives
        return maps, positives

    def best_strength(self, found: dict[Any, Any]) -> float:
        """The strength with the smallest loss on users that maps were not fitted on."""
        losses, folds = np.zeros(len(STRENGTHS)), {key[1] for key in found}
        refuse_one_fold(len(folds))
        for fold in folds:
            others = _summed(found, True, without=fold)
            overall = self.overall(others)
            maps, positives = self.own(others, overall)
            for (name, its_fold), counted in found.items():
                if its_fold == fold:
                    losses += _losses(counted.points(), overall, maps.get(name), positives.get(name, 0.0))
        return float(STRENGTHS[int(np.argmin(losses))])


def _losses(points: WeightedScores, overall: Calibrator, own: Calibrator | None, positives: float) -> FloatArray:
    """The negative log-likelihood of the pairs of a segment for every strength."""
    scores, weight, target_scores, target = points.quadrature()

    def mixed(at: FloatArray, share: float) -> FloatArray:
        everyone = overall.probability_of(at, Who(len(at)))
        found = everyone if own is None else everyone + share * (own.probability_of(at, Who(len(at))) - everyone)
        return np.clip(found, _CERTAIN, 1 - _CERTAIN)

    losses = np.empty(len(STRENGTHS))
    for number, strength in enumerate(STRENGTHS):
        share = own_share(positives, strength)
        at_targets = mixed(target_scores, share)
        losses[number] = -(weight @ np.log1p(-mixed(scores, share))) - target @ (
            np.log(at_targets) - np.log1p(-at_targets)
        )
    return losses
