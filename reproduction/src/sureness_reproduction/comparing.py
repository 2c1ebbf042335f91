"""Our numbers beside those of the dissertation: mean and deviation over seeds, difference, which is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
from scipy.stats import ttest_1samp

NOT_PUBLISHED = "not in the dissertation"


def beside_published(
    ours: pl.DataFrame,
    theirs: pl.DataFrame,
    keys: Sequence[str],
    *,
    higher_is_better: bool | Callable[[dict[str, object]], bool] = True,
    why_not_run: Callable[[dict[str, object]], str] | None = None,
) -> pl.DataFrame:
    """One row for each number: ours over seeds, the published one, and which is better.

    Parameters
    ----------
    ours : table
        The keys, `value`, and one row for each seed.
    theirs : table
        The keys and `value`, as `published` gives them.
    keys : sequence of str
    higher_is_better : bool or callable
        Or a function of the keys of a row.
    why_not_run : callable, optional
        From the keys of a published row that we did not run to the reason; without it such rows are left out.

    Returns
    -------
    table
        keys, ours, deviation, seeds, published, difference, verdict, remark (why a number is missing).

    Examples
    --------
    >>> ours = pl.DataFrame({"model": ["bpr"] * 2, "value": [0.2, 0.3]})
    >>> theirs = pl.DataFrame({"model": ["bpr", "ncf"], "value": [0.2, 0.4]})
    >>> found = beside_published(ours, theirs, ["model"], why_not_run=lambda row: "no data")
    >>> found.select("model", "ours", "difference", "verdict", "remark").rows()
    [('bpr', 0.25, 0.05, 'better', ''), ('ncf', None, None, '', 'not run: no data')]
    """
    keys = list(keys)
    mean = ours.group_by(keys, maintain_order=True).agg(
        ours=pl.col("value").mean(), deviation=pl.col("value").std(), seeds=pl.col("value").count()
    )
    known = theirs.select(*keys, published=pl.col("value").cast(pl.Float64))
    joined = mean.join(known, on=keys, how="full", coalesce=True, maintain_order="left_right")
    if why_not_run is None:
        joined = joined.filter(pl.col("ours").is_not_null())
    rows = [_judged(row, higher_is_better, why_not_run, keys) for row in joined.to_dicts()]
    order = [*keys, "ours", "deviation", "seeds", "published", "difference", "verdict", "remark"]
    return pl.DataFrame(rows, infer_schema_length=None).select(order) if rows else pl.DataFrame(schema=order)


def _judged(
    row: dict[str, object],
    higher_is_better: bool | Callable[[dict[str, object]], bool],
    why_not_run: Callable[[dict[str, object]], str] | None,
    keys: list[str],
) -> dict[str, object]:
    known = {key: row[key] for key in keys}
    row |= {"difference": None, "verdict": "", "remark": ""}
    ours, theirs = row["ours"], row["published"]
    if ours is None:
        row["remark"] = f"not run: {why_not_run(known)}" if why_not_run is not None else "not run"
    elif theirs is None:
        row["remark"] = NOT_PUBLISHED
    else:
        difference = round(float(ours) - float(theirs), 10)  # type: ignore[arg-type]
        up = higher_is_better(known) if callable(higher_is_better) else higher_is_better
        row["difference"] = difference
        row["verdict"] = "equal" if abs(difference) < 5e-5 else "better" if (difference > 0) == up else "worse"
    return row


def paired(
    first: pl.DataFrame, second: pl.DataFrame, *, unit: str = "user", value: str = "value"
) -> tuple[float, float]:
    """The mean difference of two methods and the p-value of a paired t-test over users.

    Rows are matched by user and seed; a user's differences are averaged over seeds first, since seeds share users.

    Examples
    --------
    >>> one = pl.DataFrame({"user": [1, 2, 3], "seed": [0, 0, 0], "value": [1.0, 2.0, 3.0]})
    >>> paired(one, one)
    (0.0, 1.0)
    """
    both = first.join(second, on=[unit, "seed"], suffix="_other")
    gains = both.group_by(unit).agg(gain=(pl.col(value) - pl.col(f"{value}_other")).mean())["gain"].to_numpy()
    if not np.any(gains):
        return 0.0, 1.0
    return float(gains.mean()), float(ttest_1samp(gains, 0.0).pvalue)


def spread(values: Sequence[float] | pl.Series, digits: int = 4) -> str:
    """Mean and deviation over seeds as text.

    Examples
    --------
    >>> spread([0.1, 0.2]), spread([0.1])
    ('0.1500 ± 0.0707', '0.1000')
    """
    numbers = np.asarray(values, dtype=float)
    deviation = f" ± {numbers.std(ddof=1):.{digits}f}" if len(numbers) > 1 else ""
    return f"{numbers.mean():.{digits}f}{deviation}"
