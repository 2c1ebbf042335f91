"""Metrics against netcal, one numpy pass, and a plain bootstrap."""

from __future__ import annotations

import warnings

import numpy as np

import sureness as sn
from benchmarks.samples import probabilities_and_labels
from benchmarks.tables import Bar, Scale, Table, count_of, small, time_of
from benchmarks.timing import Measured, Runs, growth, ratio, take_turns, timed

_OURS = ("ECE", "reliability curve")
_N_BINS = 15
_N_RESAMPLES = 1_000
_NAIVE_RESAMPLES = 5  # of the plain bootstrap, which are counted as if they were all


def calibration_errors(scale: Scale) -> Table:
    """ECE and the reliability curve."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from netcal.metrics import ECE
    rows, every = [], []
    for n_pairs in scale.pairs:
        p, y = probabilities_and_labels(n_pairs)
        runs = take_turns(
            {
                "ECE": timed(lambda: sn.expected_calibration_error(y, p, n_bins=_N_BINS)),  # noqa: B023
                "reliability curve": timed(lambda: sn.metrics.reliability_curve(y, p, n_bins=_N_BINS)),  # noqa: B023
                "netcal": timed(lambda: ECE(_N_BINS).measure(p, y)),  # noqa: B023
                "numpy": timed(lambda: _numpy_pass(p, y)),  # noqa: B023
            },
            2 * scale.rounds,
        )
        every.append(runs)
        off = abs(sn.expected_calibration_error(y, p, n_bins=_N_BINS) - ECE(_N_BINS).measure(p, y))
        rows += [
            (count_of(n_pairs), what, *(time_of(runs[side].median) for side in (what, "netcal", "numpy")),
             str(ratio(runs["netcal"], runs[what])), str(ratio(runs[what], runs["numpy"])), small(off))
            for what in _OURS
        ]  # fmt: skip
    exponent = {side: f"{growth(scale.pairs, [runs[side].median for runs in every]):.2f}" for side in every[0]}
    bars = [
        bar
        for what in _OURS
        for bar in (
            Bar.at_least(f"{what} of {scale.pairs[-1]:,} pairs, times faster than netcal's ECE", 5,
                         ratio(every[-1]["netcal"], every[-1][what]).value),
            Bar.at_most(f"{what} of {scale.pairs[-1]:,} pairs, numpy passes", 1.5,
                        ratio(every[-1][what], every[-1]["numpy"]).value),
        )
    ]  # fmt: skip
    return Table(
        "ECE and reliability curve against netcal and one numpy pass",
        ("pairs", "what", "sureness", "netcal", "numpy", "times faster", "numpy passes", "ECE less netcal's"),
        [*rows, *(("growth exponent", what, exponent[what], exponent["netcal"], exponent["numpy"], "", "", "")
                  for what in _OURS)],
        notes=(
            f"{_N_BINS} bins, float64 probabilities, boolean labels. netcal: the ECE, in both rows. The numpy pass is "
            "`(p * 15).astype(int)` and three bincounts, of nothing, p and labels; it checks nothing, ours checks that "
            "every p lies in [0, 1].",
        ),
        bars=tuple(bars),
    )  # fmt: skip


def intervals(scale: Scale) -> Table:
    """A user-clustered bootstrap interval against resampling the pairs of users one by one."""
    rows, ours, theirs = [], [], []
    for n_pairs in scale.fewer_pairs:
        p, y = probabilities_and_labels(n_pairs)
        users = np.random.default_rng(1).integers(0, n_pairs // 50, n_pairs)
        runs = take_turns(
            {"sureness": timed(lambda: sn.metrics.interval("ece", y, p, users=users, n_resamples=_N_RESAMPLES)),  # noqa: B023
             "numpy": timed(lambda: _plain_bootstrap(p, y, users, _NAIVE_RESAMPLES))},  # noqa: B023
            scale.rounds,
        )  # fmt: skip
        factor = _N_RESAMPLES / _NAIVE_RESAMPLES
        naive = Runs(tuple(Measured(run.seconds * factor) for run in runs["numpy"].runs))
        ours.append(runs["sureness"].median)
        theirs.append(naive.median)
        rows.append((count_of(n_pairs), time_of(ours[-1]), time_of(theirs[-1]), str(ratio(naive, runs["sureness"]))))
    exponents = f"{growth(scale.fewer_pairs, ours):.2f}", f"{growth(scale.fewer_pairs, theirs):.2f}"
    return Table(
        f"Interval of the ECE, {_N_RESAMPLES:,} resamples of users, against a plain numpy bootstrap",
        ("pairs", "sureness", "numpy", "times faster"),
        [*rows, ("growth exponent", *exponents, "")],
        notes=(
            f"About 50 pairs a user. numpy: the pairs of drawn users are gathered and their ECE computed; timed for "
            f"{_NAIVE_RESAMPLES} resamples and multiplied by {factor:g}.",
        ),
    )


def _numpy_pass(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
    place = (p * _N_BINS).astype(int)
    return np.bincount(place), np.bincount(place, weights=p), np.bincount(place, weights=y)


def _plain_bootstrap(p: np.ndarray, y: np.ndarray, users: np.ndarray, n_resamples: int) -> list[float]:
    rng = np.random.default_rng(0)
    order = np.argsort(users, kind="stable")
    own = np.split(order, np.flatnonzero(np.diff(users[order])) + 1)
    values = []
    for _ in range(n_resamples):
        drawn = np.concatenate([own[user] for user in rng.integers(0, len(own), len(own))])
        count, predicted, observed = _numpy_pass(p[drawn], y[drawn])
        values.append(float(np.abs(observed - predicted).sum() / count.sum()))
    return values
