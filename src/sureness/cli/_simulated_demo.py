"""The demo in a simulated world, whose truth is known."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from sureness.calibration.base import Calibrator
from sureness.cli import _demo_findings as findings
from sureness.cli._demo_parts import Learn, Told, degrees, learner, page_table, rounded
from sureness.cli._demo_progress import Stages
from sureness.cli._distilled_demo import NOTE, SKIPPED, distillation_rows, distilled_world
from sureness.data.interactions import Interactions
from sureness.data.simulator import SimulatorSettings, World, simulate
from sureness.data.tables import write_table
from sureness.experiments.demo_recommender import IN_WORLDS
from sureness.experiments.shared_pages import DomainPage
from sureness.experiments.simulated import Study, compare, prepare, wide
from sureness.experiments.simulated_lists import ListStudy, share_page_of, study_lists
from sureness.report import Distillation, Finding, ListSizes, gather_list_sizes, write_report
from sureness.sources.tables import candidate_table

Fit = tuple[str, str]

TRAIN, CALIBRATE, LISTS, PAGE, DISTIL, REPORT = (
    "training", "calibrating", "list sizes", "one page", "teaching a small model", "report",
)  # fmt: skip
MAIN: tuple[Fit, ...] = (
    ("gamma", "unbiased"), ("platt", "unbiased"), ("gamma", "popularity + anchor"), ("gamma", "naive"),
)  # fmt: skip
"""What the page is about: the first that has a minimum. Fixed beforehand: Gamma is one of the text's two methods."""

TRUTH: Fit = ("isotonic", "true preference")
SHOWN: dict[Fit, str] = {
    ("gamma", "naive"): "gamma, naive",
    TRUTH: "the truth",
    ("gamma", "popularity + anchor"): "gamma, anchor",
    ("isotonic", "unbiased"): "isotonic",
    ("sigmoid", "naive"): "sigmoid",
}

_KNOWLEDGE = (
    "naive: the log as it is. unbiased: true propensities. weighted: the same with the weighted risk. popularity: "
    "propensities from popularity, alone (its level is not known), with the base rate, or with an anchor of 1,000 "
    "uniformly exposed pairs. uniform pairs: 20,000 uniformly exposed pairs and no log. true preference: what the "
    "method could reach if it knew the truth of every candidate."
)


@dataclass(frozen=True, eq=False)
class _Found:
    study: Study
    results: pl.DataFrame  # of all worlds
    fitted: dict[Fit, Calibrator]  # in the world that is shown
    lists: ListStudy
    sizes: ListSizes
    shared: DomainPage
    distilled: Distillation | None

    @property
    def main(self) -> Fit:
        return next(fit for fit in MAIN if fit in self.fitted)

    def error(self, fit: Fit) -> float:
        """ECE in the world that is shown."""
        method, knowledge = fit
        return float(self.results.filter(method=method, knowledge=knowledge, seed=0)["ece"][0])

    def mean_probability(self, fit: Fit) -> float:
        return float(self.fitted[fit].probability(self.study.test.scores).mean())


def expected_seconds(n_worlds: int) -> dict[str, float]:
    """How long each stage takes, about."""
    return {TRAIN: 4 * n_worlds, CALIBRATE: 18 * n_worlds, LISTS: 8, PAGE: 3, DISTIL: 28, REPORT: 12}


def simulated_demo(output: Path, users: int, items: int, n_worlds: int, recommender: str, stages: Stages) -> Told:
    """Simulate, train, calibrate, choose list sizes, share a page, teach a small model, and write the page."""
    name, learn = learner(recommender, IN_WORLDS)
    study, results, fitted = _calibrated(users, items, n_worlds, learn, stages)
    world = study.world
    lists = study_lists(world, learn=partial(learn, progress=stages.stage(LISTS)))
    shared = share_page_of(world, lists, progress=stages.stage(PAGE))
    distilled = distilled_world(users, items, stages.stage(DISTIL))
    tell = stages.stage(REPORT)
    sizes = gather_list_sizes(lists.recommender, test=lists.split.test, compared=lists.compared, items=_items(world))
    found = _Found(study, results, fitted, lists, sizes, shared, distilled)
    told = _findings(found)
    page = output / "report.html"
    summary = _write(page, found, told, name, tell)
    fitted[found.main].save(output / "calibrator.json")
    write_table(lists.recommender.recommend(), output / "lists.parquet")
    about = (
        f"A simulated world of {world.n_users:,} users and {world.n_items:,} items, and {name} trained on its log of "
        f"{world.train.nnz:,} interactions."
    )
    details = {
        "headline": summary.headline, "results": results.to_dicts(), "list_sizes": lists.compared.table.to_dicts(),
        "page": {"slots": shared.slots, **asdict(shared.compared)}, "distillation": distillation_rows(distilled),
    }  # fmt: skip
    return Told(about, told, () if distilled is not None else (SKIPPED,), page, details)


