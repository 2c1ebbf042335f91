"""The study of docs/distillation.md: `python -m benchmarks.distillation_study --start strong --model bpr`.

Every cell is one training, kept in build/distillation by its content, so that a run that was stopped goes on. Settings
are chosen on the validation part with one seed; the test part is looked at only by the cells of the final table.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from benchmarks.logs import FOLDER
from sureness._files import replacing
from sureness.data.interactions import union
from sureness.data.recipes import prepare
from sureness.data.splitting import Split
from sureness.distillation.bidirectional import BidirectionalDistillation
from sureness.distillation.methods import distillation_method
from sureness.distillation.starts import truncated
from sureness.evaluation.ranking import evaluate_ranking
from sureness.models.base import Recommender
from sureness.models.catalogue import make_recommender
from sureness.models.saving import load_model
from sureness.sources.base import ScoreSource

STORE = Path("build/distillation")
METRICS = ["hit@50", "hit@100", "ndcg@50", "ndcg@100"]
SIZES = {"teacher": 50, "student": 5}
_JUDGED = {"metric": "hit@50", "validate_every": 10, "patience": 4}
_SLOW = {"validation_users": 2000, "validate_every": 10, "patience": 3}

_NEUMF = {"popularity": 0.5, "epochs": 60, **_SLOW}
_CDAE = {"epochs": 100, "patience": 3}
_WIDTHS = {"teacher": (50, 25), "student": (10, 5)}
_PRINTED = {"start_scale": 0.01, "batch_size": 128}

BASES: dict[tuple[str, str, str], list[dict[str, Any]]] = {
    ("strong", "bpr", "teacher"): [
        {"learning_rate": rate, "l2": l2, "popularity": 0.75, "epochs": 300}
        for rate, l2 in ((0.005, 0.03), (0.005, 0.05), (0.01, 0.03))
    ],
    ("strong", "bpr", "student"): [{"learning_rate": 0.01, "l2": 0.05, "epochs": 300}],  # the best of twelve, by `tune`
    ("strong", "neumf", "teacher"): [{"learning_rate": 0.002, "l2": 0.003, "hidden": _WIDTHS["teacher"], **_NEUMF}],
    ("strong", "neumf", "student"): [
        {"learning_rate": 0.005, "l2": l2, "hidden": _WIDTHS["student"], **_NEUMF, "epochs": 80} for l2 in (0.003, 0.01)
    ],
    ("strong", "cdae", "teacher"): [{"learning_rate": 0.005, "l2": 0.01, "popularity": 0.75, **_CDAE}],
    ("strong", "cdae", "student"): [
        {"learning_rate": rate, "l2": l2, "popularity": 0.5, **_CDAE} for rate, l2 in ((0.005, 0.001), (0.01, 0.003))
    ],
}
"""What is tried for a model alone: start, model, role -> settings; the best on validation is kept."""

for _role in SIZES:
    BASES["published", "bpr", _role] = [
        {"learning_rate": rate, "l2": l2, **_PRINTED, "epochs": 80}
        for rate, l2 in product((0.001, 0.002), (0.001, 0.01))
    ]
    BASES["published", "neumf", _role] = [
        {"learning_rate": 0.001, "l2": 1e-4, **_PRINTED, "hidden": _WIDTHS[_role], "epochs": 40, **_SLOW}
    ]
    BASES["published", "cdae", _role] = [
        {"learning_rate": 0.001, "l2": 1e-4, "batch_size": 128 * 20, "epochs": 60, "patience": 3}  # 128 users
    ]

ABLATIONS = (
    "rank-aware", "top-n", "mutual", "swapped", "calibrated", "constant-labels", "drawn-negatives", "one-way",
    "to-teacher",
)  # fmt: skip
"""What is run with the settings chosen for BD, as far as they apply."""

GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "bd": {
        "weight": (0.5, 0.1), "items": (5, 10), "temperature": (2.0, 5.0), "to_student__rank_gap_scale": (1e-4, 1e-3),
        "to_teacher__rank_gap_scale": (1e-4, 1e-3), "reuse": (False, True),
    },
    "cd": {"weight": (0.1, 0.5, 1.0), "items": (10, 30), "temperature": (1.0, 2.0), "rank_gap_scale": (1e-2, 1e-3)},
    "rd": {"weight": (0.1, 0.5, 1.0), "items": (10, 30, 50), "position_decay": (10.0, 100.0)},
    "teacher-positives": {"positives": (10, 20, 40), "weight": (0.0, 0.1), "student_start": ("svd", "own")},
}  # fmt: skip
"""What is drawn from for each method; a name without direction is set for every direction that learns."""


@dataclass(frozen=True)
class Study:
    """One start and one model, with what was found for it."""

    start: str
    model: str
    data: str = "citeulike-bd"
    store: Path = STORE
    choice: dict[str, Any] = field(default_factory=dict)

    @property
    def split(self) -> Split:
        return _split(self.data, self.start)

    # -- models alone -----------------------------------------------------------------------------------------------

    def alone(self, role: str, seed: int, settings: dict[str, Any] | None = None) -> Recommender:
        """A model trained alone, read where it was trained before."""
        chosen = settings or self.settings(role)
        folder = self.store / "models" / _key(self.data, self.start, self.model, role, seed, chosen)
        if folder.exists():
            return load_model(folder)
        fitted = make_recommender(self.model, **_full(role, chosen, seed)).fit(self.split.train, self.split.validation)
        fitted.save(folder)
        return fitted

    def settings(self, role: str) -> dict[str, Any]:
        """The best of what is tried alone, on validation with seed 0."""
        tried = BASES[self.start, self.model, role]
        return (
            max(tried, key=lambda each: self.alone(role, 0, each).best_metric_ or 0.0) if len(tried) > 1 else tried[0]
        )

    # -- together ---------------------------------------------------------------------------------------------------

    def distilled(self, method: str, seed: int, changes: dict[str, Any]) -> BidirectionalDistillation:
        """Both models after a method; warm where it starts from models that were trained alone."""
        given = dict(changes)
        warm = given.pop("warm", self.start == "strong")
        settings = distillation_method(method, seed=seed, **_spread(method, given), **self._schedule())
        fixed = {"teacher": not settings.teacher_learns, "student": not settings.student_learns}
        pair = []
        for role in SIZES:
            from_svd = role == "student" and settings.student_start == "svd"
            known = fixed[role] or (warm and not from_svd)
            pair.append(self.alone(role, seed) if known else self._new(role, seed))
        return BidirectionalDistillation(*pair, settings).fit(self.split.train, self.split.validation)

    def _new(self, role: str, seed: int) -> Recommender:
        return make_recommender(self.model, **_full(role, self.settings(role), seed))

    def _schedule(self) -> dict[str, Any]:
        if self.model != "bpr":
            return {"epochs": 40, "validate_every": 10, "patience": 2, "warm_up": 20}
        return {"epochs": 100 if self.start == "strong" else 60, "validate_every": 10, "patience": 3, "warm_up": 20}

    # -- cells ------------------------------------------------------------------------------------------------------

    def validation_of(self, method: str, changes: dict[str, Any]) -> dict[str, float]:
        """What a setting reaches on the validation part with seed 0: the test part is not looked at."""
        return self._cell("validation", method, 0, changes, self._validated)

    def _validated(self, method: str, seed: int, changes: dict[str, Any]) -> dict[str, float]:
        both = self.distilled(method, seed, changes)
        found = {}
        for role, model in (("teacher", both.teacher_), ("student", both.student_)):
            found[role] = evaluate_ranking(model, self.split.validation, seen=self.split.train, metrics=METRICS)[
                "hit@50"
            ]
        return found

    def chosen(self, method: str, n_settings: int) -> dict[str, Any]:
        """The best of some settings drawn from the grid of a method."""
        tried = _drawn(GRIDS[method], n_settings)
        alone = {role: self.alone(role, 0).best_metric_ or 1.0 for role in SIZES}

        def value(changes: dict[str, Any]) -> float:
            found = self.validation_of(method, changes)
            learned = SIZES if method == "bd" else ("student",)
            return sum(found[role] / alone[role] for role in learned)

        return max(tried, key=value)

    def tested(self, method: str, seed: int, changes: dict[str, Any]) -> dict[str, float]:
        """The final numbers of a method; every user's are kept for paired tests."""
        return self._cell("test", method, seed, changes, self._judged)

    def _judged(self, method: str, seed: int, changes: dict[str, Any]) -> dict[str, float]:
        models: dict[str, ScoreSource]
        if method == "alone":
            models = {role: self.alone(role, seed) for role in SIZES}
        elif method == "svd":
            models = {"student": truncated(self.alone("teacher", seed).source_, SIZES["student"])}
        else:
            both = self.distilled(method, seed, changes)
            settings = distillation_method(method, **_spread(method, {k: v for k, v in changes.items() if k != "warm"}))
            models = {"student": both.student_} if settings.student_learns else {}
            models |= {"teacher": both.teacher_} if settings.teacher_learns else {}
        found: dict[str, float] = {}
        seen = union([self.split.train, self.split.validation])
        for role, model in models.items():
            quality = evaluate_ranking(model, self.split.test, seen=seen, metrics=METRICS)
            name = _key(self.data, self.start, self.model, method, role, seed, changes)
            (self.store / "users").mkdir(parents=True, exist_ok=True)
            quality.per_user.write_parquet(self.store / "users" / f"{name}.parquet")
            found |= {f"{role} {metric}": value for metric, value in quality.means.items()} | {f"{role} users": name}  # type: ignore[dict-item]
        return found

    def _cell(self, kind: str, method: str, seed: int, changes: dict[str, Any], compute: Any) -> dict[str, float]:
        path = self.store / kind / f"{_key(self.data, self.start, self.model, method, seed, changes)}.json"
        if path.exists():
            return dict(json.loads(path.read_text(encoding="utf-8"))["found"])
        started = time.perf_counter()
        found = compute(method, seed, changes)
        cell = {
            "data": self.data, "start": self.start, "model": self.model, "method": method, "seed": seed,
            "changes": changes, "seconds": time.perf_counter() - started, "found": found,
        }  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(cell) + "\n", encoding="utf-8")
        told = " ".join(
            f"{name} {value:.4f}" for name, value in found.items() if isinstance(value, float) and "100" not in name
        )
        print(
            f"{kind} {self.start} {self.model} {method} seed {seed} {changes}: {told} ({cell['seconds']:.0f} s)",
            flush=True,
        )
        return dict(found)


