"""Epochs of NeuMF and CDAE against RecBole and an older version, and BPR against implicit."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.baselines import recbole_process as recbole
from benchmarks.baselines.implicit_bpr import fit_bpr
from benchmarks.logs import absent, fewer_users, split_of
from benchmarks.tables import Bar, Scale, Table, count_of, time_of
from benchmarks.timing import Measured, growth, one_thread, processed, ratio, take_turns
from benchmarks.training import Sides, with_recbole
from sureness.data import Interactions, Split
from sureness.metrics import evaluate_ranking
from sureness.models import Trainer, make_recommender

_DATA = "citeulike-bd"
_N_FACTORS = 50
_METRIC = "ndcg@50"
# RecBole's models in the sizes of ours; its CDAE reads and writes all items of a user, so it draws no negatives.
_RECBOLE: dict[str, tuple[str, dict[str, Any]]] = {
    "neumf": ("NeuMF", {"mf_embedding_size": _N_FACTORS, "mlp_embedding_size": _N_FACTORS,
                        "mlp_hidden_size": [_N_FACTORS, _N_FACTORS // 2], "train_batch_size": 1024}),
    "cdae": ("CDAE", {"embedding_size": _N_FACTORS, "train_neg_sample_args": None}),
}  # fmt: skip
_OLDER = os.environ.get("SURENESS_OLDER")  # the folder of an older checkout, whose epochs are measured too
_OF_OLDER = "older: the checkout in SURENESS_OLDER, with equal widths of NeuMF; its CDAE may have other layers."
_WIDTHS = {"neumf": {"layer_widths": [_N_FACTORS, _N_FACTORS // 2]}, "cdae": {}}  # ours by default; older ones differ
_JUDGED_EVERY = 2  # epochs
# The best settings that `python -m benchmarks.quality` found for each.
_IMPLICIT = {
    "ml-1m": {"factors": 64, "learning_rate": 0.03, "regularization": 0.03, "iterations": 200},
    "citeulike-a": {"factors": 64, "learning_rate": 0.1, "regularization": 0.006, "iterations": 600},
}
# For CiteULike-a chosen on validation among six: rates of 0.01 and 0.02 that fall and constant ones, some with a larger
# pull, more popular negatives or three negatives per positive.
_OURS: dict[str, dict[str, Any]] = {
    "ml-1m": {}, "citeulike-a": {"popularity": 0.5, "learning_rate": 0.01, "end_rate": 0.0, "epochs": 90},
}  # fmt: skip


def epochs(scale: Scale) -> list[Table]:
    """An epoch of each model, and RecBole's."""
    return [_epochs(name, scale) for name in _RECBOLE]


def _epochs(name: str, scale: Scale) -> Table:
    title = f"An epoch of {name} on CiteULike, {_N_FACTORS} factors, against RecBole"
    if reason := absent(_DATA):
        return Table.skipped(title, reason)
    model, settings = _RECBOLE[name]
    rows, sizes, every = [], [], []
    for share in scale.shares:
        split = fewer_users(split_of(_DATA), share)
        train = split.train
        sides: Sides = {"sureness": processed(_epoch(name, train))}
        with one_thread(), _with_older(sides, name, train), with_recbole(sides, model, split, **settings):
            runs = take_turns(sides, scale.training_rounds)
        sizes.append(len(train))
        every.append(runs)
        faster = {side: ratio(runs[side], runs["sureness"]) for side in runs if side != "sureness"}
        rows.append(
            (count_of(len(train)), *(time_of(side.median) for side in runs.values()), *map(str, faster.values()))
        )
    exponents = [f"{growth(sizes, [runs[side].median for runs in every]):.2f}" for side in every[0]]
    return Table(
        title,
        ("pairs", *every[0], *(f"times faster than {side}" for side in faster)),
        [*rows, ("growth exponent", *exponents, *[""] * len(faster))],
        notes=(
            f"Processor time, one thread; ours with default settings. RecBole: {_written(settings)}.",
            *(
                ["older: the checkout in SURENESS_OLDER, with equal widths of NeuMF; its CDAE may have other layers."]
                if _OLDER
                else []
            ),
            *([] if "RecBole" in faster else [f"{recbole.ABSENT}."]),
        ),
    )


