"""What a caller gives to a report beyond labelled pairs and calibrators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._wording import counted
from sureness.calibration.fields import FieldTable
from sureness.errors import ColumnError, DataError
from sureness.report.formatting import Headline
from sureness.report.list_sizes import ListSizes
from sureness.tables.frames import Frame, as_frame


@dataclass(frozen=True)
class Finding:
    """One result, for readers who have two minutes.

    Examples
    --------
    >>> finding = Finding("Percentages that can be trusted", "off by 41 → 1 points", "before and after", "In detail.")
    >>> finding.value
    'off by 41 → 1 points'
    """

    title: str
    value: str  # the measured numbers, in a few characters
    short: str  # what the numbers are, in a dozen words
    text: str  # the same in one or two sentences
    section: str | None = None  # id of the section that shows more
    holds: bool = True  # False: no clear gain here


MOST_ROWS = 200


class ExtraTable(NamedTuple):
    """A table that the caller adds to a page; at most 200 rows are shown."""

    title: str
    caption: str
    rows: Frame

    def __repr__(self) -> str:
        return fields_repr(self)

    def checked(self) -> ExtraTable:
        """The table as the page shows it: cut if it is too long."""
        try:
            rows, caption = as_frame(self.rows), self.caption
        except DataError as error:
            raise ColumnError(f"extra table {self.title!r}: {error}") from error
        if rows.height > MOST_ROWS:
            caption = f"{caption} The first {MOST_ROWS} of {counted(rows.height, 'row')}.".strip()
        return ExtraTable(self.title, caption, rows.head(MOST_ROWS))


@dataclass(frozen=True, kw_only=True, eq=False)
class Background:
    """What is known about the judged pairs, their users and their items; every part is optional.

    Parameters
    ----------
    items : table of any kind with item_id, title and, if known, domain
    user_degree : table of any kind with user_id and degree
        Number of training interactions of each user.
    groups : array-like of shape (n_pairs,), table, or mapping of names to columns
        A group for every pair, such as its domain; the main calibrator is judged on each. Of several columns, such as
        country and device, it is judged on each value of each, and on each two of them together.
    segments : array-like of shape (n_pairs,)
        The segment of every pair; needed by maps that differ between segments.
    fields : table, or mapping of names to columns of shape (n_pairs,)
        The fields of every pair; needed by maps of several fields, and by maps for lists that read the history or
        traits. Without `groups`, a main map of several fields is judged on each value of each field, and
        on each two of them together.
    candidates : table of any kind with user_id, item_id, score and, with segments or fields, these
        Where the users' top items are taken from; by default the judged pairs.
    """

    items: Frame | None = None
    user_degree: Frame | None = None
    groups: ArrayLike | FieldTable | None = None
    segments: ArrayLike | None = None
    fields: FieldTable | None = None
    candidates: Frame | None = None

    __repr__ = fields_repr


@dataclass(frozen=True, kw_only=True, eq=False)
class Additions:
    """What a page shows as well; every part is optional.

    Parameters
    ----------
    title : str
    outcome : str
        What a label of 1 means, as in "were bought": the page then writes bought and not bought. By default liked
        or chosen, by what the main map estimates.
    headline : Headline, optional
        By default the result of calibration or of the list sizes.
    findings : sequence of Finding
        The page in short, at its top.
    list_sizes : ListSizes
        What `gather_list_sizes` found: adds how long lists should be.
    tables : sequence of ExtraTable
        Tables near the end of the page.
    notes : sequence of str
        Sentences for the end of the page, for example how the pairs were drawn.
    """

    title: str | None = None
    outcome: str | None = None
    headline: Headline | None = None
    findings: Sequence[Finding] = ()
    list_sizes: ListSizes | None = None
    tables: Sequence[ExtraTable] = ()
    notes: Sequence[str] = ()

    __repr__ = fields_repr

    def shown(self, title: str) -> dict[str, object]:
        """What every page shows of it; `title` is used if none was given."""
        tables = tuple(ExtraTable(*table).checked() for table in self.tables)
        return {"title": self.title or title, "findings": self.findings, "tables": tables, "notes": self.notes}


NO_BACKGROUND, NO_ADDITIONS = Background(), Additions()
