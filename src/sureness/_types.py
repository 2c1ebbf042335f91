"""Names for the arrays and random generators that functions pass to each other."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]
Seed = int | np.random.Generator

Estimand = Literal["interaction", "preference"]
Risk = Literal["naive", "unbiased", "weighted"]
ScoresAre = Literal["probabilities", "log_odds", "scores"]
