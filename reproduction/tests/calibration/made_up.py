"""Judgements that never happened, for the tests of what is said about them."""

from __future__ import annotations

import numpy as np
import polars as pl

from sureness_reproduction.calibration.fitting import METHODS


def judgements(errors, *, models=("bpr",), seeds=(0, 1), spread=0.001, default=0.2):
    """Rows as `judgements` gives them; `errors` says the ECE of some methods and risks."""
    rng = np.random.default_rng(5)
    noise = rng.normal(0, spread, size=50)  # the same users are drawn for all
    rows = []
    for model in models:
        for seed in seeds:
            for method, risk in (*METHODS, ("constant", "")):
                value = errors.get((method, risk), default)
                rows.append(
                    {"data": "coat", "model": model, "seed": seed, "judged_on": "all", "method": method, "risk": risk,
                     "ece": value, "ece_resampled": (value + noise + rng.normal(0, spread, 50)).tolist(),
                     "nll": 0.5, "mean_probability": 0.3, "positive_share": 0.18}
                )  # fmt: skip
    return pl.DataFrame(rows)
