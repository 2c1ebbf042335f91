"""What a small model learns from a large one, by several ways of teaching it, in a simulated world or from a log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from sureness.data.interactions import Interactions, union
from sureness.data.simulator import SimulatorSettings, World, simulate
from sureness.data.splitting import Split, leave_one_out
from sureness.distillation.bidirectional import BidirectionalDistillation
from sureness.distillation.methods import distillation_method
from sureness.errors import DataError
from sureness.experiments.demo_progress import part_of
from sureness.experiments.simulated_lists import logged
from sureness.models.base import Recommender
from sureness.models.bpr import BPR
from sureness.models.lightgcn import LightGCN
from sureness.report.distillation import Distillation, gather_distillation
from sureness.sources.base import ScoreSource

Progress = Callable[[str, int, int], None]

METRICS = ("hit@50", "ndcg@50", "hit@10", "ndcg@10")
BOTH = ("BD-Teacher", "BD-Student")

_TEACHER_ON_LOGS: dict[str, Any] = {"learning_rate": 0.005, "l2": 0.03, "epochs": 100, "patience": 3}
_TEACHER: dict[str, Any] = {"learning_rate": 0.02, "l2": 0.001, "batch_size": 4096, "epochs": 50, "patience": 3}
_STUDENT: dict[str, Any] = {"learning_rate": 0.01, "l2": 0.03, "epochs": 150, "patience": 3}
_TOGETHER: dict[str, Any] = {"epochs": 30, "patience": 2}
_WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "RD": ("rd", {}),
    "CD": ("cd", {}),
    "BD-Student": ("bd", {"to_teacher__items": 5, "to_student__items": 5}),
    "SVD + first items": ("teacher-positives", {"to_student__positives": 5}),
}
_ABOUT = {
    "RD": "Ranking distillation: the first items of the fixed teacher count as liked.",
    "CD": "Collaborative distillation: the fixed teacher's labels, on items that it ranks high.",
    "BD-Teacher": "Bidirectional distillation: the student's labels, on few items that it ranks much higher.",
    "BD-Student": "Bidirectional distillation: the teacher's labels, on the many items that it ranks higher.",
    "SVD + first items": "Starts from the teacher's singular vectors, and takes its first 5 items for seen.",
}


@dataclass(frozen=True, eq=False)
class DistillationStudy:
    """Two models trained alone, and what became of them by every way of teaching."""

    split: Split
    teachers: dict[str, ScoreSource]  # the first was trained alone
    students: dict[str, ScoreSource]
    about: dict[str, str]  # how each was trained
    history: pl.DataFrame  # of the two that taught each other
    warm_up: int
    main: str  # the taught student that ranks the validation items best

    def judged(self, *, n_points: int = 600, progress: Progress | None = None) -> Distillation:
        """All models judged by the test, ready for a page."""
        return gather_distillation(
            self.teachers, self.students, self.split.test, seen=union([self.split.train, self.split.validation]),
            after=BOTH, main=self.main, about=self.about, history=self.history, warm_up=self.warm_up,
            validation_metric="ndcg@50", metrics=METRICS, n_points=n_points, progress=progress,
        )  # fmt: skip


def distillation_world(n_users: int = 3_000, n_items: int = 600, *, seed: int = 0) -> World:
    """A world with more tastes than a small model can hold, and a log of about ten items a user, as real logs are.

    Examples
    --------
    >>> world = distillation_world(500, 300)
    >>> 5 < world.train.nnz / world.n_users < 25
    True
    """
    settings = SimulatorSettings(
        n_users=n_users, n_items=n_items, n_tastes=12, taste_strength=3.0, preference_rate=min(0.3, 24 / n_items),
        exposure_rate=min(0.3, 48 / n_items), test_items=min(16, n_items), seed=seed,
    )  # fmt: skip
    return simulate(settings)


def study_distillation(
    world: World, *, teacher: int = 50, student: int = 5, seed: int = 0, progress: Progress | None = None
) -> DistillationStudy:
    """Train a large LightGCN and a small BPR alone, then let the small one learn from the large one in every way.

    All ways but the last start from the models trained alone. The last two items of each user are held out, the
    earlier one to stop training, the later one as the test.

    Parameters
    ----------
    world : World
    teacher, student : int
        Length of the embeddings.
    seed : int
    progress : callable, optional

    Examples
    --------
    >>> found = study_distillation(distillation_world(150, 80), teacher=8, student=2)
    >>> list(found.teachers), list(found.students)
    (['Teacher', 'BD-Teacher'], ['Student', 'RD', 'CD', 'BD-Student', 'SVD + first items'])
    """
    split = leave_one_out(logged(world), seed=seed)
    large, small = LightGCN(n_factors=teacher, seed=seed, **_TEACHER), BPR(n_factors=student, seed=seed, **_STUDENT)
    return teach(split, large, small, seed=seed, progress=progress)


def study_log_distillation(
    log: Interactions, *, teacher: int = 50, student: int = 5, seed: int = 0, progress: Progress | None = None
) -> DistillationStudy:
    """The same for a log, with a large BPR as the teacher, which also learns from many interactions in seconds.

    Examples
    --------
    >>> found = study_log_distillation(logged(distillation_world(150, 80)), teacher=8, student=2)
    >>> found.main in found.students
    True
    """
    split = leave_one_out(log, seed=seed)
    if not len(split.test):
        raise DataError("distillation is judged by the last item of each user with three or more, and there is none")
    large = BPR(n_factors=teacher, seed=seed, **_TEACHER_ON_LOGS)
    small = BPR(n_factors=student, seed=seed, **_STUDENT | {"epochs": 100})
    return teach(split, large, small, seed=seed, progress=progress)


def teach(
    split: Split, large: Recommender, small: Recommender, *, seed: int = 0, progress: Progress | None = None
) -> DistillationStudy:
    """Train both alone, then let the small one learn from the large one in every way.

    Parameters
    ----------
    split : Split
        The validation part stops every training, and says which taught student is the main one.
    large, small : Recommender
        Not fitted.
    seed : int
    progress : callable, optional
    """
    steps = 2 + len(_WAYS)
    alone: dict[str, Recommender] = {
        name: model.fit(split.train, split.validation, progress=part_of(progress, number, steps, name))
        for number, (name, model) in enumerate((("Teacher", large), ("Student", small)))
    }
    taught = {
        name: _taught(name, large, small, split, seed, part_of(progress, number, steps, name))
        for number, name in enumerate(_WAYS, start=2)
    }
    both = taught[BOTH[1]]
    return DistillationStudy(
        split=split,
        teachers={"Teacher": large, BOTH[0]: both.teacher_},
        students={"Student": small, **{name: each.student_ for name, each in taught.items()}},
        about={name: _alone(model) for name, model in alone.items()} | _ABOUT,
        history=both.history_,
        warm_up=both.warm_up_,
        main=max(taught, key=lambda name: getattr(taught[name].student_, "best_metric_", None) or 0.0),
    )


def _alone(model: Recommender) -> str:
    return f"{type(model).__name__} with {model.settings.n_factors} numbers for each user and item, alone."


def _taught(
    name: str, teacher: Recommender, student: Recommender, split: Split, seed: int, progress: Progress | None
) -> BidirectionalDistillation:
    method, changes = _WAYS[name]
    settings = distillation_method(method, seed=seed, **_TOGETHER, **changes)
    return BidirectionalDistillation(teacher, student, settings).fit(split.train, split.validation, progress=progress)
