"""Full-ranking evaluation against the bare matrix product and top-k of the same blocks."""

from __future__ import annotations

import numpy as np
import torch

from benchmarks.logs import absent, fewer_users, split_of
from benchmarks.tables import Bar, Scale, Table, count_of, time_of
from benchmarks.timing import growth, one_thread, ratio, take_turns, timed
from sureness.data import Split, union
from sureness.metrics import evaluate_ranking
from sureness.sources import BLOCK_SCORES, FactorSource

_K = 50
_N_FACTORS = 64
_DATA = {"ml-1m": "ML-1M", "citeulike-a": "CiteULike-a"}


def ranking(scale: Scale) -> list[Table]:
    """One table for each data set."""
    return [_of(name, title, scale) for name, title in _DATA.items()]


def _of(name: str, title: str, scale: Scale) -> Table:
    heading = f"Full-ranking evaluation on {title}, {_N_FACTORS} factors, against matrix product and top-{_K}"
    if reason := absent(name):
        return Table.skipped(heading, reason)
    whole, rows, sizes, every = split_of(name), [], [], []
    for share in scale.shares:
        split = fewer_users(whole, share)
        with one_thread():
            runs = take_turns(_sides(split), 2 * scale.rounds)
        bare = min(("torch", "numpy"), key=lambda side: runs[side].median)
        times = ratio(runs["sureness"], runs[bare])
        sizes.append(split.train.n_users)
        every.append(runs)
        rows.append((
            count_of(split.train.n_users), count_of(split.train.n_items),
            *(time_of(runs[side].median) for side in runs), f"{times} ({bare})",
        ))  # fmt: skip
    exponents = (f"{growth(sizes, [runs[side].median for runs in every]):.2f}" for side in every[0])
    return Table(
        heading,
        ("users", "items", "sureness", "torch", "numpy", "times the faster"),
        [*rows, ("growth exponent", "", *exponents, "")],
        notes=(
            "sureness: `evaluate_ranking` with NDCG@50 and Recall@50, seen items hidden. torch: product and `topk`; "
            "numpy: product, `argpartition` and a sort of the 50; both hide and judge nothing. The same blocks, one "
            "thread each.",
        ),
        bars=(Bar.at_most(f"full-ranking evaluation on {title}, times the bare product and top-{_K}", 2, times.value),),
    )


def _sides(split: Split) -> dict:
    rng = np.random.default_rng(0)
    users, items = (
        rng.standard_normal((n_rows, _N_FACTORS)).astype(np.float32)
        for n_rows in (split.train.n_users, split.train.n_items)
    )
    source = FactorSource(users, items, users=split.train.users, items=split.train.items)
    seen = union([split.train, split.validation])
    judged = np.flatnonzero(split.test.user_degree)
    size = max(1, BLOCK_SCORES // split.train.n_items)
    blocks = [judged[start : start + size] for start in range(0, len(judged), size)]
    return {
        "sureness": timed(lambda: evaluate_ranking(source, split.test, seen=seen, metrics=["ndcg@50", "recall@50"])),
        "torch": timed(lambda: [_by_torch(users[block], items) for block in blocks]),
        "numpy": timed(lambda: [_by_numpy(users[block], items) for block in blocks]),
    }


def _by_torch(users: np.ndarray, items: np.ndarray) -> torch.Tensor:
    return torch.topk(torch.from_numpy(users) @ torch.from_numpy(items).T, _K).indices


def _by_numpy(users: np.ndarray, items: np.ndarray) -> np.ndarray:
    scores = users @ items.T
    best = np.argpartition(scores, -_K, axis=1)[:, -_K:]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
    return np.take_along_axis(best, order, axis=1)
