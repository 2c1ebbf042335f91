"""What pages are made of: headlines, tiles, findings, and numbers as pages write them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sureness.numerics.ratios import Ratio
from sureness.report.figures.style import error_text

if TYPE_CHECKING:
    from markupsafe import Markup

MISSING = "–"
_POLICIES = {
    "PerK": "personal sizes",
    "Oracle": "best in hindsight",
    "best fixed k": "best fixed size",
    "Rand": "random sizes",
    "Val-k": "each user's best size before",
}


Verdict = Literal["good", "bad", ""]


@dataclass(frozen=True)
class Headline:
    """The result in one sentence, and a second one with details."""

    sentence: str
    detail: str


@dataclass(frozen=True)
class Tile:
    """One number with its name."""

    label: str
    value: str
    note: str = ""
    verdict: Verdict = ""  # its colour: a gain, a loss, or neither


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


def verdict(gain: float | None, *, clear: bool) -> Verdict:
    """The colour of a difference: that of success only for a clear gain.

    Examples
    --------
    >>> verdict(0.1, clear=True), verdict(-0.1, clear=True), verdict(0.1, clear=False)
    ('good', 'bad', '')
    """
    if not gain or not clear:
        return ""
    return "good" if gain > 0 else "bad"


def error(value: float) -> str:
    """A calibration error or loss, written as in figures.

    Examples
    --------
    >>> error(0.01234567), error(0.0000312), error(0.0), error(float("nan"))
    ('0.0123', '0.000031', '0.0000', '–')
    """
    return error_text(value) if math.isfinite(value) else MISSING


def percent(share: float) -> str:
    """A probability or share in a table, with one decimal, or two digits below 1%.

    Examples
    --------
    >>> [percent(p) for p in (0.7432, 0.00123, 0.00004, 0.9996, 1.0, float("nan"))]
    ['74.3%', '0.12%', '0.004%', '99.96%', '100.0%', '–']
    """
    if not math.isfinite(share):
        return MISSING
    if 0 < share < 0.0095:
        return f"{100 * share:.2g}%"
    return f"{share:.{2 if 0 < 1 - share < 0.0005 else 1}%}"


def spoken_percent(share: float) -> str:
    """A probability or share in a sentence, without decimals where they do not matter.

    Examples
    --------
    >>> [spoken_percent(p) for p in (0.7432, 0.0312, 0.0, 0.991)]
    ['74%', '3.1%', '0%', '99.1%']
    """
    return f"{share:.0%}" if 0.095 <= share <= 0.905 or share in (0, 1) else percent(share)


def count(number: float) -> str:
    """A count.

    Examples
    --------
    >>> count(1234567)
    '1,234,567'
    """
    return f"{number:,.0f}"


def points(share: float) -> str:
    """A share in percentage points, with more decimals where it is small.

    Examples
    --------
    >>> points(0.41573), points(0.0091), points(0.00042), points(0.00001)
    ('41.6', '0.9', '0.04', 'under 0.01')
    """
    if 0 < share < 0.00005:
        return "under 0.01"
    return f"{100 * share:.{1 if share >= 0.001 or share == 0 else 2}f}"


def times(value: float) -> str:
    """A ratio without its interval.

    Examples
    --------
    >>> times(0.5667), times(72.31), times(float("nan"))
    ('0.57', '72', '–')
    """
    if not math.isfinite(value):
        return MISSING
    return f"{value:.2f}" if value < 10 else count(value)


def ratio(row: Mapping[str, float | None] | Ratio) -> str:
    """Realised over promised hits with their interval, as such or out of a row of a table of promises.

    Examples
    --------
    >>> ratio({"ratio": 1.041, "low": 0.98, "high": 1.1}), ratio({"ratio": None, "low": None, "high": None})
    ('1.04 (0.98 to 1.10)', '–')
    """
    value, low, high = row if isinstance(row, Ratio) else (row[name] for name in ("ratio", "low", "high"))
    if value is None:
        return MISSING
    return f"{value:.2f}" if low is None or high is None else f"{value:.2f} ({low:.2f} to {high:.2f})"


def headings(page: str) -> list[tuple[str, Markup]]:
    """The sections of a page for its table of contents: id and heading, in order.

    Examples
    --------
    >>> headings('<section id="notes"><h2>Notes &amp; more</h2></section><section id="bare"></section>')
    [('notes', Markup('Notes &amp; more'))]
    """
    from markupsafe import Markup

    found = re.findall(r'<section id="([^"]+)">\s*<h2>(.*?)</h2>', page, flags=re.DOTALL)
    return [(place, Markup(title)) for place, title in found]


def page_name(policy: str) -> str:
    """A policy in the words of pages and of the terminal; others keep the name that they were given.

    Examples
    --------
    >>> page_name("PerK"), page_name("Top-5"), page_name("p >= 0.2"), page_name("mine")
    ('personal sizes', '5 for everybody', 'items with p >= 0.2', 'mine')
    """
    if policy.startswith("Top-"):
        return f"{policy.removeprefix('Top-')} for everybody"
    return f"items with {policy}" if policy.startswith("p >=") else _POLICIES.get(policy, policy)


def chance(p_value: float) -> str:
    """A p-value.

    Examples
    --------
    >>> chance(0.04321), chance(2e-9)
    ('0.043', '< 0.001')
    """
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"
