"""Bidirectional distillation as the authors' public code computes it, with controls.

``python -m benchmarks.bd_public --model bpr --seeds 5`` (or ``--model cdae --seeds 2``) computes the rows it finds
missing, seed by seed, and keeps models and the ranks of every user's test item in --cache; then it writes
benchmarks/results/bd_public.csv and the tables of docs/distillation.md from all rows there.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.bd_public_tables import write_results
from benchmarks.logs import FOLDER, absent
from sureness.artefacts import load
from sureness.data import Split, prepare, union
from sureness.distillation import BidirectionalDistillation, DistillationSettings, distillation_method
from sureness.evaluation import held_out_ranks
from sureness.models import Recommender, make_recommender

DATA = "citeulike-bd"
ROLES = ("teacher", "student")


def _both(**changes: float | str | bool) -> dict[str, float | str | bool]:
    return {f"to_{role}__{name}": value for role in ROLES for name, value in changes.items()}


CONTROLS: dict[str, dict[str, float | str | bool]] = {
    "bd-public": {},
    "printed sign": _both(ranked_higher_by="guide"),
    "printed sign, uniform negatives": _both(ranked_higher_by="guide", reuse=False),
    "weight 0, drawn negatives": _both(weight=0.0, reuse=True),
    "weight 0, uniform negatives": _both(weight=0.0, reuse=False),
    "weight decay kept": {"keeps_weight_decay": True},
}
"""What differs from the public code in each row."""


@dataclass(frozen=True)
class Study:
    """How the public code trains one kind of model."""

    method: str
    alone: Mapping[str, Mapping[str, float | str | bool]]  # by role
    together: int  # joint epochs
    seen_score: float  # of seen items when hits are counted
    shared: Mapping[str, float | str | bool]  # settings of both models
    controls: tuple[str, ...] = tuple(CONTROLS)
    extra: tuple[str, ...] = ()  # methods that are rows of their own

    def rows(self) -> dict[str, DistillationSettings]:
        """Every row, and the settings that it is trained with."""
        made = {name: distillation_method(self.method, **CONTROLS[name]) for name in self.controls}
        made |= {name: distillation_method(name) for name in self.extra}
        return {name: settings.changed(epochs=self.together) for name, settings in made.items()}


STUDIES = {
    "bpr": Study(
        method="bd-public",
        alone={
            "teacher": {"n_factors": 50, "epochs": 70, "weight_decay": 1e-3},
            "student": {"n_factors": 5, "epochs": 200},
        },
        together=40,
        seen_score=0.0,
        extra=("bd-public-cdae",),
        shared={"learning_rate": 0.001, "batch_size": 128, "start_scale": 1.0},
    ),
    "cdae": Study(
        method="bd-public-cdae",
        alone={"teacher": {"n_factors": 50}, "student": {"n_factors": 5}},
        together=100,
        seen_score=-np.inf,  # a probability of 0 is below all others
        controls=("bd-public", "printed sign", "weight 0, uniform negatives", "weight decay kept"),
        shared={
            "learning_rate": 0.002, "weight_decay": 1e-3, "epochs": 300, "popularity": 0.0, "history": "sum",
            "batch_size": 128 * 23,  # 128 users, who have 23 pairs on average
        },
    ),
}  # fmt: skip


# --- one row ---------------------------------------------------------------------------------------------------------


def alone(model: str, role: str, split: Split, seed: int, cache: Path) -> Recommender:
    """A model as the public code trains it alone, from the cache if it is there; all epochs are run."""
    study = STUDIES[model]
    path = cache / f"{model}-{role}-{seed}.sureness"
    if path.exists():
        return load(path, Recommender)
    settings = {"adam": "dense", "summed": True, "l2": 0.0, "seed": seed, **study.shared, **study.alone[role]}
    made = make_recommender(model, **settings)
    made.fit(split.train, checkpoint=path.with_suffix(".checkpoint"), checkpoint_seconds=60)
    made.save(path)
    return made


def trained(model: str, row: str, split: Split, seed: int, cache: Path) -> dict[str, Recommender]:
    """Teacher and student after one row of the table."""
    pair = {role: alone(model, role, split, seed, cache) for role in ROLES}
    if row == "alone":
        return pair
    settings = STUDIES[model].rows()[row].changed(seed=seed)
    both = BidirectionalDistillation.from_settings(pair["teacher"], pair["student"], settings).fit(split.train)
    return {"teacher": both.teacher_, "student": both.student_}


def ranks(models: Mapping[str, Recommender], split: Split, seen_score: float) -> pl.DataFrame:
    """The rank of every test item by both models, counted as the public code counts and as we do."""
    assert split.validation is not None
    found = {"user": split.test.users.at(split.test.user_rows)}
    for role, model in models.items():
        found[f"{role} public"] = held_out_ranks(model, split.test, seen=split.train, seen_score=seen_score)
        found[f"{role} masked"] = held_out_ranks(model, split.test, seen=union([split.train, split.validation]))
    return pl.DataFrame(found)


def compute(model: str, row: str, split: Split, seed: int, cache: Path) -> None:
    """Keep the ranks of a row, unless they are there."""
    path = cache / "ranks" / f"{model}~{row}~{seed}.parquet"
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    found = ranks(trained(model, row, split, seed, cache), split, STUDIES[model].seen_score)
    found.write_parquet(path.with_suffix(".new"))
    path.with_suffix(".new").rename(path)
    hits = {role: round(float(np.mean(found[f"{role} public"].to_numpy() < 50)), 4) for role in ROLES}
    print(model, seed, row, hits, flush=True)


def main() -> None:
    """Compute what is missing, and write down all there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", nargs="*", default=["bpr"], choices=list(STUDIES))
    parser.add_argument("--row", nargs="*", help="only these rows; all by default")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/sureness-bd-public").expanduser())
    asked = parser.parse_args()
    if reason := absent(DATA):
        print(reason)
        return
    split = prepare(DATA, folder=FOLDER / DATA, artefact=True)
    for seed in range(asked.seeds):
        for model in asked.model:
            for row in asked.row or ("alone", *STUDIES[model].rows()):
                compute(model, row, split, seed, asked.cache)
                write_results(asked.cache)


if __name__ == "__main__":
    main()
