"""The recommenders that the demo trains: each carves the part that stops its training out of its own log."""

from __future__ import annotations

from typing import Any

from sureness.data.interactions import Interactions
from sureness.data.splitting import hold_out
from sureness.experiments.demo_progress import Progress
from sureness.sources.base import ScoreSource
from sureness.sources.svd import svd_source

IN_WORLDS: dict[str, Any] = {"n_factors": 8, "learning_rate": 0.005, "l2": 0.03, "epochs": 150, "patience": 3}
"""Settings of BPR for simulated worlds; the best of 18 on the validation items of the worlds with seeds 101 and 102."""

ON_LOGS: dict[str, Any] = {"n_factors": 32, "learning_rate": 0.005, "l2": 0.03, "epochs": 100, "patience": 3}
"""Settings of BPR for logs: of four on the validation items of MovieLens 100K the second best, in half the time."""


def learn_bpr(log: Interactions, *, seed: int = 0, progress: Progress | None = None, **settings: Any) -> ScoreSource:
    """Train BPR on nine tenths of a log; the last tenth says when to stop, so that no other data is needed.

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> world = simulate(SimulatorSettings(n_users=200, n_items=60))
    >>> model = learn_bpr(Interactions.from_matrix(world.train), n_factors=4, epochs=10)
    >>> model.n_users, model.n_items
    (200, 60)
    """
    from sureness.models.bpr import BPR

    train, stopping = hold_out(log, 0.1, seed=seed)
    return BPR(seed=seed, **settings).fit(train, stopping, progress=progress)


def learn_svd(log: Interactions, *, seed: int = 0, progress: Progress | None = None, **settings: Any) -> ScoreSource:
    """The plain recommender of the package, for those who have no torch; it has nothing to stop.

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> world = simulate(SimulatorSettings(n_users=200, n_items=60))
    >>> learn_svd(Interactions.from_matrix(world.train)).n_items
    60
    """
    if progress is not None:
        progress("singular vectors", 0, 1)
    return svd_source(log, n_factors=min(settings.get("n_factors", 7), min(log.shape) - 1), seed=seed)
