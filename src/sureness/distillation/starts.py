"""A small factor model from a large one, without training."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from sureness._types import FloatArray
from sureness._wording import counted
from sureness.errors import SettingError
from sureness.sources.base import FactorSource, KnownScores, ScoreSource, id_maps, is_partial, product_of
from sureness.sources.blocks import block_scores

_SPARE, _PASSES = 10, 2  # of the random projection: extra directions, and passes over all scores


def truncated(source: ScoreSource, n_factors: int, *, seed: int = 0) -> FactorSource:
    """The best factors of rank `n_factors` for the scores of a source: its truncated singular value decomposition.

    Factors, of which biases are two more, are decomposed exactly. The scores of any other source are read in blocks
    and decomposed with a random projection (Halko, Martinsson and Tropp, 2011).

    Parameters
    ----------
    source : ScoreSource
    n_factors : int
    seed : int
        Of the random projection.

    Returns
    -------
    FactorSource
        With the ids of the source; the root of each singular value is in the factors of users and of items.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> large = FactorSource(rng.normal(size=(30, 8)), rng.normal(size=(20, 8)))
    >>> truncated(large, 3).user_factors.shape
    (30, 3)
    """
    limit = min(source.n_users, source.n_items)
    if not isinstance(n_factors, Integral) or not 1 <= n_factors <= limit:
        raise SettingError(
            f"n_factors must lie between 1 and {limit} for {counted(source.n_users, 'user')} and "
            f"{counted(source.n_items, 'item')}, got {n_factors!r}"
        )
    if (factors := product_of(source)) is not None:
        left, values, right = _of_factors(*factors)
    else:
        left, values, right = _of_blocks(source, min(limit, n_factors + _SPARE), np.random.default_rng(seed))
    root = np.sqrt(_padded(values, n_factors))
    users, items = id_maps(source)
    kept = (_padded(side, n_factors) * root for side in (left, right))
    user_factors, item_factors = (np.ascontiguousarray(side, dtype=np.float32) for side in kept)
    return FactorSource(user_factors, item_factors, users=users, items=items)


def _of_factors(users: FloatArray, items: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    sides = (users, items.T)
    (of_users, left), (of_items, right) = (np.linalg.qr(np.asarray(side, dtype=np.float64)) for side in sides)
    inner, values, outer = np.linalg.svd(left @ right.T)
    return of_users @ inner[:, : len(values)], values, of_items @ outer[: len(values)].T


def _of_blocks(source: ScoreSource, width: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    items = rng.normal(size=(source.n_items, width))
    for _ in range(_PASSES):
        items = np.linalg.qr(_through(source, items)[1])[0]
    users, _ = _through(source, items)
    of_users, small = np.linalg.qr(users)
    inner, values, outer = np.linalg.svd(small, full_matrices=False)
    return of_users @ inner, values, items @ outer.T


def _through(source: ScoreSource, items: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scores times `items`, and the transposed scores times the result."""
    users, back = np.empty((source.n_users, items.shape[1])), np.zeros(items.shape)
    narrow = items.astype(np.float32)
    for block, known in block_scores(source, np.arange(source.n_users)):
        scores = KnownScores.of_dense(known).dense(source.n_items) if is_partial(source) else known
        users[block] = scores @ narrow
        back += scores.T @ users[block].astype(np.float32)
    return users, back


def _padded(values: FloatArray, n_columns: int) -> FloatArray:
    """The first columns (entries of a vector), padded with zeros."""
    kept = values[..., :n_columns]
    width = [(0, 0)] * (values.ndim - 1) + [(0, n_columns - kept.shape[-1])]
    return np.pad(kept, width)
