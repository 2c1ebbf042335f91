"""The studies of chapter 2: errors of all methods, risks and models, what explains them, and what maps are like."""

from __future__ import annotations

from functools import partial
from typing import Any

import sureness as sn
from sureness import plots
from sureness_reproduction.calibration import maps, measures
from sureness_reproduction.calibration.maps import AS_LOGGED, PRINTED, PROPOSED, WITH_ANCHOR
from sureness_reproduction.results import Results
from sureness_reproduction.study import QUICK_AND_FULL, Axis, Claim, Scale, Study

_MAIN = [AS_LOGGED, maps.PUBLIC_CODE, maps.WITH_BASE_RATE, WITH_ANCHOR]
_BOTH = [AS_LOGGED, WITH_ANCHOR]
_DATA: dict[Scale, Any] = {"quick": ("coat",), "full": ("coat", "yahoo-r3")}
_AXES: dict[str, Axis] = {
    "data": _DATA, "model": ("bpr", "neumf", "cml", "ubpr", "lightgcn"), "test": ("left_out", "kept"), "pairs": _MAIN,
    "methods": [maps.ALL], "seed": QUICK_AND_FULL,
}  # fmt: skip
"""The usual axes; test pairs that are also in the training log are left out or kept."""


def _grid(*left_out: str, **changed: Axis) -> dict[str, Axis]:
    return {name: axis for name, axis in (_AXES | changed).items() if name not in left_out}


# --- figures ----------------------------------------------------------------------------------------------------------

_PARAMETRIC = ("platt", "gaussian", "gamma")
_DRAWN = ["sigmoid", "histogram", *(f"{name} naive" for name in _PARAMETRIC), "isotonic", "bbq",
          *(f"{name} unbiased" for name in _PARAMETRIC)]  # fmt: skip


def _draw_reliability(results: Results) -> Any:
    """A diagram for each method, over the pairs of all seeds."""
    pairs = results.table("pairs").filter(pairs=WITH_ANCHOR, test="left_out")

    def diagram(name: str, ax: Any) -> Any:
        known = pairs.drop_nulls(name)
        curve = sn.reliability_curve(known["label"].to_numpy(), known[name].to_numpy(), n_bins=10)
        return plots.draw_reliability(curve, ax=ax, title=name, compact=True)

    panels = [partial(diagram, name) for name in _DRAWN if name in pairs.columns]
    return plots.draw_side_by_side(panels, panel=(2.9, 3.0), n_rows=2)


def _draw_distributions(results: Results) -> Any:
    """The distributions of every model, first seed."""
    first = results.table("pairs").filter(seed=0, test="left_out")

    def diagram(model: str, ax: Any) -> Any:
        scores, labels = (first.filter(model=model)[name].to_numpy() for name in ("score", "label"))
        ax.set_title(model)
        return plots.draw_score_distributions(plots.prepare_score_distributions(scores, labels, n_bins=40), ax=ax)

    return plots.draw_side_by_side([partial(diagram, name) for name in first["model"].unique().sort()])


def _draw_degrees(results: Results) -> Any:
    """Degree and confidence of every user, first seed, with the anchor."""
    first = [results.table(name).filter(seed=0, pairs=WITH_ANCHOR) for name in ("top", "degrees")]
    return plots.draw_confidence_by_degree(plots.prepare_confidence_by_degree(*first, n=measures.TOP))


# --- claims and errors ------------------------------------------------------------------------------------------------

_PER = ("data", "model", "test", "pairs")
_OURS, _COMPETITORS = ({"method": methods, "risk": "unbiased"} for methods in (PROPOSED, maps.COMPETITORS))
_OTHERS = ({"method": maps.PLAIN, "risk": ""}, {"method": PRINTED, "risk": "naive"}, _COMPETITORS)
_CLAIMS = (
    Claim("Gaussian or Gamma with the unbiased risk has the lowest ECE", "ece", _OURS, _OTHERS, "-", _PER),
    Claim("it improves on the best of Platt and Beta with the unbiased risk", "ece", _OURS, _COMPETITORS, "-", _PER),
    *(Claim(f"the unbiased risk lowers the ECE of {name}", "ece", {"method": name, "risk": "unbiased"},
            {"method": name, "risk": "naive"}, "-", _PER) for name in PRINTED),
)  # fmt: skip


def _errors(metric: str, number: str, title: str, *further: str, **more: Any) -> Study:
    return Study(
        metric, number, title, _grid(pairs=[*_MAIN, *further]), measures.judged, maps.settings, published=metric,
        metrics=(metric,), beside={"pairs": _MAIN[:2]}, rows=("method", "risk", "test"), columns=("model",),
        samples="draws", **more,
        note="Mean over seeds with a 95% interval for draws of users and seeds / the published number. A risk without "
        "a minimum on some seeds has fewer of them. Risk –: fitted to the labels as they are. The public code has 57 "
        "negatives per positive, keeps test pairs of the training log, and minimises the weighted risk, so its "
        "published unbiased rows belong beside our weighted ones. The constant ranks nothing.",
    )  # fmt: skip


def _never(text: str, methods: tuple[str, ...], risk: str, bound: float) -> Claim:
    first = {"method": methods, "risk": risk, "bin": "all"}
    return Claim(text, "largest", first, bound, "-", ("data", "test", "pairs", "method"))


