"""Parts of maps out of the plain values of a file; values that make no sense are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

from sureness._types import Estimand
from sureness.calibration.level import Level
from sureness.numerics.ramps import Compression, Curve
from sureness.saving.packed import reals


def estimand_of(about: Mapping[str, Any]) -> Estimand:
    """What the probabilities of a saved map are of."""
    if about["estimand"] not in get_args(Estimand):
        raise ValueError(f"there is no estimand {about['estimand']!r:.60}")
    return cast(Estimand, about["estimand"])


def level_of(plain: object) -> Level:
    """A level out of its two numbers."""
    return Level(*reals(plain, n=2).tolist())


def curve_of(knots: object, slopes: object) -> Curve:
    """A curve out of its knots, which rise, and the slopes between them."""
    found = reals(knots, rising=True)
    return Curve(found, reals(slopes, n=max(0, len(found) - 1)))


def compression_of(plain: object) -> Compression:
    """A compression out of its base and its width."""
    base, width = reals(plain, n=2).tolist()
    if width <= 0:
        raise ValueError(f"a compression needs a width above 0, got {width}")
    return Compression(base, width)