@contextmanager
def _with_older(sides: Sides, name: str, train: Interactions) -> Iterator[None]:
    """The version in `SURENESS_OLDER` joins the sides, in a process of its own and with the same widths."""
    if not _OLDER:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        pairs, script = Path(folder, "pairs.npy"), Path(__file__).parent / "baselines" / "older_epochs.py"
        np.save(pairs, np.stack([train.user_rows, train.item_rows]))
        settings = json.dumps({"n_factors": _N_FACTORS} | _WIDTHS[name])
        command = (sys.executable, script, name, pairs, settings)
        with recbole.working(recbole.EpochWorker(*command, PYTHONPATH=str(Path(_OLDER, "src")))) as worker:
            sides["older"] = lambda: Measured(worker.epochs(1))
            yield


def _written(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _epoch(name: str, train: Interactions) -> Callable[[], object]:
    trainer = Trainer(make_recommender(name, n_factors=_N_FACTORS).build(train), train)
    numbers = count(1)
    return lambda: trainer.epoch(next(numbers))


def bpr_to_quality(scale: Scale) -> list[Table]:
    """How long BPR takes to rank the validation set as well as implicit's best iteration does."""
    return [_bpr_to_quality(data, scale) for data in _IMPLICIT]


def _bpr_to_quality(data: str, scale: Scale) -> Table:
    title = f"BPR on {data}: time to implicit's best validation NDCG@50"
    if reason := absent(data):
        return Table.skipped(title, reason)
    rows, sizes, times = [], [], []
    for share in scale.shares:
        split = fewer_users(split_of(data), share)
        settings = _IMPLICIT[data] | {"iterations": min(6 * scale.epochs, _IMPLICIT[data]["iterations"])}
        with one_thread():
            theirs = fit_bpr(split, settings, 0, _METRIC)
            spent = next(each["train_seconds"] for each in theirs.history if each["epoch"] == theirs.epoch)
            value, number, seconds = _ours_to(split, data, theirs.validation)
        reached = value >= theirs.validation
        faster = spent / seconds if reached else 0.0
        sizes.append(len(split.train))
        times.append((spent, seconds))
        rows.append((
            count_of(len(split.train)), f"{theirs.validation:.4f}", str(theirs.epoch), time_of(spent), f"{value:.4f}",
            str(number), time_of(seconds), f"{faster:.2f}" if reached else "not reached",
        ))  # fmt: skip
    spent, ours = (f"{growth(sizes, side):.2f}" for side in zip(*times, strict=True))
    return Table(
        title,
        ("pairs", "implicit", "iterations", "time", "sureness", "epochs", "time", "times faster"),
        [*rows, ("growth exponent", "", "", spent, "", "", ours, "")],
        notes=(
            "Processor time of training, without validations; one thread, one run of each. implicit's time ends with "
            f"its best iteration, ours with the first epoch that is at least as good; ours is judged every "
            f"{_JUDGED_EVERY} epochs, implicit 25 times.",
            f"implicit: {_written(_IMPLICIT[data])}. sureness: {_written(_OURS[data]) or 'the defaults'}. Other "
            "settings of implicit: `python -m benchmarks.quality`.",
        ),
        bars=(Bar.at_least(f"BPR on {data}, times faster to implicit's best quality", 2, faster),),
    )


def _ours_to(split: Split, data: str, target: float) -> tuple[float, int, float]:
    """The validation metric when it reaches the target, the epochs and the seconds of processor time that took."""
    network = make_recommender("bpr", n_factors=64, **_OURS[data]).build(split.train)
    trainer, value, number, seconds = Trainer(network, split.train), -1.0, 0, 0.0
    trainer.step(next(iter(trainer.batches.epoch(np.random.default_rng(0)))))  # compiles
    while value < target and number < network.settings.epochs:
        number += 1
        started = time.process_time()
        trainer.epoch(number)
        seconds += time.process_time() - started
        if number % _JUDGED_EVERY == 0:
            source = network.source(split.train.users, split.train.items)
            value = evaluate_ranking(source, split.validation, seen=split.train, metrics=[_METRIC])[_METRIC]
    return value, number, seconds