@cache
def _split(data: str, start: str) -> Split:
    options = {"artefact": True} if start == "published" and data == "citeulike-bd" else {}
    protocol = "leave-one-out" if data == "ml-100k" else None
    every = {"positive_above": None} if data == "ml-100k" else {}
    return prepare(data, protocol, folder=FOLDER / data, **every, **options)  # type: ignore[arg-type]


def _full(role: str, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    return {"n_factors": SIZES[role], **_JUDGED, **settings, "seed": seed}


def _spread(method: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Settings of a direction without its name go to every direction that learns."""
    general = ("student_start", "epochs", "refresh_every", "warm_up", "ranks")
    sides = (
        ("to_student",)
        if method in ("rd", "cd", "one-way", "teacher-positives", "combined")
        else ("to_student", "to_teacher")
    )
    spread: dict[str, Any] = {}
    for name, value in changes.items():
        if "__" in name or name in general:
            spread[name] = value
        else:
            spread |= {f"{side}__{name}": value for side in sides}
    return spread


def _drawn(grid: dict[str, tuple[Any, ...]], n: int) -> list[dict[str, Any]]:
    """The first values of a grid, then others drawn with a fixed seed."""
    rng = np.random.default_rng(0)
    every = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    others = rng.permutation(len(every) - 1)[: n - 1] + 1
    return [every[0], *(every[place] for place in others)]


def _key(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True)
    words = [str(part) for part in parts if isinstance(part, str | int)]
    return "-".join(words) + "-" + hashlib.sha256(text.encode()).hexdigest()[:8]


def table(store: Path = STORE) -> pl.DataFrame:
    """All final cells: one row a cell and role."""
    rows = []
    for path in sorted((store / "test").glob("*.json")):
        cell = json.loads(path.read_text(encoding="utf-8"))
        for role in SIZES:
            if f"{role} hit@50" in cell["found"]:
                numbers = {metric: cell["found"][f"{role} {metric}"] for metric in METRICS}
                about = {name: cell[name] for name in ("data", "start", "model", "method", "seed", "seconds")}
                rows.append(about | {"role": role, "changes": json.dumps(cell["changes"]),
                                     "users": cell["found"][f"{role} users"], **numbers})  # fmt: skip
    return pl.DataFrame(rows)


def main(
    start: Annotated[str, typer.Option(help="strong or published.")] = "strong",
    model: Annotated[str, typer.Option(help="bpr, neumf or cdae.")] = "bpr",
    data: Annotated[str, typer.Option(help="citeulike-bd, ml-100k or amazon-music.")] = "citeulike-bd",
    seeds: Annotated[int, typer.Option(help="Seeds of the final table.")] = 5,
    first: Annotated[int, typer.Option(help="The first of them.")] = 0,
    settings: Annotated[int, typer.Option(help="Settings tried for each method.")] = 8,
    method: Annotated[list[str], typer.Option(help="Methods; may repeat.")] = ["rd", "cd", "bd"],  # noqa: B006
    ablations: Annotated[bool, typer.Option(help="Also the sampling schemes and the controls.")] = False,
) -> None:
    """Choose settings on validation, then train the final cells."""
    study = Study(start, model, data)
    chosen = {
        name: study.chosen(name, settings) if name in GRIDS else {} for name in method if name not in ("alone", "svd")
    }
    print(f"chosen: {chosen}", flush=True)
    for seed in range(first, first + seeds):
        for name in ("alone", *method):
            study.tested(name, seed, chosen.get(name, {}))
    if ablations:
        kept = {name: value for name, value in chosen["bd"].items() if name in ("items", "temperature")}
        for seed, name in product(range(seeds), ABLATIONS):
            study.tested(name, seed, kept)


if __name__ == "__main__":
    typer.run(main)
