"""The cells that all experiments of chapter 2 share: five recommenders on data with a uniformly exposed test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sureness_reproduction.base_models import trained
from sureness_reproduction.cells import Cell
from sureness_reproduction.experiment import Plan, Scale
from sureness_reproduction.published import TITLES

DATA: dict[Scale, Sequence[str]] = {"quick": ("coat",), "full": ("coat", "yahoo-r3")}
"""What the dissertation runs on; Yahoo!R3 binds each user to its terms, so it is often not there."""

MODELS = ("bpr", "neumf", "cml", "ubpr", "lightgcn")
"""The recommenders of chapter 2, in the order of its tables."""

_TEXT = {"batch_size": 512, "learning_rate": 0.001}
_STARTS: dict[str, dict[str, Any]] = {
    "bpr": _TEXT | {"l2": 0.001, "popularity": 0.0},
    "neumf": _TEXT | {"l2": 0.001, "negatives": 1, "popularity": 0.0},
    "cml": _TEXT | {"negatives": 1, "popularity": 0.0},
    "ubpr": _TEXT | {"l2": 0.001, "popularity": 0.0, "propensity_power": 0.5, "propensity_clip": 0.1},
    "lightgcn": _TEXT | {"l2": 0.001, "layers": 2, "popularity": 0.0},
}
"""The settings that the dissertation prints, tried first; CML has bounded vectors and needs no weight decay."""

_SEARCH: dict[Scale, tuple[int, dict[str, int]]] = {
    "quick": (3, {"epochs": 40, "patience": 10}),
    "full": (12, {"epochs": 200, "patience": 30}),
}
"""How many settings are tried, and how long a training may take."""


def base_of(data: str, model: str, seed: int, scale: Scale) -> dict[str, Any]:
    """The parameters of a trained recommender, see `trained`.

    Examples
    --------
    >>> base_of("coat", "neumf", 0, "full")["fixed"]
    {'n_factors': 64, 'validate_every': 1, 'epochs': 200, 'patience': 30}
    """
    trials, patience = _SEARCH[scale]
    fixed = {"n_factors": 64 if model == "neumf" else 128, "validate_every": 1, **patience}
    return {
        "data": data, "protocol": "preference", "model": model, "trials": trials, "fixed": fixed,
        "start": _STARTS[model], "seed": seed,
    }  # fmt: skip


def recommender(base: dict[str, Any]) -> Cell:
    """The cell of a trained recommender."""
    return trained.cell(**base)


def bases(plan: Plan, models: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Every data set, model and seed of a plan; by default all five models."""
    models = MODELS if models is None else tuple(models)
    return [base_of(data, model, seed, plan.scale) for data in plan.data for model in models for seed in plan.seeds]


_ABSENT = {"yahoo-r3": "the data are not here; their terms bind each user to their publisher"}
"""Why data may well not be there; others are simply not in the data folder."""


def why_absent(plan: Plan, data: str) -> str:
    """Why a data set of the dissertation was not run.

    Examples
    --------
    >>> why_absent(Plan("full", (0,), (), ("coat",)), "coat")
    'it is not in the data folder'
    """
    if data in plan.absent:
        return _ABSENT.get(data, "it is not in the data folder")
    if data not in plan.data:
        return f"not part of the {plan.scale} scale"
    return "not part of this experiment"


def not_run(plan: Plan) -> list[str]:
    """A note on each data set that is not there."""
    return [f"{TITLES[data]} was not run: {why_absent(plan, data)}." for data in plan.absent]
