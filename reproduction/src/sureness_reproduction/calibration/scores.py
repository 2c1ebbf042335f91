"""The scores of both classes, and the functions fitted to them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from sureness.calibration import Calibrator
from sureness_reproduction.calibration.fitting import maps_cell, maps_of
from sureness_reproduction.calibration.grid import DATA, bases, why_absent
from sureness_reproduction.calibration.judging import predicted
from sureness_reproduction.calibration.sets import AS_LOGGED, WITH_ANCHOR, title_of
from sureness_reproduction.cells import Cell
from sureness_reproduction.experiment import Experiment, Finder, Plan
from sureness_reproduction.outcome import Outcome, ResultFigure, ResultTable
from sureness_reproduction.published import TITLES

_MODELS, _MODEL = ("neumf", "lightgcn"), "lightgcn"
_SETS = (AS_LOGGED, WITH_ANCHOR)
_CURVES = ("platt", "gaussian", "gamma")


def _absent(plan: Plan) -> list[str]:
    drawn = "on which the dissertation draws this, was not run"
    return [f"{TITLES[data]}, {drawn}: {why_absent(plan, data)}." for data in plan.absent]


def _score_cells(plan: Plan) -> Sequence[Cell]:
    return [predicted.cell(data=base["data"], base=base, pairs=AS_LOGGED) for base in bases(plan, _MODELS)] + [
        maps_cell(base, WITH_ANCHOR) for base in bases(plan, [_MODEL]) if base["seed"] == plan.seeds[0]
    ]


def _scores(plan: Plan, find: Finder) -> Outcome:
    if not plan.data:
        return Outcome(notes=_absent(plan))
    moments = pl.DataFrame([
        {"data": base["data"], "model": base["model"], "seed": base["seed"]} | _moments(find, base)
        for base in bases(plan, _MODELS)
    ])  # fmt: skip
    figures = [
        ResultFigure(f"scores-{base['data']}-{base['model']}",
                     f"Scores of test pairs, {base['model']} on {TITLES[base['data']]}.",
                     partial(_draw_scores, find, base))
        for base in bases(plan, _MODELS)
        if base["seed"] == plan.seeds[0]
    ]  # fmt: skip
    for base in (base for base in bases(plan, [_MODEL]) if base["seed"] == plan.seeds[0]):
        figures += _function_figures(find, base)
    table = ResultTable("scores", "Scores of both classes", moments, _MOMENTS_CAPTION)
    return Outcome([table], figures, _score_findings(moments), _absent(plan))


def _moments(find: Finder, base: dict[str, Any]) -> dict[str, float]:
    from scipy.stats import skew

    pairs = find(predicted.cell(data=base["data"], base=base, pairs=AS_LOGGED)).table("pairs")
    found: dict[str, float] = {}
    for name, label in (("negative", False), ("positive", True)):
        scores = pairs.filter(label=label)["score"].to_numpy().astype(np.float64)
        found |= {f"mean {name}": scores.mean(), f"deviation {name}": scores.std(), f"skewness {name}": skew(scores)}
    return {name: float(value) for name, value in found.items()}


def _score_findings(moments: pl.DataFrame) -> list[str]:
    findings = []
    for (data, model), rows in moments.group_by("data", "model", maintain_order=True):
        mean = {name: float(rows[name].mean()) for name in rows.columns[3:]}  # type: ignore[arg-type]
        wider = rows.filter(pl.col("deviation negative") > pl.col("deviation positive")).height
        left = rows.filter(pl.max_horizontal("skewness negative", "skewness positive") < 0).height
        findings.append(
            f"{model} on {TITLES.get(str(data), data)}: the scores of negatives deviate by "
            f"{mean['deviation negative']:.3f}, of positives by {mean['deviation positive']:.3f}; negatives spread "
            f"more on {wider} of {rows.height} seeds (the dissertation finds so on Yahoo!R3). Skewness "
            f"{mean['skewness negative']:+.2f} and {mean['skewness positive']:+.2f}; both tails are longer on the left "
            f"on {left} of {rows.height} seeds (dissertation: always)."
        )
    return findings


def _draw_scores(find: Finder, base: dict[str, Any]) -> Any:
    from sureness.plots import draw_score_distributions, prepare_score_distributions

    pairs = find(predicted.cell(data=base["data"], base=base, pairs=AS_LOGGED)).table("pairs")
    return draw_score_distributions(
        prepare_score_distributions(pairs["score"].to_numpy(), pairs["label"].to_numpy(), n_bins=40)
    )


def _function_figures(find: Finder, base: dict[str, Any]) -> list[ResultFigure]:
    """One for each calibration set on which some map with the unbiased risk has a minimum."""
    figures = []
    for pairs in _SETS:
        maps = maps_of(find(maps_cell(base, pairs)))
        there = {method: maps[method, "unbiased"] for method in _CURVES if (method, "unbiased") in maps}
        lacking = [method for method in _CURVES if method not in there]
        without = f" No minimum: {', '.join(lacking)}." if lacking else ""
        caption = (
            f"Functions fitted with the unbiased risk, LightGCN on {TITLES[base['data']]}, {title_of(pairs)}.{without}"
        )
        if there:
            draw = partial(_draw_functions, find, base, there)
            figures.append(ResultFigure(f"functions-{base['data']}-{pairs}", caption, draw))
    return figures


def _draw_functions(find: Finder, base: dict[str, Any], maps: dict[str, Calibrator]) -> Any:
    from sureness.plots import draw_fitted_curves, prepare_fitted_curves

    scores = find(predicted.cell(data=base["data"], base=base, pairs=AS_LOGGED)).table("pairs")["score"].to_numpy()
    return draw_fitted_curves(prepare_fitted_curves(maps, scores))


_MOMENTS_CAPTION = "Mean, standard deviation and skewness of the scores of uniformly exposed test pairs, liked or not."

EXPERIMENTS = (
    Experiment(
        name="score-distributions", chapter=2, title="Scores of both classes and the fitted functions",
        shows="the figures of score distributions (NCF, LightGCN) and fitted functions (LightGCN)", data=DATA,
        cells=_score_cells, outcome=_scores,
    ),
)  # fmt: skip
