"""How two models learn from each other, frozen once it is made."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any, Literal, Self, get_args

from sureness._registry import names
from sureness.distillation.sampling import SchemeName, check_scheme
from sureness.errors import DataError
from sureness.numerics.checks import check_choice

Labels = Literal["sigmoid", "calibrated", "constant", "one"]
Ranks = Literal["sketch", "exact"]
Start = Literal["own", "svd"]
Guides = Literal["present", "best"]


@dataclass(frozen=True, kw_only=True)
class Direction:
    """How the labels of one model, the guide, enter the loss of the other, the learner."""

    weight: float = 0.5  # of the guide's labels beside the learner's own loss; 0: none
    scheme: SchemeName = "tanh"  # which items the guide speaks of
    rank_gap_scale: float = 1e-4  # how fast the weight of an item grows with the difference of its ranks
    items: int = 10  # drawn for each positive; for "top" the guide's first so many
    temperature: float = 2.0  # labels are sigmoid(score / temperature), so are the learner's own predictions
    labels: Labels = "sigmoid"  # "calibrated": probabilities from validation; "constant": their mean; "one": 1
    calibrator: str = "platt"  # of calibrated labels, any of `sureness.calibration`
    reuse: bool = False  # the drawn items are the negatives of the learner's own loss too
    positives: int = 0  # so many of the guide's first items count as seen in the learner's own loss
    position_decay: float = (
        0.0  # above 0 ("top" only): ranks weigh exp(-rank / decay), times how far the learner is off
    )

    def __post_init__(self) -> None:
        check_scheme(self.scheme)
        _one_of(self, "labels", Labels)
        _number(self, "weight", least=0.0)
        _number(self, "position_decay", least=0.0)
        _number(self, "rank_gap_scale", above=0.0)
        _number(self, "temperature", above=0.0)
        _whole(self, "items", 1)
        _whole(self, "positives", 0)
        if self.labels == "calibrated":
            check_choice(self.calibrator, "calibrator", names("calibrator"))
        if not isinstance(self.reuse, bool):
            raise DataError(f"reuse must be True or False, got {self.reuse!r}")
        if self.position_decay and self.scheme != "top":
            raise DataError(f"position_decay belongs to the scheme top, got {self.scheme!r}; leave it at 0")

    @property
    def draws(self) -> bool:
        """Whether items are needed at all."""
        return self.weight > 0 or self.reuse


@dataclass(frozen=True, kw_only=True)
class DistillationSettings:
    """How strongly teacher and student learn from each other, and for how long."""

    to_teacher: Direction = field(default_factory=lambda: Direction(scheme="exp"))  # the student's labels
    to_student: Direction = field(default_factory=Direction)  # the teacher's labels
    warm_up: int = 20  # epochs that an unfitted model learns alone first; a fitted one starts where it is
    fitted_rate: float = 1.0  # learning rate of a fitted model, as a share of its own: its optimiser starts anew
    epochs: int = 100  # together, at most
    refresh_every: int = 10  # epochs between two looks at the ranks
    guides: Guides = (
        "present"  # who speaks: the other model as it is, or as it was at its best when ranks were refreshed
    )
    validate_every: int = 5  # epochs between validations
    patience: int = 4  # validations without a better one before a model stops learning
    teacher_learns: bool = True  # False: a fixed teacher, plain distillation
    student_learns: bool = True  # False: a fixed student
    student_start: Start = "own"  # "svd": from the truncated singular vectors of the teacher
    ranks: Ranks = "sketch"  # how ranks are found: "exact" sorts
    quantiles: int = 256  # a sketched rank is off by at most items / quantiles
    pool_megabytes: int = 512  # of drawn items for each direction; what does not fit is drawn once for several epochs
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("to_teacher", "to_student"):
            given = getattr(self, name)
            if isinstance(given, dict):
                _known_names(name, given)
                object.__setattr__(self, name, Direction(**given))
            elif not isinstance(given, Direction):
                raise DataError(f"{name} must be a Direction, got {type(given).__name__}")
        _one_of(self, "ranks", Ranks)
        _one_of(self, "student_start", Start)
        _one_of(self, "guides", Guides)
        for name in ("epochs", "refresh_every", "validate_every", "patience", "quantiles", "pool_megabytes"):
            _whole(self, name, 1)
        _whole(self, "warm_up", 0)
        _number(self, "fitted_rate", above=0.0)
        _whole(self, "seed", 0)
        for name in ("teacher_learns", "student_learns"):
            if not isinstance(getattr(self, name), bool):
                raise DataError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if not (self.teacher_learns or self.student_learns):
            raise DataError("teacher and student are both fixed, so nothing would be learned; let one of them learn")

    def changed(self, **changes: Any) -> Self:
        """Other settings by name; those of a direction as ``to_student__weight``.

        Examples
        --------
        >>> DistillationSettings().changed(epochs=5, to_student__weight=1.0).to_student.weight
        1.0
        """
        if not changes:
            return self
        known = {each.name for each in fields(self)}
        plain: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for name, value in changes.items():
            outer, _, inner = name.partition("__")
            nested_too = outer in ("to_teacher", "to_student")
            if outer not in known or (inner and (not nested_too or inner not in _DIRECTION)):
                raise DataError(f"there is no setting {name!r}; there are {', '.join(sorted(known))}, and for each "
                                f"direction {', '.join(f'to_student__{each}' for each in _DIRECTION)}")  # fmt: skip
            if inner:
                nested.setdefault(outer, {})[inner] = value
            else:
                plain[outer] = value
        for outer, values in nested.items():
            plain[outer] = replace(plain.get(outer, getattr(self, outer)), **values)
        return replace(self, **plain)

    def plain(self) -> dict[str, Any]:
        """The settings as JSON knows them."""
        return asdict(self)


_DIRECTION = tuple(each.name for each in fields(Direction))


def _known_names(name: str, given: dict[str, Any]) -> None:
    for inner in given:
        if inner not in _DIRECTION:
            raise DataError(f"{name} has no setting {inner!r}; it has {', '.join(_DIRECTION)}")


def _one_of(settings: object, name: str, kind: Any) -> None:
    value = getattr(settings, name)
    if value not in get_args(kind):
        raise DataError(f"{name} must be one of {', '.join(get_args(kind))}, got {value!r}")


def _whole(settings: object, name: str, least: int) -> None:
    value = getattr(settings, name)
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise DataError(f"{name} must be a whole number of at least {least}, got {value!r}")
    object.__setattr__(settings, name, int(value))


def _number(settings: object, name: str, *, least: float | None = None, above: float | None = None) -> None:
    value = getattr(settings, name)
    wanted = f"above {above:g}" if above is not None else f"{least:g} or more"
    fits = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not fits or (least is not None and value < least) or (above is not None and value <= above):
        raise DataError(f"{name} must be {wanted}, got {value!r}")
    object.__setattr__(settings, name, float(value))
