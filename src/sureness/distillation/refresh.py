"""A refresh: rank all unseen items by both models, and draw what each direction needs until the next one.

Users are processed in blocks, so no table of users x items is ever held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sureness._progress import Progress, silent
from sureness._types import FloatArray, IntArray
from sureness.data.interactions import Interactions
from sureness.distillation.collecting import Block, Collector, Side
from sureness.distillation.pools import Refreshed
from sureness.distillation.settings import DistillationSettings
from sureness.numerics.row_ranks import RowRanks, exact_ranks, product_rank_parts, sketched_ranks
from sureness.sources.base import ScoreSource, product_of
from sureness.sources.blocks import block_scores, blocks_of

_USERS = 16  # ranked and drawn for at a time, so that their ranks are still in the cache

Sources = tuple[ScoreSource, ScoreSource]  # teacher and student


def refresh(
    sources: Sources,
    train: Interactions,
    sides: Sequence[Side],
    settings: DistillationSettings,
    rng: np.random.Generator,
    progress: Progress = silent,
    *,
    guides: Sources | None = None,
) -> list[Refreshed]:
    """Rank all unseen items by both models and draw what each side needs for the coming epochs.

    Ranks do not change until the next refresh, so everything can be drawn now. The drawn items are kept, the ranks are
    not.

    Parameters
    ----------
    sources : teacher and student
        Current scores, with the rows and columns of `train`; -inf where a model knows nothing.
    train : Interactions
        What was seen, and is never drawn.
    sides : sequence of Side
        The directions that draw.
    settings : DistillationSettings
    rng : numpy.random.Generator
    progress : Progress
    guides : teacher and student, optional
        Scores of each model as a guide, where they differ from its current scores.

    Examples
    --------
    >>> from sureness.distillation.settings import Direction
    >>> rng = np.random.default_rng(0)
    >>> log = Interactions.from_matrix(rng.random((5, 20)) < 0.2)
    >>> from sureness.sources.base import FactorSource
    >>> models = [FactorSource(rng.normal(size=(5, 2)), rng.normal(size=(20, 2))) for _ in range(2)]
    >>> side = Side(Direction(items=3), learner=1, keep_scores=False)
    >>> (drawn,) = refresh((models[0], models[1]), log, [side], DistillationSettings(refresh_every=2), rng)
    >>> drawn.pool.items.shape == (len(log), 2, 3)
    True
    """
    collectors = [Collector(side, train, settings, rng) for side in sides]
    scores = any(collector.needs_scores for collector in collectors)
    ranks = any(collector.needs_ranks for collector in collectors)
    everyone = sources if guides is None else (*sources, *guides)
    streams = (_blocks(source, train, settings, scores=scores, ranks=ranks) for source in everyone)
    ends = {int(block[-1]) + 1 for block in blocks_of(np.arange(train.n_users), train.n_items)}
    for blocks in zip(*streams, strict=True):
        learners, labellers = blocks[:2], blocks[-2:]
        for collector in collectors:
            place = collector.side.learner
            collector.add(learner=learners[place], guide=labellers[1 - place])
        done = int(blocks[0].users[-1]) + 1
        if done in ends:
            progress("ranking for the next epochs", done, train.n_users)
    return [collector.result() for collector in collectors]


def _blocks(
    source: ScoreSource, train: Interactions, settings: DistillationSettings, *, scores: bool, ranks: bool
) -> Iterator[Block]:
    """One model, block after block; where a factor model is only ranked, its scores are never held."""
    users = np.arange(train.n_users)
    factors = product_of(source) if settings.ranks == "sketch" and not scores else None
    if factors is None:
        for block, known in block_scores(source, users):
            for part in _parts(block):
                found = _ranks(known[part], block[part], train, settings) if ranks else None
                yield Block(block[part], known[part], found)
        return
    blocks = list(blocks_of(users, train.n_items))
    size = len(blocks[0]) if blocks else 1
    left, right = factors
    every = product_rank_parts(left, right, settings.quantiles, size, _USERS, **_seen(users, train))
    for block in blocks:
        for part in _parts(block):
            yield Block(block[part], None, next(every) if ranks else None)


def _parts(block: IntArray) -> Iterator[slice]:
    return (slice(start, start + _USERS) for start in range(0, len(block), _USERS))


def _ranks(scores: FloatArray, users: IntArray, train: Interactions, settings: DistillationSettings) -> RowRanks:
    if settings.ranks == "exact":
        return exact_ranks(scores, **_seen(users, train))
    return sketched_ranks(scores, settings.quantiles, **_seen(users, train))


def _seen(users: IntArray, train: Interactions) -> dict[str, IntArray]:
    return {"rows": users, "starts": train.row_starts, "seen": train.item_rows}
