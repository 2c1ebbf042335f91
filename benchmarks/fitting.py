"""Fitting calibrators against scikit-learn, betacal, netcal and exact fits."""

from __future__ import annotations

import io
import json
import tempfile
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import numpy as np
from betacal import BetaCalibration
from scipy.special import expit
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sureness as sn
from benchmarks.exact import exact_family, exact_quadratic
from benchmarks.samples import Pairs, gaussian_pairs, heavy_tailed_pairs, pairs_with_outlier
from benchmarks.tables import Bar, Scale, Table, count_of, size_of, small, time_of
from benchmarks.timing import growth, python, ratio, take_turns, timed
from sureness.calibration import BBQCalibrator, KanoulasCalibrator, ManmathaCalibrator

_PATIENCE = 60.0  # seconds; a yardstick that would take longer is skipped, and the table says so


def gaussian(scale: Scale) -> Table:
    """The Gaussian map against the way scikit-learn would fit it."""
    rows, ours, theirs, differences = [], [], [], []
    for n_pairs in scale.pairs:
        pairs = gaussian_pairs(n_pairs)
        runs = take_turns(
            {"sureness": timed(lambda: sn.GaussianCalibrator().fit(*pairs)),  # noqa: B023 - run before the next size
             "scikit-learn": timed(lambda: _quadratic_regression(pairs))},  # noqa: B023
            scale.rounds,
        )  # fmt: skip
        calibrator = sn.GaussianCalibrator().fit(*pairs)
        if calibrator.coef_.min() <= 0:
            raise RuntimeError("the constraint binds, so the two sides solve different problems; change the sample")
        exact = exact_quadratic(pairs)
        differences.append(_distance(calibrator.probability(pairs.scores), exact))
        regression = _quadratic_regression(pairs)
        theirs_off = _distance(regression.predict_proba(_quadratic(pairs.scores))[:, 1], exact)
        ours.append(runs["sureness"].median)
        theirs.append(runs["scikit-learn"].median)
        faster = ratio(runs["scikit-learn"], runs["sureness"])
        rows.append((
            count_of(n_pairs), time_of(ours[-1]), time_of(theirs[-1]), str(faster), small(differences[-1]),
            small(theirs_off),
        ))  # fmt: skip
    extra = _extra_memory(scale.pairs[-1])
    largest = f"{scale.pairs[-1]:,} pairs"
    return Table(
        "Gaussian fit against scikit-learn LogisticRegression on [s^2, s]",
        ("pairs", "sureness", "scikit-learn", "times faster", "max difference in p", "that of scikit-learn"),
        [*rows, _growth_row(scale.pairs, ours, theirs, n_empty=3)],
        notes=(
            "scikit-learn: StandardScaler and LogisticRegression(C=inf), lbfgs with its default tolerance, features "
            "computed inside the timing.",
            "Differences are the largest over all pairs, to plain Newton over every pair until steps fall under 1e-11. "
            "No bound is active in these fits, so both sides solve the same problem.",
            f"Extra memory of the fit of {largest}: {size_of(extra)}: highest resident memory of a "
            "process of its own, less what was resident before the fit, with data loaded and functions compiled.",
        ),
        bars=(
            Bar.at_least(f"Gaussian fit of {largest}, times faster than scikit-learn", 20, faster.value),
            Bar.at_most(
                f"Gaussian fit of up to {largest}, difference in p to the exact optimum", 1e-5, max(differences)
            ),
            Bar.at_most(f"Gaussian fit of {largest}, extra memory", 300, extra / 1e6, " MB"),
        ),
    )


def families(scale: Scale) -> Table:
    """Every smooth family against a fit to every single pair."""
    kinds = (
        sn.calibration.TemperatureCalibrator,
        sn.PlattCalibrator,
        sn.calibration.BetaCalibrator,
        sn.GaussianCalibrator,
        sn.GammaCalibrator,
        ManmathaCalibrator,
        KanoulasCalibrator,
    )
    samples = {
        "Gaussian": gaussian_pairs, "heavy tails": heavy_tailed_pairs, "one outlier at 10,000": pairs_with_outlier,
    }  # fmt: skip
    rows, differences = [], []
    for sample, draw in samples.items():
        pairs = draw(scale.family_pairs)
        for kind in kinds:
            calibrator = kind().fit(*pairs)
            runs = take_turns(
                {"sureness": timed(lambda: kind().fit(*pairs)),  # noqa: B023
                 "exact": timed(lambda: exact_family(calibrator, pairs))},  # noqa: B023
                min(2, scale.rounds),
            )  # fmt: skip
            differences.append(_distance(calibrator.probability(pairs.scores), exact_family(calibrator, pairs)))
            rows.append((
                kind.__name__.removesuffix("Calibrator"), sample, time_of(runs["sureness"].median),
                time_of(runs["exact"].median), str(ratio(runs["exact"], runs["sureness"])), small(differences[-1]),
            ))  # fmt: skip
    return Table(
        f"All smooth families, {scale.family_pairs:,} pairs, against a fit to every pair",
        ("family", "scores", "sureness", "every pair", "times faster", "max difference in p"),
        rows,
        notes=("Every pair: the same family, bounds and solver, without the histogram.",),
        bars=(Bar.at_most("all smooth families, difference in p to a fit to every pair", 1e-5, max(differences)),),
    )


