"""Whom the recommender is sure about: confidence by degree, and the top items of a few users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sureness.calibration import Calibrator
from sureness.data import Interactions
from sureness.evaluation import top_blocks
from sureness_reproduction.calibration import sets
from sureness_reproduction.calibration.errors import needs_maps, settings
from sureness_reproduction.calibration.grid import DATA, opened
from sureness_reproduction.calibration.maps import ALL, maps_cell, maps_of
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.results import Results
from sureness_reproduction.study import QUICK_AND_FULL, Claim, Study
from sureness_reproduction.workbench import Workbench

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RISKS = ("unbiased", "weighted", "naive")
_TOP = 10
_SURE = 0.99


def _topped(bench: Workbench, parameters: dict[str, Any]) -> tuple[pl.DataFrame, str, Interactions]:
    """The top items of every user with score and probability (Gaussian), the risk of the map, and the training part."""
    split, source = opened(bench, **{k: v for k, v in parameters.items() if k not in ("pairs", "methods")})
    risk, calibrator = _first(maps_of(bench.found(maps_cell(**parameters))))
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


def _first(maps: dict[tuple[str, str], Calibrator | None]) -> tuple[str, Calibrator]:
    """The Gaussian map with the unbiased risk, or the next risk that has a minimum."""
    return next((risk, each) for risk in _RISKS if (each := maps["gaussian", risk]) is not None)


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
    ends = five.group_by("user_id", maintain_order=True).agg(
        lowest=pl.col("probability").min(), highest=pl.col("probability").max()
    ).with_columns(width=pl.col("highest") - pl.col("lowest"))  # fmt: skip
    chosen = {
        "sure of all": ends.sort("lowest", descending=True)["user_id"][0],
        "sure of none": ends.sort("highest")["user_id"][0],
        "wide apart": ends.sort("width", descending=True)["user_id"][0],
    }
    parts = [five.filter(user_id=user).with_columns(user=pl.lit(kind)) for kind, user in chosen.items()]
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


def draw(results: Results) -> Axes:
    """Degree and confidence of every user, first seed, with the anchor."""
    from sureness.plots import draw_confidence_by_degree, prepare_confidence_by_degree

    first = [results.table(name).filter(seed=0, pairs=sets.WITH_ANCHOR) for name in ("top", "degrees")]
    return draw_confidence_by_degree(prepare_confidence_by_degree(*first, n=_TOP))


STUDIES = (
    Study(
        name="user-degree", number="figure-2.5", title="User degree and mean top-10 confidence", measure=by_degree,
        settings=settings, draw=draw, rows=("pairs", "risk"),
        grid={"data": DATA, "model": ["bpr"], "pairs": [sets.AS_LOGGED, sets.WITH_ANCHOR], "methods": [ALL],
              "seed": QUICK_AND_FULL},
        claims=(Claim("degree and confidence correlate with more than 0.5", "Pearson r", {}, 0.5, "+",
                      ("data", "pairs", "risk")),),
        note="The Gaussian map with the unbiased risk, or the next risk that has a minimum. Where nearly all "
        "probabilities are above 0.99, the correlation says nothing.",
    ),
    Study(
        name="calibration-case-study", number="figure-2.6", title="Top-5 items of three users, LightGCN and Gaussian",
        measure=cases, settings=settings, rows=("user", "rank", "item"),
        grid={"data": DATA, "model": ["lightgcn"], "pairs": [sets.WITH_ANCHOR], "methods": [ALL], "seed": [0]},
        note="The users are found by rule: the highest of all fifth probabilities, the lowest of all first ones, and "
        "the widest gap.",
    ),
)  # fmt: skip
