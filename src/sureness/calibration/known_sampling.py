"""Maps without labels: probabilities of a model that was trained on sampled negatives, or of another base rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, overload

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import FloatArray, IntArray
from sureness.calibration.families import ScoreRange
from sureness.calibration.field_effects import Coding, FieldEffects, Term
from sureness.calibration.fields import UNNAMED, Field
from sureness.calibration.horizon import Horizon
from sureness.calibration.level import Level, level_for_base_rate
from sureness.calibration.parametric import PlattCalibrator
from sureness.calibration.segments import SegmentCalibrator
from sureness.data.ids import IdMap
from sureness.errors import SettingError
from sureness.numerics.checks import check_ids, check_probabilities, check_rate, check_share, check_weight

BySegment: TypeAlias = Mapping[Any, float]
"""A number for each segment."""


def undo_sampling(
    probabilities: ArrayLike, kept: float | BySegment, *, segments: ArrayLike | pl.Series | None = None
) -> FloatArray:
    """Probabilities of a model that was trained on a share of the negatives, for all pairs.

    The odds are ``kept`` times those of the model: exact where the model is right about what it was trained on.

    Parameters
    ----------
    probabilities : array-like of shape (n_pairs,)
        Of the model.
    kept : float, or mapping of segments to floats
        Share of the negatives that the model was trained on.
    segments : array-like of shape (n_pairs,), optional
        The segment of each pair, where shares differ between segments.

    Returns
    -------
    array of shape (n_pairs,)

    Examples
    --------
    >>> undo_sampling([0.5, 0.9], kept=0.1).round(4)
    array([0.0909, 0.4737])
    >>> undo_sampling([0.5, 0.5], {"de": 0.1, "fr": 1.0}, segments=["de", "fr"]).round(4)
    array([0.0909, 0.5   ])
    """
    checked = check_probabilities(probabilities)
    if not isinstance(kept, Mapping):
        return prior_correction(kept=kept).probability(checked)
    _codes(kept, segments, len(checked), "kept")  # refuses segments without a share
    return prior_correction(kept=kept).probability(checked, segments=segments)


@overload
def prior_correction(*, kept: float) -> PlattCalibrator: ...
@overload
def prior_correction(*, kept: BySegment) -> SegmentCalibrator: ...
@overload
def prior_correction(
    probabilities: ArrayLike, *, base_rate: float, sample_weight: ArrayLike | None = ...
) -> PlattCalibrator: ...
@overload
def prior_correction(
    probabilities: ArrayLike, *, base_rate: BySegment, segments: ArrayLike | pl.Series,
    sample_weight: ArrayLike | None = ...,
) -> SegmentCalibrator: ...  # fmt: skip
def prior_correction(
    probabilities: ArrayLike | None = None,
    *,
    kept: float | BySegment | None = None,
    base_rate: float | BySegment | None = None,
    segments: ArrayLike | pl.Series | None = None,
    sample_weight: ArrayLike | None = None,
) -> PlattCalibrator | SegmentCalibrator:
    """A fitted map of probabilities that needs no labels: it moves their log-odds by a known amount.

    Parameters
    ----------
    probabilities : array-like of shape (n_pairs,), optional
        Of a sample of all pairs; needed with ``base_rate``.
    kept : float, or mapping of segments to floats, optional
        Share of the negatives that the model was trained on: log-odds move by its logarithm.
    base_rate : float, or mapping of segments to floats, optional
        What the mean probability of these pairs should be.
    segments : array-like of shape (n_pairs,), optional
        The segment of each probability, where base rates differ between segments.
    sample_weight : array-like of shape (n_pairs,), optional

    Returns
    -------
    PlattCalibrator or SegmentCalibrator
        It answers, is saved and becomes SQL as any other map.

    Examples
    --------
    >>> correction = prior_correction(kept=0.1)
    >>> correction.probability([0.5, 0.9]).round(4)
    array([0.0909, 0.4737])
    >>> float(prior_correction([0.2, 0.6], base_rate=0.1).probability([0.2, 0.6]).mean().round(6))
    0.1
    """
    if (kept is None) == (base_rate is None):
        raise SettingError("a correction without labels needs either kept= (the share of negatives) or base_rate=")
    if kept is not None:
        if isinstance(kept, Mapping):
            return _by_segment({name: _of_share(share, f"kept[{name!r}]") for name, share in kept.items()}, 0)
        return _shifted(_of_share(kept, "kept"), 0)
    if probabilities is None:
        raise SettingError("a base rate needs the probabilities whose mean it should be; give them first")
    checked = check_probabilities(probabilities).astype(np.float64)
    weight = check_weight(sample_weight, len(checked))
    weight = np.ones(len(checked)) if weight is None else weight.astype(np.float64)
    if not isinstance(base_rate, Mapping):
        assert base_rate is not None
        rate = check_rate(base_rate, "base_rate")
        return _shifted(level_for_base_rate(checked, weight, rate).intercept, len(checked))
    codes, shifts = _codes(base_rate, segments, len(checked), "base_rate"), {}
    for name, rate in base_rate.items():
        own = codes == _ids(base_rate).rows([name])
        if not own.any():
            raise SettingError(f"base_rate has the segment {name!r}, of which there is no probability; leave it out")
        wanted = check_rate(rate, f"base_rate[{name!r}]")
        shifts[name] = level_for_base_rate(checked[own], weight[own], wanted).intercept
    return _by_segment(shifts, len(checked))


def _of_share(kept: float, name: str) -> float:
    return float(np.log(check_share(kept, name)))


def _codes(by_segment: BySegment, segments: ArrayLike | pl.Series | None, n: int, name: str) -> IntArray:
    """The row of each pair's segment among those of the mapping; one that is not there is refused."""
    if segments is None:
        raise SettingError(f"{name} differs between segments; give segments=, one for each probability")
    given = check_ids(segments, n, "segments")
    codes = _ids(by_segment).rows(given)
    if (codes < 0).any():
        raise SettingError(f"{name} must have every segment, got none for {given[codes < 0].tolist()[0]!r}; add it")
    return codes


def _ids(by_segment: BySegment) -> IdMap:
    return IdMap.of(list(by_segment))


def _shifted(shift: float, n_pairs: int) -> PlattCalibrator:
    fitted = PlattCalibrator(scores_are="probabilities")
    # over -1 to 1 the basis is (z + 1) / 2
    fitted.intercept_, fitted.coef_, fitted.fitted_range_ = shift - 1.0, np.array([2.0]), ScoreRange(-1.0, 1.0)
    fitted.scores_are_ = "probabilities"
    fitted.applied_level_ = Level(intercept=shift)
    return fitted._learned("interaction", Horizon(), n_pairs, (0.0, 1.0))


def _by_segment(shifts: BySegment, n_pairs: int) -> SegmentCalibrator:
    ids = _ids(shifts)
    field = Field(UNNAMED, ids, np.empty(0), np.empty(0), has_missing=False)
    level = np.array([shifts[name] for name in ids.ids.to_list()])
    effects = np.stack([level, np.zeros(len(level))], axis=1)
    keys = np.arange(1, len(level) + 1)
    term = Term((0,), (field.n_codes,), False, keys, effects, effects.std(axis=0))
    return SegmentCalibrator.of_effects(
        _shifted(0.0, n_pairs), FieldEffects(Coding((field,)), (term,), np.zeros(2), 0.0)
    )
