"""What fitted maps and scores are like: desiderata, scores of both classes, fitted functions, whom a map is sure of."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.stats import skew

from sureness.calibration import CalibrationSet, Calibrator
from sureness.data import Interactions
from sureness.errors import SurenessWarning
from sureness.evaluation import top_blocks
from sureness.numerics import logit
from sureness_reproduction.calibration import maps
from sureness_reproduction.calibration.maps import ALL, COUNTING, PARAMETRIC, needs_maps, settings
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
from sureness_reproduction.own import is_own
from sureness_reproduction.results import Results
from sureness_reproduction.study import QUICK_AND_FULL, Claim, Study
from sureness_reproduction.types import FloatArray
from sureness_reproduction.workbench import Workbench

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# --- what the dissertation asks of a method, measured -----------------------------------------------------------------

_STRETCH = 10.0
_SAME = 1e-3  # probabilities closer than this are the same map
_STRAIGHT = 0.01  # log-odds that leave a straight line by less than this share of their rise are straight


@work(needs=recommender, cost=2)
def desiderata_met(bench: Workbench, *, methods: list[str], **parameters: Any) -> Tables:
    """Whether a map takes stretched scores alike and takes every score, never falls, and has bent log-odds."""
    data, seed = parameters["data"], parameters["seed"]
    split, source = opened(bench, **parameters)
    log, pairs = (None, maps.NEGATIVES[3]) if is_own(data) else (bench.training_log(data), maps.AS_LOGGED)
    built = maps.set_of(pairs, source, split, data=data, seed=seed, log=log)
    wide = built.map_scores(lambda scores: scores * _STRETCH)
    rows = [
        {"method": method, "desideratum": name, "metric": "met", "value": value}
        for method in methods
        for name, value in _met(built, wide, method, data).items()
    ]
    return {"numbers": pl.DataFrame(rows, schema_overrides={"value": pl.Float64})}


def _met(built: CalibrationSet, wide: CalibrationSet, method: str, data: str) -> dict[str, float | None]:
    risk = "" if method in COUNTING or is_own(method) else "naive"
    calibrator, stretched = (maps.fit(each, method, risk, data)[0] for each in (built, wide))
    if calibrator is None or stretched is None:
        return dict.fromkeys(("Input range", "Monotonicity", "Asymmetricity"))
    grid = np.linspace(*calibrator.score_range_, 1_000)
    probability = calibrator.probability(grid)
    moved = float(np.quantile(np.abs(stretched.probability(grid * _STRETCH) - probability), 0.99))
    return {
        "Input range": float(moved < _SAME and _takes_everything(calibrator)),
        "Monotonicity": float(not (np.diff(probability) < -1e-12).any()),
        "Asymmetricity": float(bend(grid, probability) > _STRAIGHT),
    }


def bend(grid: FloatArray, probability: FloatArray) -> float:
    """How far the log-odds leave the straight line between their ends, as a share of their rise; 0 for a sigmoid."""
    z = logit(np.clip(probability, 1e-6, 1 - 1e-6))
    line = z[0] + (z[-1] - z[0]) * (grid - grid[0]) / (grid[-1] - grid[0])
    rise = float(z.max() - z.min())
    return float(np.abs(z - line).max() / rise) if rise >= 1e-9 else 0.0


def _takes_everything(calibrator: Calibrator) -> bool:
    """Whether scores far outside what was fitted still get probabilities."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SurenessWarning)  # that they lie far outside is the point
        far = calibrator.probability(np.array([-1e6, 0.0, 1e6]))
    return bool(np.isfinite(far).all() and (far >= 0).all() and (far <= 1).all())


# --- scores of both classes, and the functions fitted to them ---------------------------------------------------------

_CURVES = ("platt", "gaussian", "gamma")
_QUANTILES = np.linspace(0, 1, 9)


@work(needs=recommender, judges=True, cost=1)
def moments(bench: Workbench, **parameters: Any) -> Tables:
    """Mean, deviation and skewness of the scores of liked and other test pairs."""
    split, source = opened(bench, **parameters)
    test = test_pairs(split, source, parameters["data"])
    rows = []
    for name, label in (("negative", False), ("positive", True)):
        scores = test.scores[test.labels == label].astype(np.float64)
        found = {"mean": scores.mean(), "deviation": scores.std(), "skewness": skew(scores)}
        rows += [{"class": name, "metric": metric, "value": float(value)} for metric, value in found.items()]
    return {"numbers": pl.DataFrame(rows), "pairs": pl.DataFrame({"score": test.scores, "label": test.labels})}


