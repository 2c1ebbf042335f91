"""Training against implicit and RecBole, one thread each, and the memory it takes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.baselines import recbole_process as recbole
from benchmarks.logs import absent, fewer_users, split_of
from benchmarks.tables import Bar, Scale, Table, count_of, size_of, time_of
from benchmarks.timing import Measured, Runs, growth, one_thread, per_epoch, processed, python, ratio, take_turns
from sureness.data import Interactions, Split
from sureness.metrics import evaluate_ranking
from sureness.models import Trainer, make_recommender

_N_FACTORS = 64
_N_EPOCHS = 3  # timed together, where an epoch is short
_RECBOLE_BATCH = 2048  # its default
_METRIC = "ndcg@50"
# The best settings that `python -m benchmarks.quality` found for each on CiteULike-a, by the same validation.
_BEST_RECBOLE = {
    "embedding_size": 64, "n_layers": 2, "train_batch_size": 8192, "learning_rate": 0.01, "reg_weight": 1e-4,
}  # fmt: skip
_BEST_OURS = {"n_factors": 64, "layers": 2, "batch_size": 8192, "learning_rate": 0.02, "l2": 1e-3}
_PATIENCE = 300  # epochs after which ours is said not to reach RecBole's quality

Sides = dict[str, Callable[[], Measured]]


def bpr_epochs(scale: Scale) -> Table:
    """An epoch of BPR, negatives drawn anew."""
    title = f"An epoch of BPR on ML-1M, {_N_FACTORS} factors, against implicit and RecBole"
    if reason := absent("ml-1m"):
        return Table.skipped(title, reason)
    rows, sizes, every = [], [], []
    for split in _sizes("ml-1m", scale):
        sides: Sides = {
            "sureness": per_epoch(_our_epochs("bpr", split.train), _N_EPOCHS),
            "implicit": per_epoch(_implicit_epochs(split.train), _N_EPOCHS),
        }
        with (
            one_thread(),
            with_recbole(sides, "BPR", split, embedding_size=_N_FACTORS, train_batch_size=_RECBOLE_BATCH),
        ):
            runs = take_turns(sides, scale.training_rounds)
        sizes.append(len(split.train))
        every.append(runs)
        slower = ratio(runs["sureness"], runs["implicit"])
        rows.append((count_of(sizes[-1]), *_times(runs), str(slower), _faster(runs, "sureness")))
    pairs = f"{sizes[-1]:,} pairs"
    return Table(
        title,
        ("pairs", "sureness", "implicit", "RecBole", "times implicit", "times faster than RecBole"),
        [*rows, ("growth exponent", *_exponents(sizes, every), "", "")],
        notes=(
            "Processor time, one thread each, at each one's default batch size: "
            f"{make_recommender('bpr').settings.batch_size:,} for sureness, one pair for implicit, {_RECBOLE_BATCH:,} "
            "for RecBole. Sides take turns; RecBole waits in a process of its own with its data loaded.",
            "implicit skips a pair whose negative turns out to be seen, about one in six here; sureness and RecBole "
            "draw another one.",
            *_remarks(),
        ),
        bars=(
            Bar.at_most(f"BPR epoch of {pairs}, times implicit's", 2, slower.value),
            *_bars(f"BPR epoch of {pairs}, times faster than RecBole's", 5, runs, "sureness"),
        ),
    )


def lightgcn_epochs(scale: Scale) -> Table:
    """An epoch of LightGCN at RecBole's batch size and at ours."""
    title = f"An epoch of LightGCN on ML-1M, {_N_FACTORS} factors, 2 layers, against RecBole"
    if reason := absent("ml-1m"):
        return Table.skipped(title, reason)
    default = make_recommender("lightgcn").settings.batch_size
    equal, own = f"batches of {_RECBOLE_BATCH:,}", f"of {default:,}"
    rows, sizes, every = [], [], []
    for split in _sizes("ml-1m", scale):
        sides: Sides = {
            equal: processed(_our_epochs("lightgcn", split.train, n_epochs=1, batch_size=_RECBOLE_BATCH)),
            own: processed(_our_epochs("lightgcn", split.train, n_epochs=1)),
        }
        with (
            one_thread(),
            with_recbole(sides, "LightGCN", split, embedding_size=_N_FACTORS, train_batch_size=_RECBOLE_BATCH),
        ):
            runs = take_turns(sides, scale.training_rounds)
        sizes.append(len(split.train))
        every.append(runs)
        rows.append((count_of(sizes[-1]), *_times(runs), _faster(runs, equal), _faster(runs, own)))
    pairs = f"{sizes[-1]:,} pairs"
    return Table(
        title,
        ("pairs", f"sureness, {equal}", own, "RecBole, of 2,048", "times faster, equal", "each by default"),
        [*rows, ("growth exponent", *_exponents(sizes, every), "", "")],
        notes=(
            "Processor time, one thread each. "
            f"RecBole's default are batches of {_RECBOLE_BATCH:,}, ours of {default:,}.",
            *_remarks(),
        ),
        bars=(
            *_bars(f"LightGCN epoch of {pairs}, times faster than RecBole's at equal batches", 3, runs, equal),
            *_bars(f"LightGCN epoch of {pairs}, times faster than RecBole's, each by default", 3, runs, own),
        ),
    )


