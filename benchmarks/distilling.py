"""Bidirectional distillation against the way of the public code, and the memory it takes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from benchmarks.baselines.dense_distillation import DenseDistillation, Stopwatch
from benchmarks.logs import absent, fewer_users, split_of
from benchmarks.tables import Bar, Scale, Table, count_of, size_of, time_of
from benchmarks.timing import Measured, growth, one_thread, per_epoch, processed, python, ratio, take_turns
from sureness.data import Interactions, SimulatorSettings, simulate
from sureness.distillation import SCHEMES, BidirectionalDistillation, DistillationSettings, weight_table
from sureness.models import BPR
from sureness.numerics import draw_by_ranks, exact_ranks
from sureness.sources import block_scores

_FACTORS = 50, 5  # of teacher and student
_BATCH = 128  # of the public code
_ALONE = 10  # epochs before, so that scores and ranks are those of models that have learned something
_PERIOD = 10  # epochs between two refreshes, as in the dissertation
_ONCE = DistillationSettings(epochs=1, refresh_every=1)
_OWN_BATCH = BPR().settings.batch_size

Pair = tuple[BPR, BPR]


def memory(scale: Scale) -> list[Table]:
    """Memory above models and data, and growth on a larger log."""
    return [_memory(scale), _sizes(scale)]


# --- speed ---------------------------------------------------------------------------------------------------------


def epochs(scale: Scale) -> list[Table]:
    """An epoch with a refresh against the dense reference, and its stages."""
    title = f"An epoch of bidirectional distillation with a refresh, BPR {_FACTORS[0]}/{_FACTORS[1]} on CiteULike"
    if reason := absent("citeulike-bd"):
        return [Table.skipped(title, reason)]
    rows, sizes, every = [], [], []
    whole = split_of("citeulike-bd")
    small = _pair(_small())
    take_turns(_sides(_small(), small, _Baseline.of(_small(), small)), 0)  # compiled, which would count as slow
    for share in scale.shares:
        train = fewer_users(whole, share).train
        pair = _pair(train)
        dense = _Baseline.of(train, pair)
        with one_thread():
            runs = take_turns(_sides(train, pair, dense), scale.training_rounds)
        sizes.append(train.n_users * train.n_items)
        every.append(runs)
        faster = [ratio(runs["dense"], runs[side]) for side in ("equal", "own")]
        times = (time_of(side.median) for side in runs.values())
        rows.append((count_of(sizes[-1]), count_of(len(train)), *times, *map(str, faster)))
    exponents = [f"{growth(sizes, [runs[side].median for runs in every]):.2f}" for side in every[0]]
    batches = "at equal batches", f"at ours of {_OWN_BATCH:,}"
    speed = Table(
        title,
        ("users x items", "pairs", f"sureness, batches of {_BATCH}", f"of {_OWN_BATCH:,}", "dense",
         *(f"times faster {each}" for each in batches)),
        [*rows, ("growth exponent", "", *exponents, "", "")],
        notes=_NOTES,
    )  # fmt: skip
    with one_thread():
        return [speed, _stages(train, pair, dense)]  # of the largest


def _sides(train: Interactions, pair: Pair, dense: _Baseline) -> dict[str, Callable[[], Measured]]:
    return {
        "equal": processed(_ours(train, _with_batches(pair, _BATCH), _ONCE)),
        "own": processed(_ours(train, pair, _ONCE)),
        "dense": processed(dense.run),
    }


_NOTES = (
    f"Processor time, one thread each, a refresh for one epoch, {_ONCE.to_student.items} items for each pair and "
    f"direction. Both start from the same models, trained alone for {_ALONE} epochs. sureness: all of "
    "`fit`, networks built and the best kept; dense: its models made before.",
    "dense: the way of the public code, written anew: scores, ranks (the order of the order) and weights as tables of "
    f"users x items, batches of {_BATCH}, Adam on all rows. It draws all items of a user at once, with replacement, as "
    "sureness does for each pair. Its batches are slices of tensors; a data loader would add to its time.",
    "A side slower than 20 s is run once.",
)
_STAGES = {
    "ranks": "scores and ranks of all items by both models", "draws": "weights and draws, both directions",
    "steps": "steps of both models",
}  # fmt: skip


def _stages(train: Interactions, pair: Pair, reference: _Baseline) -> Table:
    """Where the time of one epoch with refresh goes, and what an epoch takes where a refresh serves ten."""
    pairs, refresh = (_with_batches(pair, _BATCH), pair), _refresh_stages(train, pair)
    dense = _with_scores(reference.dense.watch.seconds)
    whole = [processed(_ours(train, each, _ONCE))().seconds for each in pairs]
    sides = [*({**refresh, "steps": seconds - sum(refresh.values())} for seconds in whole), dense]
    seldom = _ONCE.changed(epochs=_PERIOD, refresh_every=_PERIOD)
    epochs = [per_epoch(_ours(train, each, seldom), _PERIOD)().seconds for each in pairs]
    epochs.append(dense["steps"] + dense["draws"] + dense["ranks"] / _PERIOD)
    rows = [(words, *(time_of(side[stage]) for side in sides)) for stage, words in _STAGES.items()]
    rows.append((f"an epoch, a refresh every {_PERIOD}", *map(time_of, epochs)))
    return Table(
        f"Stages of an epoch with refresh, {train.n_users:,} users and {train.n_items:,} items",
        ("stage", f"sureness, batches of {_BATCH}", f"of {_OWN_BATCH:,}", "dense"),
        rows,
        notes=(
            "Processor time, one run of each stage; steps of sureness are what is left of an epoch with refresh, with "
            "building networks and keeping the best. Last row: sureness as it runs, draws for all "
            f"{_PERIOD} epochs at the refresh; dense: steps, draws, and a tenth of scores and ranks.",
        ),
    )


def _with_scores(seconds: dict[str, float]) -> dict[str, float]:
    """Ranks with the scores they are of, which sureness never holds."""
    return {**seconds, "ranks": seconds["scores"] + seconds["ranks"]}


def _refresh_stages(train: Interactions, pair: Pair) -> dict[str, float]:
    """Seconds of ranks and draws; what `refresh` does, one stage after the other for a block of users at a time."""
    watch, rng, users = Stopwatch(), np.random.default_rng(0), np.arange(train.n_users)
    directions = _ONCE.to_teacher, _ONCE.to_student
    tables = [weight_table(each.scheme, each.rank_gap_scale, train.n_items) for each in directions]
    streams = [block_scores(model.source_, users) for model in pair]
    while True:
        with watch.of("ranks"):
            blocks = [next(stream, None) for stream in streams]
            if blocks[0] is None:
                return watch.seconds
            block = blocks[0][0]
            seen = {"rows": block, "starts": train.row_starts, "seen": train.item_rows}
            ranks = [exact_ranks(scores, **seen) for _, scores in blocks]
        with watch.of("draws"):
            for mine, other, table, direction in zip(ranks, ranks[::-1], tables, directions, strict=True):
                counts = train.user_degree[block] * direction.items
                draw_by_ranks(mine, other, table, counts, rng, relative=SCHEMES[direction.scheme].relative)
    return watch.seconds


# --- memory --------------------------------------------------------------------------------------------------------


def _memory(scale: Scale) -> Table:
    """Processes of their own: what an epoch with refresh takes above models, data and libraries."""
    title = f"Memory of an epoch with refresh above models and data, BPR {_FACTORS[0]}/{_FACTORS[1]} on CiteULike"
    if reason := absent("citeulike-bd"):
        return Table.skipped(title, reason)
    rows, extra = [], {}
    share = scale.shares[-1]
    for name, words in (("1", "a refresh every epoch"), (str(_PERIOD), f"draws for {_PERIOD} epochs"),
                       ("dense", "dense, the refresh alone")):  # fmt: skip
        run = _in_process("epoch_process", name, share)
        extra[name] = run.peak_bytes - json.loads(run.output)["before"]
        rows.append((words, size_of(run.peak_bytes - extra[name]), size_of(run.peak_bytes), size_of(extra[name])))
    return Table(
        title,
        ("what", "before", "peak", "above"),
        rows,
        notes=("Before: resident memory once libraries, data and both models are there and everything is compiled. "
               "One thread.",),
        bars=tuple(
            Bar.at_most(f"BD epoch on {share:.0%} of CiteULike, {words}, memory above models and data", 500,
                        extra[name] / 1e6, " MB")
            for name, words in (("1", "a refresh every epoch"), (str(_PERIOD), f"draws for {_PERIOD} epochs"))
        ),
    )  # fmt: skip


def _sizes(scale: Scale) -> Table:
    """Whole processes that read Gowalla and train both models together for two epochs, with one refresh."""
    title = f"Bidirectional distillation of BPR {_FACTORS[0]}/{_FACTORS[1]} on Gowalla: two epochs, one refresh"
    if reason := absent("gowalla"):
        return Table.skipped(title, reason)
    rows, sizes, found, shape = [], [], [], ""
    for share in scale.shares:
        run = _in_process("gowalla_process", str(_PERIOD), share)
        printed = json.loads(run.output)
        sizes.append(printed["users"] * printed["items"])
        found.append((printed["refresh"], printed["epoch"], run.peak_bytes))
        shape = f"{printed['users']:,} x {printed['items']:,}"
        refresh, epoch, peak = found[-1]
        rows.append((shape, count_of(printed["pairs"]), time_of(refresh), time_of(epoch), size_of(peak)))
    exponents = (f"{growth(sizes, values):.2f}" for values in zip(*found, strict=True))
    rows.append(("growth exponent", "", *exponents))
    return Table(
        title,
        ("users x items", "pairs", "refresh", "an epoch", "peak memory"),
        rows,
        notes=(
            f"Processes from start to end: imports, reading, {_ALONE // 2} epochs alone, one refresh with draws for "
            f"{_PERIOD} epochs, two epochs together. One thread. Growth: in users x items.",
        ),
        bars=(Bar.at_most(f"BD on Gowalla ({shape}), peak memory", 4, found[-1][2] / 1e9, " GB"),),
    )


def _in_process(function: str, what: str, share: float) -> Measured:
    code = f"import sys; from benchmarks.distilling import {function}; {function}(*sys.argv[1:])"
    return python(code, what, str(share))()


def epoch_process(what: str, share: str) -> None:
    """Runs in a process of its own: an epoch with refresh on CiteULike; prints the memory in use before it."""
    import psutil

    def run(train: Interactions, pair: Pair) -> None:
        if what == "dense":
            _Baseline.of(train, pair).dense.refresh()
        else:
            _ours(train, pair, _ONCE.changed(refresh_every=int(what)))()

    with one_thread():
        run(_small(), _pair(_small()))  # compiles
        train = fewer_users(split_of("citeulike-bd"), float(share)).train
        pair = _pair(train)
        before = psutil.Process().memory_info().rss
        run(train, pair)
    print(json.dumps({"before": before}))


def gowalla_process(period: str, share: str) -> None:
    """Runs in a process of its own: two epochs with one refresh on Gowalla; prints how long they took."""
    settings: dict[str, Any] = {"warm_up": _ALONE // 2, "epochs": 2, "refresh_every": int(period)}
    with one_thread():
        BidirectionalDistillation(*_unfitted(), **settings).fit(_small())  # compiles
        train = fewer_users(split_of("gowalla"), float(share)).train
        start = time.perf_counter()
        both = BidirectionalDistillation(*_unfitted(), **settings).fit(train)
        seconds = time.perf_counter() - start
    epochs = both.history_.unique("epoch").sort("epoch")["seconds"]
    shape = {"users": train.n_users, "items": train.n_items, "pairs": len(train)}
    print(json.dumps({**shape, "refresh": seconds - epochs.sum(), "epoch": epochs[-2:].mean()}))


# --- the sides -----------------------------------------------------------------------------------------------------


def _unfitted() -> Pair:
    teacher, student = (BPR(n_factors=n, epochs=_ALONE, learning_rate=0.01, l2=0.03) for n in _FACTORS)
    return teacher, student


def _pair(train: Interactions) -> Pair:
    """Teacher and student that have learned alone."""
    teacher, student = _unfitted()
    return teacher.fit(train), student.fit(train)


def _with_batches(pair: Pair, size: int) -> Pair:
    """The same models, to go on in other batches."""
    teacher, student = (copy(model).set_params(batch_size=size) for model in pair)
    return teacher, student


def _ours(train: Interactions, pair: Pair, settings: DistillationSettings) -> Callable[[], object]:
    return lambda: BidirectionalDistillation.from_settings(*pair, settings).fit(train)


class _Baseline:
    """The dense reference as a side; its stages are those of its last run."""

    def __init__(self, dense: DenseDistillation) -> None:
        self.dense = dense

    @classmethod
    def of(cls, train: Interactions, pair: Pair) -> _Baseline:
        teacher, student = ((model.source_.user_factors, model.source_.item_factors) for model in pair)
        return cls(DenseDistillation(train, teacher, student, _ONCE, batch_size=_BATCH))

    def run(self) -> None:
        self.dense.watch = Stopwatch()
        self.dense.refresh()
        self.dense.epoch()


def _small() -> Interactions:
    """A log on which everything is compiled in no time."""
    return Interactions.from_matrix(simulate(SimulatorSettings(n_users=40, n_items=5_000)).train)
