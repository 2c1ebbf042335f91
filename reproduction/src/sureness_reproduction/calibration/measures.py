"""What is measured in chapter 2: ranking, errors of maps, their reliability, propensities, desiderata, confidence."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import skew

import sureness as sn
from sureness.data import Interactions, ScoredPairs, rated_above
from sureness.metrics import METRICS, best_items, cell_sums, cluster_sums, evaluate_ranking, evaluate_within, judge
from sureness.numerics import logit
from sureness.propensity import GivenPropensity, PopularityPropensity
from sureness_reproduction.calibration import maps, propensities
from sureness_reproduction.calibration.maps import Opened, needs_maps, opened, recommender
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.own import is_own
from sureness_reproduction.tables import numbers, samples
from sureness_reproduction.workbench import Workbench, load_dataset

_RANKING = tuple(f"{metric}@{k}" for metric in ("ndcg", "recall") for k in (1, 3, 5))


@work(needs=recommender, judges=True, cost=1)
def ranked(bench: Workbench, **parameters: Any) -> Tables:
    """NDCG and recall of every user with a positive among the test items; of a user's own log, over all items."""
    made = opened(bench, **parameters)
    test, seen = made.split.test, made.split.train
    if is_own(made.data):
        quality = evaluate_ranking(made.source, test, seen=seen, metrics=_RANKING)
    else:
        quality = evaluate_within(made.source, test, rated_above(test, made.threshold), metrics=_RANKING)
    users = quality.per_user
    return {"samples": samples(users["user_id"], {}, {name: users[name] for name in _RANKING})}


# --- errors of maps ---------------------------------------------------------------------------------------------------

_N_BINS = 15  # of ECE and MCE, as in the dissertation
_N_RESAMPLES = 500


def _errors(test: ScoredPairs, n_users: int, found: Iterable[tuple[dict[str, str], Any]], *metrics: str) -> Tables:
    """Metrics of maps, and their values on users drawn with replacement; a risk without a minimum has no map."""
    rng, values, drawn = np.random.default_rng(0), [], []  # the same users whatever is judged
    draws = rng.multinomial(n_users, np.full(n_users, 1 / n_users), size=_N_RESAMPLES).astype(np.float64)
    for keys, probability in found:
        errors: dict[str, Any] = dict.fromkeys((*metrics, "mean probability"))
        for name in metrics if probability is not None else ():
            metric = METRICS[name]
            cells = metric.cells(judge(test.labels, probability), _N_BINS)
            sums = cluster_sums(cells, None, np.asarray(test.users), n_users)
            errors |= {name: metric.finish(cell_sums(cells, None)), "mean probability": probability.mean()}
            of_draws = np.asarray(metric.finish(np.tensordot(draws, sums, axes=1)), dtype=np.float32)
            drawn.append(pl.DataFrame(keys | {"metric": name, "unit": range(_N_RESAMPLES), "value": of_draws}))
        values.append(numbers(keys, errors))
    return {"numbers": pl.concat(values), "samples": pl.concat(drawn) if drawn else pl.DataFrame()}


@work(needs=needs_maps, judges=True, cost=2)
def judged(bench: Workbench, **parameters: Any) -> Tables:
    """Metrics of every map, and their values on resampled users."""
    made, test, found = maps.judged_maps(bench, **parameters)
    named = (({"method": method, "risk": risk}, probability) for method, risk, probability in found)
    return _errors(test, made.split.train.n_users, named, "ece", "mce", "nll")


@work(needs=needs_maps, judges=True, cost=1)
def binned(bench: Workbench, **parameters: Any) -> Tables:
    """What every map promises and what happens in ten bins, with bounds; the pairs themselves for the diagrams."""
    _, test, found = maps.judged_maps(bench, **parameters)
    rows, columns = [], {"label": test.labels}
    for method, risk, probability in found:
        if probability is not None:
            columns[f"{method} {risk}".strip()] = probability
            key, curve = (
                {"method": method, "risk": risk},
                sn.metrics.reliability_curve(test.labels, probability, n_bins=10),
            )
            rows.append(numbers(key | {"bin": "all"}, {"largest": probability.max()}))
            above = (curve.weight > 0) & (curve.edges[:-1] >= 0.5)
            if above.any():
                gap = np.average(np.abs(curve.confidence - curve.observed)[above], weights=curve.weight[above])
                rows.append(numbers(key | {"bin": "above 0.5"}, {"gap": gap}))
            measured = {"promised": curve.confidence, "observed": curve.observed, "low": curve.low, "high": curve.high}
            for place in curve.weight.nonzero()[0]:
                bounds = {"bin": f"{curve.edges[place]:.1f}–{curve.edges[place + 1]:.1f}"}
                rows.append(numbers(key | bounds, {name: values[place] for name, values in measured.items()}))
    return {"numbers": pl.concat(rows), "pairs": pl.DataFrame(columns)}