def time_to_quality(scale: Scale) -> Table:
    """How long LightGCN takes to rank the validation set as well as RecBole's best epoch does."""
    title = "LightGCN on CiteULike-a: time to RecBole's best validation NDCG@50"
    if reason := absent("citeulike-a"):
        return Table.skipped(title, reason)
    if not recbole.is_installed():
        return Table.skipped(title, recbole.ABSENT)
    rows, sizes, times = [], [], []
    for split in _sizes("citeulike-a", scale):
        with one_thread(), tempfile.TemporaryDirectory() as folder:
            settings = _BEST_RECBOLE | {"epochs": scale.epochs, "stopping_step": 10}
            theirs = recbole.fit_lightgcn(split, settings, 2024, Path(folder))
            spent = sum(e["train_seconds"] + e["valid_seconds"] for e in theirs.history[: theirs.epoch])
            _our_time_to(split, 0.0)  # compiles
            epochs, value, seconds = _our_time_to(split, theirs.validation)
        sizes.append(len(split.train))
        times.append((seconds, spent))
        reached = value >= theirs.validation
        rows.append((
            count_of(sizes[-1]), f"{theirs.validation:.4f}", str(theirs.epoch), time_of(spent), f"{value:.4f}",
            str(epochs), time_of(seconds), f"{spent / seconds:.2f}" if reached else "not reached",
        ))  # fmt: skip
    ours, spent = (f"{growth(sizes, side):.2f}" for side in zip(*times, strict=True))
    return Table(
        title,
        ("pairs", "RecBole", "epochs", "time", "sureness", "epochs", "time", "times faster"),
        [*rows, ("growth exponent", "", "", spent, "", "", ours, "")],
        notes=(
            "Training and a validation after every epoch, one thread, one run of each. RecBole trains for at most "
            f"{scale.epochs} epochs and stops after 10 without a better one; its time ends with its best epoch, ours "
            "with the first that is at least as good.",
            f"Each with the best settings of `benchmarks.quality`. RecBole: {_shown(_BEST_RECBOLE)}. "
            f"sureness: {_shown(_BEST_OURS)}.",
        ),
        bars=(
            Bar.at_least(
                f"LightGCN on CiteULike-a, times faster to RecBole's best quality ({theirs.validation:.4f})",
                1, times[-1][1] / times[-1][0] if reached else 0.0,
            ),
        ),
    )  # fmt: skip


