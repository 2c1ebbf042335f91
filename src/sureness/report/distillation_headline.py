"""The result of distillation in one sentence and four numbers."""

from __future__ import annotations

from sureness._wording import counted
from sureness.report.distillation import Distillation, Measure, ModelRow
from sureness.report.formatting import chance, count, error, spoken_percent
from sureness.report.headline import Headline, Tile


def distillation_headline(found: Distillation) -> Headline:
    """Whether the main student beats the same model trained alone, and how close it comes to its teacher."""
    metric = found.metrics[0]
    main, alone, teacher = (found.row(name) for name in (found.main, found.student, found.teacher))
    reached, wanted = main.measures[metric].value.value, teacher.measures[metric].value.value
    share = f"{reached / wanted:.0%} of " if wanted > 0 else ""
    detail = f"{main.name} reaches {metric} {error(reached)}, {share}{teacher.name}'s {error(wanted)}"
    if main is not alone:
        detail += f"; {alone.name}, trained alone, {error(alone.measures[metric].value.value)}"
    return Headline(_verdict(found, main), f"{detail}. Judged on {counted(found.n_users, 'user')}.{_of_teacher(found)}")


def distillation_tiles(found: Distillation) -> tuple[Tile, ...]:
    """The four numbers under the headline."""
    metric = found.metrics[0]
    main, alone, teacher = (found.row(name) for name in (found.main, found.student, found.teacher))
    before = found.before
    average, note = error(before.average_difference), "both trained alone"
    if found.after is not None:
        average, note = error(found.after.average_difference), f"{average} before distillation"
    tiles = (
        Tile("student size", _size(main, teacher), _counts(main, teacher)),
        Tile(
            "student beats teacher",
            spoken_percent(before.student_better),
            "of test interactions, trained alone",
        ),
        Tile("average rank difference", average, note),
    )
    measure = main.measures[metric]
    if main is alone:
        return (*tiles, Tile(metric, error(measure.value.value), main.name))
    values = f"{error(alone.measures[metric].value.value)} → {error(measure.value.value)}"
    note = f"{alone.name} → {main.name}, p {chance(measure.p_value or 0.0)}"
    return (*tiles, Tile(f"{metric} alone → distilled", values, note))


def _verdict(found: Distillation, main: ModelRow) -> str:
    measure = main.measures[found.metrics[0]]
    small = _share(main, found.row(found.teacher))
    if measure.difference is None:
        return f"A student{small} compared with its teacher."
    if not measure.clear:
        return f"{main.name}{small} shows no clear difference from the same model trained alone."
    how = "better" if measure.difference > 0 else "worse"
    much = "clearly" if measure.gain is None else f"{abs(measure.gain):.0%}"
    return f"{main.name}{small} ranks {much} {how} than the same model trained alone."


def _of_teacher(found: Distillation) -> str:
    """What the teacher gained, if it learned too."""
    if found.after_names is None or found.after_names[0] == found.teacher:
        return ""
    measure: Measure = found.row(found.after_names[0]).measures[found.metrics[0]]
    if measure.unchanged:
        return " The teacher is unchanged: no epoch of joint training improved it on the validation set."
    if not measure.clear or measure.difference is None:
        return " The teacher shows no clear gain or loss."
    how = "gains" if measure.difference > 0 else "loses"
    return f" The teacher {how} {error(abs(measure.difference))} {found.metrics[0]}."


def _share(small: ModelRow, large: ModelRow) -> str:
    if not small.parameters or not large.parameters:
        return ""
    return f", with {spoken_percent(small.parameters / large.parameters)} of the teacher's parameters,"


def _size(small: ModelRow, large: ModelRow) -> str:
    if not small.parameters or not large.parameters:
        return "–"
    return spoken_percent(small.parameters / large.parameters)


def _counts(small: ModelRow, large: ModelRow) -> str:
    if not small.parameters or not large.parameters:
        return "number of parameters unknown"
    return f"{count(small.parameters)} parameters; the teacher has {count(large.parameters)}"