def _calibrated(
    users: int, items: int, n_worlds: int, learn: Learn, stages: Stages
) -> tuple[Study, pl.DataFrame, dict[Fit, Calibrator]]:
    """Every method under every kind of knowledge, in every world; the world with seed 0 comes last: it is shown."""
    tables = []
    for seed in reversed(range(n_worlds)):
        world = simulate(SimulatorSettings(n_users=users, n_items=items, seed=seed))
        source = learn(Interactions.from_matrix(world.train), seed=seed, progress=stages.stage(TRAIN))
        study = prepare(world, source=source, seed=seed)
        table, fitted = compare(study, progress=stages.stage(CALIBRATE))
        tables.append(table.with_columns(seed=pl.lit(seed)))
    return study, pl.concat(tables), fitted


def _findings(found: _Found) -> tuple[Finding, ...]:
    method, knowledge = found.main
    test = found.study.test
    told: list[Finding | None] = [
        findings.trusted(found.error(("sigmoid", "naive")), found.error(found.main), f"{method}, {knowledge}",
                         float(test.labels.mean())),
        findings.corrected(found.mean_probability((method, "naive")), found.mean_probability(found.main),
                           float(test.labels.mean())),
        findings.near_truth(found.error((method, "naive")), found.error(found.main),
                            found.error((method, "true preference")), method),
        findings.sizes(found.lists, found.sizes),
        findings.unsure(found.lists),
        findings.page(found.shared),
        None if found.distilled is None else findings.student(found.distilled),
    ]  # fmt: skip
    return tuple(each for each in told if each is not None)


def _write(page: Path, found: _Found, told: tuple[Finding, ...], name: str, progress: Any) -> Any:
    world, study = found.study.world, found.study
    calibrators = {", ".join(found.main): found.fitted[found.main]}
    calibrators |= {label: found.fitted[fit] for fit, label in SHOWN.items() if fit in found.fitted}
    domain = _items(world)["domain"].gather(pl.Series(study.test.items))
    return write_report(
        page, study.test, calibrators, items=_items(world), user_degree=degrees(Interactions.from_matrix(world.train)),
        groups=domain.to_numpy(), candidates=candidate_table(study.source, world.held_out, world.train, world),
        list_sizes=found.sizes, distillation=found.distilled, figures_dir=page.parent / "figures",
        title="How sure is this recommender?", notes=_notes(found, name), findings=told,
        list_tables=[page_table(found.shared)], extra_tables=_tables(found.results), progress=progress,
    )  # fmt: skip


def _notes(found: _Found, name: str) -> list[str]:
    world = found.study.world
    n_worlds = found.results["seed"].n_unique()
    missing = found.results.filter(pl.col("problem").is_not_null())
    notes = [
        f"A simulated world of {world.n_users:,} users and {world.n_items:,} items, {len(world.domains)} domains. "
        f"The recommender, {name}, learned from a log biased by popularity and taste; the pairs judged here were drawn "
        "uniformly, and pairs of the training log are left out. Its settings were chosen in worlds with other seeds.",
        "The truth is isotonic regression on the preferences that the simulator knows: no other map of these scores "
        "could do better. Anchor: propensities from popularity, and 1,000 uniformly exposed pairs. Isotonic is fitted "
        "without bias as well. Sigmoid: the scores as they are.",
        "For list sizes, everything the world logged is split 60/20/20 by user: the recommender learns from the first "
        "part, its probabilities from the second, and the third judges. There a probability is the chance of an "
        "interaction in a period like the test.",
    ]
    if n_worlds > 1:
        notes.append(f"Tables of what knowledge is worth show means over {n_worlds} worlds, all else the first world.")
    if missing.height:
        method, known, reason = missing.select("method", "knowledge", "problem").row(0)
        notes.append(f"No number for {method}, {known}: {reason}")
    return notes if found.distilled is None else [*notes, NOTE]


def _tables(results: pl.DataFrame) -> list[tuple[str, str, pl.DataFrame]]:
    return [
        ("What knowledge is worth", "ECE on uniformly exposed pairs. " + _KNOWLEDGE, rounded(wide(results, "ece"))),
        ("The same as negative log-likelihood", "Lower is better. ECE can be gamed: temperature with a base rate gives "
         "every pair the same probability, which has a tiny ECE and tells nothing apart. NLL sees that.",
         rounded(wide(results, "nll"))),
    ]  # fmt: skip


def _items(world: World) -> pl.DataFrame:
    return world.items_table()
