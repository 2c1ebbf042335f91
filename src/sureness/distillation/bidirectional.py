"""Bidirectional distillation as people use it: two recommenders in, two better ones out."""

from __future__ import annotations

from os import PathLike
from typing import Any, Self

import polars as pl

from sureness._settings import Configurable, clone
from sureness.data.interactions import Interactions
from sureness.distillation.foreign import ForeignSource
from sureness.distillation.joint import JointTraining, Pupil, Report
from sureness.distillation.settings import Direction, DistillationSettings
from sureness.errors import DataError
from sureness.models.base import Recommender, checked_validation
from sureness.models.checkpoints import MAY_DIFFER, CheckpointFile, fingerprint
from sureness.models.networks.network import Network
from sureness.sources.base import ScoreSource

_JOINT = {"epoch": pl.Int64, "model": pl.String, "loss": pl.Float64, "metric": pl.Float64, "seconds": pl.Float64}
_MAY_DIFFER = ("epochs",)


class BidirectionalDistillation(Configurable):
    """A large and a small recommender train each other on the items they rank most differently.

    Each learns with its own loss plus the other's labels on drawn items. A recommender that is fitted already starts
    where it is; the given ones are never changed. A fixed one (``teacher_learns=False``) may be any source of scores,
    also one that knows other items; then only what it knows is passed on.

    Parameters
    ----------
    teacher, student : Recommender
        Of any size and kind; the fixed one any ScoreSource.
    settings : DistillationSettings, optional
    **changes
        Single settings by name, such as ``epochs=50`` or ``to_student__weight=1.0``.

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> from sureness.models.bpr import BPR
    >>> log = Interactions.from_matrix(simulate(SimulatorSettings(n_users=200, n_items=60)).train)
    >>> both = BidirectionalDistillation(BPR(n_factors=16), BPR(n_factors=2), warm_up=5, epochs=5).fit(log)
    >>> both.teacher_.n_parameters, both.student_.n_parameters
    (4160, 520)
    """

    teacher_: ScoreSource
    student_: ScoreSource
    history_: pl.DataFrame  # one row an epoch and model: epoch, model, loss, metric, seconds
    warm_up_: int  # epochs that were spent alone

    def __init__(
        self, teacher: ScoreSource, student: ScoreSource, settings: DistillationSettings | None = None, **changes: Any
    ) -> None:
        self.teacher, self.student = teacher, student
        self.settings = (settings or DistillationSettings()).changed(**changes)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"teacher": self.teacher, "student": self.student, "settings": self.settings}

    def set_params(self, **settings: Any) -> Self:
        for name in ("teacher", "student", "settings"):
            if name in settings:
                setattr(self, name, settings.pop(name))
        self.settings = self.settings.changed(**settings)
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.teacher!r}, {self.student!r})"

    def fit(
        self,
        train: Interactions,
        validation: Interactions | None = None,
        *,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 10.0,
        progress: Report | None = None,
    ) -> Self:
        """Train both.

        Parameters
        ----------
        train : Interactions
        validation : Interactions, optional
            Each model stops when its metric on these stops rising, and its best epoch is kept. Without it, all epochs
            are run.
        checkpoint : path, optional
            A file to go on from: written at most every `checkpoint_seconds`, whole at any moment.
        progress : callable, optional
            Called with a text, the steps done and the steps there are.
        """
        joint = self.training(train, validation)
        pupils = joint.pupils
        file = None
        if checkpoint is not None:
            file = CheckpointFile(checkpoint, self._identity(joint), checkpoint_seconds)
        joint.run(file, progress)
        self.history_ = pl.DataFrame(joint.history, schema=_JOINT)
        self.warm_up_ = joint.warm_up
        self.teacher_, self.student_ = (
            _result(given, pupil) for given, pupil in zip((self.teacher, self.student), pupils, strict=True)
        )
        return self

    def training(self, train: Interactions, validation: Interactions | None = None) -> JointTraining:
        """What `fit` runs, before it runs; whatever cannot be distilled is refused here."""
        validation = checked_validation(train, validation)
        return JointTraining(*self._pupils(train), train, validation, self.settings)

    def _pupils(self, train: Interactions) -> tuple[Pupil, Pupil]:
        settings = self.settings
        return (
            _pupil("teacher", self.teacher, train, settings.to_teacher, settings.teacher_learns),
            _pupil("student", self.student, train, settings.to_student, settings.student_learns),
        )

    def _identity(self, joint: JointTraining) -> dict[str, Any]:
        """What a checkpoint must have in common with this call: data, settings, and where both models start."""
        settings = {key: value for key, value in self.settings.plain().items() if key not in _MAY_DIFFER}
        identity: dict[str, Any] = {"model": "distillation", "settings": settings, "train": fingerprint(joint.train)}
        identity["validation"] = None if joint.validation is None else fingerprint(joint.validation)
        for given, pupil in zip((self.teacher, self.student), joint.pupils, strict=True):
            if isinstance(given, Recommender):
                kept = {key: value for key, value in given.settings.plain().items() if key not in MAY_DIFFER}
                identity[f"settings of the {pupil.name}"] = {"kind": given.name, **kept}
            identity[f"start of the {pupil.name}"] = pupil.fingerprint()
        return identity


def _pupil(name: str, given: ScoreSource, train: Interactions, direction: Direction, learns: bool) -> Pupil:
    if not isinstance(given, Recommender):
        if learns:
            raise DataError(f"the {name} must be a recommender of sureness to learn, got {type(given).__name__}; keep "
                            f"it fixed with {name}_learns=False")  # fmt: skip
        return Pupil(name, ForeignSource.of(given, train), train, direction, learns=False, warm=True)
    fitted = given.is_fitted
    same = fitted and given.users.same_as(train.users) and given.items.same_as(train.items)
    if fitted and not same:
        if learns:
            raise DataError(f"the {name} was fitted on other users or items than those of train, so it cannot go on "
                            f"learning; fit it on this log, or keep it fixed with {name}_learns=False")  # fmt: skip
        return Pupil(name, ForeignSource.of(given, train), train, direction, learns=False, warm=True)
    if not fitted and not learns:
        raise DataError(f"the {name} is fixed, so it must be fitted first; call its fit, or let it learn")
    network = given.build(train)
    if fitted:
        network.load_state_dict(given.network_.state_dict())
    network.eval()  # no dropout when it is asked before its first step
    return Pupil(name, network, train, direction, learns=learns, warm=fitted)


def _result(given: ScoreSource, pupil: Pupil) -> ScoreSource:
    if pupil.learner is None or not isinstance(given, Recommender) or not isinstance(pupil.model, Network):
        return given
    return clone(given).fitted_with(pupil.model, pupil.train.users, pupil.train.items, pupil.progress)
