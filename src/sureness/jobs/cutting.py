"""Choose list sizes: cut the lists of a table of probabilities, or make those of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._settings import written
from sureness._wording import counted
from sureness.errors import ColumnError, DataError, SettingError, warn
from sureness.jobs.blocks import blocks_of_users, looks_cut, survey, write_blocks
from sureness.jobs.deciding import Tally, decide_block, read_seen, without_seen
from sureness.jobs.inputs import as_given, counter, read_columns
from sureness.jobs.listing import CalibrationOptions, Listing, ListOptions, open_listing
from sureness.jobs.options import plain
from sureness.jobs.outputs import check_outputs
from sureness.lists.comparing import PolicyComparison
from sureness.lists.expectation import LONGEST
from sureness.lists.policies import ExpectedUtility, ListSizePolicy, Threshold
from sureness.metrics.utility import named_utility
from sureness.recommender.promises import KeptPromise, is_converted, meaning_in
from sureness.report.cases import with_titles
from sureness.report.page import require_report
from sureness.saving.packed import JSON
from sureness.tables.columns import Columns, TextFormat
from sureness.tables.files import format_like
from sureness.tables.frames import Place, Table, place_of
from sureness.tables.reading import column_names, names_aside, recognised, require_columns, scan_table
from sureness.tables.writing import write_table

_NEEDED = ("user_id", "item_id", "probability")
_OF_LISTS = ("rank", "list_size", "expected_utility", "expected_hits")  # added to the rows of a table
_OF_SIZES = ("list_size", "expected_utility", "expected_hits", "unsure")  # beside the user


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """What else is written about the lists of a run."""

    save: Annotated[Path | None, "Save the fitted recommender (.sureness), for later lists."] = None
    report: Annotated[Path | None, "Page about the lists (.html)."] = None
    figures: Annotated[Path | None, "Folder for the page's figures as PNG and SVG."] = None
    items: Annotated[Table | None, "Table with item_id and title, for the page and the lists."] = None


@dataclass(frozen=True, eq=False, kw_only=True)
class CutResult:
    """How long the lists are, and what they are worth."""

    input: Place
    output: Path | None
    utility: str
    n_users: int
    n_rows: int
    without_list: int  # users who see nothing
    unsure: int  # users whom showing anything would hardly help
    list_size: dict[str, float]  # mean, smallest, median, largest
    expected_utility: float | None  # mean over users; None: the policy does not compute it
    expected_hits: float  # relevant items among all that are shown
    left_out: int | None = None  # rows of a table that were seen before, if there is a log that says
    in_batches: bool | None = None  # of a table: read in batches, since its rows are sorted by user
    calibrator: str | None = None  # of a run
    meaning: str | None = None  # of a run: what happens to an item with the probability that it has in the lists
    meaning_of_map: str | None = None  # the same for the probability that `apply` gives, if that is another one
    policy: str | None = None
    chosen_because: str | None = None
    comparison: PolicyComparison | None = None
    promise: KeptPromise | None = None  # of a run with a test
    report: Path | None = None
    headline: str | None = None  # of the report
    saved: Path | None = None  # the recommender
    frame: Any = None  # of a table, without an output: the lists, of the library of the given one

    __repr__ = fields_repr

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        found: dict[str, Any] = {"input": self.input, "output": self.output, "utility": self.utility}
        if self.in_batches is not None:
            found["read"] = "in batches" if self.in_batches else "into memory"
        of_run = ("calibrator", "meaning", "policy", "chosen_because")
        found |= {name: getattr(self, name) for name in of_run if getattr(self, name) is not None}
        found |= {
            "users": self.n_users, "rows": self.n_rows, "without_list": self.without_list, "unsure": self.unsure,
            "list_size": self.list_size, "expected_utility": self.expected_utility,
            "expected_hits": self.expected_hits,
        }  # fmt: skip
        if self.left_out is not None:
            found["left_out"] = self.left_out
        if self.headline is not None:
            found["headline"] = self.headline
        if self.comparison is not None:
            found["comparison"] = self.comparison.table
        if self.promise is not None:
            found["promise"] = self.promise.plain()
        if self.saved is not None:
            found["saved"] = self.saved
        return plain(found | {"report": self.report})  # type: ignore[no-any-return]


def cut_table(
    table: Table,
    output: str | PathLike[str] | None = None,
    options: ListOptions | None = None,
    *,
    seen: Sequence[Table] = (),
    sizes_only: bool = False,
    columns: Columns | None = None,
    progress: Progress = silent,
) -> CutResult:
    """Keep as many of each user's rows as are worth showing, with rank, list_size and what to expect of the list.

    A file whose rows are sorted by user may be larger than memory.

    Parameters
    ----------
    table : table of any kind, or path
        With user_id, item_id and probability, and optionally expected_relevant.
    output : path, optional
        Without it, the lists are ``frame`` of the result, in the kind of `table`.
    options : ListOptions, optional
    seen : sequence of tables or paths
        Logs of pairs that are not shown again: their rows are left out. Users who have no other row get no list.
    sizes_only : bool
        Write one row per user instead of the lists.
    columns : Columns, optional
    progress : Progress
    """
    path, target = place_of(table), None if output is None else Path(output)
    options, columns = options or ListOptions(), columns or Columns()
    policy, total = _policy_of_table(options), options.expected_relevant
    check_outputs([(target, "table")], [path, *seen])
    if isinstance(total, str):
        raise SettingError(f"expected_relevant must be a number for a table, got {total!r}")
    columns.refuse_shared(*_NEEDED)
    wanted = recognised(path, columns.only(*_NEEDED), *_NEEDED)
    frame = scan_table(path, wanted, numbers=("probability", "expected_relevant"))
    require_columns(frame, _NEEDED, path)
    gone = read_seen(seen, columns, frame) if seen else None
    frame, names = _own_columns_aside(frame, path, wanted, sizes_only=sizes_only)
    found, tally = survey(frame, path), Tally()
    if total is None and looks_cut(frame, found, path):
        _warn_cut(path, policy, frame, found.longest)
    policy.check()
    described = repr(policy)
    if "max_size" in policy.get_params():  # no list is longer
        policy.set_params(max_size=max(1, policy.min_size, min(policy.max_size, found.longest)))
    count = counter(progress, "cutting lists", found.n_rows)

    def blocks() -> Iterator[pl.DataFrame]:
        for block in blocks_of_users(frame, path, by_user=found.by_user):
            shown = block if gone is None else without_seen(block, gone)
            tally.left_out += block.height - shown.height
            try:
                cut = decide_block(shown, policy, total, tally, sizes_only=sizes_only)
            except DataError as error:
                raise type(error)(f"{path}: {error}") from error
            count(block.height)
            yield cut.rename(names, strict=False)

    lists = write_blocks(blocks(), target, format_like(path, columns))
    if gone is not None and not tally.left_out:  # ids of two systems look like this
        warn(f"{path} has none of the seen pairs, so nothing was left out; check that both have the same ids")
    if tally.unsorted:
        warn(
            f"the rows of {counted(tally.unsorted, 'user')} were not in the order of their probabilities, and were "
            "sorted"
        )
    if tally.raised:
        warn(
            f"expected_relevant is less than the listed probabilities add up to for {tally.raised:,} of "
            f"{counted(found.n_users, 'user')}; that sum is taken for them"
        )
    name = named_utility(policy.utility).name
    return CutResult(
        input=path, output=target, utility=name, policy=described, in_batches=found.by_user,
        frame=as_given(path, lists), left_out=None if gone is None else tally.left_out, **tally.summary(),
    )  # fmt: skip


def _own_columns_aside(
    frame: pl.LazyFrame, path: Place, columns: Columns, *, sizes_only: bool
) -> tuple[pl.LazyFrame, dict[str, str]]:
    """The table with its own columns out of the way of the new ones, and the names in the file to go back to."""
    back, header = columns.renamed(), column_names(path, columns)
    added = _OF_SIZES if sizes_only else _OF_LISTS
    if taken := [theirs for theirs in back.values() if theirs in added]:
        raise ColumnError(f"column {taken[0]!r} of {path} would be replaced by that of the lists; rename it first")
    hidden = names_aside([name for name in header if name in back and name not in back.values()], header)
    back |= {aside: name for name, aside in hidden.items()}
    if sizes_only:
        return frame, back
    aside = names_aside([name for name in header if name in added], header)
    if aside:
        kept = ", ".join(f"{name!r} is kept as {other!r}" for name, other in aside.items())
        warn(f"{path} has columns with the names of those of the lists: {kept}")
    return frame.rename(aside), back


def _policy_of_table(options: ListOptions) -> ListSizePolicy:
    """The policy; a table has no period to learn from, and a threshold takes as many of its items as there are."""
    if options.max_size is None and options.policy_name == "threshold":
        options = replace(options, max_size=LONGEST)
    policy = options.list_size_policy()
    if type(policy).fit is not ListSizePolicy.fit:
        raise SettingError(f"the policy {options.policy_name} learns from a run; give one, or take another policy")
    if not isinstance(policy, ExpectedUtility) and options.expected_relevant is not None:
        raise SettingError(
            f"expected_relevant has no meaning for a table with the policy {options.policy_name}; leave it out"
        )
    policy.check()
    return policy


def _warn_cut(path: Place, policy: ListSizePolicy, frame: pl.LazyFrame, longest: int) -> None:
    """Utilities that are normalised by the number of relevant items need to know how many there are in all."""
    if not isinstance(policy, ExpectedUtility) or named_utility(policy.utility).normaliser == "none":
        return
    if "expected_relevant" in frame.collect_schema().names():
        return
    warn(
        f"{path} looks like the best {counted(longest, 'item')} of each user; how many relevant items are among the "
        f"others is not known, so lists for {policy.utility} may be too short; give expected_relevant=..., or "
        "a column of this name"
    )


def cut_run(
    run: str | PathLike[str],
    output: str | PathLike[str],
    options: ListOptions | None = None,
    calibration: CalibrationOptions | None = None,
    page: PageOptions | None = None,
    *,
    sizes_only: bool = False,
    columns: Columns | None = None,
    progress: Progress = silent,
) -> CutResult:
    """Make the lists of a run, or of a recommender that was saved; with a test, compare them with other sizes.

    Parameters
    ----------
    run : path
        A run, a model, a source or a recommender.
    output : path
    options : ListOptions, optional
    calibration : CalibrationOptions, optional
    page : PageOptions, optional
    sizes_only : bool
        Write one row per user instead of the lists.
    columns : Columns, optional
        Of logs and of the table of titles.
    progress : Progress
    """
    path, target = Path(run), Path(output)
    options, page, columns = options or ListOptions(), page or PageOptions(), columns or Columns()
    policy = options.list_size_policy()
    policy.check()
    calibration = calibration or CalibrationOptions()
    check_outputs(
        [(target, "table"), (page.save, "file"), (page.report, "page"), (page.figures, "figures")],
        [path, page.items, calibration.fitted, *calibration.logs.values(), *calibration.seen],
    )
    if page.report is not None:
        require_report()
    titles = None if page.items is None else read_columns(page.items, columns, ["item_id", "title"])
    listing = open_listing(path, options, calibration, columns=columns, progress=progress)
    compared = listing.compared()
    if page.save is not None:
        listing.recommender.save(page.save)
    tally = _write_lists(listing, target, progress, titles, columns.text, sizes_only=sizes_only)
    if isinstance(policy, Threshold) and options.max_size is None:
        _say_if_full(tally, policy.max_size)
    headline = None
    if page.report is not None:
        headline = _write_page(page.report, page.figures, titles, listing, compared, progress)
    recommender = listing.recommender
    return CutResult(
        input=path, output=target, utility=named_utility(recommender.policy_.utility).name,
        calibrator=written(recommender.map_), meaning=meaning_in(recommender),
        meaning_of_map=recommender.map_.meaning if is_converted(recommender.map_, recommender.horizon_) else None,
        policy=written(recommender.policy_),
        chosen_because=listing.chosen_because, comparison=compared, report=page.report, headline=headline,
        promise=listing.promise() if compared is not None else None, saved=page.save,
        **tally.summary(),
    )  # fmt: skip


def _say_if_full(tally: Tally, longest: int) -> None:
    """A threshold sends all that is likely enough, so a longest list that nobody asked for must not cut it unsaid."""
    if n_full := int(tally.sizes[longest]) if longest < len(tally.sizes) else 0:
        warn(
            f"{counted(n_full, 'user has', 'users have')} {counted(longest, 'item')} that are likely enough, the "
            "longest list; if there may be more, give a larger one as max_size=..."
        )


def _write_lists(
    listing: Listing, output: Path, progress: Progress, titles: pl.DataFrame | None, text: TextFormat,
    *, sizes_only: bool,
) -> Tally:  # fmt: skip
    recommender, tally = listing.recommender, Tally()
    n_users = recommender.source.n_users
    if sizes_only:
        every = recommender.sizes()
        tally.add(*(every[name].to_numpy() for name in ("list_size", "expected_utility", "unsure", "expected_hits")))
        write_table(every, output, text=text)
        return tally
    count = counter(progress, "making lists", n_users)

    def blocks() -> Iterator[pl.DataFrame]:
        for part, n_block in recommender.tables(np.arange(n_users)):
            first = part.filter(rank=1)
            sizes = np.pad(first["list_size"].to_numpy(), (0, n_block - first.height))  # the others see nothing
            worth, unsure = first["expected_utility"].to_numpy(), first["unsure"].to_numpy()
            tally.add(sizes, worth, unsure, part["probability"].to_numpy())
            count(n_block)
            yield part if titles is None else with_titles(part, titles)

    write_blocks(blocks(), output, text)
    return tally


def _write_page(
    page: Path, figures: Path | None, titles: pl.DataFrame | None, listing: Listing,
    compared: PolicyComparison | None, progress: Progress,
) -> str:  # fmt: skip
    from sureness.report.list_sizes import gather_list_sizes
    from sureness.report.page import write_list_size_report

    test = listing.run.test if listing.run is not None and compared is not None else None
    found = gather_list_sizes(listing.recommender, test=test, compared=compared, items=titles)
    return write_list_size_report(page, found, figures_dir=figures, progress=progress).headline