def others(scale: Scale) -> list[Table]:
    """Beta, Platt, isotonic, histogram binning and BBQ against the library people use for each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # netcal's
        from netcal.binning import BBQ, HistogramBinning
    return [
        _against(
            "Beta against betacal", scale, ours=lambda: sn.calibration.BetaCalibrator(),
            theirs=lambda s, y: _betacal(s, y).predict(expit(s)[:, None]),
            fit=_betacal, note="betacal: BetaCalibration('abm') on sigmoid(score), which is what BetaCalibrator does. "
            "It stops at scikit-learn's default tolerance, a little short of the optimum: that is the difference in p.",
        ),
        _against(
            "Platt against scikit-learn", scale, ours=lambda: sn.PlattCalibrator(),
            theirs=lambda s, y: _SigmoidCalibration().fit(s, y).predict(s),
            fit=lambda s, y: _SigmoidCalibration().fit(s, y),
            note="scikit-learn: the sigmoid of CalibratedClassifierCV, which smooths the labels a little: the "
            "difference in p is that, and shrinks with the number of positives.",
        ),
        _against(
            "Isotonic against scikit-learn", scale, ours=lambda: sn.IsotonicCalibrator(),
            theirs=lambda s, y: IsotonicRegression(out_of_bounds="clip").fit(s, y).predict(s),
            fit=lambda s, y: IsotonicRegression(out_of_bounds="clip").fit(s, y),
            note="Up to a million pairs ours keeps every pair, as scikit-learn does: the same map to the last digit.",
        ),
        _against(
            "Histogram binning against netcal", scale, ours=lambda: sn.calibration.HistogramCalibrator(n_bins=50),
            theirs=None, fit=lambda s, y: HistogramBinning(50).fit(expit(s), y),
            note="netcal bins probabilities, ours scores: the same work on other bins, so p is not compared.",
        ),
        _against(
            "BBQ against netcal", scale, ours=lambda: BBQCalibrator(),
            theirs=None, fit=lambda s, y: _quietly(lambda: BBQ().fit(expit(s), y)),
            note="netcal scores its binnings by BIC, ours by their evidence, so p is not compared.",
        ),
    ]  # fmt: skip


def _against(
    title: str, scale: Scale, *, ours: Callable[[], Any], fit: Callable[..., Any], theirs: Callable[..., Any] | None,
    note: str,
) -> Table:  # fmt: skip
    rows: list[tuple[str, ...]] = []
    done: dict[int, tuple[float, float]] = {}
    for n_pairs in scale.fewer_pairs:
        scores, labels = gaussian_pairs(n_pairs)
        if (expected := _expected(done, n_pairs)) > _PATIENCE:
            rows.append((count_of(n_pairs), "", "", f"skipped: it would take about {expected:,.0f} s", ""))
            continue
        runs = take_turns(
            {"ours": timed(lambda: ours().fit(scores, labels)),  # noqa: B023
             "theirs": timed(lambda: fit(scores, labels))},  # noqa: B023
            scale.rounds,
        )  # fmt: skip
        done[n_pairs] = runs["ours"].median, runs["theirs"].median
        off = "" if theirs is None else small(
            _distance(ours().fit(scores, labels).probability(scores), theirs(scores, labels))
        )  # fmt: skip
        rows.append((
            count_of(n_pairs), *map(time_of, done[n_pairs]), str(ratio(runs["theirs"], runs["ours"])), off
        ))  # fmt: skip
    rows.append(_growth_row(list(done), *map(list, zip(*done.values(), strict=True)), n_empty=2))
    header = ("pairs", "sureness", title.split()[-1], "times faster", "max difference in p")
    return Table(title, header, rows, notes=(note,))


def _expected(done: dict[int, tuple[float, float]], n_pairs: int) -> float:
    """How long the yardstick will take, judged by the sizes before."""
    if len(done) < 2:
        return 0.0
    times = [theirs for _, theirs in done.values()]
    return times[-1] * (n_pairs / list(done)[-1]) ** max(1.0, growth(list(done), times))


def _growth_row(sizes: Any, ours: list[float], theirs: list[float], *, n_empty: int) -> tuple[str, ...]:
    return ("growth exponent", f"{growth(sizes, ours):.2f}", f"{growth(sizes, theirs):.2f}", *[""] * n_empty)


def _quadratic(scores: np.ndarray) -> np.ndarray:
    return np.stack([scores**2, scores], axis=1)


def _quadratic_regression(pairs: Pairs) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(C=np.inf)).fit(_quadratic(pairs.scores), pairs.labels)


def _betacal(scores: np.ndarray, labels: np.ndarray) -> BetaCalibration:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it uses arguments that scikit-learn retires
        return BetaCalibration("abm").fit(expit(scores)[:, None], labels)


def _quietly(function: Callable[[], object]) -> object:
    with redirect_stderr(io.StringIO()):  # netcal shows progress bars
        return function()


def _distance(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.abs(first - second).max())


_FIT_AND_MEASURE = """
import json, resource, sys
import numpy as np, psutil
import sureness as sn
scores, labels = np.load(sys.argv[1]), np.load(sys.argv[2])
sn.GaussianCalibrator().fit(scores[:200_000], labels[:200_000])
before = psutil.Process().memory_info().rss
sn.GaussianCalibrator().fit(scores, labels)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps(peak - before))
"""


def _extra_memory(n_pairs: int) -> float:
    """How far the resident memory of a fresh process rises while it fits, in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "scores.npy"), Path(folder, "labels.npy")
        for file, values in zip(files, gaussian_pairs(n_pairs), strict=True):
            np.save(file, values)
        return float(json.loads(python(_FIT_AND_MEASURE, *files)().output))
