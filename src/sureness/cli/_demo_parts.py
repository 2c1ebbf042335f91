"""What the demo on a simulated world and the one on a log share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from sureness.cli._console import shown
from sureness.data.interactions import Interactions
from sureness.errors import SurenessWarning
from sureness.experiments.demo_recommender import learn_bpr, learn_svd
from sureness.experiments.shared_pages import DomainPage
from sureness.report import Finding
from sureness.report._format import chance
from sureness.report.contents import ExtraTable
from sureness.sources.base import ScoreSource

Learn = Callable[..., ScoreSource]


@dataclass(frozen=True, eq=False)
class Told:
    """What a demo has to say."""

    about: str  # what it was done on
    findings: tuple[Finding, ...]
    skipped: tuple[str, ...]  # what was left out, and why
    page: Path
    details: dict[str, Any]  # for machines


def learner(recommender: str, settings: dict[str, Any]) -> tuple[str, Learn]:
    """What the recommender is called, and what trains it; without torch that is the plain one, with a word."""
    if recommender == "bpr" and find_spec("torch") is None:
        warnings.warn(
            "BPR needs torch, so the demo uses singular vectors; install it with: pip install 'sureness[models]'",
            SurenessWarning, stacklevel=2,
        )  # fmt: skip
        recommender = "svd"
    if recommender == "svd":
        return "a recommender out of singular vectors", learn_svd
    return f"BPR with {settings['n_factors']} factors", partial(learn_bpr, **settings)


def page_table(shared: DomainPage) -> ExtraTable:
    """How the domains share a page, for the report."""
    found = shared.compared
    told = (
        "Slots go to the domain where one more item is expected to be worth most; what gains nothing stays free. F1 "
        f"added up over the domains: {found.value:.4f} on average, and {found.reference:.4f} with equal shares, which "
        f"fill all slots (difference {found.difference:+.4f}, p {chance(found.p_value)}, {found.n_users:,} users)."
    )
    table = shared.table.with_columns(pl.col("equal slots", "shared slots").round(2).cast(pl.String))
    return f"One page of {shared.slots} slots for {len(shared.domains)} domains", told, table


def rounded(table: pl.DataFrame) -> pl.DataFrame:
    """Numbers with four decimals; a dash where the risk has no minimum."""
    return table.select(
        pl.col(name) if name == "method" else pl.col(name).map_elements(shown, return_dtype=pl.String).fill_null("-")
        for name in table.columns
    )


def degrees(log: Interactions) -> pl.DataFrame:
    """user_id and degree of the users of a log."""
    return pl.DataFrame({"user_id": log.users.ids, "degree": log.user_degree})