STUDIES = (
    Study(
        "calibration-ranking", "table-2.2", "Ranking quality of the base models", _grid("pairs", "methods"),
        measures.ranked, maps.with_recipe, published="calibration-ranking", rows=("model", "test"),
        note="Mean over seeds ± deviation / the published number. Test pairs that are also in the training log are "
        "left out, or kept as in the authors' public code.",
    ),
    _errors("ece", "table-2.3", "Expected calibration error", maps.RATINGS, maps.CANDIDATES, claims=_CLAIMS),
    _errors("mce", "table-2.4", "Maximum calibration error"),
    _errors("nll", "table-2.5", "Negative log-likelihood"),
    Study(
        "negatives", "", "ECE by the number of negatives per positive",
        _grid(pairs=[*maps.NEGATIVES.values(), maps.PUBLIC_CODE, maps.CANDIDATES, maps.RATINGS]), measures.judged,
        maps.settings, metrics=("ece", "mean probability"), where={"method": PRINTED}, average=("model", "method"),
        rows=("pairs", "test"), columns=("metric", "risk"),
        note="Means over models and the four parametric methods of the dissertation, maps without a minimum left out. "
        "The dissertation does not say its number; its public code has 57, on Yahoo!R3.",
    ),
    Study(
        "reliability", "figure-2.1", "Reliability of each method, LightGCN",
        _grid(model=["lightgcn"], pairs=_BOTH), measures.binned, maps.settings, draw=_draw_reliability,
        rows=("method", "risk", "bin"), where={"method": ("sigmoid", *maps.COUNTING, *PRINTED)},
        claims=(_never("non-parametric methods give no probability above 0.6", maps.COUNTING, "", 0.6),
                _never("parametric methods with the unbiased risk give none above 0.9", PRINTED, "unbiased", 0.9)),
        note="Ten bins; low and high are the 95% bounds of what was observed.",
    ),
    Study(
        "propensities", "figure-2.4", "ECE with various propensities, BPR",
        _grid("pairs", "methods", data=["coat"], model=["bpr"]), measures.with_propensities, maps.with_recipe,
        metrics=("ece",), rows=("estimator", "method", "test"), columns=("pairs",), samples="draws",
        claims=[
            Claim("popularity is as good as other estimates", "ece", {"estimator": "popularity", "method": "gaussian"},
                  {"estimator": other, "method": "gaussian"}, "-", ("data", "test", "pairs"))
            for other in ("random", "naive Bayes", "logistic regression")
        ],
        note="With the unbiased risk, judged on test pairs outside of the anchor. Uniform is the naive risk; published "
        "are the propensities that come with Coat. The dissertation draws this figure without numbers.",
    ),
    Study(
        "desiderata", "table-2.1", "What each method meets, measured",
        _grid("test", "pairs", methods=[[*maps.COUNTING, *maps.PARAMETRIC]]), measures.desiderata_met,
        maps.with_recipe, published="desiderata", average=("model",), columns=("desideratum",), digits=2,
        note="The share of fits that meet it / 1 where the dissertation says that the method does. Input range: "
        "probabilities move by less than 0.001 when all scores are stretched tenfold. Monotonicity: the map never "
        "falls. Asymmetricity: the log-odds leave a straight line by more than 1% of their rise.",
    ),
    Study(
        "score-distributions", "figure-2.2", "Scores of both classes",
        _grid("pairs", "methods", model=["neumf", "lightgcn"]), measures.moments, maps.with_recipe,
        draw=_draw_distributions, rows=("model", "class", "seed"),
        claims=(Claim("the scores of negatives spread more than those of positives", "deviation",
                      {"class": "negative"}, {"class": "positive"}, per=("data", "model", "test")),
                Claim("both distributions have the longer tail on the left", "skewness", {}, 0.0, "-",
                      ("data", "model", "test", "class"))),
        note="Uniformly exposed test pairs, liked or not.",
    ),
    Study(
        "fitted-functions", "figure-2.3", "Functions fitted with the unbiased risk",
        _grid("test", model=["lightgcn"], pairs=_BOTH), measures.curves, maps.settings, columns=("quantile",),
        note="Probability at quantiles of the test scores; a dash where the risk has no minimum.",
    ),
    Study(
        "user-degree", "figure-2.5", "User degree and mean top-10 confidence",
        _grid("test", model=["bpr"], pairs=_BOTH), measures.topped, maps.settings, draw=_draw_degrees,
        rows=("pairs", "risk"),
        claims=(Claim("degree and confidence correlate with more than 0.5", "Pearson r", {}, 0.5, "+",
                      ("data", "pairs", "risk")),),
        note="The Gaussian map with the unbiased risk, or the next risk that has a minimum. Where nearly all "
        "probabilities are above 0.99, the correlation says nothing.",
    ),
    Study(
        "calibration-case-study", "figure-2.6", "Top-5 items of three users, LightGCN and Gaussian",
        _grid("test", model=["lightgcn"], pairs=[WITH_ANCHOR], seed=[0]), measures.topped, maps.settings,
        numbers="cases", rows=("user", "rank", "item"),
        note="The users are found by rule: the highest of all fifth probabilities, the lowest of all first ones, and "
        "the widest gap.",
    ),
)  # fmt: skip
