"""The demo in a simulated world, where the truth is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from sureness._progress import Progress, silent
from sureness._wording import counted
from sureness.calibration.base import Calibrator
from sureness.data.interactions import Interactions
from sureness.data.simulator import SimulatorSettings, simulate
from sureness.demo import findings
from sureness.demo.distillation_study import SKIPPED, WORLD_NOTE, distilled_world
from sureness.demo.knowledge import MethodAndKnowledge, Study, compare, prepare, wide
from sureness.demo.list_study import ListStudy, share_page_of, study_lists
from sureness.demo.recommenders import IN_WORLDS, Learner, RecommenderName, choose_learner
from sureness.demo.result import DemoResult, check_demo_outputs
from sureness.demo.stages import Stages
from sureness.demo.tables import distillation_rows, page_row, page_table, user_degrees, written
from sureness.jobs.shared_pages import DomainPage
from sureness.report.distillation import Distillation
from sureness.report.findings import Finding
from sureness.report.inputs import Additions, Background, ExtraTable
from sureness.report.list_sizes import ListSizes, gather_list_sizes
from sureness.report.page import ReportSummary, require_report, write_report
from sureness.sources.blocks import candidate_table
from sureness.tables.writing import write_table

TRAIN, CALIBRATE, LISTS, PAGE, DISTIL, REPORT = (
    "training", "calibrating", "list sizes", "shared page", "distillation", "report",
)  # fmt: skip

MAIN: tuple[MethodAndKnowledge, ...] = (
    ("gamma", "unbiased"), ("platt", "unbiased"), ("gamma", "popularity + anchor"), ("gamma", "naive"),
)  # fmt: skip
"""Candidates for the page's main calibrator: the first that has a minimum. Gamma is one of the dissertation's two
methods; the order was fixed before any result was seen."""

SHOWN: Mapping[MethodAndKnowledge, str] = {
    ("gamma", "naive"): "gamma, naive",
    ("isotonic", "true preference"): "the truth",
    ("gamma", "popularity + anchor"): "gamma, anchor",
    ("isotonic", "unbiased"): "isotonic",
    ("sigmoid", "naive"): "sigmoid",
}

_KNOWLEDGE = (
    "naive: the log as it is. unbiased: true propensities. weighted: true propensities with the weighted risk. "
    "popularity: propensities estimated from popularity, alone (their level is unknown), with the base rate, or with "
    "an anchor of 1,000 uniformly exposed pairs. uniform pairs: 20,000 uniformly exposed pairs and no log. true "
    "preference: what the method could reach if it knew the truth for every candidate."
)


@dataclass(frozen=True, eq=False)
class _Found:
    study: Study
    results: pl.DataFrame  # of all worlds
    fitted: dict[MethodAndKnowledge, Calibrator]  # in the world that is shown
    lists: ListStudy
    sizes: ListSizes
    shared: DomainPage
    distilled: Distillation | None

    @property
    def main(self) -> MethodAndKnowledge:
        return next(fit for fit in MAIN if fit in self.fitted)

    def error(self, fit: MethodAndKnowledge) -> float:
        """ECE in the world that is shown."""
        method, knowledge = fit
        return float(self.results.filter(method=method, knowledge=knowledge, seed=0)["ece"][0])

    def mean_probability(self, fit: MethodAndKnowledge) -> float:
        return float(self.fitted[fit].probability(self.study.test.scores).mean())


def simulated_demo(
    output: Path,
    *,
    users: int = 3_000,
    items: int = 600,
    n_worlds: int = 1,
    recommender: RecommenderName = "bpr",
    progress: Progress = silent,
) -> DemoResult:
    """Train, calibrate, choose list sizes, share a page and distil in a simulated world, and write a page about it.

    Parameters
    ----------
    output : path
        Folder for the page (report.html), its figures, the calibrator and the lists.
    users, items : int
        Size of the world.
    n_worlds : int
        The tables of methods show means over this many worlds; all else is about the first.
    recommender : "bpr" or "svd"
    progress : Progress
    """
    require_report("the demo")
    check_demo_outputs(output)
    stages = Stages(_expected_seconds(n_worlds), progress)
    learner = choose_learner(recommender, IN_WORLDS)
    found = _find(users, items, n_worlds, learner, stages)
    world, lists = found.study.world, found.lists
    short = _findings(found)
    page = output / "report.html"
    summary = _write(page, found, short, learner.name, stages.stage(REPORT))
    found.fitted[found.main].save(output / "calibrator.json")
    write_table(lists.recommender.recommend(), output / "lists.parquet")
    about = (
        f"A simulated world of {counted(world.n_users, 'user')} and {counted(world.n_items, 'item')}, and "
        f"{learner.name}, trained on its log of {counted(world.train.nnz, 'interaction')}."
    )
    details = {
        "headline": summary.headline, "results": found.results.to_dicts(),
        "list_sizes": lists.compared.table.to_dicts(), "page": page_row(found.shared),
        "distillation": distillation_rows(found.distilled),
    }  # fmt: skip
    skipped = () if found.distilled is not None else (SKIPPED,)
    return DemoResult(about=about, findings=short, skipped=skipped, page=page, details=details)


def _expected_seconds(n_worlds: int) -> dict[str, float]:
    return {TRAIN: 4 * n_worlds, CALIBRATE: 18 * n_worlds, LISTS: 8, PAGE: 3, DISTIL: 28, REPORT: 12}


def _find(users: int, items: int, n_worlds: int, learner: Learner, stages: Stages) -> _Found:
    study, results, fitted = _calibrate(users, items, n_worlds, learner, stages)
    world = study.world
    lists = study_lists(world, learn=partial(learner, progress=stages.stage(LISTS)))
    shared = share_page_of(world, lists, progress=stages.stage(PAGE))
    distilled = distilled_world(users, items, stages.stage(DISTIL))
    sizes = gather_list_sizes(
        lists.recommender, test=lists.split.test, compared=lists.compared, items=world.items_table()
    )
    return _Found(study, results, fitted, lists, sizes, shared, distilled)


def _calibrate(
    users: int, items: int, n_worlds: int, learner: Learner, stages: Stages
) -> tuple[Study, pl.DataFrame, dict[MethodAndKnowledge, Calibrator]]:
    """Every method with every kind of knowledge in every world; the last one, with seed 0, is shown."""
    tables = []
    for seed in reversed(range(n_worlds)):
        world = simulate(SimulatorSettings(n_users=users, n_items=items, seed=seed))
        source = learner(Interactions.from_matrix(world.train), seed=seed, progress=stages.stage(TRAIN))
        study = prepare(world, source=source, seed=seed)
        table, fitted = compare(study, progress=stages.stage(CALIBRATE))
        tables.append(table.with_columns(seed=pl.lit(seed)))
    return study, pl.concat(tables), fitted


def _findings(found: _Found) -> tuple[Finding, ...]:
    method, knowledge = found.main
    share = float(found.study.test.labels.mean())
    naive, truth = (method, "naive"), (method, "true preference")
    every = (
        findings.calibrated(
            found.error(("sigmoid", "naive")), found.error(found.main), f"{method}, {knowledge}", share
        ),
        findings.corrected(found.mean_probability(naive), found.mean_probability(found.main), share),
        findings.near_truth(found.error(naive), found.error(found.main), found.error(truth), method),
        findings.personal_sizes(found.lists, found.sizes),
        findings.unsure_users(found.lists),
        findings.shared_page(found.shared),
        None if found.distilled is None else findings.distilled_student(found.distilled),
    )
    return tuple(each for each in every if each is not None)


def _write(page: Path, found: _Found, short: tuple[Finding, ...], name: str, progress: Progress) -> ReportSummary:
    world, study = found.study.world, found.study
    items = world.items_table()
    calibrators = {", ".join(found.main): found.fitted[found.main]}
    calibrators |= {label: found.fitted[fit] for fit, label in SHOWN.items() if fit in found.fitted}
    return write_report(
        page, study.test, calibrators,
        background=Background(
            items=items, user_degree=user_degrees(Interactions.from_matrix(world.train)),
            groups=items["domain"].gather(pl.Series(study.test.items)).to_numpy(),
            candidates=candidate_table(study.source, world.held_out, world.train, world),
        ),
        additions=Additions(
            title="How sure is this recommender?", findings=short, list_sizes=found.sizes,
            list_tables=[page_table(found.shared)], distillation=found.distilled, tables=_tables(found.results),
            notes=_notes(found, name),
        ),
        figures_dir=page.parent / "figures", progress=progress,
    )  # fmt: skip


def _notes(found: _Found, name: str) -> list[str]:
    world = found.study.world
    n_worlds = found.results["seed"].n_unique()
    missing = found.results.filter(pl.col("problem").is_not_null())
    notes = [
        f"A simulated world of {counted(world.n_users, 'user')}, {counted(world.n_items, 'item')} and "
        f"{counted(len(world.domains), 'domain')}. The recommender, {name}, was trained on a log biased by popularity "
        "and taste. It is judged on pairs that were exposed uniformly at random and are not in the training log. Its "
        "settings were chosen in worlds with other seeds.",
        "The truth is isotonic regression on the preferences that the simulator knows: no other map of these scores "
        "could do better. Anchor: propensities from popularity plus 1,000 uniformly exposed pairs. Isotonic is fitted "
        "with the bias corrected. Sigmoid: the scores as they are.",
        "For list sizes, the whole log of the world is split 60/20/20 by user: the recommender is trained on the first "
        "part, its probabilities are fitted on the second, and the third judges. Here a probability is the chance of "
        "an interaction in a period like the test.",
    ]
    if n_worlds > 1:
        notes.append(
            f"The tables on what knowledge is worth are means over {counted(n_worlds, 'world')}; all else is the first."
        )
    if missing.height:
        method, known, reason = missing.select("method", "knowledge", "problem").row(0)
        notes.append(f"No number for {method}, {known}: {reason}")
    return notes if found.distilled is None else [*notes, WORLD_NOTE]


def _tables(results: pl.DataFrame) -> list[ExtraTable]:
    return [
        ExtraTable(
            "What knowledge is worth", "ECE on uniformly exposed pairs. " + _KNOWLEDGE, written(wide(results, "ece"))
        ),
        ExtraTable(
            "The same as negative log-likelihood",
            "Lower is better. ECE can be gamed: temperature scaling with a base rate gives every pair nearly the same "
            "probability, which has a tiny ECE but distinguishes nothing. The likelihood shows that.",
            written(wide(results, "nll")),
        ),
    ]
