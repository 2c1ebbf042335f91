"""What the demo shows of distillation: a large and a small model, and every way of teaching."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from sureness.data.interactions import Interactions
from sureness.errors import SurenessWarning
from sureness.report import Distillation

Progress = Callable[[str, int, int], None]

SEED = 2024
"""Of the world that is shown: neither the kind of world nor any setting was chosen by looking at it."""

NOTE = (
    "For distillation, a world of its own, with more tastes than the small model can hold and about ten interactions a "
    "user; the last item of each user is the test, and the one before it stops the training and says which student is "
    "spoken of. This kind of world, and all settings, were chosen in worlds with other seeds so that there is "
    "something to learn: in denser ones no way of teaching brought a clear gain. Measure it on your own data."
)
LOG_NOTE = (
    "For distillation, the last item of each user is the test, by time where it is known, and the one before it stops "
    "the training and says which student is spoken of. Both models are BPR, with settings that were not tuned to this "
    "log: a first look, not the best that can be had."
)
SKIPPED = "Teaching a small model was left out, since it needs torch: pip install 'sureness[models]'."


def distilled_world(n_users: int, n_items: int, progress: Progress) -> Distillation | None:
    """Train and judge all models in a world; None, with a word, where torch is missing."""
    if not _torch_is_there():
        return None
    from sureness.experiments.distilled import distillation_world, study_distillation

    study = study_distillation(distillation_world(n_users, n_items, seed=SEED), progress=progress)
    return study.judged()


def distilled_log(log: Interactions, progress: Progress) -> Distillation | None:
    """The same on a log."""
    if not _torch_is_there():
        return None
    from sureness.experiments.distilled import study_log_distillation

    return study_log_distillation(log, progress=progress).judged()


def distillation_rows(found: Distillation | None) -> list[dict[str, Any]]:
    """One row a model, for machines."""
    if found is None:
        return []
    return [
        {"model": row.name, "role": row.role, "parameters": row.parameters}
        | {metric: measure.value.value for metric, measure in row.measures.items()}
        | {f"p of {metric}": measure.p_value for metric, measure in row.measures.items()}
        for row in found.rows
    ]


def _torch_is_there() -> bool:
    if find_spec("torch") is None:
        warnings.warn(
            "distillation is left out, since it needs torch; install it with: pip install 'sureness[models]'",
            SurenessWarning, stacklevel=3,
        )  # fmt: skip
        return False
    return True
