"""Tables that the demo adds to its page and to its result."""

from __future__ import annotations

import polars as pl

from sureness._wording import counted
from sureness.data.interactions import Interactions
from sureness.jobs.shared_pages import DomainPage
from sureness.report.distillation import Distillation
from sureness.report.formatting import chance
from sureness.report.inputs import ExtraTable
from sureness.saving.packed import JSON


def page_table(shared: DomainPage) -> ExtraTable:
    """How the domains share a page."""
    found = shared.compared
    caption = (
        "Each slot goes to the domain where one more item is expected to gain most; slots that gain nothing stay free. "
        f"F1, summed over the domains, is {found.value:.4f} on average, against {found.reference:.4f} with equal "
        f"shares, which fill all slots (difference {found.difference:+.4f}, p {chance(found.p_value)}, "
        f"{counted(found.n_users, 'user')})."
    )
    slots = pl.col("equal slots", "shared slots").map_elements(lambda mean: f"{mean:.2f}", return_dtype=pl.String)
    return ExtraTable(
        f"One page of {counted(shared.slots, 'slot')} for {counted(len(shared.domains), 'domain')}",
        caption,
        shared.table.with_columns(slots),
    )


def page_row(shared: DomainPage | None) -> JSON:
    """The comparison of shared and equal pages as plain values."""
    if shared is None:
        return None
    found = shared.compared
    return {
        "slots": shared.slots, "n_users": found.n_users, "value": found.value, "reference": found.reference,
        "difference": found.difference, "standard_error": found.standard_error, "p_value": found.p_value,
    }  # fmt: skip


def distillation_rows(found: Distillation | None) -> JSON:
    """One row per model as plain values."""
    if found is None:
        return []
    return [
        {"model": row.name, "role": row.role, "parameters": row.parameters}
        | {metric: measure.value.value for metric, measure in row.measures.items()}
        | {f"p of {metric}": measure.p_value for metric, measure in row.measures.items()}
        for row in found.rows
    ]


def written(table: pl.DataFrame) -> pl.DataFrame:
    """Numbers with four decimals, and a dash where there is no fit.

    Examples
    --------
    >>> written(pl.DataFrame({"method": ["platt", "beta"], "ece": [0.0123456, None]}))["ece"].to_list()
    ['0.0123', '-']
    """
    return table.select(
        pl.col(name) if name == "method" else pl.col(name).map_elements(_written, return_dtype=pl.String).fill_null("-")
        for name in table.columns
    )


def user_degrees(log: Interactions) -> pl.DataFrame:
    """user_id and degree of every user of a log."""
    return pl.DataFrame({"user_id": log.users.ids, "degree": log.user_degree})


def _written(value: float) -> str:
    return f"{value:.4f}" if 1e-4 <= abs(value) < 1e4 or value == 0 else f"{value:.3g}"
