"""BD as the authors' public code computes it, with controls that change one thing each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.distillation.declared import Settings
from sureness_reproduction.distillation.training import ROLES, learned, make, split_of
from sureness_reproduction.study import Claim, Scale, Study
from sureness_reproduction.workbench import Workbench

_DENSE = {"adam": "dense", "summed": True, "l2": 0.0, "learning_rate": 0.001, "batch_size": 128, "start_scale": 1.0}
_ALONE: dict[str, Settings] = {
    "teacher": _DENSE | {"n_factors": 50, "epochs": 70, "weight_decay": 1e-3},
    "student": _DENSE | {"n_factors": 5, "epochs": 200},
}


def _both(**changes: Any) -> Settings:
    return {f"to_{role}__{name}": value for role in ROLES for name, value in changes.items()}


ROWS: dict[str, Settings] = {
    "bd-public": {},
    "printed sign": _both(ranked_higher_by="guide"),
    "printed sign, uniform negatives": _both(ranked_higher_by="guide", reuse=False),
    "weight 0, drawn negatives": _both(weight=0.0, reuse=True),
    "weight 0, uniform negatives": _both(weight=0.0, reuse=False),
    "weight decay kept": {"keeps_weight_decay": True},
}
"""What differs from the public code in each row."""


@work(cost=300)
def publicly_alone(bench: Workbench, *, data: str, model: str, settings: Settings, seed: int) -> Tables:
    """A model as the public code trains it alone: all epochs, no early stopping."""
    bench.save(make(model, **settings, seed=seed).fit(split_of(bench, data, "published").train))
    return {}


def _pair(*, data: str, model: str, alone: Mapping[str, Settings], seed: int, **_: Any) -> dict[str, Cell]:
    return {role: publicly_alone.cell(data=data, model=model, settings=alone[role], seed=seed) for role in ROLES}


def _pair_first(**parameters: Any) -> Iterable[Cell]:
    return _pair(**parameters).values()


@work(needs=_pair_first, cost=600)
def publicly_together(bench: Workbench, *, changes: Settings, **parameters: Any) -> Tables:
    """Both models after one row; all rows of a seed start from the same two models."""
    from sureness.distillation import BidirectionalDistillation, distillation_method

    pair = [bench.found(cell).model for cell in _pair(**parameters).values()]
    settings = distillation_method("bd-public", seed=parameters["seed"], **changes)
    both = BidirectionalDistillation.from_settings(pair[0], pair[1], settings)
    both.fit(split_of(bench, parameters["data"], "published").train)
    both.teacher_.save(bench.place / "teacher.sureness")
    both.student_.save(bench.place / "student.sureness")
    return {}


def _needed(*, methods: list[str], epochs: int, **parameters: Any) -> Iterable[Cell]:
    if methods == ["alone"]:
        return _pair_first(**parameters)
    return [publicly_together.cell(changes=ROWS[methods[0]] | {"epochs": epochs}, **parameters)]


@work(needs=_needed, judges=True, cost=5)
def publicly_judged(bench: Workbench, **parameters: Any) -> Tables:
    """Whether the test item of each user is a hit: counted as in the public code, and with seen items masked."""
    from sureness.data import union
    from sureness.evaluation import held_out_ranks

    found = [bench.found(cell) for cell in _needed(**parameters)]
    models = learned(found[0]) if len(found) == 1 else dict(zip(ROLES, (each.model for each in found), strict=True))
    split, parts = split_of(bench, parameters["data"], "published"), []
    for role, model in models.items():
        public = held_out_ranks(model, split.test, seen=split.train, seen_score=0.0) < 50
        masked = held_out_ranks(model, split.test, seen=union([split.train, split.validation])) <= 50
        for counting, hits in (("as the public code counts", public), ("seen items masked", masked)):
            key = {"role": role, "counting": counting, "method": parameters["methods"][0], "metric": "hit@50"}
            parts.append(pl.DataFrame(key | {"unit": split.test.user_rows, "value": hits.astype(float)}))
    return {"samples": pl.concat(parts)}


def settings(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """The numbers of epochs: 70 and 200 alone, 40 together; two of each at quick scale."""
    if point["methods"] != ["alone"] and point["methods"][0] not in ROWS:
        return None  # methods that are asked for beside these are in the main table
    if scale == "full":
        return {"alone": _ALONE, "epochs": 40}
    return {"alone": {role: each | {"epochs": 2} for role, each in _ALONE.items()}, "epochs": 2}


def _above(text: str, role: str, first: str, second: str, *, claimed: bool) -> Claim:
    sides = [{"role": role, "method": name, "counting": "as the public code counts"} for name in (first, second)]
    return Claim(text, "hit@50", sides[0], sides[1], claimed=claimed)


STUDIES = (
    Study(
        name="authors-code", number="", title="BD as the authors' public code computes it", measure=publicly_judged,
        settings=settings, rows=("method",), columns=("role",),
        grid={"data": {"quick": ["amazon-music"], "full": ["citeulike-bd"]}, "model": ["bpr"],
              "methods": [["alone"], *([name] for name in ROWS)], "seed": {"quick": range(1), "full": range(5)}},
        claims=(_above("BD improves the student", "student", "bd-public", "alone", claimed=True),
                _above("BD improves the teacher", "teacher", "bd-public", "alone", claimed=True),
                _above("the labels do it: student", "student", "bd-public", "weight 0, drawn negatives", claimed=False),
                _above("the labels do it: teacher", "teacher", "bd-public", "weight 0, uniform negatives",
                       claimed=False)),
        note="H@50 of BPR with 50 and 5 factors. Weight 0 has no soft labels; weight decay kept trains the teacher "
        "together as alone. Rank 49 or better is a hit in the public code, and seen items have the score 0.",
    ),
)  # fmt: skip