@work(needs=needs_maps, judges=True, cost=1)
def curves(bench: Workbench, **parameters: Any) -> Tables:
    """The functions fitted with the unbiased risk at quantiles of the test scores."""
    split, source = opened(bench, **parameters)
    points = np.quantile(test_pairs(split, source, parameters["data"]).scores, _QUANTILES)
    found = maps.maps_of(bench.found(maps.maps_cell(**parameters)))
    rows = []
    for method in _CURVES:
        calibrator = found[method, "unbiased"]
        values = [None] * len(points) if calibrator is None else calibrator.probability(points).tolist()
        rows += [
            {"method": method, "quantile": f"{place:.3g}", "metric": "probability", "value": value}
            for place, value in zip(_QUANTILES, values, strict=True)
        ]
    return {"numbers": pl.DataFrame(rows, schema_overrides={"value": pl.Float64}, infer_schema_length=None)}


def _draw_distributions(results: Results) -> Figure:
    """The distributions of every model, first seed."""
    from sureness.plots import draw_score_distributions, draw_side_by_side, prepare_score_distributions

    first = results.table("pairs").filter(seed=0, test=TEST[0])

    def diagram(model: str, ax: Axes) -> Axes:
        part = first.filter(model=model)
        data = prepare_score_distributions(part["score"].to_numpy(), part["label"].to_numpy(), n_bins=40)
        ax.set_title(model)
        return draw_score_distributions(data, ax=ax)

    return draw_side_by_side([lambda ax, name=name: diagram(name, ax) for name in first["model"].unique().sort()])


# --- whom a map is sure of --------------------------------------------------------------------------------------------

_TOP = 10
_SURE = 0.99


def _topped(bench: Workbench, parameters: dict[str, Any]) -> tuple[pl.DataFrame, str, Interactions]:
    """The top items of every user with score and probability, the risk of the map, and the training part.

    The map is Gaussian with the unbiased risk, or the next risk that has a minimum.
    """
    split, source = opened(bench, **parameters)
    found = maps.maps_of(bench.found(maps.maps_cell(**parameters)))
    risks = ("unbiased", "weighted", "naive")
    risk, calibrator = next((risk, each) for risk in risks if (each := found["gaussian", risk]) is not None)
    tables = []
    for users, items, scores in top_blocks(source, np.arange(split.train.n_users), _TOP, split.train):
        there = items >= 0
        rows, ranks = np.nonzero(there)
        tables.append(pl.DataFrame({
            "user_id": split.train.users.at(users[rows]), "rank": ranks + 1,
            "item_id": split.train.items.at(items[there]), "score": scores[there].astype(np.float64),
            "probability": calibrator.probability(scores[there]),
        }))  # fmt: skip
    return pl.concat(tables), risk, split.train


@work(needs=needs_maps, judges=True, cost=1)
def by_degree(bench: Workbench, **parameters: Any) -> Tables:
    """The correlation of degree and mean top-10 confidence, and how many of these probabilities are nearly 1."""
    from sureness.plots import prepare_confidence_by_degree

    top, risk, train = _topped(bench, parameters)
    degrees = pl.DataFrame({"user_id": train.users.at(np.arange(train.n_users)), "degree": train.user_degree})
    found = {"Pearson r": prepare_confidence_by_degree(top, degrees, n=_TOP).correlation,
             "share above 0.99": float((top["probability"] > _SURE).mean())}  # type: ignore[arg-type]  # fmt: skip
    rows = [{"risk": risk, "metric": metric, "value": float(value)} for metric, value in found.items()]
    return {"numbers": pl.DataFrame(rows).fill_nan(None), "top": top, "degrees": degrees}


@work(needs=needs_maps, judges=True, cost=1)
def cases(bench: Workbench, **parameters: Any) -> Tables:
    """The top five items of three users, found by rule: surest of all, least sure, and widest apart."""
    top, _, train = _topped(bench, parameters)
    five = top.filter(pl.col("rank") <= 5)
    low, high = pl.col("probability").min(), pl.col("probability").max()
    ends = five.group_by("user_id", maintain_order=True).agg(lowest=low, highest=-high, width=high - low)
    kinds = {"sure of all": "lowest", "sure of none": "highest", "wide apart": "width"}
    parts = [
        five.filter(user_id=ends.sort(end, descending=True)["user_id"][0]).with_columns(user=pl.lit(kind))
        for kind, end in kinds.items()
    ]
    table = pl.concat(parts).join(_described(train), on="item_id", how="left", maintain_order="left")
    return {"numbers": table.unpivot(["score", "probability"], index=["user", "rank", "item"], variable_name="metric")}


