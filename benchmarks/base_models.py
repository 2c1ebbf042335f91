"""How well NeuMF and CDAE rank alone, over five seeds: `python -m benchmarks.base_models`.

Every setting of a case is tried with the first seed and judged on validation; the best one is trained with all seeds
and judged on test. Each finished run is one row of `benchmarks/results/base_models.csv`: called again, the command
runs what is missing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from benchmarks.logs import absent, split_of
from sureness.data import Split, union
from sureness.metrics import evaluate_ranking
from sureness.models import make_recommender

SEEDS = (0, 1, 2, 3, 4)
RESULTS = Path(__file__).parent / "results" / "base_models.csv"

Settings = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A model of one size on one data set, and the settings that are tried."""

    data: str
    model: str
    size: int
    metric: str
    tried: tuple[Settings, ...]
    shared: Settings = field(default_factory=dict)  # settings of all that are tried


_LONG = {"epochs": 120, "validate_every": 20, "patience": 2, "validation_users": 2_000}
_CDAE = {"popularity": 0.75, "epochs": 100, "validate_every": 10, "patience": 3, "validation_users": 2_000}
_NEUMF = {"learning_rate": 0.005, "l2": 0.03, "popularity": 0.5} | _LONG
_STUDENTS = (
    {"learning_rate": 0.01, "l2": 0.03}, {"learning_rate": 0.01, "l2": 0.05}, {"learning_rate": 0.02, "l2": 0.03},
    {"learning_rate": 0.01, "l2": 0.03, "negatives": 4},
)  # fmt: skip
_BD = "citeulike-bd"

CASES = {
    "neumf-50": Case(_BD, "neumf", 50, "hit@50", ({},), _NEUMF),
    "cdae-50": Case(_BD, "cdae", 50, "hit@50", ({"l2": 0.003},), _CDAE),
    "cdae-5": Case(_BD, "cdae", 5, "hit@50", ({"l2": 0.0, "learning_rate": 0.01, "start_scale": 0.1},), _CDAE),
    "neumf-5": Case(_BD, "neumf", 5, "hit@50", _STUDENTS, _LONG),
    "cdae-50-sum": Case(_BD, "cdae", 50, "hit@50", ({"l2": 0.003},), _CDAE | {"history": "sum"}),
    "products-50": Case(_BD, "neumf", 50, "hit@50", ({},), _NEUMF | {"dense_l2": 1.0}),  # the layers vanish
    "neumf-64": Case("citeulike-a", "neumf", 64, "ndcg@50", ({},), _NEUMF),
}


class Store:
    """Finished runs in a table."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[dict[str, Any]] = pl.read_csv(path).to_dicts() if path.exists() else []

    def find(self, name: str, seed: int, settings: str) -> dict[str, Any] | None:
        wanted = (name, seed, settings)
        return next((row for row in self.rows if (row["case"], row["seed"], row["settings"]) == wanted), None)

    def add(self, row: dict[str, Any]) -> dict[str, Any]:
        self.rows.append(row)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame(self.rows).sort("case", "settings", "seed").write_csv(self.path)
        print(row, flush=True)
        return row


def run(name: str, settings: Settings, seed: int, split: Split, store: Store) -> dict[str, Any]:
    """One training, or what is known of it."""
    case, told = CASES[name], json.dumps(settings, sort_keys=True)
    if (found := store.find(name, seed, told)) is not None:
        return found
    started = time.process_time()
    model = make_recommender(case.model, n_factors=case.size, metric=case.metric, seed=seed, **settings)
    model.fit(split.train, split.validation)
    means = evaluate_ranking(
        model, split.test, seen=union([split.train, split.validation]), metrics=["hit@50", "ndcg@50"]
    ).means
    return store.add({
        "case": name, "data": case.data, "model": case.model, "size": case.size, "seed": seed,
        "hit@50": round(means["hit@50"], 5), "ndcg@50": round(means["ndcg@50"], 5),
        "validation": round(model.best_metric_ or 0.0, 5), "epoch": model.best_epoch_,
        "cpu_seconds": round(time.process_time() - started), "settings": told,
        "command": f"python -m benchmarks.base_models --case {name}",
    })  # fmt: skip


def runs_of(name: str, seeds: list[int], store: Store) -> Iterator[dict[str, Any]]:
    """All settings with the first seed, then the best of them with the others."""
    case, split = CASES[name], split_of(CASES[name].data)
    tried = [case.shared | settings for settings in case.tried]
    first = [run(name, settings, SEEDS[0], split, store) for settings in tried]
    best = max(first, key=lambda row: float(row["validation"]))
    return (run(name, json.loads(best["settings"]), seed, split, store) for seed in seeds)


def table(store: Store) -> pl.DataFrame:
    """Means over seeds of the best settings of each case, as validation with the first seed chose them."""
    rows = pl.DataFrame(store.rows)
    chosen = rows.filter(pl.col("seed") == SEEDS[0]).sort("validation", descending=True).unique("case", keep="first")
    return (
        rows.join(chosen.select("case", "settings"), on=["case", "settings"])
        .group_by("case", "settings")
        .agg(pl.len().alias("seeds"), pl.mean("hit@50", "ndcg@50"), pl.std("hit@50").alias("deviation of hit@50"))
        .sort("case")
    )


def main(
    case: Annotated[list[str] | None, typer.Option(help=f"One of {', '.join(CASES)}; may be repeated.")] = None,
    seeds: Annotated[int, typer.Option(help="How many of the five seeds.")] = len(SEEDS),
    store: Annotated[Path, typer.Option(help="Where finished runs are kept.")] = RESULTS,
) -> None:
    """Run what is missing, one seed of all cases after the other, and print the means."""
    kept = Store(store)
    names = [name for name in case or CASES if absent(CASES[name].data) is None]
    for n in range(1, seeds + 1):
        for name in names:
            list(runs_of(name, list(SEEDS[:n]), kept))
    with pl.Config(tbl_rows=-1, fmt_str_lengths=120, tbl_hide_dataframe_shape=True):
        print(table(kept))


if __name__ == "__main__":
    typer.run(main)
