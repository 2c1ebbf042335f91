"""Functions of long arrays, computed in blocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sureness._types import FloatArray

_BLOCK = 1 << 13  # 64 KB of float64


def in_blocks(values: FloatArray, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """A function of blocks so small that what is computed on the way stays in the cache.

    Examples
    --------
    >>> in_blocks(np.array([1.0, 2.0]), np.square).tolist()
    [1.0, 4.0]
    """
    result = np.empty(len(values))
    for start in range(0, len(values), _BLOCK):
        part = slice(start, start + _BLOCK)
        result[part] = function(values[part])
    return result
