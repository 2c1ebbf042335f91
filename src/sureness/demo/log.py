"""The demo on a real log, judged on its test part."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from sureness._progress import Progress, silent
from sureness._wording import counted
from sureness.data.datasets import whereabouts
from sureness.data.interactions import Interactions, union
from sureness.data.recipes import Dataset, recipe, recipe_names
from sureness.data.splitting import Split
from sureness.demo import findings
from sureness.demo.distillation_study import LOG_NOTE, SKIPPED, distilled_log
from sureness.demo.list_study import ListStudy, lists_of
from sureness.demo.log_study import TOP, LogStudy, first_items, small_split, study_log
from sureness.demo.recommenders import ON_LOGS, RecommenderName, choose_learner
from sureness.demo.result import DemoResult, check_demo_outputs
from sureness.demo.stages import Stages
from sureness.demo.tables import distillation_rows, page_row, page_table, user_degrees, written
from sureness.errors import FileError
from sureness.jobs.logs import read_log
from sureness.jobs.shared_pages import DomainPage, share_page
from sureness.report.distillation import Distillation
from sureness.report.findings import Finding
from sureness.report.inputs import Additions, Background, ExtraTable
from sureness.report.list_sizes import ListSizes, gather_list_sizes
from sureness.report.page import ReportSummary, require_report, write_report
from sureness.sources.base import ScoreSource
from sureness.tables.columns import Columns
from sureness.tables.writing import write_table

READ, TRAIN, CALIBRATE, LISTS, PAGE, DISTIL, REPORT = (
    "reading", "training", "calibrating", "list sizes", "shared page", "distillation", "report",
)  # fmt: skip
SHOWN = ("sigmoid", "minmax", "isotonic", "platt", "gaussian", "gamma")
SLOTS = 12

_SECONDS = {READ: 2.0, TRAIN: 10.0, CALIBRATE: 12.0, LISTS: 6.0, PAGE: 4.0, DISTIL: 40.0, REPORT: 15.0}
_TITLES = ("title", "name")


@dataclass(frozen=True, eq=False)
class _Found:
    dataset: Dataset
    study: LogStudy
    lists: ListStudy
    sizes: ListSizes
    shared: DomainPage | None  # None: the log has no domains
    distilled: Distillation | None
    items: pl.DataFrame


def log_demo(
    data: str,
    output: Path,
    *,
    columns: Columns | None = None,
    recommender: RecommenderName = "bpr",
    progress: Progress = silent,
) -> DemoResult:
    """Do on a real log what `simulated_demo` does in a simulated world; a page is shared where there are domains.

    Parameters
    ----------
    data : str
        Name of a data set that was fetched before, or the path of a log (.parquet, .csv, .tsv).
    output : path
        Folder for the page (report.html), its figures, the calibrator and the lists.
    columns : Columns, optional
        Of a log in a file.
    recommender : "bpr" or "svd"
    progress : Progress
    """
    require_report("the demo")
    check_demo_outputs(output, data)
    refuse_absent(data)
    learner = choose_learner(recommender, ON_LOGS)
    stages = Stages(_SECONDS, progress)
    dataset, _ = read_log(data, columns=columns, progress=stages.stage(READ))
    split = small_split(dataset)
    source = learner(split.train, progress=stages.stage(TRAIN))
    found = _find(dataset, split, source, stages)
    short = _findings(found)
    page = output / "report.html"
    summary = _write(page, found, short, learner.name, stages.stage(REPORT))
    study = found.study
    study.fitted[study.main].save(output / "calibrator.json")
    write_table(found.lists.recommender.recommend(), output / "lists.parquet")
    about = (
        f"{dataset.name}: {counted(split.train.n_users, 'user')}, {counted(split.train.n_items, 'item')}, and "
        f"{learner.name}, trained on {counted(len(split.train), 'interaction')}. Real data has no ground truth, so a "
        "held-out test part judges."
    )
    details = {
        "headline": summary.headline, "results": study.table.to_dicts(), "main": study.main,
        "list_sizes": found.lists.compared.table.to_dicts(), "page": page_row(found.shared),
        "distillation": distillation_rows(found.distilled),
    }  # fmt: skip
    return DemoResult(about=about, findings=short, skipped=_skipped(found), page=page, details=details)


def refuse_absent(data: str) -> None:
    """Refuse a data set that would have to be downloaded: the demo downloads nothing."""
    if data not in recipe_names():
        return  # a file or an unknown name, which reading it refuses
    known = recipe(data)
    if known.read is not None and whereabouts(data)[1] == "download":
        folder = os.environ.get("SURENESS_DATA")
        looked = f"neither in {folder} (SURENESS_DATA)" if folder else "neither in SURENESS_DATA, which is not set,"
        get = f"fetch it with `sureness data fetch {data}`" if known.addresses else known.how_to_get
        raise FileError(
            f"{data} is {looked} nor in the cache; {get}, or set SURENESS_DATA to a folder that holds {data}"
        )


def _find(dataset: Dataset, split: Split, source: ScoreSource, stages: Stages) -> _Found:
    study = study_log(split, source, progress=stages.stage(CALIBRATE))
    items = _items(split.train)
    lists = lists_of(split, source, progress=stages.stage(LISTS))
    shared = _shared(split, source, stages.stage(PAGE))
    distilled = distilled_log(union(list(split.parts.values())), stages.stage(DISTIL))
    sizes = gather_list_sizes(lists.recommender, test=split.test, compared=lists.compared, items=items)
    return _Found(dataset, study, lists, sizes, shared, distilled, items)


def _shared(split: Split, source: ScoreSource, progress: Progress) -> DomainPage | None:
    domains = split.train.item_domain
    if domains is None or domains.n_unique() < 2 or domains.null_count():
        return None
    return share_page(source, split, domains.to_numpy(), slots=SLOTS, progress=progress)


def _skipped(found: _Found) -> tuple[str, ...]:
    skipped = []
    if found.shared is None:
        skipped.append(f"{found.dataset.name} has no domains, so there is no page for them to share.")
    if found.distilled is None:
        skipped.append(SKIPPED)
    return tuple(skipped)


def _findings(found: _Found) -> tuple[Finding, ...]:
    study = found.study
    errors = dict(study.table.select("method", "ece").iter_rows())
    every = (
        findings.calibrated(errors["sigmoid"], errors[study.main], study.main, float(study.test.labels.mean())),
        findings.first_items(*first_items(found.lists), TOP),
        findings.personal_sizes(found.lists, found.sizes),
        findings.unsure_users(found.lists),
        None if found.shared is None else findings.shared_page(found.shared),
        None if found.distilled is None else findings.distilled_student(found.distilled),
    )
    return tuple(each for each in every if each is not None)


def _write(page: Path, found: _Found, short: tuple[Finding, ...], name: str, progress: Progress) -> ReportSummary:
    study = found.study
    names = [study.main, *(each for each in SHOWN if each != study.main and each in study.fitted)]
    groups = None
    if found.shared is not None:
        domain = dict(zip(found.items["item_id"], found.items["domain"], strict=True))
        groups = np.array([domain[item] for item in np.asarray(study.test.items).tolist()])
    return write_report(
        page, study.test, {each: study.fitted[each] for each in names},
        background=Background(items=found.items, user_degree=user_degrees(study.split.train), groups=groups),
        additions=Additions(
            title=f"How sure is this recommender? {found.dataset.name}", findings=short, list_sizes=found.sizes,
            list_tables=[] if found.shared is None else [page_table(found.shared)], distillation=found.distilled,
            tables=[_table(study)], notes=_notes(found, name),
        ),
        figures_dir=page.parent / "figures", n_resamples=200, progress=progress,
    )  # fmt: skip


def _notes(found: _Found, name: str) -> list[str]:
    study = found.study
    split = study.split
    part = (
        "" if study.n_judged == split.train.n_users else f" Only pairs of {counted(study.n_judged, 'user')} are judged."
    )
    return [
        f"{found.dataset.name}: {counted(split.train.n_users, 'user')} and {counted(split.train.n_items, 'item')}, "
        f"split 60/20/20 by user at random into {len(split.train):,}, {len(split.validation):,} and "
        f"{counted(len(split.test), 'interaction')}. {name[:1].upper()}{name[1:]} was trained on the first part, a "
        f"tenth of which decided when to stop; probabilities were fitted on the second part; the third judges.{part}",
        "Real data does not say what these users would have liked had they seen it. A probability here is the chance "
        "of an interaction in a period like the held-out one; validation and test items were drawn at random from the "
        "same log, so the two periods are alike. Candidates are all items outside the training part.",
        f"The main method of this page was chosen on the validation part: {study.choice.reason}.",
        *_skipped(found),
        *([] if found.distilled is None else [LOG_NOTE]),
        *split.notes,
    ]


def _table(study: LogStudy) -> ExtraTable:
    caption = (
        f"Fitted on the validation part, judged on the test part. ece@{TOP} looks only at each user's first {TOP} "
        "items: a map that is right over all items can be wrong at the top of the list, which is what people see."
    )
    return ExtraTable("All methods", caption, written(study.table.drop("problem")))


def _items(log: Interactions) -> pl.DataFrame:
    """item_id and title, and domain where it is known."""
    table = pl.DataFrame({"item_id": log.items.ids})
    features = log.item_features
    title = next((name for name in _TITLES if features is not None and name in features.columns), None)
    if features is not None and title is not None:
        table = table.with_columns(features[title].cast(pl.String).fill_null("(no title)").alias("title"))
    else:
        table = table.with_columns(pl.col("item_id").cast(pl.String).alias("title"))
    return table if log.item_domain is None else table.with_columns(log.item_domain.alias("domain"))