def _described(train: Interactions) -> pl.DataFrame:
    """Items in words, from their features where there are any."""
    ids, features = train.items.at(np.arange(train.n_items)), train.item_features
    if features is None:
        return pl.DataFrame({"item_id": ids, "item": [f"item {each}" for each in ids]})
    kinds = [name for name in features.columns if ":" in name and not name.startswith("onfrontpage")]
    words = [", ".join(kind.split(":", 1)[1] for kind in kinds if row[kind]) for row in features.to_dicts()]
    return features.select("item_id").with_columns(item=pl.Series(words))


def _draw_degrees(results: Results) -> Axes:
    """Degree and confidence of every user, first seed, with the anchor."""
    from sureness.plots import draw_confidence_by_degree, prepare_confidence_by_degree

    first = [results.table(name).filter(seed=0, pairs=maps.WITH_ANCHOR) for name in ("top", "degrees")]
    return draw_confidence_by_degree(prepare_confidence_by_degree(*first, n=_TOP))


# --- the studies ------------------------------------------------------------------------------------------------------

_BOTH = [maps.AS_LOGGED, maps.WITH_ANCHOR]
STUDIES = (
    Study(
        name="desiderata", number="table-2.1", title="What each method meets, measured", measure=desiderata_met,
        settings=with_recipe, published="desiderata", average=("model",), columns=("desideratum",), digits=2,
        grid={"data": DATA, "model": MODELS, "methods": [[*COUNTING, *PARAMETRIC]], "seed": QUICK_AND_FULL},
        note="The share of fits that meet it / 1 where the dissertation says that the method does. Input range: "
        "probabilities move by less than 0.001 when all scores are stretched tenfold. Monotonicity: the map never "
        "falls. Asymmetricity: the log-odds leave a straight line by more than 1% of their rise.",
    ),
    Study(
        name="score-distributions", number="figure-2.2", title="Scores of both classes", measure=moments,
        settings=with_recipe, draw=_draw_distributions, rows=("model", "class", "seed"),
        grid={"data": DATA, "model": ["neumf", "lightgcn"], "test": TEST, "seed": QUICK_AND_FULL},
        claims=(Claim("the scores of negatives spread more than those of positives", "deviation",
                      {"class": "negative"}, {"class": "positive"}, per=("data", "model", "test")),
                Claim("both distributions have the longer tail on the left", "skewness", {}, 0.0, "-",
                      ("data", "model", "test", "class"))),
        note="Uniformly exposed test pairs, liked or not.",
    ),
    Study(
        name="fitted-functions", number="figure-2.3", title="Functions fitted with the unbiased risk", measure=curves,
        settings=settings, columns=("quantile",),
        grid={"data": DATA, "model": ["lightgcn"], "pairs": _BOTH, "methods": [ALL], "seed": QUICK_AND_FULL},
        note="Probability at quantiles of the test scores; a dash where the risk has no minimum.",
    ),
    Study(
        name="user-degree", number="figure-2.5", title="User degree and mean top-10 confidence", measure=by_degree,
        settings=settings, draw=_draw_degrees, rows=("pairs", "risk"),
        grid={"data": DATA, "model": ["bpr"], "pairs": _BOTH, "methods": [ALL], "seed": QUICK_AND_FULL},
        claims=(Claim("degree and confidence correlate with more than 0.5", "Pearson r", {}, 0.5, "+",
                      ("data", "pairs", "risk")),),
        note="The Gaussian map with the unbiased risk, or the next risk that has a minimum. Where nearly all "
        "probabilities are above 0.99, the correlation says nothing.",
    ),
    Study(
        name="calibration-case-study", number="figure-2.6", title="Top-5 items of three users, LightGCN and Gaussian",
        measure=cases, settings=settings, rows=("user", "rank", "item"),
        grid={"data": DATA, "model": ["lightgcn"], "pairs": [maps.WITH_ANCHOR], "methods": [ALL], "seed": [0]},
        note="The users are found by rule: the highest of all fifth probabilities, the lowest of all first ones, and "
        "the widest gap.",
    ),
)  # fmt: skip
