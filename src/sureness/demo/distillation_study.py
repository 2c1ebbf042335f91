"""Distil a large model into a small one by several methods, in a simulated world or on a log."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import polars as pl

from sureness._progress import Progress, part_of, silent
from sureness._wording import counted
from sureness.data.interactions import Interactions, union
from sureness.data.simulator import SimulatorSettings, World, simulate
from sureness.data.splitting import Split, leave_one_out
from sureness.demo.list_study import logged
from sureness.errors import EmptyError, SurenessWarning, missing_extra
from sureness.report.distillation import (
    Distillation,
    DistilledModels,
    Measuring,
    TrainingRecord,
    gather_distillation,
)
from sureness.sources.base import ScoreSource

if TYPE_CHECKING:
    from sureness.distillation.bidirectional import BidirectionalDistillation
    from sureness.models.base import Recommender

METRICS = ("hit@50", "ndcg@50", "hit@10", "ndcg@10")
BOTH = ("BD-Teacher", "BD-Student")

WORLD_SEED = 2024
"""Seed of the world that is shown. Neither the kind of world nor any setting was chosen by looking at it."""

WORLD_NOTE = (
    "Distillation uses a world of its own, with more tastes than the small model can represent and about ten "
    "interactions per user. Each user's last item is the test; the one before it stops training and chooses the "
    "student in the headline. This kind of world, and all settings, were chosen in worlds with other seeds so that "
    "there is something to learn: in denser worlds no method brought a clear gain. Measure it on your own data."
)
LOG_NOTE = (
    "For distillation, each user's last item is the test (by time where times are known); the one before it stops "
    "training and chooses the student in the headline. Both models are BPR with settings that were not tuned to this "
    "log, so this is a first look rather than the best possible result."
)
SKIPPED = f"Distillation was skipped: {missing_extra('it', 'torch', 'models')}."

_METHODS: dict[str, tuple[str, dict[str, int]]] = {  # name on the page -> name of the method, changed settings
    "RD": ("rd", {}),
    "CD": ("cd", {}),
    "BD-Student": ("bd", {"to_teacher__items": 5, "to_student__items": 5}),
    "SVD + first items": ("teacher-positives", {"to_student__positives": 5}),
}
_ABOUT = {
    "RD": "Ranking distillation: the fixed teacher's first items count as positives.",
    "CD": "Collaborative distillation: the fixed teacher's soft labels on items it ranks high.",
    "BD-Teacher": "Bidirectional distillation: the student's soft labels on a few items it ranks much higher.",
    "BD-Student": "Bidirectional distillation: the teacher's soft labels on the many items it ranks higher.",
    "SVD + first items": "Starts from the teacher's singular vectors and treats its first 5 items as positives.",
}


@dataclass(frozen=True, eq=False)
class DistillationStudy:
    """Two models trained alone, and the same models after each distillation method."""

    split: Split
    teachers: dict[str, ScoreSource]  # the first was trained alone
    students: dict[str, ScoreSource]
    about: dict[str, str]  # how each was trained
    history: pl.DataFrame  # of the bidirectional distillation
    warm_up: int
    main: str  # the distilled student with the best validation metric

    def judged(self, *, n_points: int = 600, progress: Progress = silent) -> Distillation:
        """All models judged on the test items, ready for a page."""
        models = DistilledModels(
            teachers=self.teachers, students=self.students, after=BOTH, main=self.main, about=self.about
        )
        return gather_distillation(
            models, self.split.test, seen=union([self.split.train, self.split.validation]),
            training=TrainingRecord(history=self.history, warm_up=self.warm_up, metric="ndcg@50"), metrics=METRICS,
            measuring=Measuring(n_points=n_points), progress=progress,
        )  # fmt: skip


def distillation_world(n_users: int = 3_000, n_items: int = 600, *, seed: int = 0) -> World:
    """A world with more tastes than a small model can represent, and about ten logged items per user.

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
    world: World, *, teacher: int = 50, student: int = 5, seed: int = 0, progress: Progress = silent
) -> DistillationStudy:
    """Train a large LightGCN and a small BPR alone, then distil the large one into the small one by every method.

    All methods but the last start from the models trained alone. Each user's last two items are held out: the earlier
    one stops training, the later one is the test.

    Parameters
    ----------
    world : World
    teacher, student : int
        Number of factors.
    seed : int
    progress : Progress

    Examples
    --------
    >>> found = study_distillation(distillation_world(150, 80), teacher=8, student=2)
    >>> list(found.teachers), list(found.students)
    (['Teacher', 'BD-Teacher'], ['Student', 'RD', 'CD', 'BD-Student', 'SVD + first items'])
    """
    from sureness.models.bpr import BPR
    from sureness.models.lightgcn import LightGCN

    split = leave_one_out(logged(world), seed=seed)
    large = LightGCN(n_factors=teacher, learning_rate=0.02, l2=0.001, batch_size=4096, epochs=50, patience=3, seed=seed)
    small = BPR(n_factors=student, learning_rate=0.01, l2=0.03, epochs=150, patience=3, seed=seed)
    return distil(split, large, small, seed=seed, progress=progress)


