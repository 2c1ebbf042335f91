"""sureness demo: the whole story in a world whose truth is known."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from sureness.calibration.base import Calibrator
from sureness.cli._columns import Json
from sureness.cli._console import out, print_json, print_table, progress_bar, shown, steps_of
from sureness.cli._distilled_demo import NOTE, distillation_rows, distilled_demo, print_distillation
from sureness.cli._listing import print_comparison
from sureness.data.simulator import SimulatorSettings, simulate
from sureness.data.tables import write_table
from sureness.experiments.shared_pages import DomainPage
from sureness.experiments.simulated import Study, compare, prepare, wide
from sureness.experiments.simulated_lists import ListStudy, share_page_of, study_lists
from sureness.report import Distillation, gather_list_sizes, write_report
from sureness.report._format import chance
from sureness.sources.tables import candidate_table

MAIN = ("gamma", "unbiased")
SHOWN = [
    ("gamma", "unbiased"), ("gaussian", "unbiased"), ("isotonic", "unbiased"),
    ("gamma", "popularity + anchor"), ("gamma", "naive"), ("sigmoid", "naive"),
]  # fmt: skip


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for report, figures and calibrator.")] = Path(
        "demo-output"
    ),
    users: Annotated[int, typer.Option(help="Number of simulated users.")] = 3_000,
    items: Annotated[int, typer.Option(help="Number of simulated items.")] = 600,
    seeds: Annotated[int, typer.Option(help="Number of worlds; tables show the mean over them.")] = 1,
    json: Json = False,
) -> None:
    """Simulate a world, calibrate a recommender with every method, choose list sizes, and teach a small model."""
    with progress_bar(json) as bar:
        tables = []
        for seed in reversed(range(seeds)):  # the first world comes last: it is the one shown
            study = prepare(simulate(SimulatorSettings(n_users=users, n_items=items, seed=seed)), seed=seed)
            table, fitted = compare(study, progress=steps_of(bar))
            tables.append(table.with_columns(seed=pl.lit(seed)))
        results = pl.concat(tables)
        lists = study_lists(study.world, progress=steps_of(bar))
        shared = share_page_of(study.world, lists, progress=steps_of(bar))
        distilled = distilled_demo(users, items, steps_of(bar))
        page = output / "report.html"
        summary = _write(page, study, fitted, results, lists, shared, distilled, bar)
        fitted[MAIN].save(output / "calibrator.json")
        write_table(lists.recommender.recommend(), output / "lists.parquet")
    if json:
        print_json({"report": str(page), "headline": summary.headline, "results": results.to_dicts(),
                    "list_sizes": lists.compared.table.to_dicts(),
                    "page": {"slots": shared.slots, **asdict(shared.compared)},
                    "distillation": distillation_rows(distilled)})  # fmt: skip
        return
    _print(results, seeds)
    print_comparison(lists.compared)
    _print_page(shared)
    if distilled is not None:
        print_distillation(distilled)
    out.print(f"\n{summary.headline}", markup=False, soft_wrap=True)
    out.print(f"The page to look at: {page}", markup=False, soft_wrap=True)


def _write(
    page: Path, study: Study, fitted: dict[tuple[str, str], Calibrator], results: pl.DataFrame, lists: ListStudy,
    shared: DomainPage, distilled: Distillation | None, bar: Any,
) -> Any:  # fmt: skip
    world = study.world
    users, counts = pl.Series("user_id", world.train.nonzero()[0]).value_counts(sort=True).get_columns()
    domain = world.items_table()["domain"].gather(pl.Series(study.test.items))
    return write_report(
        page, study.test, {f"{method}, {known}": fitted[method, known] for method, known in SHOWN},
        items=world.items_table(),
        user_degree=pl.DataFrame({"user_id": users, "degree": counts}),
        groups=domain.to_numpy(),
        candidates=candidate_table(study.source, world.held_out, world.train, world),
        list_sizes=gather_list_sizes(
            lists.recommender, test=lists.split.test, compared=lists.compared, items=world.items_table()
        ),
        distillation=distilled,
        figures_dir=page.parent / "figures",
        title="How sure is this recommender?",
        notes=[
            f"A simulated world of {world.n_users:,} users and {world.n_items:,} items, {len(world.domains)} domains. "
            "The recommender learned from a log biased by popularity and taste; the pairs judged here were drawn "
            "uniformly, and pairs of the training log are left out.",
            "For list sizes, everything the world logged is split 60/20/20 by user: the recommender learns from the "
            "first part, its probabilities from the second, and the third judges. There a probability is the chance of "
            "an interaction in a period like the test.",
            *([] if distilled is None else [NOTE]),
        ],
        extra_tables=[
            (f"One page of {shared.slots} slots for {len(shared.domains)} domains", _told(shared), shared.table),
            ("What knowledge is worth", "ECE on uniformly exposed pairs. " + _LEGEND + _LEGEND_OF_PAGE,
             rounded(wide(results, "ece"))),
            ("The same as negative log-likelihood", "Lower is better. ECE can be gamed: temperature with a base rate "
             "gives every pair the same probability, which has a tiny ECE and tells nothing apart. NLL sees that.",
             rounded(wide(results, "nll"))),
        ],
        progress=steps_of(bar),
    )  # fmt: skip


_LEGEND = (
    "naive: the log as it is. unbiased: true propensities. popularity: propensities from popularity, with the base "
    "rate, or with an anchor of 1,000 uniformly exposed pairs. true preference: what the method could reach if it knew "
    "the truth of every candidate."
)
_LEGEND_OF_PAGE = (
    " weighted: true propensities with the weighted risk. popularity alone: its level is not known. uniform pairs: "
    "20,000 uniformly exposed pairs and no log."
)


def rounded(table: pl.DataFrame) -> pl.DataFrame:
    """Numbers with four decimals; a dash where the risk has no minimum."""
    return table.select(
        pl.col(name) if name == "method" else pl.col(name).map_elements(shown, return_dtype=pl.String).fill_null("-")
        for name in table.columns
    )


def _told(shared: DomainPage) -> str:
    found = shared.compared
    return (
        "Slots go to the domain where one more item is expected to be worth most; what gains nothing stays free. F1 "
        f"added up over the domains: {found.value:.4f} on average, and {found.reference:.4f} with equal shares, which "
        f"fill all slots (difference {found.difference:+.4f}, p {chance(found.p_value)}, {found.n_users:,} users)."
    )


def _print_page(shared: DomainPage) -> None:
    print_table(f"One page of {shared.slots} slots for {len(shared.domains)} domains", shared.table.columns,
                shared.table.rows(), _told(shared))  # fmt: skip


def _print(results: pl.DataFrame, seeds: int) -> None:
    printed = ["naive", "unbiased", "popularity + base rate", "popularity + anchor", "true preference"]
    caption = _LEGEND + (f" Mean over {seeds} worlds." if seeds > 1 else "")
    rows = wide(results.filter(pl.col("knowledge").is_in(printed))).rows()
    print_table("Expected calibration error on uniformly exposed pairs", ["method", *printed], rows, caption)
    out.print(
        "(temperature with a base rate gives all pairs one probability: a tiny ECE that tells nothing apart)",
        markup=False,
    )
    missing = results.filter(pl.col("problem").is_not_null())
    if missing.height:
        method, known, reason = missing.select("method", "knowledge", "problem").row(0)
        out.print(f"No number for {method}, {known}: {reason}", markup=False, soft_wrap=True)


COMMAND = demo
