"""implicit's BPR, at the number of iterations that is best on the validation set."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.rivals.fitted import Fitted
from sureness.data.splitting import Split
from sureness.evaluation.ranking import evaluate_ranking
from sureness.sources.adapters import from_implicit
from sureness.sources.base import FactorSource

_EVERY = 20  # iterations between validations


def fit_bpr(split: Split, settings: dict[str, Any], seed: int, metric: str) -> Fitted:
    """Fit once, and look at the model every few iterations.

    implicit learns in place at a constant rate, so what its callback sees after n iterations is what a fit of n
    iterations leaves: no number of iterations needs a fit of its own.
    """
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    model = BayesianPersonalizedRanking(**settings, num_threads=1, random_state=seed)
    history: list[dict[str, Any]] = []
    best: dict[str, Any] = {"value": -1.0}

    def look(iteration: int, *_: object) -> None:
        number = iteration + 1
        if number % _EVERY and number != settings["iterations"]:
            return
        source = from_implicit(model, split.train)
        value = evaluate_ranking(source, split.validation, seen=split.train, metrics=[metric])[metric]
        history.append({"epoch": number, metric: value})
        if value > best["value"]:
            best.update(value=value, epoch=number, factors=[np.array(model.user_factors), np.array(model.item_factors)])

    start = time.perf_counter()
    model.fit(split.train.matrix, show_progress=False, callback=look)
    seconds = time.perf_counter() - start
    source = FactorSource(*best["factors"], users=split.train.users, items=split.train.items)
    return Fitted(source, best["value"], best["epoch"], settings["iterations"], seconds, history)
