"""Maps of every kind, and scores that databases get wrong."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import sureness as sn
from sureness._registry import names
from sureness.calibration import Calibrator, SegmentCalibrator, TopNCalibrator, make_calibrator
from sureness.errors import SurenessWarning
from sureness.numerics.checks import LARGEST
from tests.sql.engines import PLACES, Column, Kind

N = 3_000
EVERYWHERE = (-np.inf, np.inf)
SEGMENTS = ("books", 'it\'s "new"', "back\\slash", "Books", "line\nbreak", "été")


@cache
def drawn(scale: float = 1.5, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    standard = rng.normal(size=N)
    labels = rng.random(N) < 1 / (1 + np.exp(1 - standard - 0.2 * standard**2))
    return standard * scale + shift, labels


def _registered(name: str) -> Callable[[], Calibrator]:
    return lambda: make_calibrator(name).fit(*drawn())


def _with_base_rate(calibrator: Calibrator) -> Callable[[], Calibrator]:
    return lambda: calibrator.fit(sn.CalibrationSet.from_pairs(*drawn(), base_rate=0.05))


def _from_zero(name: str) -> Callable[[], Calibrator]:
    """The smallest fitted score is 0, so that nothing is subtracted from a tiny score."""
    return lambda: make_calibrator(name).fit(drawn()[0] - drawn()[0].min(), drawn()[1])


def _of_probabilities() -> Calibrator:
    scores, labels = drawn()
    return sn.calibration.BetaCalibrator(scores_are="probabilities").fit(1 / (1 + np.exp(-scores)), labels)


def _steps() -> Calibrator:
    """Thousands of steps, which no engine compares one by one."""
    scores = np.arange(4_000.0)
    return sn.calibration.HistogramCalibrator(n_bins=4_000).fit(
        scores, np.random.default_rng(0).random(4_000) < scores / 4_000
    )


MAPS: dict[str, Callable[[], Calibrator]] = {
    **{name: _registered(name) for name in names("calibrator")},
    "isotonic, base rate": _with_base_rate(sn.IsotonicCalibrator()),
    "histogram, 4,000 bins": _steps,
    "gaussian, base rate": _with_base_rate(sn.GaussianCalibrator()),
    "beta of probabilities": _of_probabilities,
    "platt, scores of 1e-6": lambda: sn.PlattCalibrator().fit(*drawn(1e-6)),
    "gamma, scores of 1e6": lambda: sn.GammaCalibrator().fit(*drawn(1e6, 3e6)),
    **{f"{name}, from 0": _from_zero(name) for name in ("histogram", "isotonic", "platt", "gaussian", "kanoulas")},
    "top 5": lambda: TopNCalibrator(n=5).fit(*drawn(), users=np.arange(N) // 20),
}

OTHER_SCALES = ("histogram, 4,000 bins", "platt, scores of 1e-6", "gamma, scores of 1e6", "histogram, from 0")
"""Maps whose scores differ from those of the others."""


@cache
def fitted(name: str) -> Calibrator:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SurenessWarning)
        return MAPS[name]()


@cache
def of_segments(kind: str = "text") -> SegmentCalibrator:
    scores, labels = drawn()
    codes = np.arange(N) % len(SEGMENTS)
    segments = np.array(SEGMENTS)[codes] if kind == "text" else codes + 2**60
    return SegmentCalibrator(sn.GaussianCalibrator()).fit(scores, labels | (codes % 3 == 0), segments=segments)


FIELDS: dict[str, list[Any]] = {
    "market": ["books", 'it\'s "new"', "back\\slash", "unknown", None],
    "shop no": [2**60, 7, -1, None],
    "popularity": [5e-324, 3.5, 120.0, 1e300, float("nan"), float("inf"), None],
}
"""Values of three fields, some of which no map knows."""


@cache
def of_fields(base: str = "shape", *, missing: bool = True) -> sn.SegmentCalibrator:
    """A map of three fields that act together; `missing`: the fit had pairs without a field."""
    rng = np.random.default_rng(2)
    scores, market, shop = rng.normal(size=N), rng.integers(0, 3, N), rng.integers(0, 2, N)
    popularity = rng.gamma(2.0, 40.0, N)
    log_odds = scores * (1 + 0.5 * shop) - 1.5 + market * shop + 1.5 * (popularity > 80) * (market - 1)
    labels = rng.random(N) < 1 / (1 + np.exp(-log_odds))
    there = (rng.random((3, N)) < 0.9) | (not missing)
    fields = {
        "market": pl.Series(FIELDS["market"][:3]).gather(market).set(pl.Series(~there[0]), None),
        "shop no": pl.Series(FIELDS["shop no"][:2]).gather(shop).set(pl.Series(~there[1]), None),
        "popularity": pl.Series(np.where(there[2], popularity, np.nan)),
    }
    return sn.SegmentCalibrator(make_calibrator(base)).fit(scores, labels, segments=fields)


# --- scores ----------------------------------------------------------------------------------------------------------


@cache
def nasty(kind: Kind) -> Column:
    """Scores of a type, the hardest first."""
    scores = drawn()[0]
    if kind == "integer":
        return Column(kind, [None, 0, 1, -1, 2, -30, 2**53 + 1, -(2**62), 10**18])
    if kind == "decimal":
        exact = [Decimal(text) for text in ("0", "0.1", "-2.5", "1.000000000001", "-123456789012.5", "0.000000000001")]
        return Column(kind, [None, *exact, *(Decimal(str(round(score, PLACES))) for score in scores[:20])])
    if kind == "single":
        return Column(kind, [None, *np.float32([0.1, -3.4e38, 3.4e38, 1e-45, 7.5, -0.25]).tolist()])
    odd = [0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e-200, -1e-101, 1e-99, 1e-30, 1e100, -1e100, 1e101, -1e101, 1e308]
    odd += [-1e308, sys.float_info.max, -sys.float_info.max, 1e20, -1e20, 1e5, -1e5, 1.0, 0.5]
    at_edges = [value for name in ("isotonic", "bbq", "histogram") for value in edges_of(fitted(name))]
    around = np.concatenate([at_edges, np.nextafter(at_edges, -np.inf), np.nextafter(at_edges, np.inf)])
    own = np.concatenate([np.linspace(*fitted(name).score_range_, 31) for name in OTHER_SCALES])
    missing = [None, float("nan"), float("inf"), float("-inf")]
    usual = [*np.linspace(-30, 30, 61).tolist(), *scores[:50].tolist()]
    return Column(kind, [*missing, *odd, *usual, *own.tolist(), *around.tolist()])


def edges_of(calibrator: Calibrator) -> list[float]:
    found = calibrator.knots_ if hasattr(calibrator, "knots_") else calibrator.edges_
    return [float(value) for value in found[:40]]


def expected(
    probability: Callable[..., np.ndarray], scores: Column, domain: tuple[float, float] = EVERYWHERE, **whose: list[Any]
) -> list[float | None]:
    """What Python says: nothing where it refuses, and beyond its largest score what it says there."""
    values = np.array([np.nan if value is None else float(value) for value in scores.values])
    known = np.isfinite(values) & (values >= domain[0]) & (values <= domain[1])
    for name, ids in whose.items():
        if name == "segments":  # a missing one is a value
            continue
        known &= np.array([each is not None for each in ids])
    there = np.flatnonzero(known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SurenessWarning)
        who = {name: [ids[place] for place in there] for name, ids in whose.items()}
        answers = probability(np.clip(values[known], -LARGEST, LARGEST), **who)
    result: list[float | None] = [None] * len(values)
    for place, answer in zip(there, answers, strict=True):
        result[place] = float(answer)
    return result


def domain_of(name: str) -> tuple[float, float]:
    return (0.0, 1.0) if name == "beta of probabilities" else EVERYWHERE


def difference(found: list[Any], wanted: list[Any]) -> float:
    """The largest difference; infinite where one is missing and the other is not."""
    return max(_apart(a, b) for a, b in zip(found, wanted, strict=True))


def _apart(found: Any, wanted: Any) -> float:
    if found is None or wanted is None:
        return 0.0 if found is wanted else float("inf")
    return abs(float(found) - wanted)
