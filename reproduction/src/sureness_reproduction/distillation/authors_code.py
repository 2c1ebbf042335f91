"""BD as the authors' public code computes it, with controls that change one thing each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sureness_reproduction.distillation.declared import Settings
from sureness_reproduction.distillation.measures import PUBLIC, counted
from sureness_reproduction.study import Claim, Scale, Study

_DENSE = {"adam": "dense", "summed": True, "l2": 0.0}
_BPR = _DENSE | {"learning_rate": 0.001, "batch_size": 128, "start_scale": 1.0}
_CDAE = _DENSE | {
    "learning_rate": 0.002, "weight_decay": 1e-3, "epochs": 300, "popularity": 0.0, "history": "sum",
    "batch_size": 128 * 23,  # 128 users, who have 23 pairs on average
}  # fmt: skip
ALONE: dict[str, dict[str, Settings]] = {
    "bpr": {
        "teacher": _BPR | {"n_factors": 50, "epochs": 70, "weight_decay": 1e-3},
        "student": _BPR | {"n_factors": 5, "epochs": 200},
    },
    "cdae": {"teacher": _CDAE | {"n_factors": 50}, "student": _CDAE | {"n_factors": 5}},
}
METHODS = {"bpr": "bd-public", "cdae": "bd-public-cdae"}
TOGETHER = {"bpr": 40, "cdae": 100}  # epochs

ROWS: dict[str, Settings] = {
    "bd-public": {},
    "weight 0, uniform negatives": {"weight": 0.0, "reuse": False},
    "weight 0, drawn negatives": {"weight": 0.0, "reuse": True},
    "printed sign": {"ranked_higher_by": "guide"},
    "printed sign, uniform negatives": {"ranked_higher_by": "guide", "reuse": False},
    "weight decay kept": {"keeps_weight_decay": True},
}
"""What differs from the public code in each row, in both directions."""


LONGER = "alone, 5 times as long"
"""A control of another kind; with it the student has the 1,000 epochs of the public code."""


def settings(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """The public settings of a model; two epochs each at quick scale."""
    (row,), model = point["methods"], point["model"]
    if model not in ALONE or row not in ("alone", LONGER, *ROWS):
        return None  # other methods are in the main table
    if row in ("printed sign, uniform negatives", LONGER) and model != "bpr":
        return None  # only BPR takes drawn items as negatives; CDAE would take hours
    bases = {
        role: [each | {"epochs": (5 if row == LONGER else 1) * (each["epochs"] if scale == "full" else 2)}]
        for role, each in ALONE[model].items()
    }
    return {
        "start": "public", "bases": bases, "schedule": {"epochs": TOGETHER[model] if scale == "full" else 2},
        "method": METHODS[model] if row in ROWS else "alone", "tried": [ROWS.get(row, {})],
    }  # fmt: skip


_WEIGHT_0 = ("weight 0, uniform negatives", "weight 0, drawn negatives")


def _above(role: str, first: str, *second: str, claimed: bool = False) -> Claim:
    """One row above another, or above the better one of two."""
    sides = [{"role": role, "counting": PUBLIC, "method": name} for name in (first, *second)]
    name = "weight 0" if second == _WEIGHT_0 else second[0]
    return Claim(f"{role}: {first} above {name}", "hit@50", sides[0], tuple(sides[1:]), claimed=claimed)


STUDIES = (
    Study(
        name="authors-code", number="", title="BD as the authors' public code computes it", measure=counted,
        settings=settings, published="authors-code", beside={"counting": PUBLIC}, rows=("role", "method"),
        grid={"data": {"quick": ["amazon-music"], "full": ["citeulike-bd"]}, "model": list(ALONE),
              "seed": {"quick": range(1), "full": range(5)}, "methods": [[name] for name in ("alone", *ROWS, LONGER)]},
        claims=(_above("student", "bd-public", "alone", claimed=True),
                _above("teacher", "bd-public", "alone", claimed=True),
                _above("student", "bd-public", *_WEIGHT_0), _above("teacher", "bd-public", *_WEIGHT_0),
                _above("student", "bd-public", "printed sign"), _above("student", "printed sign", *_WEIGHT_0),
                _above("student", "printed sign, uniform negatives", "weight 0, uniform negatives"),
                _above("student", "weight 0, drawn negatives", "weight 0, uniform negatives"),
                _above("student", "weight decay kept", *_WEIGHT_0), _above("teacher", "weight decay kept", "alone"),
                _above("student", "bd-public", LONGER)),
        note="H and N at 50 and 100, mean over seeds ± deviation / the published number, with 50 and 5 factors. Weight "
        "0 has no soft labels; weight decay kept trains both models together as alone. In the public code rank 49 or "
        "better is a hit at 50, and seen items have the score 0.",
    ),
)  # fmt: skip
