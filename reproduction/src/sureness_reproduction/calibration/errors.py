"""ECE, MCE and NLL of all methods, risks and models on the same drawn users; reliability; propensities."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from sureness.data import Interactions, ScoredPairs
from sureness.metrics import METRICS, cell_sums, cluster_sums, judge, reliability_curve
from sureness.propensity import (
    GivenPropensity,
    LogisticPropensity,
    NaiveBayesPropensity,
    PopularityPropensity,
    RandomPropensity,
    UniformPropensity,
)
from sureness_reproduction.calibration import maps
from sureness_reproduction.calibration.maps import ALL, needs_maps, settings
from sureness_reproduction.calibration.recommenders import (
    DATA,
    MODELS,
    TEST,
    opened,
    recommender,
    test_pairs,
    with_recipe,
)
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.results import Results
from sureness_reproduction.study import QUICK_AND_FULL, Claim, Study
from sureness_reproduction.types import FloatArray
from sureness_reproduction.workbench import Workbench, load_dataset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_N_BINS = 15  # of ECE and MCE, as in the dissertation
_N_RESAMPLES = 500
_RESAMPLED = ("ece", "mce", "nll")


class _Found:
    """Metrics of maps, and their values when users are drawn with replacement, row by row."""

    def __init__(self, test: ScoredPairs, n_users: int) -> None:
        self.test, self.numbers, self.samples = test, list[dict[str, Any]](), list[pl.DataFrame]()
        rng = np.random.default_rng(0)  # the same users whatever is judged
        drawn = rng.multinomial(n_users, np.full(n_users, 1 / n_users), size=_N_RESAMPLES)
        self.draws = drawn.astype(np.float64)  # how often each user is drawn

    def add(self, name: str, probability: FloatArray | None, **keys: str) -> None:
        """Judge a map by a metric; None where its risk has no minimum."""
        key, value = keys | {"metric": name}, None
        if probability is not None and name == "mean probability":
            value = float(probability.mean())
        elif probability is not None:
            metric = METRICS[name]
            cells = metric.cells(judge(self.test.labels, probability), _N_BINS)
            value = float(metric.finish(cell_sums(cells, None)))
            if name in _RESAMPLED:
                assert self.test.users is not None
                sums = cluster_sums(cells, None, self.test.users, self.draws.shape[1])
                resampled = (self.draws @ sums.reshape(len(sums), -1)).reshape(_N_RESAMPLES, *sums.shape[1:])
                drawn = np.asarray(metric.finish(resampled), dtype=np.float32)
                self.samples.append(pl.DataFrame(key | {"unit": range(_N_RESAMPLES), "value": drawn}))
        self.numbers.append(key | {"value": value})

    def tables(self) -> Tables:
        numbers = pl.DataFrame(self.numbers, infer_schema_length=None, schema_overrides={"value": pl.Float64})
        return {"numbers": numbers, "samples": pl.concat(self.samples) if self.samples else pl.DataFrame()}


def _judged_by(bench: Workbench, pairs: str, parameters: dict[str, Any]) -> tuple[ScoredPairs, int, Any]:
    """The test pairs that no anchor holds, how many users there are, and all maps: method, risk and probabilities."""
    split, source = opened(bench, **parameters)
    test = maps.judged_pairs(test_pairs(split, source, parameters["data"]), pairs, parameters["seed"])
    found = bench.found(maps.maps_cell(pairs=pairs, **parameters))
    return test, split.train.n_users, maps.probabilities(found, test.scores)


@work(needs=needs_maps, judges=True, cost=2)
def judged(bench: Workbench, *, pairs: str, **parameters: Any) -> Tables:
    """Metrics of every map, and their values on resampled users."""
    test, n_users, found = _judged_by(bench, pairs, parameters)
    kept = _Found(test, n_users)
    for (method, risk, probability), metric in product(found, (*_RESAMPLED, "brier", "mean probability")):
        kept.add(metric, probability, method=method, risk=risk)
    return kept.tables()


# --- reliability ------------------------------------------------------------------------------------------------------

_DRAWN = (
    ("sigmoid", ""), ("histogram", ""), *((method, "naive") for method in ("platt", "gaussian", "gamma")),
    ("isotonic", ""), ("bbq", ""), *((method, "unbiased") for method in ("platt", "gaussian", "gamma")),
)  # fmt: skip
_N_DRAWN_BINS = 10
_EVERY = "all"


@work(needs=needs_maps, judges=True, cost=1)
def binned(bench: Workbench, *, pairs: str, **parameters: Any) -> Tables:
    """What every map promises and what happens in ten bins, with bounds; the pairs themselves for the diagrams."""
    test, _, found = _judged_by(bench, pairs, parameters)
    rows, columns = [], {"label": test.labels}
    for method, risk, probability in found:
        if probability is None:
            continue
        key = {"method": method, "risk": risk}
        columns[f"{method} {risk}".strip()] = probability
        rows.append(key | {"bin": _EVERY, "metric": "largest", "value": float(probability.max())})
        curve = reliability_curve(test.labels, probability, n_bins=_N_DRAWN_BINS)
        measured = {"promised": curve.confidence, "observed": curve.observed, "low": curve.low, "high": curve.high}
        for place in curve.weight.nonzero()[0]:
            where = {"bin": f"{curve.edges[place]:.1f}–{curve.edges[place + 1]:.1f}"}
            rows += [key | where | {"metric": name, "value": float(each[place])} for name, each in measured.items()]
    return {"numbers": pl.DataFrame(rows), "pairs": pl.DataFrame(columns)}


def _draw_reliability(results: Results) -> Figure:
    """A diagram for each method, over the pairs of all seeds."""
    from sureness.plots import draw_reliability, draw_side_by_side

    pairs = results.table("pairs").filter(pairs=maps.WITH_ANCHOR, test=TEST[0])
    there = [name for method, risk in _DRAWN if (name := f"{method} {risk}".strip()) in pairs.columns]

    def diagram(name: str, ax: Any) -> Axes:
        known = pairs.drop_nulls(name)
        curve = reliability_curve(known["label"].to_numpy(), known[name].to_numpy(), n_bins=_N_DRAWN_BINS)
        return draw_reliability(curve, ax=ax, title=name, compact=True)

    panels = [lambda ax, name=name: diagram(name, ax) for name in there]
    return draw_side_by_side(panels, panel=(2.9, 3.0), n_rows=2)


# --- propensities -----------------------------------------------------------------------------------------------------

_PROPENSITY_SETS = (maps.AS_LOGGED, maps.CANDIDATES, maps.WITH_BASE_RATE)
_CLIP = 0.1  # as in the dissertation, where a set takes the targets as they are


class _Known(NamedTuple):
    """What propensities can be estimated from."""

    train: Interactions  # positives
    held_out: Interactions
    log: Interactions  # all ratings of the training part
    uniform_ratings: FloatArray  # of the anchor
    published: FloatArray  # (n_users, n_items)
    seed: int


class _Clipped:
    """Propensities of at least 0.1, as in the dissertation; how they are meant stays as it is."""

    def __init__(self, model: Any) -> None:
        self.model, self.relative = model, getattr(model, "relative", False)

    def propensity(self, users: Any, items: Any) -> FloatArray:
        return np.asarray(np.maximum(self.model.propensity(users, items), _CLIP))


def _naive_bayes(known: _Known) -> GivenPropensity:
    """The chance of a rating, for the held-out positives whose rating is known; it needs uniformly exposed ratings."""
    n_pairs = known.log.n_users * known.log.n_items
    model = NaiveBayesPropensity().fit(np.asarray(known.log.ratings), known.uniform_ratings, n_pairs=n_pairs)
    matrix = np.ones(known.log.shape)
    matrix[known.held_out.user_rows, known.held_out.item_rows] = model.of_ratings(np.asarray(known.held_out.ratings))
    return GivenPropensity(matrix)


def _logistic(known: _Known) -> LogisticPropensity:
    """Which pairs are in the log, from what users and items are like."""
    users, items = known.log.user_features, known.log.item_features
    assert users is not None
    assert items is not None
    features = {"user_features": users.drop("user_id").to_numpy(), "item_features": items.drop("item_id").to_numpy()}
    return LogisticPropensity(seed=known.seed).fit(known.log.user_rows, known.log.item_rows, **features)


ESTIMATORS: dict[str, Callable[[_Known], Any]] = {
    "random": lambda known: RandomPropensity(seed=known.seed).fit(items=np.arange(known.log.n_items)),
    "uniform": lambda known: UniformPropensity().fit(),
    "popularity": lambda known: PopularityPropensity().fit(items=known.train.item_rows),
    "naive Bayes": _naive_bayes,
    "logistic regression": _logistic,
    "published": lambda known: GivenPropensity(known.published),
}


@work(needs=recommender, judges=True, cost=3)
def with_propensities(bench: Workbench, *, data: str, seed: int, **parameters: Any) -> Tables:
    """Gaussian and Gamma with every propensity on every calibration set, judged without the anchor."""
    split, source = opened(bench, data=data, seed=seed, **parameters)
    uniform, log = test_pairs(split, source, data), bench.training_log(data)
    chosen = maps.anchor_rows(len(uniform), seed)
    anchor, kept = uniform.take(chosen), _Found(uniform.take(~chosen), split.train.n_users)
    extras = load_dataset(data, bench.shelf.place(data)).extras
    ratings = np.asarray(split.test.ratings)[chosen]
    known = _Known(split.train, split.validation, log, ratings, extras["propensities"], seed)
    for (name, estimator), pairs in product(ESTIMATORS.items(), _PROPENSITY_SETS):
        omega = _Clipped(estimator(known)) if pairs == maps.AS_LOGGED else estimator(known)
        built = maps.set_of(pairs, source, split, data=data, seed=seed, log=log, anchor=anchor, propensity=omega)
        for method in maps.PROPOSED:
            calibrator = maps.fit(built, method, "unbiased", data)[0]
            probability = None if calibrator is None else calibrator.probability(kept.test.scores)
            kept.add("ece", probability, estimator=name, pairs=pairs, method=method)
    return kept.tables()


# --- the studies -----------------------------------------------------------------------------------------------------

_PER = ("data", "model", "test", "pairs")
_OURS, _COMPETITORS = ({"method": methods, "risk": "unbiased"} for methods in (maps.PROPOSED, maps.COMPETITORS))
_OTHERS = ({"method": maps.PLAIN, "risk": ""}, {"method": maps.PRINTED, "risk": "naive"}, _COMPETITORS)
_CLAIMS = (
    Claim("Gaussian or Gamma with the unbiased risk has the lowest ECE", "ece", _OURS, _OTHERS, "-", _PER),
    Claim("it improves on the best of Platt and Beta with the unbiased risk", "ece", _OURS, _COMPETITORS, "-", _PER),
    *(Claim(f"the unbiased risk lowers the ECE of {name}", "ece", {"method": name, "risk": "unbiased"},
            {"method": name, "risk": "naive"}, "-", _PER) for name in maps.PRINTED),
)  # fmt: skip
_MAIN = [maps.AS_LOGGED, maps.PUBLIC_CODE, maps.WITH_BASE_RATE, maps.WITH_ANCHOR]


def _study(metric: str, number: str, title: str, pairs: list[str]) -> Study:
    return Study(
        name=metric, number=number, title=title, measure=judged, settings=settings, metrics=(metric,),
        grid={"data": DATA, "model": MODELS, "test": TEST, "pairs": pairs, "methods": [ALL], "seed": QUICK_AND_FULL},
        published=metric, beside={"pairs": _MAIN[:2]}, claims=_CLAIMS if metric == "ece" else (),
        rows=("method", "risk", "test"), columns=("model",), samples="draws",
        note="Mean over seeds with a 95% interval for draws of users and seeds / the published number. A risk without "
        "a minimum on some seeds has fewer of them. Risk –: fitted to the labels as they are. The public code has 57 "
        "negatives per positive, keeps test pairs of the training log, and minimises the weighted risk, so its "
        "published unbiased rows belong beside our weighted ones. The constant ranks nothing.",
    )  # fmt: skip


def _never(text: str, methods: tuple[str, ...], risk: str, bound: float) -> Claim:
    first = {"method": methods, "risk": risk, "bin": _EVERY}
    return Claim(text, "largest", first, bound, "-", ("data", "test", "pairs", "method"))


STUDIES = (
    _study("ece", "table-2.3", "Expected calibration error", [*_MAIN, maps.RATINGS, maps.CANDIDATES]),
    _study("mce", "table-2.4", "Maximum calibration error", _MAIN),
    _study("nll", "table-2.5", "Negative log-likelihood", _MAIN),
    Study(
        name="negatives", number="", title="ECE by the number of negatives per positive", measure=judged,
        settings=settings, metrics=("ece", "mean probability"), where={"method": maps.PRINTED},
        grid={"data": DATA, "model": MODELS, "test": TEST, "methods": [ALL], "seed": QUICK_AND_FULL,
              "pairs": [*maps.NEGATIVES.values(), maps.PUBLIC_CODE, maps.CANDIDATES, maps.RATINGS]},
        average=("model", "method"), rows=("pairs", "test"), columns=("metric", "risk"),
        note="Means over models and the four parametric methods of the dissertation, maps without a minimum left out. "
        "The dissertation does not say its number; its public code has 57, on Yahoo!R3.",
    ),
    Study(
        name="reliability", number="figure-2.1", title="Reliability of each method, LightGCN", measure=binned,
        settings=settings, draw=_draw_reliability, rows=("method", "risk", "bin"),
        where={"method": tuple({method for method, _ in _DRAWN} | {"beta"})},
        grid={"data": DATA, "model": ["lightgcn"], "test": TEST, "pairs": [maps.AS_LOGGED, maps.WITH_ANCHOR],
              "methods": [ALL], "seed": QUICK_AND_FULL},
        claims=(_never("non-parametric methods give no probability above 0.6", maps.COUNTING, "", 0.6),
                _never("parametric methods with the unbiased risk give none above 0.9", maps.PRINTED, "unbiased", 0.9)),
        note="Ten bins; low and high are the 95% bounds of what was observed.",
    ),
    Study(
        name="propensities", number="figure-2.4", title="ECE with various propensities, BPR", samples="draws",
        measure=with_propensities, settings=with_recipe, rows=("estimator", "method", "test"), columns=("pairs",),
        grid={"data": ["coat"], "model": ["bpr"], "test": TEST, "seed": QUICK_AND_FULL},
        claims=[
            Claim("popularity is as good as other estimates", "ece", {"estimator": "popularity", "method": "gaussian"},
                  {"estimator": other, "method": "gaussian"}, "-", ("data", "test", "pairs"))
            for other in ("random", "naive Bayes", "logistic regression")
        ],
        note="With the unbiased risk, judged on test pairs outside of the anchor. Uniform is the naive risk; published "
        "are the propensities that come with Coat. The dissertation draws this figure without numbers.",
    ),
)  # fmt: skip
