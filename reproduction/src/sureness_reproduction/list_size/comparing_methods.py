"""How PerK compares with every other method: paired tests over users, and sentences that say what they find."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from sureness.workflows import REFERENCE
from sureness_reproduction.comparing import paired, spread
from sureness_reproduction.list_size.grid import BASELINES, METHODS, METRICS, NAMES, OURS, title
from sureness_reproduction.list_size.judging import PUBLISHED

LEVEL = 0.05


def means(values: pl.DataFrame) -> pl.DataFrame:
    """Mean utility of each method for each seed: method, metric, seed, value."""
    return values.group_by("method", "metric", "seed", maintain_order=True).agg(pl.col("value").mean())


def compared(values: pl.DataFrame, forms: Sequence[str] = (PUBLISHED, OURS)) -> pl.DataFrame:
    """Paired differences of each form of PerK to each baseline: form, baseline, metric, gain, p_value.

    Examples
    --------
    >>> rows = [(0, "f1", method, user, value) for user in (0, 1, 2)
    ...         for method, value in (("Rand", 0.1), ("PerK as published", 0.2 + user / 100))]
    >>> values = pl.DataFrame(rows, schema=["seed", "metric", "method", "user", "value"], orient="row")
    >>> compared(values).select("baseline", "metric", pl.col("gain").round(3)).rows()
    [('Rand', 'f1', 0.11)]
    """
    rows = []
    for (metric,), part in values.group_by("metric", maintain_order=True):
        by_method = {str(name): some for (name,), some in part.group_by("method", maintain_order=True)}
        for form in forms:
            for baseline in [name for name in BASELINES if name in by_method and form in by_method]:
                gain, p_value = paired(by_method[form], by_method[baseline])
                rows.append({"form": form, "baseline": baseline, "metric": metric, "gain": gain, "p_value": p_value})
    return pl.DataFrame(rows)


def wide_utilities(values: pl.DataFrame) -> pl.DataFrame:
    """Methods by utilities: mean and deviation over seeds, marked where they differ from the best fixed size."""
    table = means(values)
    marks = _marks(values)
    rows = []
    for method in METHODS:
        row = {"method": method}
        for metric in METRICS:
            some = table.filter(method=method, metric=metric)["value"]
            if len(some):
                row[NAMES[metric]] = spread(some) + marks.get((method, metric), "")
        if len(row) > 1:
            rows.append(row)
    return pl.DataFrame(rows)


def _marks(values: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Plus or minus where a method differs significantly from the best fixed size."""
    found = {}
    for (metric,), part in values.group_by("metric"):
        reference = part.filter(method=REFERENCE)
        for (method,), some in part.group_by("method"):
            gain, p_value = paired(some, reference)
            if method not in (REFERENCE, "Oracle") and p_value < LEVEL:
                found[str(method), str(metric)] = " +" if gain > 0 else " -"
    return found


def written_p(value: float) -> str:
    """A p-value in one digit.

    Examples
    --------
    >>> written_p(0.0312), written_p(0.0)
    ('0.03', '< 1e-300')
    """
    return f"{value:.1g}" if value > 0 else "< 1e-300"


def wide_gains(gains: pl.DataFrame) -> pl.DataFrame:
    """Forms of PerK and baselines by utilities: the gain and its p-value."""
    told = gains.with_columns(
        text=pl.format("{} (p {})", pl.col("gain").map_elements(lambda x: f"{x:+.4f}", pl.String),
                       pl.col("p_value").map_elements(written_p, pl.String)),
        metric=pl.col("metric").replace(NAMES),
    )  # fmt: skip
    wide = told.pivot("metric", index=["form", "baseline"], values="text", maintain_order=True)
    return wide.rename({"form": "method", "baseline": "against"})


def told_gains(data: str, gains: pl.DataFrame) -> list[str]:
    """Sentences: whom each form of PerK beats significantly, and whom not."""
    sentences = []
    for (form,), part in gains.group_by("form", maintain_order=True):
        won = part.filter((pl.col("gain") > 0) & (pl.col("p_value") < LEVEL))
        if won.height == part.height:
            sentences.append(f"{title(data)}: {form} beats every competitor on every utility (p < {LEVEL}).")
            continue
        clear = [NAMES[m] for m in METRICS if part.filter(metric=m).height and
                 won.filter(metric=m).height == part.filter(metric=m).height]  # fmt: skip
        missed = [text for metric in METRICS for text in _missed(metric, part.filter(metric=metric))]
        every = f"beats every competitor in {', '.join(clear)}" if clear else "leads all competitors in no utility"
        sentences.append(f"{title(data)}: {form} {every}; {'; '.join(missed)}.")
    return sentences


def _missed(metric: str, part: pl.DataFrame) -> list[str]:
    """Whom a form of PerK does not beat in a metric, those it is worse than first."""
    clear = pl.col("p_value") < LEVEL
    kinds = {"worse than": clear & (pl.col("gain") < 0), "level with": ~clear}
    found = []
    for word, which in kinds.items():
        some = part.filter(which)
        if some.height:
            ends = sorted(some["gain"].to_list())
            low, high = f"{ends[0]:+.4f}", f"{ends[-1]:+.4f}"
            gains = low if low == high else f"{low} to {high}"
            found.append(f"{NAMES[metric]} {word} {', '.join(some['baseline'])} ({gains})")
    return found