def study_log_distillation(
    log: Interactions, *, teacher: int = 50, student: int = 5, seed: int = 0, progress: Progress = silent
) -> DistillationStudy:
    """Do the same on a log, with a large BPR as the teacher: it trains in seconds even on many interactions.

    Examples
    --------
    >>> found = study_log_distillation(logged(distillation_world(150, 80)), teacher=8, student=2)
    >>> found.main in found.students
    True
    """
    from sureness.models.bpr import BPR

    split = leave_one_out(log, seed=seed)
    if not len(split.test):
        raise EmptyError(
            "distillation is judged on the last item of users with at least three, and this log has no such user; "
            "give a larger log"
        )
    large = BPR(n_factors=teacher, learning_rate=0.005, l2=0.03, epochs=100, patience=3, seed=seed)
    small = BPR(n_factors=student, learning_rate=0.01, l2=0.03, epochs=100, patience=3, seed=seed)
    return distil(split, large, small, seed=seed, progress=progress)


def distil(
    split: Split, large: Recommender, small: Recommender, *, seed: int = 0, progress: Progress = silent
) -> DistillationStudy:
    """Train both models alone, then distil the large one into the small one by every method.

    Parameters
    ----------
    split : Split
        The validation part stops every training and chooses the main student.
    large, small : Recommender
        Not fitted yet.
    seed : int
    progress : Progress
    """
    n_parts = 2 + len(_METHODS)
    alone: dict[str, Recommender] = {
        name: model.fit(split.train, split.validation, progress=part_of(progress, number, n_parts, name))
        for number, (name, model) in enumerate((("Teacher", large), ("Student", small)))
    }
    distilled = {
        name: _distilled(name, large, small, split, seed, part_of(progress, number, n_parts, name))
        for number, name in enumerate(_METHODS, start=2)
    }
    both = distilled[BOTH[1]]
    return DistillationStudy(
        split=split,
        teachers={"Teacher": large, BOTH[0]: both.teacher_},
        students={"Student": small, **{name: each.student_ for name, each in distilled.items()}},
        about={name: _alone(model) for name, model in alone.items()} | _ABOUT,
        history=both.history_,
        warm_up=both.warm_up_,
        main=max(distilled, key=lambda name: getattr(distilled[name].student_, "best_metric_", None) or 0.0),
    )


def distilled_world(n_users: int, n_items: int, progress: Progress = silent) -> Distillation | None:
    """Distil and judge in a simulated world; None, with a warning, without torch."""
    if not _has_torch():
        return None
    return study_distillation(distillation_world(n_users, n_items, seed=WORLD_SEED), progress=progress).judged()


def distilled_log(log: Interactions, progress: Progress = silent) -> Distillation | None:
    """Distil and judge on a log; None, with a warning, without torch."""
    return study_log_distillation(log, progress=progress).judged() if _has_torch() else None


def _has_torch() -> bool:
    if find_spec("torch") is not None:
        return True
    warnings.warn(f"skipped: {missing_extra('distillation', 'torch', 'models')}", SurenessWarning, stacklevel=3)
    return False


def _alone(model: Recommender) -> str:
    return f"{type(model).__name__} with {counted(model.settings.n_factors, 'factor')}, trained alone."


def _distilled(
    name: str, teacher: Recommender, student: Recommender, split: Split, seed: int, progress: Progress
) -> BidirectionalDistillation[Recommender, Recommender]:
    from sureness.distillation.bidirectional import BidirectionalDistillation
    from sureness.distillation.settings import distillation_method

    method, changes = _METHODS[name]
    settings = distillation_method(method, seed=seed, epochs=30, patience=2, **changes)
    both = BidirectionalDistillation.from_settings(teacher, student, settings)
    return both.fit(split.train, split.validation, progress=progress)
