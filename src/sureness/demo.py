"""Train a recommender, give its lists probabilities, and write a page about what they are worth."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._progress import Progress, part_of, silent
from sureness._types import BoolArray
from sureness._wording import counted
from sureness.calibration.fields import Fields
from sureness.data.datasets import whereabouts
from sureness.data.interactions import Interactions
from sureness.data.preparing import prepare
from sureness.data.recipes import Dataset, recipe, recipe_names
from sureness.data.simulator import SimulatorSettings, simulate
from sureness.data.splitting import Split, by_ratio, hold_out
from sureness.errors import EmptyError, FileError, SurenessWarning, missing_extra
from sureness.jobs.listing import compare_with_baselines
from sureness.jobs.logs import read_log
from sureness.jobs.outputs import check_outputs
from sureness.lists.lists import Lists
from sureness.recommender.confident import ConfidentRecommender
from sureness.report.contents import Additions
from sureness.report.formatting import Finding, Headline, chance, count, ratio, spoken_percent
from sureness.report.list_sizes import ListSizes, gather_list_sizes, promise_of
from sureness.report.page import require_report, write_list_size_report
from sureness.saving.files import replacing
from sureness.saving.objects import save
from sureness.saving.packed import JSON
from sureness.sources.base import ScoreSource
from sureness.sources.svd import svd_source
from sureness.tables.columns import Columns
from sureness.tables.writing import write_table

RecommenderName = Literal["bpr", "svd"]

_MOST_PAIRS = 40_000_000  # users x items; larger logs are sampled
_MOST_INTERACTIONS = 250_000
_N_STEPS = 4
TOP = 10  # items that everybody would get without probabilities
KEPT = 0.95  # share of the expected hits that shorter lists keep

_FEWEST_USERS = 20  # for a comparison of tenths


@dataclass(frozen=True, kw_only=True, eq=False)
class DemoResult:
    """The findings of a demo, its page, and the numbers that they come from."""

    about: str  # a sentence on the data and the recommender
    findings: tuple[Finding, ...]
    page: Path
    explorer: str  # the command that shows it in a browser
    details: Mapping[str, JSON]

    __repr__ = fields_repr

    def plain(self) -> dict[str, JSON]:
        """One JSON object: the page, the findings, and all details."""
        findings = [asdict(finding) for finding in self.findings]
        return {"report": str(self.page), "explorer": self.explorer, "findings": findings, **self.details}


def run_demo(
    output: Path,
    *,
    data: str | None = None,
    columns: Columns | None = None,
    users: int = 3_000,
    items: int = 600,
    recommender: RecommenderName = "bpr",
    progress: Progress = silent,
) -> DemoResult:
    """Show on a log what probabilities of recommended items are worth.

    The log is split 60/20/20 by user at random: the recommender is trained on the first part, probabilities and list
    sizes are fitted on the second, and the third judges.

    Parameters
    ----------
    output : path
        Folder for the page (report.html), its figures, the recommender, the lists, and what the explorer shows of them.
    data : str, optional
        Name of a data set that was fetched before, or the path of a log (.parquet, .csv, .tsv); by default the log of
        a simulated world.
    columns : Columns, optional
        Of a log in a file.
    users, items : int
        Size of the simulated world.
    recommender : "bpr" or "svd"
    progress : Progress
    """
    require_report("the demo")
    page, figures, table = output / "report.html", output / "figures", output / "lists.parquet"
    saved, promised, known = output / "recommender.sureness", output / "promise.json", output / "items.parquet"
    check_outputs(
        [
            (page, "page"), (figures, "figures"), (table, "table"), (saved, "file"), (promised, "json"),
            (known, "table"),
        ],
        [data],
    )  # fmt: skip
    steps = [part_of(progress, step, _N_STEPS, name) for step, name in enumerate(("train", "fit", "compare", "page"))]
    title, split, titles = _simulated(users, items) if data is None else _logged(data, columns)
    source, model = trained(split.train, recommender, steps[0])
    fitted = ConfidentRecommender(source).fit(split.train, split.validation, progress=steps[1])
    steps[2]("list sizes", 0, 1)
    compared = compare_with_baselines(fitted, seen=split.train, validation=split.validation, test=split.test)
    sizes = gather_list_sizes(fitted, test=split.test, compared=compared, items=titles)
    lists = fitted.lists(labels=split.test)
    every = (items_not_shown(lists), promise_kept(sizes), personal_sizes(sizes), unsure_users(lists))
    findings = tuple(finding for finding in every if finding is not None)
    about = (
        f"{title}: {counted(split.train.n_users, 'user')}, {counted(split.train.n_items, 'item')}, and {model}, "
        f"trained on {counted(len(split.train), 'interaction')}."
    )
    first, *others = findings
    additions = Additions(
        title=about,
        headline=Headline(f"{first.value}.", first.text),
        findings=others,
        notes=[_SPLIT, *split.notes],
    )
    summary = write_list_size_report(page, sizes, additions=additions, figures_dir=figures, progress=steps[3])
    save(fitted, saved)
    write_table(fitted.recommend(), table)
    words = ["sureness serve", str(saved)]
    if titles is not None:
        write_table(titles, known)
        words.append(f"--items {known}")
    if sizes.promise is not None:
        by_group = fitted.promise(split.test, by=Fields.of(source, seen=split.train)).to_dicts()
        with replacing(promised) as temporary:
            temporary.write_text(json.dumps({**sizes.promise.plain(), "by_group": by_group}), encoding="utf-8")
        words.append(f"--backtest {promised}")
    details: dict[str, JSON] = {"headline": summary.headline, "list_sizes": compared.table.to_dicts()}
    return DemoResult(about=about, findings=findings, page=page, explorer=" ".join(words), details=details)


_SPLIT = (
    "The log is split 60/20/20 by user at random: the recommender was trained on the first part, probabilities and "
    "list sizes were fitted on the second, and the third judges. Forward in time users and items change too, and "
    "promises hold less well: before you rely on them, run `sureness backtest` on your own log with times."
)


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


def _simulated(users: int, items: int) -> tuple[str, Split, pl.DataFrame]:
    """Name, split log and titles of a world with the settings that the simulator has by default."""
    world = simulate(SimulatorSettings(n_users=users, n_items=items))
    log = Interactions.from_matrix((world.train + world.held_out).tocsr())
    return "A simulated world", by_ratio(log, seed=0), world.items_table()


def _logged(data: str, columns: Columns | None) -> tuple[str, Split, pl.DataFrame | None]:
    refuse_absent(data)
    dataset, _ = read_log(data, columns=columns)
    return dataset.name, small_split(dataset), _titles(dataset.interactions)


def small_split(dataset: Dataset) -> Split:
    """Filter a log as its data set asks for and split it 60/20/20 by user; large logs are sampled by user first.

    Examples
    --------
    >>> log = Interactions.of(np.repeat(np.arange(30), 10), np.tile(np.arange(10), 30))
    >>> small_split(Dataset("interactions", log))
    Split(30 users, 10 items; train 180, validation 60, test 60)
    """
    log = dataset.interactions
    share = min(1.0, _MOST_INTERACTIONS / max(1, len(log)), _MOST_PAIRS / max(1, log.n_users * log.n_items))
    if share < 1:
        chosen = np.random.default_rng(0).random(log.n_users) < share
        kept = log.keep(chosen[log.user_rows]).compact()
        log = kept.noting(f"{kept.n_users:,} of {counted(log.n_users, 'user')} were sampled, to be done in minutes")
    split = prepare(replace(dataset, interactions=log), "ratio", seed=0)
    for name, part in split.parts.items():
        if not len(part):
            raise EmptyError(
                f"the demo needs users with at least three interactions each, and the {name} part of {dataset.name} is "
                "empty; give a larger log"
            )
    return split


def _titles(log: Interactions) -> pl.DataFrame | None:
    """item_id and title, where the log knows titles or names."""
    features = log.item_features
    title = next((name for name in ("title", "name") if features is not None and name in features.columns), None)
    if features is None or title is None:
        return None
    return pl.DataFrame({"item_id": log.items.ids, "title": features[title].cast(pl.String)}).drop_nulls()


def trained(log: Interactions, recommender: RecommenderName, progress: Progress = silent) -> tuple[ScoreSource, str]:
    """The recommender and its name; without torch always a decomposition, with a warning."""
    if recommender == "bpr" and find_spec("torch") is None:
        sentence = f"the demo uses a singular value decomposition instead: {missing_extra('BPR', 'torch', 'models')}"
        warnings.warn(sentence, SurenessWarning, stacklevel=3)
        recommender = "svd"
    if recommender == "svd":
        progress("singular value decomposition", 0, 1)
        n_factors = min(7, min(log.shape) - 1)
        return svd_source(log, n_factors=n_factors), f"an SVD with {counted(n_factors, 'factor')}"
    from sureness.models.bpr import BPR

    train, stopping = hold_out(log, 0.1, seed=0)
    model = BPR(n_factors=32, learning_rate=0.005, l2=0.03, epochs=100, patience=3, seed=0)
    return model.fit(train, stopping, progress=progress), "BPR with 32 factors"


# what probabilities are worth, each with its measured number


class Shortened(NamedTuple):
    """Ten items for everybody, without the least likely ones of all users together."""

    left_out: float  # share of the items
    kept: float  # share of the hits
    equal_lists: float  # share of the hits that a list of equal length for everybody keeps, with as many items


def shortened(lists: Lists) -> Shortened:
    """Leave out the least likely of all users' ten items, as long as 95% of the expected hits stay.

    Parameters
    ----------
    lists : Lists
        With probabilities and hits.

    Examples
    --------
    >>> lists = Lists.of(probabilities=[[0.9, 0.9], [0.5, 0.02]], hits=[[1, 1], [0, 0]])
    >>> shortened(lists)
    Shortened(left_out=0.25, kept=1.0, equal_lists=0.75)
    """
    top = first_items(lists)
    probabilities = lists.promises("the demo")
    hits = np.where(top, lists.needed("hits", "the demo"), False)
    falling = np.sort(probabilities[top])[::-1]
    least = falling[np.searchsorted(np.cumsum(falling), KEPT * falling.sum())]
    shown = top & (probabilities >= least)
    by_rank = np.append(hits.sum(axis=0), 0)
    whole, part = divmod(shown.sum() / lists.n_users, 1)
    equal = by_rank[: int(whole)].sum() + part * by_rank[int(whole)]
    total = max(1, int(hits.sum()))
    return Shortened(float(1 - shown.sum() / top.sum()), float(hits[shown].sum() / total), float(equal / total))


def first_items(lists: Lists) -> BoolArray:
    """Which entries of the lists are among each user's first ten."""
    return np.arange(lists.width) < np.minimum(lists.lengths, TOP)[:, None]


