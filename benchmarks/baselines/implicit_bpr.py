"""implicit's BPR, at the number of iterations that is best on the validation set."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import numpy as np

from benchmarks.baselines.fitted import Fitted
from sureness.data import Split
from sureness.metrics import evaluate_ranking
from sureness.sources import FactorSource, from_implicit

_VALIDATIONS = 25  # at most
_PATIENCE = 4  # validations without a better one


class _EnoughError(Exception):
    """Raised out of implicit's callback, its only way to stop."""


def fit_bpr(split: Split, settings: dict[str, Any], seed: int, metric: str) -> Fitted:
    """Fit once, look at the model now and then, and stop when it gets no better.

    implicit learns in place at a constant rate, so what its callback sees after n iterations is what a fit of n
    iterations leaves: no number of iterations needs a fit of its own.
    """
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    model = BayesianPersonalizedRanking(**settings, num_threads=1, random_state=seed)
    every = max(1, settings["iterations"] // _VALIDATIONS)
    history: list[dict[str, Any]] = []
    best: dict[str, Any] = {metric: -1.0, "epoch": 0}
    spent, started = 0.0, time.process_time()

    def look(iteration: int, *_: object) -> None:
        nonlocal spent, started
        number = iteration + 1
        if number % every:
            return
        spent += time.process_time() - started
        source = from_implicit(model, split.train)
        value = evaluate_ranking(source, split.validation, seen=split.train, metrics=[metric])[metric]
        history.append({"epoch": number, metric: value, "train_seconds": spent})  # processor time, no validations
        if value > best[metric]:
            factors = np.array(model.user_factors), np.array(model.item_factors)
            best.update(history[-1], factors=factors)
        elif number - best["epoch"] >= _PATIENCE * every:
            raise _EnoughError
        started = time.process_time()

    start = time.perf_counter()
    with suppress(_EnoughError):
        model.fit(split.train.matrix, show_progress=False, callback=look)
    seconds = time.perf_counter() - start
    source = FactorSource(*best["factors"], users=split.train.users, items=split.train.items)
    return Fitted(source, best[metric], best["epoch"], history[-1]["epoch"], seconds, history)
