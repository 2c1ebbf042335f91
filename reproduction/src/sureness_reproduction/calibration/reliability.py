"""Reliability diagrams of LightGCN: what was promised against what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from sureness.metrics import reliability_curve
from sureness_reproduction.calibration import sets
from sureness_reproduction.calibration.errors import judged_pairs, needs_maps, settings
from sureness_reproduction.calibration.grid import DATA, opened, test_pairs
from sureness_reproduction.calibration.maps import ALL, COUNTING, IN_TEXT, maps_cell, probabilities
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.results import Results
from sureness_reproduction.study import QUICK_AND_FULL, Claim, Study
from sureness_reproduction.workbench import Workbench

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DRAWN = (
    ("sigmoid", ""), ("histogram", ""), *((method, "naive") for method in ("platt", "gaussian", "gamma")),
    ("isotonic", ""), ("bbq", ""), *((method, "unbiased") for method in ("platt", "gaussian", "gamma")),
)  # fmt: skip
_N_BINS = 10
_EVERY = "all"


@work(needs=needs_maps, judges=True, cost=1)
def binned(bench: Workbench, *, pairs: str, methods: list[str], **parameters: Any) -> Tables:
    """What every map promises and what happens in ten bins, with bounds; the pairs themselves for the diagrams."""
    split, source = opened(bench, **parameters)
    test = judged_pairs(test_pairs(split, source, parameters["data"]), pairs, parameters["seed"])
    found = bench.found(maps_cell(pairs=pairs, methods=methods, **parameters))
    rows, columns = [], {"user": test.users, "score": test.scores, "label": test.labels}
    for method, risk, probability in probabilities(found, test.scores):
        if probability is None:
            continue
        key = {"method": method, "risk": risk}
        columns[f"{method} {risk}".strip()] = probability
        rows.append(key | {"bin": _EVERY, "metric": "largest", "value": float(probability.max())})
        curve = reliability_curve(test.labels, probability, n_bins=_N_BINS)
        measured = {"promised": curve.confidence, "observed": curve.observed, "low": curve.low, "high": curve.high}
        for place in curve.weight.nonzero()[0]:
            where = {"bin": f"{curve.edges[place]:.1f}–{curve.edges[place + 1]:.1f}"}
            rows += [key | where | {"metric": name, "value": float(each[place])} for name, each in measured.items()]
    return {"numbers": pl.DataFrame(rows), "pairs": pl.DataFrame(columns)}


def draw(results: Results) -> Figure:
    """A diagram for each method, over the pairs of all seeds."""
    from sureness.plots import draw_reliability, draw_side_by_side

    pairs = results.table("pairs").filter(pairs=sets.WITH_ANCHOR)
    there = [name for method, risk in _DRAWN if (name := f"{method} {risk}".strip()) in pairs.columns]

    def diagram(name: str, ax: Any) -> Axes:
        known = pairs.drop_nulls(name)
        curve = reliability_curve(known["label"].to_numpy(), known[name].to_numpy(), n_bins=_N_BINS)
        ax.set_title(name)
        return draw_reliability(curve, ax=ax)

    return draw_side_by_side([lambda ax, name=name: diagram(name, ax) for name in there])


def _never(text: str, methods: tuple[str, ...], risk: str, bound: float) -> Claim:
    return Claim(
        text, "largest", {"method": methods, "risk": risk, "bin": _EVERY}, bound, "-", ("data", "pairs", "method")
    )


STUDIES = (
    Study(
        name="reliability", number="figure-2.1", title="Reliability of each method, LightGCN", measure=binned,
        settings=settings, draw=draw, rows=("method", "risk", "bin"),
        where={"method": tuple({method for method, _ in _DRAWN} | {"beta"})},
        grid={"data": DATA, "model": ["lightgcn"], "pairs": [sets.AS_LOGGED, sets.WITH_ANCHOR], "methods": [ALL],
              "seed": QUICK_AND_FULL},
        claims=(_never("non-parametric methods give no probability above 0.6 (Yahoo!R3)", COUNTING, "", 0.6),
                _never("parametric methods with the unbiased risk give none above 0.9 (Yahoo!R3)", IN_TEXT, "unbiased",
                       0.9)),
        note="Ten bins; low and high are the 95% bounds of what was observed.",
    ),
)  # fmt: skip