def items_not_shown(lists: Lists) -> Finding:
    """How many items need not be shown, and how many of the hits stay."""
    found = shortened(lists)
    return Finding(
        "Items that need not be shown",
        f"{spoken_percent(found.left_out)} fewer items, {spoken_percent(found.kept)} of the hits",
        f"leaving out the least likely items of every top {TOP}, until {KEPT:.0%} of the expected hits are left",
        f"Of the {TOP} best items of every user, the least likely of all are left out until {KEPT:.0%} of the expected "
        f"hits are left. {spoken_percent(found.kept)} of the hits are kept. One shorter length for everybody, with as "
        f"many items in all, keeps {spoken_percent(found.equal_lists)}.",
        "list-sizes",
        holds=found.kept > found.equal_lists,
    )


def promise_kept(sizes: ListSizes) -> Finding | None:
    """Promised and realised hits of the shown items; None if nothing is shown."""
    if sizes.promise is None:
        return None
    total, (words, colour) = sizes.promise.total, promise_of(sizes.promise)
    return Finding(
        "Probabilities that keep their promise",
        f"{count(total['promised'])} hits promised, {count(total['realised'])} came",
        f"by the items of all lists, realised over promised {ratio(total)}",
        f"The sum of the probabilities of all shown items, and how many of these items are in the test part. Realised "
        f"over promised is {ratio(total)}, 95% interval over users in brackets{words and ': '}{words}.",
        "list-promise",
        holds=colour == "good",
    )


