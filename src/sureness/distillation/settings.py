"""How two models learn from each other: frozen settings, checked when they are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, Self, get_args

from sureness._registry import names
from sureness.distillation.sampling import SchemeName, check_scheme
from sureness.errors import SettingError
from sureness.numerics.checks import check_choice, check_flag, check_number, check_whole
from sureness.saving.packed import JSON

Labels = Literal["sigmoid", "calibrated", "constant", "one"]
Ranks = Literal["sketch", "exact"]
Start = Literal["own", "svd"]
Guides = Literal["current", "best"]
Kept = Literal["best", "last"]
RankedBy = Literal["guide", "learner"]
Tempered = Literal["both", "labels"]

_SMALLEST, _GREATEST = 1e-12, 1e30  # of numbers above 0; beyond these, float32 overflows


def _one_of(settings: object, name: str, known: tuple[str, ...]) -> None:
    check_choice(getattr(settings, name), name, known)


def _flag(settings: object, name: str) -> None:
    check_flag(getattr(settings, name), name)


def _whole(settings: object, name: str, least: int) -> None:
    object.__setattr__(settings, name, check_whole(getattr(settings, name), name, least))


def _number(settings: object, name: str, *, least: float = _SMALLEST) -> None:
    object.__setattr__(settings, name, check_number(getattr(settings, name), name, least, _GREATEST))


@dataclass(frozen=True, kw_only=True)
class Direction:
    """How the soft labels of one model, the guide, enter the loss of the other, the learner.

    Examples
    --------
    >>> Direction(scheme="rank-aware", rank_gap_scale=1e-2, items=20).weight
    0.5
    """

    weight: float = 0.5  # of the soft labels beside the learner's own loss; 0: no soft labels
    scheme: SchemeName = "tanh"  # how items are drawn; "top": the guide's best items, without drawing
    rank_gap_scale: float = 1e-4  # how fast the chance of an item grows with the difference of its two ranks
    ranked_higher_by: RankedBy = "guide"  # whose higher rank makes an item likely to be drawn
    items: int = 10  # drawn for each positive; with "top" the number of the guide's best items
    temperature: float = 2.0  # soft labels are sigmoid(score / temperature), and so are the learner's predictions
    tempered: Tempered = "both"  # "labels": the learner predicts sigmoid(score)
    dropout: bool = False  # whether the guide labels with its dropout on
    labels: Labels = "sigmoid"  # "calibrated": probabilities from validation; "constant": their mean; "one": 1
    calibrator: str = "platt"  # for calibrated labels, any of `sureness.calibration`
    reuse: bool = False  # whether the drawn items also serve as negatives in the learner's own loss
    positives: int = 0  # how many of the guide's best items count as seen in the learner's own loss
    position_decay: float = 0.0  # above 0 ("top" only): weight exp(-position / decay), more where the learner is off

    def __post_init__(self) -> None:
        check_scheme(self.scheme)
        _one_of(self, "labels", get_args(Labels))
        _one_of(self, "ranked_higher_by", get_args(RankedBy))
        _one_of(self, "tempered", get_args(Tempered))
        _number(self, "weight", least=0.0)
        _number(self, "position_decay", least=0.0)
        _number(self, "rank_gap_scale")
        _number(self, "temperature")
        _whole(self, "items", 1)
        _whole(self, "positives", 0)
        for name in ("reuse", "dropout"):
            _flag(self, name)
        if self.labels == "calibrated":
            _one_of(self, "calibrator", names("calibrator"))
        if self.position_decay and self.scheme != "top":
            raise SettingError(f"position_decay belongs to the scheme top, got {self.scheme!r}; leave it at 0")
        if self.scheme == "top" and self.ranked_higher_by == "learner":
            raise SettingError("the scheme top takes the guide's best items; leave ranked_higher_by at 'guide'")

    @property
    def draws(self) -> bool:
        """Whether any items have to be drawn."""
        return self.weight > 0 or self.reuse


SettingValue = bool | int | float | str | Direction | Mapping[str, JSON]

_TO_TEACHER = Direction(scheme="exp")
_TO_STUDENT = Direction()
_DIRECTIONS = ("to_teacher", "to_student")
_OF_A_DIRECTION = tuple(each.name for each in fields(Direction))


def _direction(name: str, given: object) -> Direction:
    """A direction, or one written as a mapping of its settings."""
    if isinstance(given, Direction):
        return given
    if not isinstance(given, Mapping):
        raise SettingError(f"{name} must be a Direction, got {type(given).__name__}")
    for inner in given:
        if inner not in _OF_A_DIRECTION:
            raise SettingError(f"{name} has no setting {inner!r}; it has {', '.join(_OF_A_DIRECTION)}")
    return Direction(**given)


@dataclass(frozen=True, kw_only=True)
class DistillationSettings:
    """How strongly teacher and student learn from each other, and for how long.

    Examples
    --------
    >>> DistillationSettings(epochs=50, to_student=Direction(weight=1.0)).to_student.weight
    1.0
    """

    to_teacher: Direction = _TO_TEACHER  # how the student's soft labels enter the teacher's loss
    to_student: Direction = _TO_STUDENT  # how the teacher's soft labels enter the student's loss
    warm_up: int = 20  # epochs that an unfitted model first trains alone; a fitted one needs none
    fitted_rate: float = 1.0  # learning rate of a fitted model as a share of its own: its optimiser starts afresh
    keeps_weight_decay: bool = True  # False: joint training is without the weight decay of models with dense Adam
    epochs: int = 100  # of joint training, at most
    refresh_every: int = 10  # epochs between two refreshes of the ranks
    guides: Guides = "current"  # which weights supply soft labels: current, or the best so far at the last refresh
    validate_every: int = 5  # epochs between validations
    patience: int = 4  # validations without improvement before a model stops learning
    kept: Kept = "best"  # which epoch's weights are the result; "last": all epochs are run
    teacher_learns: bool = True  # False: a fixed teacher, as in one-way distillation
    student_learns: bool = True  # False: a fixed student
    student_start: Start = "own"  # "svd": start from the truncated singular vectors of the teacher
    ranks: Ranks = "sketch"  # how ranks are computed; "exact" sorts
    quantiles: int = 256  # a sketched rank is off by at most items / quantiles
    pool_megabytes: int = 512  # memory for the drawn items of each direction; beyond it, epochs share draws
    seed: int = 0

    def __post_init__(self) -> None:
        for name in _DIRECTIONS:
            object.__setattr__(self, name, _direction(name, getattr(self, name)))
        _one_of(self, "ranks", get_args(Ranks))
        _one_of(self, "student_start", get_args(Start))
        _one_of(self, "guides", get_args(Guides))
        _one_of(self, "kept", get_args(Kept))
        for name in ("epochs", "refresh_every", "validate_every", "patience", "quantiles", "pool_megabytes"):
            _whole(self, name, 1)
        _whole(self, "warm_up", 0)
        _number(self, "fitted_rate")
        _whole(self, "seed", 0)
        for name in ("teacher_learns", "student_learns", "keeps_weight_decay"):
            _flag(self, name)
        if not (self.teacher_learns or self.student_learns):
            raise SettingError("teacher and student are both fixed, so nothing would be learned; let one of them learn")

    def changed(self, **changes: SettingValue) -> Self:
        """A copy with other settings, by name; those of a direction as ``to_student__weight``.

        Examples
        --------
        >>> DistillationSettings().changed(epochs=5, to_student__weight=1.0).to_student.weight
        1.0
        """
        if not changes:
            return self
        known = {each.name for each in fields(self)}
        whole: dict[str, Any] = {}
        parts: dict[str, dict[str, Any]] = {}
        for name, value in changes.items():
            outer, _, inner = name.partition("__")
            if outer not in known or (inner and (outer not in _DIRECTIONS or inner not in _OF_A_DIRECTION)):
                raise SettingError(
                    f"there is no setting {name!r}; there are {', '.join(sorted(known))}, and for each direction "
                    f"{', '.join(f'to_student__{each}' for each in _OF_A_DIRECTION)}"
                )
            if inner:
                parts.setdefault(outer, {})[inner] = value
            else:
                whole[outer] = value
        for outer, values in parts.items():
            whole[outer] = replace(_direction(outer, whole.get(outer, getattr(self, outer))), **values)
        return replace(self, **whole)

    def plain(self) -> dict[str, JSON]:
        """The settings as JSON; ``DistillationSettings(**plain)`` restores them."""
        settings = {each.name: getattr(self, each.name) for each in fields(DistillationSettings)}
        return settings | {name: asdict(settings[name]) for name in _DIRECTIONS}
