"""Teacher and student during joint training: each one learns, or stays fixed and only supplies soft labels."""

from __future__ import annotations

import copy
import hashlib
from typing import Literal

import numpy as np
from torch import Tensor

from sureness._settings import clone
from sureness.data.interactions import Interactions
from sureness.distillation.learner import Guide
from sureness.distillation.settings import Direction, DistillationSettings
from sureness.errors import IdError, NotFittedError, SettingError
from sureness.models.base import Recommender, as_recommender
from sureness.models.checkpoints import MAY_DIFFER, TrainingState
from sureness.models.networks.network import Network
from sureness.models.networks.training import copied
from sureness.saving.packed import JSON
from sureness.sources.base import ScoreSource
from sureness.sources.function import AlignedSource

Role = Literal["teacher", "student"]
Tensors = dict[str, Tensor]

_FINGERPRINT_USERS = 16  # whose scores distinguish one source from another


class SourceParticipant:
    """Any source of scores, such as a model of another library; it does not learn."""

    keeps_scores = True  # the refresh stores its scores of drawn items: scoring single pairs later could be slow
    network: Network | None = None

    def __init__(self, role: Role, given: ScoreSource, train: Interactions) -> None:
        self.role, self.given = role, given
        self.guide = self.aligned = AlignedSource.of(given, train)

    def current(self) -> ScoreSource:
        """The scores of the current weights."""
        return self.aligned

    guiding = current

    def identity(self) -> dict[str, JSON]:
        """What a checkpoint must share with the run that resumes it."""
        some = np.arange(min(_FINGERPRINT_USERS, self.aligned.n_users))
        fingerprint = hashlib.sha256(self.aligned.score_block(some).tobytes()).hexdigest()[:16]
        return {f"start of the {self.role}": fingerprint}

    def result(self) -> ScoreSource:
        """The model after training; a fixed one is the one that was given."""
        return self.given


class ModelParticipant:
    """A recommender of this package; it does not learn."""

    keeps_scores = False

    def __init__(self, role: Role, given: Recommender, network: Network, train: Interactions) -> None:
        self.role, self.given, self.network, self.train = role, given, network, train
        self.guide: Guide = network

    def current(self) -> ScoreSource:
        """The scores of the current weights."""
        return _source(self.network, self.train)

    def guiding(self) -> ScoreSource:
        """The scores used as soft labels for the other model: current weights, or the best so far."""
        return self.current()

    def identity(self) -> dict[str, JSON]:
        """What a checkpoint must share with the run that resumes it."""
        settings = {name: value for name, value in self.given.settings.plain().items() if name not in MAY_DIFFER}
        digest = hashlib.sha256()
        for name, tensor in sorted(self.network.state_dict().items()):
            digest.update(name.encode() + tensor.detach().cpu().numpy().tobytes())
        return {
            f"settings of the {self.role}": {"kind": self.given.name, **settings},
            f"start of the {self.role}": digest.hexdigest()[:16],
        }

    def result(self) -> ScoreSource:
        """The model after training; a fixed one is the one that was given."""
        return self.given


class LearningParticipant(ModelParticipant):
    """A recommender of this package that learns, with its trainer, its progress and its best weights so far."""

    def __init__(
        self,
        role: Role,
        given: Recommender,
        network: Network,
        train: Interactions,
        direction: Direction,
        *,
        fitted: bool,
    ) -> None:
        super().__init__(role, given, network, train)
        self.fitted = fitted  # a model that was fitted before needs no warm-up
        self.learner = direction.learner(network, train)
        self.best_guide: Network | None = None
        self.state = TrainingState()
        self.stopped = False
        self.best: Tensors = copied(network)

    def guide_from_best(self) -> None:
        """From now on the best weights at each refresh supply soft labels, not the current ones."""
        saved = self.network.state_dict()
        shared = {id(part): part for name, part in self.network.named_buffers() if name not in saved}
        self.guide = self.best_guide = copy.deepcopy(self.network, shared)

    def guiding(self) -> ScoreSource:
        if self.best_guide is None:
            return self.current()
        self.best_guide.load_state_dict(self.best)
        self.best_guide.eval()
        return _source(self.best_guide, self.train)

    def keep_best(self) -> None:
        """Remember the current weights as the best."""
        self.best = copied(self.network)

    def stop(self) -> None:
        """Stop learning and return to the best weights."""
        self.stopped = True
        self.network.load_state_dict(self.best)
        self.network.eval()
        self.network.settle()

    def result(self) -> ScoreSource:
        return clone(self.given).fitted_with(self.network, self.train, self.state)


Participant = SourceParticipant | ModelParticipant


def participant(
    role: Role, given: ScoreSource, train: Interactions, settings: DistillationSettings, *, assume_fitted: bool = False
) -> Participant:
    """Prepare a model for joint training; the given model itself is not changed.

    Parameters
    ----------
    role : "teacher" or "student"
    given : ScoreSource
        A recommender, fitted or not; any other source only if it is fixed.
    train : Interactions
    settings : DistillationSettings
    assume_fitted : bool
        Treat an unfitted recommender as a fitted one, for checks before it is trained.
    """
    learns = settings.teacher_learns if role == "teacher" else settings.student_learns
    direction = settings.to_teacher if role == "teacher" else settings.to_student
    model = as_recommender(given)
    if model is None:
        if learns:
            raise SettingError(
                f"the {role} must be a recommender of sureness to learn, got {type(given).__name__}; "
                f"keep it fixed with {role}_learns=False"
            )
        return SourceParticipant(role, given, train)
    fitted = model.is_fitted
    if fitted and not (model.users.same_as(train.users) and model.items.same_as(train.items)):
        if learns:
            raise IdError(
                f"the {role} was fitted on other users or items than those of train, so it cannot go on "
                f"learning; fit it on this log, or keep it fixed with {role}_learns=False"
            )
        return SourceParticipant(role, given, train)
    if not (fitted or learns or assume_fitted):
        raise NotFittedError(f"the {role} is fixed, so it must be fitted first; call its fit, or let it learn")
    network = _network(model, train)
    if not learns:
        return ModelParticipant(role, model, network, train)
    return LearningParticipant(role, model, network, train, direction, fitted=fitted or assume_fitted)


def _network(given: Recommender, train: Interactions) -> Network:
    """A network of its own, with the weights of the given model where it is fitted."""
    network = given.build(train)
    if given.is_fitted:
        network.load_state_dict(given.network_.state_dict())
    network.eval()  # no dropout when it is scored before its first step
    return network


def _source(network: Network, train: Interactions) -> ScoreSource:
    network.settle()
    return network.source(train.users, train.items)