def personal_sizes(sizes: ListSizes) -> Finding | None:
    """Utility of personal list sizes compared with the best fixed one; None without a comparison."""
    main, fixed = sizes.policy(sizes.main), sizes.policy(sizes.reference)
    if main is None or fixed is None or main.difference is None or main.p_value is None:
        return None
    gain = f"{main.difference / fixed.value:+.1%}" if fixed.value > 0 else f"{main.difference:+.4f}"
    return Finding(
        "Lists of the right length",
        f"{gain} {sizes.utility}",
        f"personal list sizes against {fixed.name}, p {chance(main.p_value)}"
        + ("" if main.is_clear else ", no clear difference"),
        f"{sizes.utility} {main.value:.3f} with {main.mean_size:.1f} items on average, against {fixed.value:.3f} with "
        f"{fixed.mean_size:.0f} for everybody, the best size on the validation part (p {chance(main.p_value)}).",
        "list-policies",
        holds=main.is_clear and main.difference > 0,
    )


def unsure_users(lists: Lists) -> Finding | None:
    """Hits of the tenths of users with the fewest and the most expected hits; None with too few users."""
    if lists.n_users < _FEWEST_USERS:
        return None
    top = first_items(lists)
    expected = np.where(top, lists.promises("the demo"), 0.0).sum(axis=1)
    came = np.where(top, lists.needed("hits", "the demo"), False).sum(axis=1)
    order, tenth = np.argsort(expected, kind="stable"), lists.n_users // 10
    few, many = order[:tenth], order[-tenth:]
    numbers = [float(values[group].mean()) for group in (few, many) for values in (expected, came)]
    return Finding(
        "Users to ask first",
        f"{numbers[1]:.2f} hits against {numbers[3]:.2f}",
        f"among {TOP} items of the least and the most sure tenth; {numbers[0]:.2f} and {numbers[2]:.2f} promised",
        f"Hits in the top {TOP} of {counted(tenth, 'user')} with the lowest expected number of hits, and of as many "
        f"with the highest; {numbers[0]:.2f} and {numbers[2]:.2f} were promised. Ask the former what they like.",
        "list-cases",
        holds=numbers[1] < numbers[3],
    )