def memory(scale: Scale) -> Table:
    """Whole processes that read Gowalla, train for an epoch and validate."""
    title = f"Peak memory of training on Gowalla, {_N_FACTORS} factors: one epoch and a validation"
    if reason := absent("gowalla"):
        return Table.skipped(title, reason)
    rows, bars = [], []
    sizes = [len(split.train) for split in _sizes("gowalla", scale)]
    for name in ("bpr", "lightgcn"):
        runs = [python(_TRAIN_ONCE, name, str(share))() for share in scale.shares]
        rows += [
            (name, count_of(size), time_of(run.seconds), size_of(run.peak_bytes))
            for size, run in zip(sizes, runs, strict=True)
        ]
        seconds, peaks = [run.seconds for run in runs], [run.peak_bytes for run in runs]
        rows.append((name, "growth exponent", f"{growth(sizes, seconds):.2f}", f"{growth(sizes, peaks):.2f}"))
        bars.append(Bar.at_most(f"{name} on Gowalla ({sizes[-1]:,} pairs), peak memory", 3, peaks[-1] / 1e9, " GB"))
    return Table(
        title,
        ("model", "pairs", "time", "peak memory"),
        rows,
        notes=("Processes from start to end: imports, reading and splitting, training, validation. One thread.",),
        bars=tuple(bars),
    )


_TRAIN_ONCE = """
import os, sys
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"))
from benchmarks.logs import fewer_users, split_of
from sureness.models.catalogue import make_recommender
split = fewer_users(split_of("gowalla"), float(sys.argv[2]))
make_recommender(sys.argv[1], n_factors=64, epochs=1, validate_every=1).fit(split.train, split.validation)
"""


# --- the sides -----------------------------------------------------------------------------------------------------


def _sizes(name: str, scale: Scale) -> Iterator[Split]:
    whole = split_of(name)
    return (fewer_users(whole, share) for share in scale.shares)


def _our_epochs(name: str, train: Interactions, n_epochs: int = _N_EPOCHS, **settings: Any) -> Callable[[], None]:
    trainer = Trainer(make_recommender(name, n_factors=_N_FACTORS, **settings).build(train), train)
    numbers = count(1)

    def run() -> None:
        for _ in range(n_epochs):
            trainer.epoch(next(numbers))

    return run


def _implicit_epochs(train: Interactions) -> Callable[[], None]:
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    model = BayesianPersonalizedRanking(factors=_N_FACTORS, iterations=_N_EPOCHS, num_threads=1, random_state=0)
    return lambda: model.fit(train.matrix, show_progress=False)


@contextmanager
def with_recbole(sides: Sides, model: str, split: Split, **settings: Any) -> Iterator[None]:
    """RecBole joins the sides with these settings, if it is installed."""
    if not recbole.is_installed():
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        data = recbole.write_atomic_files(split, Path(folder, "data"))
        with recbole.epoch_worker(model, data, seed=0, **settings) as worker:
            sides["RecBole"] = lambda: Measured(worker.epochs(1))
            yield


def _our_time_to(split: Split, target: float) -> tuple[int, float, float]:
    """Epochs until the validation metric is reached, its value then, and the seconds all of it took."""
    network = make_recommender("lightgcn", **_BEST_OURS).build(split.train)
    trainer, seconds, value, number = Trainer(network, split.train), 0.0, -1.0, 0

    def epoch() -> None:
        nonlocal value
        trainer.epoch(number)
        network.settle()
        source = network.source(split.train.users, split.train.items)
        value = evaluate_ranking(source, split.validation, seen=split.train, metrics=[_METRIC])[_METRIC]

    while value < target and number < _PATIENCE:
        number += 1
        started = time.perf_counter()
        epoch()
        seconds += time.perf_counter() - started
    return number, value, seconds


# --- the cells -----------------------------------------------------------------------------------------------------


def _times(runs: dict[str, Runs]) -> list[str]:
    return [time_of(side.median) for side in runs.values()] + [""] * (not recbole.is_installed())


def _exponents(sizes: list[int], every: list[dict[str, Runs]]) -> list[str]:
    found = [f"{growth(sizes, [runs[side].median for runs in every]):.2f}" for side in every[0]]
    return found + [""] * (not recbole.is_installed())


def _faster(runs: dict[str, Runs], side: str) -> str:
    return str(ratio(runs["RecBole"], runs[side])) if "RecBole" in runs else "not installed"


def _bars(what: str, promised: float, runs: dict[str, Runs], side: str) -> list[Bar]:
    return [Bar.at_least(what, promised, ratio(runs["RecBole"], runs[side]).value)] if "RecBole" in runs else []


def _remarks() -> list[str]:
    return [] if recbole.is_installed() else [recbole.ABSENT + "."]


def _shown(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in settings.items())
