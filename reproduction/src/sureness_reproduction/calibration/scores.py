"""The scores of both classes, and the functions fitted to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.stats import skew

from sureness_reproduction.calibration import sets
from sureness_reproduction.calibration.errors import needs_maps, settings
from sureness_reproduction.calibration.grid import DATA, needs_recommender, opened, test_pairs, with_recipe
from sureness_reproduction.calibration.maps import ALL, maps_cell, maps_of
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.results import Results
from sureness_reproduction.study import QUICK_AND_FULL, Claim, Study
from sureness_reproduction.workbench import Workbench

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CURVES = ("platt", "gaussian", "gamma")
_N_POINTS = 9


@work(needs=needs_recommender, judges=True, cost=1)
def moments(bench: Workbench, **parameters: Any) -> Tables:
    """Mean, deviation and skewness of the scores of liked and other test pairs."""
    split, source = opened(bench, **parameters)
    test = test_pairs(split, source, parameters["data"])
    rows = []
    for name, label in (("negative", False), ("positive", True)):
        scores = test.scores[test.labels == label].astype(np.float64)
        found = {"mean": scores.mean(), "deviation": scores.std(), "skewness": skew(scores)}
        rows += [{"class": name, "metric": metric, "value": float(value)} for metric, value in found.items()]
    pairs = pl.DataFrame({"score": test.scores, "label": test.labels})
    return {"numbers": pl.DataFrame(rows), "pairs": pairs}


@work(needs=needs_maps, judges=True, cost=1)
def curves(bench: Workbench, *, pairs: str, methods: list[str], **parameters: Any) -> Tables:
    """The functions fitted with the unbiased risk at quantiles of the test scores."""
    split, source = opened(bench, **parameters)
    points = np.quantile(test_pairs(split, source, parameters["data"]).scores, np.linspace(0, 1, _N_POINTS))
    maps = maps_of(bench.found(maps_cell(pairs=pairs, methods=methods, **parameters)))
    rows = []
    for method in _CURVES:
        calibrator = maps[method, "unbiased"]
        values = [None] * _N_POINTS if calibrator is None else calibrator.probability(points).tolist()
        rows += [
            {"method": method, "quantile": f"{place / (_N_POINTS - 1):.3g}", "metric": "probability", "value": value}
            for place, value in enumerate(values)
        ]
    return {"numbers": pl.DataFrame(rows, schema_overrides={"value": pl.Float64}, infer_schema_length=None)}


def draw(results: Results) -> Figure:
    """The distributions of every model, first seed."""
    from sureness.plots import draw_score_distributions, draw_side_by_side, prepare_score_distributions

    first = results.table("pairs").filter(seed=0)

    def diagram(model: str, ax: Axes) -> Axes:
        part = first.filter(model=model)
        data = prepare_score_distributions(part["score"].to_numpy(), part["label"].to_numpy(), n_bins=40)
        ax.set_title(model)
        return draw_score_distributions(data, ax=ax)

    return draw_side_by_side([lambda ax, name=name: diagram(name, ax) for name in first["model"].unique().sort()])


STUDIES = (
    Study(
        name="score-distributions", number="figure-2.2", title="Scores of both classes", measure=moments, draw=draw,
        settings=with_recipe, rows=("model", "class"),
        grid={"data": DATA, "model": ["neumf", "lightgcn"], "seed": QUICK_AND_FULL},
        claims=(Claim("the scores of negatives spread more than those of positives (Yahoo!R3)", "deviation",
                      {"class": "negative"}, {"class": "positive"}),
                Claim("both distributions have the longer tail on the left", "skewness", {}, 0.0, "-",
                      ("data", "model", "class"))),
        note="Uniformly exposed test pairs, liked or not.",
    ),
    Study(
        name="fitted-functions", number="figure-2.3", title="Functions fitted with the unbiased risk", measure=curves,
        settings=settings, columns=("quantile",),
        grid={"data": DATA, "model": ["lightgcn"], "pairs": [sets.AS_LOGGED, sets.WITH_ANCHOR], "methods": [ALL],
              "seed": QUICK_AND_FULL},
        note="Probability at quantiles of the test scores; a dash where the risk has no minimum.",
    ),
)  # fmt: skip
