"""What cells measure, in long form: keys, a metric, the unit it was measured on, and its value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl


def numbers(keys: Mapping[str, Any], values: Mapping[str, Any]) -> pl.DataFrame:
    """One row for each metric; None stays None.

    Examples
    --------
    >>> numbers({"method": "platt"}, {"ece": 0.5, "mce": None}).rows()
    [('platt', 'ece', 0.5), ('platt', 'mce', None)]
    """
    floats = [None if value is None else float(value) for value in values.values()]
    table = pl.DataFrame({"metric": list(values), "value": pl.Series(floats, dtype=pl.Float64)})
    return table.select(**_literal(keys), metric="metric", value="value")


def samples(units: Any, keys: Mapping[str, Any], values: Mapping[str, Any]) -> pl.DataFrame:
    """One row for each unit (mostly a user) and metric.

    Examples
    --------
    >>> samples([7, 8], {"page": "full"}, {"hits": [1, 2]}).rows()
    [('full', 'hits', 7, 1.0), ('full', 'hits', 8, 2.0)]
    """
    wide = pl.DataFrame({"unit": units} | {name: np.asarray(some, dtype=float) for name, some in values.items()})
    long = wide.unpivot(index="unit", variable_name="metric")
    return long.select(**_literal(keys), metric="metric", unit="unit", value="value")


def _literal(keys: Mapping[str, Any]) -> dict[str, pl.Expr]:
    return {key: pl.lit(value) for key, value in keys.items()}
