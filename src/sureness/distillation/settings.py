"""How two models learn from each other: frozen settings, checked when they are made, and methods by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from sureness._registry import find, names
from sureness.distillation.sampling import SchemeName, check_scheme
from sureness.errors import SettingError
from sureness.numerics.checks import check_choice, check_flag, check_number, check_whole
from sureness.saving.packed import JSON

if TYPE_CHECKING:
    from sureness.data.interactions import Interactions
    from sureness.distillation.learner import Learner
    from sureness.models.networks.network import Network

Labels = Literal["sigmoid", "calibrated", "one"]
Start = Literal["own", "svd"]
Guides = Literal["current", "best"]
RankedBy = Literal["guide", "learner"]

_SMALLEST, _GREATEST = 1e-12, 1e30  # of numbers above 0; beyond these, float32 overflows
_MOST_ITEMS = 1_000_000  # of one direction: memory is taken for all of them


def _number(settings: object, name: str, *, least: float = _SMALLEST) -> None:
    object.__setattr__(settings, name, check_number(getattr(settings, name), name, least, _GREATEST))


def _whole(settings: object, name: str, least: int, most: int | None = None) -> None:
    object.__setattr__(settings, name, check_whole(getattr(settings, name), name, least, most))


@dataclass(frozen=True, kw_only=True)
class Direction:
    """How the soft labels of one model, the guide, enter the loss of the other, the learner.

    Examples
    --------
    >>> Direction(scheme="rank-aware", rank_gap_scale=1e-2, items=20).weight
    0.5
    """

    weight: float = 0.5  # of the soft labels, next to the learner's own loss of 1; 0: no soft labels
    scheme: SchemeName = "tanh"  # how items are drawn; "top": the guide's best items, without drawing
    rank_gap_scale: float = 1e-4  # how fast the chance of an item grows with the difference of its two ranks
    ranked_higher_by: RankedBy = "guide"  # whose higher rank makes an item likely to be drawn
    items: int = 10  # drawn for each positive; with "top" the number of the guide's best items
    temperature: float = 2.0  # soft labels are sigmoid(score / temperature), and so are the learner's predictions
    labels: Labels = "sigmoid"  # "calibrated": probabilities from validation; "one": 1
    calibrator: str = "platt"  # for calibrated labels, any of `sureness.calibration`
    positives: int = 0  # how many of the guide's best items count as seen in the learner's own loss
    position_decay: float = 0.0  # above 0 ("top" only): weight exp(-position / decay), more where the learner is off

    def __post_init__(self) -> None:
        check_scheme(self.scheme)
        check_choice(self.labels, "labels", get_args(Labels))
        check_choice(self.ranked_higher_by, "ranked_higher_by", get_args(RankedBy))
        _number(self, "weight", least=0.0)
        _number(self, "position_decay", least=0.0)
        _number(self, "rank_gap_scale")
        _number(self, "temperature")
        _whole(self, "items", 1, _MOST_ITEMS)
        _whole(self, "positives", 0, _MOST_ITEMS)
        if self.labels == "calibrated":
            check_choice(self.calibrator, "calibrator", names("calibrator"))
        if self.position_decay and self.scheme != "top":
            raise SettingError(f"position_decay belongs to the scheme top, got {self.scheme!r}; leave it at 0")
        if self.scheme == "top" and self.ranked_higher_by == "learner":
            raise SettingError("the scheme top takes the guide's best items; leave ranked_higher_by at 'guide'")

    @property
    def draws(self) -> bool:
        """Whether any items have to be drawn."""
        return self.weight > 0

    def learner(self, network: Network, train: Interactions) -> Learner:
        """The trainer of the model that learns in this direction."""
        from sureness.distillation.learner import Learner

        return Learner(network, train, self)


SettingValue = bool | int | float | str | Direction | Mapping[str, JSON]

_TO_TEACHER = Direction(scheme="exp")
_TO_STUDENT = Direction()
_DIRECTIONS = ("to_teacher", "to_student")


def _direction(name: str, given: object) -> Direction:
    """A direction, or one written as a mapping of its settings."""
    if isinstance(given, Direction):
        return given
    if not isinstance(given, Mapping):
        raise SettingError(f"{name} must be a Direction, got {type(given).__name__}")
    for inner in given:
        if inner not in _names(Direction):
            raise SettingError(f"{name} has no setting {inner!r}; it has {', '.join(_names(Direction))}")
    return Direction(**given)


def _names(settings: object) -> list[str]:
    return [each.name for each in fields(settings)]  # type: ignore[arg-type]


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
    end_rate: float = 1.0  # share of the rate after the last joint epoch, to which it falls evenly
    epochs: int = 100  # of joint training, at most
    refresh_every: int = 10  # epochs between two refreshes of the ranks
    guides: Guides = "current"  # which weights supply soft labels: current, or the best so far at the last refresh
    validate_every: int = 5  # epochs between validations
    patience: int = 4  # validations without improvement before a model stops learning
    teacher_learns: bool = True  # False: a fixed teacher, as in one-way distillation
    student_learns: bool = True  # False: a fixed student
    student_start: Start = "own"  # "svd": start from the truncated singular vectors of the teacher
    seed: int = 0

    def __post_init__(self) -> None:
        for name in _DIRECTIONS:
            object.__setattr__(self, name, _direction(name, getattr(self, name)))
        check_choice(self.student_start, "student_start", get_args(Start))
        check_choice(self.guides, "guides", get_args(Guides))
        for name in ("epochs", "refresh_every", "validate_every", "patience"):
            _whole(self, name, 1)
        _whole(self, "warm_up", 0)
        _number(self, "fitted_rate")
        object.__setattr__(self, "end_rate", check_number(self.end_rate, "end_rate", 0.0, 1.0))
        _whole(self, "seed", 0)
        check_flag(self.teacher_learns, "teacher_learns")
        check_flag(self.student_learns, "student_learns")
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
        known = _names(self)
        whole: dict[str, Any] = {}
        parts: dict[str, dict[str, Any]] = {}
        for name, value in changes.items():
            outer, _, inner = name.partition("__")
            of_direction = _names(getattr(self, outer)) if outer in _DIRECTIONS else []
            if outer not in known or (inner and inner not in of_direction):
                raise SettingError(
                    f"there is no setting {name!r}; there are {', '.join(sorted(known))}, and for each direction "
                    f"{', '.join(f'to_student__{each}' for each in _names(self.to_student))}"
                )
            if inner:
                parts.setdefault(outer, {})[inner] = value
            else:
                whole[outer] = value
        for outer, values in parts.items():
            whole[outer] = replace(_direction(outer, whole.get(outer, getattr(self, outer))), **values)
        return replace(self, **whole)

    def rate_share(self, epoch: int) -> float:
        """The learning rate of a joint epoch, counted from 1, as a share of that of the first; 1 in the warm-up.

        Examples
        --------
        >>> [DistillationSettings(epochs=4, end_rate=0.0).rate_share(epoch) for epoch in (0, 1, 2, 4)]
        [1.0, 1.0, 0.75, 0.25]
        """
        return 1.0 - (1.0 - self.end_rate) * max(epoch - 1, 0) / self.epochs

    def plain(self) -> dict[str, JSON]:
        """The settings as JSON; ``DistillationSettings(**plain)`` restores them."""
        settings = {each.name: getattr(self, each.name) for each in fields(DistillationSettings)}
        return settings | {name: asdict(settings[name]) for name in _DIRECTIONS}


def _fixed_teacher(to_student: Direction, student_start: Start = "own") -> DistillationSettings:
    return DistillationSettings(to_student=to_student, student_start=student_start, teacher_learns=False)


BD = DistillationSettings()
"""Bidirectional distillation (Kweon, 2024): items by rank discrepancy, tanh to the student and exp to the teacher."""

BD_BEST = DistillationSettings(
    to_student=Direction(weight=1.0, scheme="rank-aware", rank_gap_scale=1e-3, items=30), guides="best"
)
"""BD where each model's best checkpoint supplies soft labels, to the student on the teacher's top items: tanh sampling
spreads over half the catalogue."""

ONE_WAY = DistillationSettings(teacher_learns=False)
"""BD from a fixed teacher."""

RD = _fixed_teacher(Direction(scheme="top", labels="one", temperature=1.0, position_decay=10.0, rank_gap_scale=0.1))
"""Ranking distillation (Tang and Wang, 2018): the fixed teacher's top items count as liked; the first ones weigh more,
and so do those that the student misses."""

CD = _fixed_teacher(Direction(scheme="rank-aware", rank_gap_scale=1e-2, temperature=1.0))
"""Collaborative distillation (Lee et al., 2019): soft labels of a fixed teacher on items drawn by its ranks, the first
ones more often."""

TEACHER_POSITIVES = _fixed_teacher(Direction(weight=0.0, positives=20), "svd")
"""The fixed teacher's top items count as seen by the student, which starts from the teacher's SVD."""

COMBINED = _fixed_teacher(
    Direction(weight=1.0, scheme="rank-aware", rank_gap_scale=1e-3, items=30, temperature=1.0, positives=20), "svd"
)
"""Everything that a fixed teacher can give: SVD start, top items as positives, and soft labels on its top items."""


def method_names() -> tuple[str, ...]:
    """The names of all methods, those of other packages included.

    Examples
    --------
    >>> method_names()[:3]
    ('bd', 'bd-best', 'one-way')
    """
    return names("method")


def distillation_method(name: str, **changes: SettingValue) -> DistillationSettings:
    """The settings of a method, for `BidirectionalDistillation.from_settings`.

    Parameters
    ----------
    name : str
        One of `method_names`, such as "bd", "rd" or "cd".
    **changes
        Single settings that differ from those of the method, such as ``epochs=50`` or ``to_student__weight=1.0``.

    Examples
    --------
    >>> distillation_method("rd", to_student__items=20).teacher_learns
    False
    """
    settings: DistillationSettings = find("method", name)
    return settings.changed(**changes)
