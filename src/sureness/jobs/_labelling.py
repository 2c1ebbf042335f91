"""The candidates of a run or of a top-N table, labelled by a log of what happened later."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sureness._wording import agreeing, counted
from sureness.data.interactions import Interactions
from sureness.errors import EmptyError, SettingError, warn
from sureness.jobs.inputs import given_seen, is_saved, warn_notes, warned_log
from sureness.recommender.run import Run, open_run
from sureness.sources.aligned import Seen
from sureness.sources.base import ScoreSource, is_partial
from sureness.sources.blocks import known_pairs, user_blocks
from sureness.sources.candidates import CandidateSource
from sureness.tables.columns import Columns
from sureness.tables.frames import Place, Table
from sureness.tables.reading import column_names


def labelled_run(
    path: Place, held_out: Table | None, seen: Sequence[Table], columns: Columns
) -> tuple[Run, Interactions, Seen]:
    """A run, the held-out pairs that label its candidates, and what is no candidate.

    The logs replace those of the run; a table has none of its own.
    """
    run = open_run(path) if isinstance(path, Path) and is_saved(path) else Run(_top_n_table(path, held_out, columns))
    later = run.validation if held_out is None else warned_log(run, held_out, columns, "held_out")
    if later is None:
        raise EmptyError(f"{path} has no validation part to calibrate on; give a log of held-out pairs as held_out=...")
    _say_outside(run.source, later, path)
    return run, later, given_seen(run, seen, columns, run.train)


def _top_n_table(path: Place, held_out: Table | None, columns: Columns) -> CandidateSource:
    """The candidates of a table without labels, which a log beside it labels; by domain, if both have domains."""
    names = column_names(path, columns)
    if columns.label in names:
        raise SettingError(
            f"{path} has labels in its column {columns.label!r}, so held_out has no meaning; leave it out, or drop the "
            "column"
        )
    by_domain = held_out is not None and columns.domain in names and columns.domain in column_names(held_out, columns)
    wanted = columns.only("user_id", "item_id", "score", "domain")
    source = CandidateSource.from_table(path, columns=wanted, by_domain=by_domain)
    warn_notes(path, source.notes)
    return source


def _say_outside(source: ScoreSource, held_out: Interactions, path: Place) -> None:
    """Say how many held-out pairs a source has no score for, which no fit to its candidates can count."""
    if not is_partial(source):
        return
    n_outside = len(held_out) - int(known_pairs(source, held_out.user_rows, held_out.item_rows).sum())
    if n_outside:
        warn(
            f"{n_outside:,} of the {counted(len(held_out), 'held-out pair')} of known users and items "
            f"{agreeing(n_outside, 'is', 'are')} not in {path} and {agreeing(n_outside, 'labels', 'label')} nothing; "
            "the probability is that of a pair with this score in such a table"
        )


def n_candidates(source: ScoreSource, seen: Seen) -> int:
    """How many pairs have a score and were not seen."""
    log = seen if isinstance(seen, Interactions) else None
    if not is_partial(source):
        return source.n_users * source.n_items - (0 if log is None else len(log))
    n_known = sum(len(source.known_block(users).scores) for users in user_blocks(source))
    return n_known - (0 if log is None else int(known_pairs(source, log.user_rows, log.item_rows).sum()))
