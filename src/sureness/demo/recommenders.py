"""The recommenders that the demo trains."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, Protocol

from sureness._progress import Progress, silent
from sureness._wording import counted
from sureness.data.interactions import Interactions
from sureness.data.splitting import hold_out
from sureness.errors import SurenessWarning, missing_extra
from sureness.sources.base import ScoreSource
from sureness.sources.svd import svd_source

RecommenderName = Literal["bpr", "svd"]


class Learner(Protocol):
    """Trains a recommender on a log, and has a name for it."""

    @property
    def name(self) -> str: ...

    def __call__(self, log: Interactions, *, seed: int = 0, progress: Progress = silent) -> ScoreSource: ...


@dataclass(frozen=True)
class BPRLearner:
    """Trains BPR on nine tenths of a log and stops by the last tenth, so no other data is needed.

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> world = simulate(SimulatorSettings(n_users=200, n_items=60))
    >>> model = BPRLearner(n_factors=4, epochs=10)(Interactions.from_matrix(world.train))
    >>> model.n_users, model.n_items
    (200, 60)
    """

    n_factors: int
    epochs: int

    @property
    def name(self) -> str:
        return f"BPR with {counted(self.n_factors, 'factor')}"

    def __call__(self, log: Interactions, *, seed: int = 0, progress: Progress = silent) -> ScoreSource:
        from sureness.models.bpr import BPR

        train, stopping = hold_out(log, 0.1, seed=seed)
        model = BPR(n_factors=self.n_factors, learning_rate=0.005, l2=0.03, epochs=self.epochs, patience=3, seed=seed)
        return model.fit(train, stopping, progress=progress)


@dataclass(frozen=True)
class SVDLearner:
    """Factorises the log by truncated singular value decomposition, which needs no torch.

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> world = simulate(SimulatorSettings(n_users=200, n_items=60))
    >>> SVDLearner()(Interactions.from_matrix(world.train)).n_items
    60
    """

    n_factors: int = 7

    @property
    def name(self) -> str:
        return f"a singular value decomposition with {counted(self.n_factors, 'factor')}"

    def __call__(self, log: Interactions, *, seed: int = 0, progress: Progress = silent) -> ScoreSource:
        progress("singular value decomposition", 0, 1)
        return svd_source(log, n_factors=min(self.n_factors, min(log.shape) - 1), seed=seed)


IN_WORLDS = BPRLearner(n_factors=8, epochs=150)
"""For simulated worlds: the best of 18 settings on the validation items of the worlds with seeds 101 and 102."""

ON_LOGS = BPRLearner(n_factors=32, epochs=100)
"""For logs: second best of four settings on the validation items of MovieLens 100K, in half the time of the best."""


def choose_learner(recommender: RecommenderName, bpr: BPRLearner) -> Learner:
    """The learner of this name; without torch always the decomposition, with a warning."""
    if recommender == "bpr" and find_spec("torch") is None:
        warnings.warn(
            f"the demo uses a singular value decomposition instead: {missing_extra('BPR', 'torch', 'models')}",
            SurenessWarning, stacklevel=2,
        )  # fmt: skip
        return SVDLearner()
    return bpr if recommender == "bpr" else SVDLearner()
