"""The demo on a real log, judged by its test part."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sureness.cli import _demo_findings as findings
from sureness.cli._demo_parts import Told, degrees, learner, page_table, rounded
from sureness.cli._demo_progress import Stages
from sureness.cli._distilled_demo import LOG_NOTE, SKIPPED, distillation_rows, distilled_log
from sureness.cli._logs import read_data
from sureness.data.interactions import Interactions, union
from sureness.data.recipes.base import Dataset
from sureness.data.recipes.catalogue import RECIPES, recipe
from sureness.data.recipes.loading import whereabouts
from sureness.data.splitting import Split
from sureness.data.tables import write_table
from sureness.errors import FileError
from sureness.experiments.demo_log import TOP, LogStudy, first_items, small_split, study_log
from sureness.experiments.demo_recommender import ON_LOGS
from sureness.experiments.shared_pages import DomainPage, share_page
from sureness.experiments.simulated_lists import ListStudy, lists_of
from sureness.report import Distillation, Finding, ListSizes, gather_list_sizes, write_report

READ, TRAIN, CALIBRATE, LISTS, PAGE, DISTIL, REPORT = (
    "reading", "training", "calibrating", "list sizes", "one page", "teaching a small model", "report",
)  # fmt: skip
SHOWN = ("sigmoid", "minmax", "isotonic", "platt", "gaussian", "gamma")
SLOTS = 12

_TITLES = ("title", "name")


@dataclass(frozen=True, eq=False)
class _Found:
    dataset: Dataset
    study: LogStudy
    lists: ListStudy
    sizes: ListSizes
    shared: DomainPage | None
    distilled: Distillation | None
    items: pl.DataFrame


def expected_seconds() -> dict[str, float]:
    """How long each stage takes, about."""
    return {READ: 2, TRAIN: 10, CALIBRATE: 12, LISTS: 6, PAGE: 4, DISTIL: 40, REPORT: 15}


def log_demo(data: str, output: Path, recommender: str, stages: Stages) -> Told:
    """Read, train, calibrate, choose list sizes, share a page where there are domains, teach, and write the page."""
    refuse_absent(data)
    columns = {name: name for name in ("user_id", "item_id", "rating", "time", "domain")}
    dataset, _ = read_data(data, None, [], columns, stages.stage(READ))
    name, learn = learner(recommender, ON_LOGS)
    split = small_split(dataset)
    source = learn(split.train, progress=stages.stage(TRAIN))
    study = study_log(split, source, progress=stages.stage(CALIBRATE))
    items = _items(split.train)
    lists = lists_of(split, source, progress=stages.stage(LISTS))
    shared = _shared(split, source, stages)
    distilled = distilled_log(union(list(split.parts.values())), stages.stage(DISTIL))
    tell = stages.stage(REPORT)
    sizes = gather_list_sizes(lists.recommender, test=split.test, compared=lists.compared, items=items)
    found = _Found(dataset, study, lists, sizes, shared, distilled, items)
    told = _findings(found)
    page = output / "report.html"
    summary = _write(page, found, told, name, tell)
    study.fitted[study.main].save(output / "calibrator.json")
    write_table(lists.recommender.recommend(), output / "lists.parquet")
    about = (
        f"{dataset.name}: {split.train.n_users:,} users, {split.train.n_items:,} items, and {name} trained on "
        f"{len(split.train):,} interactions. Nobody knows the truth of a real log: the test part judges."
    )
    details = {
        "headline": summary.headline, "results": study.table.to_dicts(), "main": study.main,
        "list_sizes": lists.compared.table.to_dicts(),
        "page": None if shared is None else {"slots": shared.slots, **asdict(shared.compared)},
        "distillation": distillation_rows(distilled),
    }  # fmt: skip
    return Told(about, told, _skipped(found), page, details)


def refuse_absent(data: str) -> None:
    """The demo downloads nothing by itself: say what to do instead."""
    if data not in RECIPES:
        return  # a file, or a name that nobody knows: both are told by whoever reads it
    known = recipe(data)
    if known.read is not None and whereabouts(data)[1] == "download":
        folder = os.environ.get("SURENESS_DATA")
        looked = f"neither in {folder} (SURENESS_DATA)" if folder else "neither in SURENESS_DATA, which is not set,"
        get = f"fetch it with `sureness data fetch {data}`" if known.addresses else known.how_to_get
        raise FileError(
            f"{data} is {looked} nor in the cache; {get}, or set SURENESS_DATA to a folder that holds {data}"
        )


def _shared(split: Split, source: Any, stages: Stages) -> DomainPage | None:
    tell = stages.stage(PAGE)
    domains = split.train.item_domain
    if domains is None or domains.n_unique() < 2 or domains.null_count():
        return None
    return share_page(source, split, domains.to_numpy(), slots=SLOTS, progress=tell)


def _skipped(found: _Found) -> tuple[str, ...]:
    told = []
    if found.shared is None:
        told.append(f"{found.dataset.name} has no domains, so no page is shared between them.")
    if found.distilled is None:
        told.append(SKIPPED)
    return tuple(told)


def _findings(found: _Found) -> tuple[Finding, ...]:
    study = found.study
    errors = dict(study.table.select("method", "ece").iter_rows())
    told: list[Finding | None] = [
        findings.trusted(errors["sigmoid"], errors[study.main], study.main, float(study.test.labels.mean())),
        findings.first_items(*first_items(found.lists), TOP),
        findings.sizes(found.lists, found.sizes),
        findings.unsure(found.lists),
        None if found.shared is None else findings.page(found.shared),
        None if found.distilled is None else findings.student(found.distilled),
    ]
    return tuple(each for each in told if each is not None)


def _write(page: Path, found: _Found, told: tuple[Finding, ...], name: str, progress: Any) -> Any:
    study = found.study
    names = [study.main, *(each for each in SHOWN if each != study.main and each in study.fitted)]
    groups = None
    if found.shared is not None:
        domain = dict(zip(found.items["item_id"], found.items["domain"], strict=True))
        groups = np.array([domain[item] for item in np.asarray(study.test.items).tolist()])
    tables = [] if found.shared is None else [page_table(found.shared)]
    return write_report(
        page, study.test, {each: study.fitted[each] for each in names}, items=found.items,
        user_degree=degrees(study.split.train), groups=groups, list_sizes=found.sizes, distillation=found.distilled,
        figures_dir=page.parent / "figures", title=f"How sure is this recommender? {found.dataset.name}",
        notes=_notes(found, name), findings=told, list_tables=tables,
        extra_tables=[_table(study)], n_resamples=200, progress=progress,
    )  # fmt: skip


def _notes(found: _Found, name: str) -> list[str]:
    study = found.study
    split = study.split
    part = "" if study.n_judged == split.train.n_users else f" Judged are the pairs of {study.n_judged:,} users."
    return [
        f"{found.dataset.name}: {split.train.n_users:,} users and {split.train.n_items:,} items, split 60/20/20 by "
        f"user at random into {len(split.train):,}, {len(split.validation):,} and {len(split.test):,} interactions. "
        f"{name} learned from the first part, of which a tenth said when to stop; probabilities were learned from the "
        f"second; the third judges.{part}",
        "Nobody knows what these users would have liked had they seen it. A probability here is the chance of an "
        "interaction in a period like the held-out one; that validation and test items were drawn alike makes the two "
        "periods alike. Both are looked for among all items outside the training part.",
        f"The method that the page is about was chosen on the validation part: {study.choice.reason}.",
        *_skipped(found),
        *([] if found.distilled is None else [LOG_NOTE]),
        *split.notes,
    ]


def _table(study: LogStudy) -> tuple[str, str, pl.DataFrame]:
    told = (
        "Fitted on the validation part, judged by the test part. ece@10 looks at each user's first ten items only: a "
        "map that is right over all items can be off where people look."
    )
    return "All twelve methods", told, rounded(study.table.drop("problem"))


def _items(log: Interactions) -> pl.DataFrame:
    """item_id, and title and domain where they are known."""
    table = pl.DataFrame({"item_id": log.items.ids})
    features = log.item_features
    title = next((name for name in _TITLES if features is not None and name in features.columns), None)
    if features is not None and title is not None:
        table = table.with_columns(features[title].cast(pl.String).fill_null("(no title)").alias("title"))
    else:
        table = table.with_columns(pl.col("item_id").cast(pl.String).alias("title"))
    return table if log.item_domain is None else table.with_columns(log.item_domain.alias("domain"))