# --- propensities -----------------------------------------------------------------------------------------------------


def _propensities(made: Opened, uniform_ratings: NDArray[Any], clip: float) -> dict[str, Any]:
    """Every estimate, none below `clip`; that of naive Bayes is for held-out positives, whose rating is known."""
    log, train, held_out, least = made.log, made.split.train, made.split.validation, max(clip, 0.01)
    rated, n_pairs = np.ones(log.shape), log.n_users * log.n_items
    rated[held_out.user_rows, held_out.item_rows] = propensities.of_ratings(
        np.asarray(held_out.ratings), np.asarray(log.ratings), uniform_ratings, n_pairs=n_pairs, clip=least
    )
    users, items = (np.asarray(table)[:, 1:] for table in (log.user_features, log.item_features))  # after the id
    published = load_dataset(made.data, made.bench.shelf.place(made.data)).extras["propensities"]
    return {
        "random": propensities.RandomPropensity(log.n_items, seed=made.seed),
        "uniform": GivenPropensity(np.ones(log.n_items)),
        "popularity": PopularityPropensity().fit(items=train.item_rows),
        "naive Bayes": GivenPropensity(rated),
        "logistic regression": propensities.of_features(
            log.user_rows, log.item_rows, users, items, clip=least, seed=made.seed
        ),
        "published": GivenPropensity(np.maximum(published, clip)),
    }


@work(needs=recommender, judges=True, cost=3)
def with_propensities(bench: Workbench, **parameters: Any) -> Tables:
    """Gaussian and Gamma with every propensity on every calibration set, judged without the anchor."""
    made = opened(bench, **parameters)
    uniform = made.uniform_pairs()
    chosen = maps.anchor_rows(len(uniform), made.seed)
    anchor, test, ratings = uniform.take(chosen), uniform.take(~chosen), np.asarray(made.split.test.ratings)[chosen]
    sets = {maps.AS_LOGGED: 0.1, maps.CANDIDATES: 0.0, maps.WITH_BASE_RATE: 0.0}  # clipped as in the dissertation
    estimates = {clip: _propensities(made, ratings, clip) for clip in set(sets.values())}
    found = []
    for name, pairs, method in product(estimates[0.0], sets, ("gaussian", "gamma")):
        built = maps.set_of(pairs, made, anchor, estimates[sets[pairs]][name])
        probability = maps.probabilities(maps.fit(built, method, "unbiased", made.data), test.scores)
        found.append(({"estimator": name, "pairs": pairs, "method": method}, probability))
    return _errors(test, made.split.train.n_users, found, "ece")


# --- what the dissertation asks of a method ---------------------------------------------------------------------------

_STRETCH = 10.0
_SAME = 1e-3  # probabilities closer than this are the same map
_STRAIGHT = 0.01  # log-odds that leave a straight line by less than this share of their rise are straight


@work(needs=recommender, cost=2)
def desiderata_met(bench: Workbench, *, methods: list[str], **parameters: Any) -> Tables:
    """Whether a map takes stretched scores alike and takes every score, never falls, and has bent log-odds."""
    made, rows = opened(bench, **parameters), []
    built = maps.set_of(maps.THREE_NEGATIVES if is_own(made.data) else maps.AS_LOGGED, made)
    wide = built.map_scores(lambda scores: scores * _STRETCH)
    for method in methods:
        risk = "" if method in maps.PLAIN or is_own(method) else "naive"
        met = _met(*(maps.fit(each, method, risk, made.data) for each in (built, wide)))
        rows += [numbers({"method": method, "desideratum": name}, {"met": value}) for name, value in met.items()]
    return {"numbers": pl.concat(rows)}


def _met(
    calibrator: sn.calibration.Calibrator | None, stretched: sn.calibration.Calibrator | None
) -> dict[str, float | None]:
    if calibrator is None or stretched is None:
        return dict.fromkeys(("Input range", "Monotonicity", "Asymmetricity"))
    grid, far = np.linspace(*calibrator.score_range_, 1_000), np.array([-1e6, 0.0, 1e6])
    probability = calibrator.probability(grid)
    moved = np.quantile(np.abs(stretched.probability(grid * _STRETCH) - probability), 0.99)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sn.errors.SurenessWarning)  # that they lie far outside is the point
        outside = calibrator.probability(far)
    odds = logit(np.clip(probability, 1e-6, 1 - 1e-6))
    gap, rise = np.abs(odds - np.linspace(odds[0], odds[-1], len(odds))).max(), np.ptp(odds)  # no gap for a sigmoid
    return {
        "Input range": float(moved < _SAME and bool(((outside >= 0) & (outside <= 1)).all())),
        "Monotonicity": float(not (np.diff(probability) < -1e-12).any()),
        "Asymmetricity": float(rise >= 1e-9 and gap > _STRAIGHT * rise),
    }


