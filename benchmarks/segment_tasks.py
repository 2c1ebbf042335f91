"""Scored, labelled pairs with several fields: what maps of overlapping segments are compared on."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import sureness as sn
from sureness.sources import svd_source

_LISTED = 100  # candidates of each user


@dataclass(frozen=True, eq=False)
class Task:
    """Pairs to fit on and pairs to judge on."""

    fit: pl.DataFrame  # score, label and the fields
    test: pl.DataFrame  # the same, and `truth` where it is known
    categories: tuple[str, ...]
    numbers: tuple[str, ...]

    @property
    def fields(self) -> list[str]:
        return [*self.categories, *self.numbers]


def rated(seed: int) -> Task:
    """ML-1M: is a rating that was held out at least 4? Scores come from a model of the liked ratings."""
    log = _ratings()
    part = np.random.default_rng(seed).choice(3, log.height, p=[0.6, 0.2, 0.2])
    train = log.filter(pl.Series(part == 0))
    model = svd_source(_log(train.filter(pl.col("rating") >= 4)), n_factors=32)
    known = log.with_columns(part=part, label=(pl.col("rating") >= 4).cast(pl.Int8))
    rows = _with_fields(known.filter((pl.col("part") > 0) & _known(model)), train)
    rows = rows.with_columns(score=_scores(model, rows))
    return _task(rows.filter(part=1), rows.filter(part=2))


def listed(seed: int) -> Task:
    """ML-1M: was one of the 100 best candidates of a model taken? Judged on users it was not fitted on."""
    log = _ratings()
    rng = np.random.default_rng(seed)
    part = rng.choice(2, log.height, p=[0.8, 0.2])
    train, held_out = log.filter(pl.Series(part == 0)), log.filter(pl.Series(part == 1))
    seen = _log(train)
    model = svd_source(seen, n_factors=32)
    lists = pl.concat([_best(model, seen, user) for user in range(model.n_users)])
    taken = held_out.select("user_id", "item_id", label=pl.lit(1, pl.Int8))
    rows = lists.join(taken, on=["user_id", "item_id"], how="left").with_columns(pl.col("label").fill_null(0))
    rows = _with_fields(rows, train)
    users = rows["user_id"].unique().sort()
    fitted_on = users.filter(pl.Series(rng.random(len(users)) < 0.5))
    inside = pl.col("user_id").is_in(fitted_on.implode())
    return _task(rows.filter(inside), rows.filter(~inside))


def simulated(seed: int) -> Task:
    """A simulated world: is an item liked that was drawn at random? The truth is known."""
    world = sn.simulate(sn.SimulatorSettings(n_users=10_000, n_items=600, test_items=40, seed=seed))
    model = svd_source(world.train, n_factors=8)
    users, items = world.test_users, world.test_items
    rows = pl.DataFrame({
        "score": np.concatenate([
            model.score_block(np.arange(start, start + 500))[
                users[start * 40 : (start + 500) * 40] - start, items[start * 40 : (start + 500) * 40]
            ] for start in range(0, 10_000, 500)
        ]).astype(np.float64),
        "label": world.test_labels.astype(np.int8),
        "domain": np.array(world.domains)[world.item_domain[items]],
        "user_taste": world.user_tastes.argmax(axis=1)[users],
        "item_taste": world.item_tastes.argmax(axis=1)[items],
        "activity": world.train.getnnz(axis=1)[users].astype(np.float64),
        "popularity": world.train.getnnz(axis=0)[items].astype(np.float64),
        "truth": world.preference(users, items),
    })  # fmt: skip
    inside = np.random.default_rng(seed).random(10_000)[users] < 0.5
    names = ("domain", "user_taste", "item_taste")
    return Task(rows.filter(pl.Series(inside)), rows.filter(pl.Series(~inside)), names, ("activity", "popularity"))


TASKS: dict[str, Callable[[int], Task]] = {"ml-1m rated": rated, "ml-1m listed": listed, "simulated": simulated}


def _log(pairs: pl.DataFrame) -> sn.Interactions:
    return sn.Interactions.of(pairs["user_id"], pairs["item_id"])


def _best(model: sn.FactorSource, seen: sn.Interactions, user: int) -> pl.DataFrame:
    """The best candidates of a user."""
    scores = model.score_block(np.array([user]))[0].astype(np.float64)
    scores[seen.items_of(user)] = -np.inf
    best = np.argpartition(-scores, _LISTED)[:_LISTED]
    users, items = model.users.at(np.full(_LISTED, user)), model.items.at(best)
    return pl.DataFrame({"user_id": users, "item_id": items, "score": scores[best]})


def _ratings() -> pl.DataFrame:
    return _read("interactions").rename({"user": "user_id", "item": "item_id"}).select("user_id", "item_id", "rating")


def _read(name: str) -> pl.DataFrame:
    folder = Path(os.environ.get("SURENESS_DATA", "../shared/data")) / "ml-1m"
    return pl.read_csv(folder / f"{name}.tsv.gz", separator="\t", quote_char=None, infer_schema_length=10_000)


def _known(model: sn.FactorSource) -> pl.Expr:
    return pl.col("user_id").is_in(model.users.ids.implode()) & pl.col("item_id").is_in(model.items.ids.implode())


def _scores(model: sn.FactorSource, rows: pl.DataFrame) -> np.ndarray:
    users, items = model.users.rows(rows["user_id"]), model.items.rows(rows["item_id"])
    return np.einsum("ij,ij->i", model.user_factors[users], model.item_factors[items]).astype(np.float64)


def _with_fields(rows: pl.DataFrame, train: pl.DataFrame) -> pl.DataFrame:
    people = _read("users").select("age", "occupation", user_id="user", sex="gender")
    films = _read("items").select(item_id="item", genre=pl.col("genres").str.split("|").list.first())
    active = train.group_by("user_id").agg(activity=pl.len().cast(pl.Float64))
    popular = train.group_by("item_id").agg(popularity=pl.len().cast(pl.Float64))
    for other, key in ((people, "user_id"), (films, "item_id"), (active, "user_id"), (popular, "item_id")):
        rows = rows.join(other, on=key, how="left", maintain_order="left")
    return rows


def _task(fit: pl.DataFrame, test: pl.DataFrame) -> Task:
    categories, numbers = ("age", "sex", "occupation", "genre"), ("activity", "popularity")
    names = ["score", "label", *categories, *numbers]
    return Task(fit.select(names), test.select(names), categories, numbers)
