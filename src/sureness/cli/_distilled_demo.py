"""What the demo shows of distillation: a world of its own, a large and a small model, and every way of teaching."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from sureness.cli._console import print_table
from sureness.errors import SurenessWarning
from sureness.report import Distillation
from sureness.report._format import chance

NOTE = (
    "For distillation, a world of its own, with more tastes than the small model can hold and about ten interactions a "
    "user; the last item of each user is the test, and the one before it stops the training. This kind of world was "
    "chosen among a few so that there is something to learn: in denser ones no way of teaching brought a clear gain, "
    "and with other seeds the gains differ. Measure it on your own data."
)


def distilled_demo(n_users: int, n_items: int, progress: Callable[[str, int, int], None]) -> Distillation | None:
    """Train and judge all models; None, with a word, where torch is missing."""
    if find_spec("torch") is None:
        warnings.warn(
            "distillation is left out, since it needs torch; install it with: pip install 'sureness[models]'",
            SurenessWarning, stacklevel=2,
        )  # fmt: skip
        return None
    from sureness.experiments.distilled import distillation_world, study_distillation

    study = study_distillation(distillation_world(n_users, n_items), progress=progress)
    return study.judged(progress=progress)


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


def print_distillation(found: Distillation) -> None:
    """All models by the first metrics, with paired differences by the first to the one of the same size alone."""
    first, *others = found.metrics[:3]
    rows = []
    for row in found.rows:
        measure = row.measures[first]
        gain = None if measure.gain is None else f"{measure.gain:+.1%}"
        p_value = None if measure.p_value is None else chance(measure.p_value)
        values = [row.measures[metric].value.value for metric in others]
        rows.append([row.name, row.parameters, measure.value.value, gain, p_value, *values])
    before, after = found.before, found.after
    caption = (
        f"{found.n_users:,} users; gain and p of a paired t-test against the model of the same size alone. "
        f"{found.student} ranks {before.student_better:.0%} of the test interactions higher than {found.teacher}. "
        f"Average rank difference {before.average_difference:.4f}"
    )
    caption += "." if after is None else f", and {after.average_difference:.4f} after they taught each other."
    header = ["model", "parameters", first, "gain", "p", *others]
    print_table("What a small model learns from a large one", header, rows, caption)