# --- scores of both classes, functions fitted to them, and whom a map is sure of --------------------------------------

_QUANTILES = np.linspace(0, 1, 9)
TOP = 10


@work(needs=recommender, judges=True, cost=1)
def moments(bench: Workbench, **parameters: Any) -> Tables:
    """Mean, deviation and skewness of the scores of liked and other test pairs."""
    test, rows = opened(bench, **parameters).uniform_pairs(), []
    for name, label in (("negative", False), ("positive", True)):
        scores = test.scores[test.labels == label].astype(np.float64)
        found = {"mean": scores.mean(), "deviation": scores.std(), "skewness": skew(scores)}
        rows.append(numbers({"class": name}, found))
    return {"numbers": pl.concat(rows), "pairs": pl.DataFrame({"score": test.scores, "label": test.labels})}


@work(needs=needs_maps, judges=True, cost=1)
def curves(bench: Workbench, **parameters: Any) -> Tables:
    """The functions fitted with the unbiased risk at quantiles of the test scores."""
    points, rows = np.quantile(opened(bench, **parameters).uniform_pairs().scores, _QUANTILES), []
    found = maps.maps_of(bench.found(maps.maps_cell(**parameters)))
    for method in ("platt", "gaussian", "gamma"):
        values = maps.probabilities(found[method, "unbiased"], points)
        for place, value in zip(_QUANTILES, [None] * len(points) if values is None else values, strict=True):
            rows.append(numbers({"method": method, "quantile": f"{place:.3g}"}, {"probability": value}))
    return {"numbers": pl.concat(rows)}


@work(needs=needs_maps, judges=True, cost=1)
def topped(bench: Workbench, **parameters: Any) -> Tables:
    """How sure a map is of the top items of every user, against the user's degree, and the cases of three users.

    The map is Gaussian with the unbiased risk, or the next risk that has a minimum.
    """
    from sureness.report import prepare_confidence_by_degree

    made, found = opened(bench, **parameters), maps.maps_of(bench.found(maps.maps_cell(**parameters)))
    risk = next(risk for risk in ("unbiased", "weighted", "naive") if found["gaussian", risk] is not None)
    train = made.split.train
    top = best_items(made.source, train.users.ids, TOP, seen=train).cast({"score": pl.Float64})
    top = top.with_columns(probability=maps.probabilities(found["gaussian", risk], top["score"].to_numpy()))
    degrees = pl.DataFrame({"user_id": train.users.ids, "degree": train.user_degree})
    values = {"Pearson r": prepare_confidence_by_degree(top, degrees, n=TOP).correlation,
              "share above 0.99": (top["probability"] > 0.99).mean()}  # fmt: skip
    told = numbers({"risk": risk}, values).fill_nan(None)
    return {"numbers": told, "cases": _cases(top, train), "top": top, "degrees": degrees}


def _cases(top: pl.DataFrame, train: Interactions) -> pl.DataFrame:
    """The top five items of three users, found by rule: surest of all, least sure, and widest apart."""
    five = top.filter(pl.col("rank") <= 5)
    low, high = pl.col("probability").min(), pl.col("probability").max()
    kinds = {"sure of all": low, "sure of none": -high, "wide apart": high - low}
    ends = five.group_by("user_id", maintain_order=True).agg(**kinds)
    users = {kind: ends.sort(kind, descending=True)["user_id"][0] for kind in kinds}
    table = pl.concat([five.filter(user_id=user).with_columns(user=pl.lit(kind)) for kind, user in users.items()])
    table = table.join(_described(train), on="item_id", how="left", maintain_order="left")
    return table.unpivot(["score", "probability"], index=["user", "rank", "item"], variable_name="metric")


def _described(train: Interactions) -> pl.DataFrame:
    """Items in words, from their features where there are any."""
    features = train.item_features
    if features is None:
        return pl.DataFrame({"item_id": train.items.ids, "item": [f"item {each}" for each in train.items.ids]})
    kinds = [name for name in features.columns if ":" in name and not name.startswith("onfrontpage")]
    words = [", ".join(kind.split(":", 1)[1] for kind in kinds if row[kind]) for row in features.to_dicts()]
    return features.select("item_id").with_columns(item=pl.Series(words))
