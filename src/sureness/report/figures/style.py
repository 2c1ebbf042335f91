"""One style for all figures, white with few lines; and figures as files, and as SVG text for a page."""

from __future__ import annotations

import hashlib
import io
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from xml.sax.saxutils import quoteattr

import numpy as np

from sureness._progress import Progress
from sureness.errors import OutputError, missing_extra
from sureness.saving.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

BLUE, LIGHT_BLUE, ORANGE = "#2463b4", "#9dbfe6", "#e07a1f"
INK, GREY, LIGHT_GREY, PALE = "#1f2933", "#6b7783", "#b8c0c8", "#e6e9ed"
CYCLE = (BLUE, ORANGE, "#0f8b8d", "#8a5aa8", "#8c6d31", "#4a5560")  # distinguishable with colour blindness
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.2, 1.4)), (0, (6, 2, 1.2, 2)))
MARKERS = ("o", "s", "D", "^")

SETTINGS: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],  # comes with matplotlib and is wide: what fits in it fits in other fonts
    "font.size": 9.5,
    "text.color": INK,
    "text.parse_math": False,  # names may hold dollar signs
    "axes.edgecolor": LIGHT_GREY,
    "axes.labelcolor": INK,
    "axes.labelsize": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": PALE,
    "grid.linewidth": 0.8,
    "xtick.color": LIGHT_GREY,
    "ytick.color": LIGHT_GREY,
    "xtick.labelcolor": GREY,
    "ytick.labelcolor": GREY,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 160,
    "hatch.linewidth": 0.9,
    "svg.fonttype": "none",
    "svg.hashsalt": "sureness",
}


def require_matplotlib(what: str = "drawing") -> ModuleType:
    """The matplotlib module; raises MissingExtraError with a hint how to install it."""
    try:
        import matplotlib
        import matplotlib.figure
        import matplotlib.ticker
    except ImportError as error:
        raise missing_extra(what, "matplotlib", "plots") from error
    return matplotlib


@contextmanager
def drawing(ax: Axes | None, size: tuple[float, float]) -> Iterator[Axes]:
    """The given axes, or those of a new figure of this size in inches, in the style of the package."""
    matplotlib = require_matplotlib()
    with matplotlib.rc_context(SETTINGS):
        yield ax if ax is not None else new_axes(new_figure(size), 1)[0]


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty figure of this size in inches, which a notebook shows."""
    figure: Figure = require_matplotlib().figure.Figure(figsize=size, layout="constrained")
    _show_in_notebooks(figure, figure)
    return figure


def new_axes(figure: Figure, count: int, n_rows: int = 1) -> list[Axes]:
    """Axes side by side in a figure, in one or more rows; a notebook shows the figure of any of them."""
    n_columns = -(-count // n_rows)
    axes = [figure.add_subplot(n_rows, n_columns, place + 1) for place in range(count)]
    for each in axes:
        _show_in_notebooks(each, figure)
    return axes


def _show_in_notebooks(drawn: Figure | Axes, figure: Figure) -> None:
    """Let a notebook show the object as the picture of its figure, with or without pyplot."""
    setattr(drawn, "_repr_png_", partial(rendered, figure, "png"))  # noqa: B010


def rendered(figure: Figure, kind: str) -> bytes:
    """A figure as PNG or SVG in the style of the package."""
    buffer = io.BytesIO()
    with require_matplotlib().rc_context(SETTINGS), warnings.catch_warnings():
        # browsers draw missing glyphs in SVG, and PNG shows boxes
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(buffer, format=kind, metadata={"Date": None} if kind == "svg" else {"Software": None})
    return buffer.getvalue()


def strip_below(ax: Axes, label: str, *, height: float = 0.13) -> Axes:
    """A low panel for counts under the axes, which shares their x axis and shows its numbers."""
    strip = ax.inset_axes((0.0, -height - 0.035, 1.0, height), sharex=ax)
    ax.tick_params(axis="x", labelbottom=False, length=0)
    strip.set_yticks([])
    strip.grid(visible=False)
    strip.spines["left"].set_visible(False)
    strip.set_ylabel(label, rotation=0, ha="right", va="center", fontsize=8.5, color=GREY)
    return strip


def legend_above(ax: Axes, n_entries: int) -> None:
    """A legend in one row between title and axes, where it covers nothing."""
    ax.set_title(ax.get_title(loc="left"), pad=25)
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=n_entries,
        borderaxespad=0.35,
        borderpad=0.1,
        handlelength=1.3,
        handletextpad=0.5,
        columnspacing=1.3,
    )


def percent_axis(axis: Axis, *, step: float = 0.2) -> None:
    """Ticks from 0% to 100%."""
    ticks = np.arange(0, 1 + step / 2, step)
    axis.set_ticks(ticks, [f"{tick:.0%}" for tick in ticks])


def short_name(name: str, most: int = 26) -> str:
    """A name cut to a length that leaves room for the figure.

    Examples
    --------
    >>> short_name("platt"), short_name("a very long name of a method", 12)
    ('platt', 'a very long…')
    """
    return name if len(name) <= most else name[: most - 1].rstrip() + "…"


def error_text(value: float) -> str:
    """An error with four decimals, or with two digits where four decimals would leave one or none.

    Examples
    --------
    >>> error_text(0.01234567), error_text(0.0000312), error_text(0.0), error_text(1e-12)
    ('0.0123', '0.000031', '0.0000', '0.0000')
    """
    if 1e-7 < abs(value) < 0.001:
        return f"{value:.{1 - math.floor(math.log10(abs(value)))}f}"
    return f"{value:.4f}"


def short_count(count: float) -> str:
    """A count in at most five characters.

    Examples
    --------
    >>> [short_count(n) for n in (0, 412, 9_960, 31_415, 2_500_000)]
    ['', '412', '10k', '31k', '2.5M']
    """
    if not count:
        return ""
    for limit, unit in ((999.5e3, 1e6), (999.5, 1e3)):
        if count >= limit:
            scaled = count / unit
            digits = 1 if scaled < 9.95 else 0
            return f"{scaled:.{digits}f}".removesuffix(".0") + ("M" if unit == 1e6 else "k")
    return f"{count:.0f}" if count >= 1 else f"{count:.1g}"


FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
"""Fonts of a page and its figures; single quotes only, so that the list fits in an attribute."""

_REFERENCE = re.compile(r'(?:url\(#|href="#)([^)"]+)')
_NOT_FOR_PAGES = re.compile(  # rules in the style element would apply to the whole page
    r"<metadata>.*?</metadata>\s*|<defs>\s*<style[^>]*>.*?</style>\s*</defs>\s*", re.DOTALL
)
_FAMILY = re.compile(r"(font(?:-family)?: [^;\"]*?)'?DejaVu Sans'?(?:, sans-serif)?")
_PREFIXED = re.compile(r'(id="|url\(#|href="#)')


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG or SVG, by the ending of the name; an existing file is replaced in one step.

    Examples
    --------
    >>> import tempfile; from matplotlib.figure import Figure
    >>> save_figure(Figure((1, 1)), Path(tempfile.mkdtemp()) / "empty.svg").name
    'empty.svg'
    """
    target = Path(path)
    ending = target.suffix.lower().removeprefix(".")
    if ending not in ("png", "svg"):
        raise OutputError(
            f"a figure can be written as .png or .svg, got {target.name!r}; change the ending of the name"
        )
    with replacing(target) as temporary:
        temporary.write_bytes(_svg(figure).encode() if ending == "svg" else rendered(figure, "png"))
    return target


def figure_svg(figure: Figure, *, label: str | None = None) -> str:
    """A figure as an SVG element of a page.

    No XML header, no fixed size, the fonts of the page; the same figure always gives the same text. Identifiers start
    with a digest of the figure, so that several figures can share a page.

    Parameters
    ----------
    figure : matplotlib Figure
    label : str, optional
        Alternative text.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure_svg(Figure((1, 1)), label="nothing").startswith('<svg role="img" aria-label="nothing" ')
    True
    """
    text = _svg(figure)
    text = _NOT_FOR_PAGES.sub("", text[text.index("<svg") :])
    text = _own_identifiers(text, "f" + hashlib.sha256(text.encode()).hexdigest()[:8])
    name = f" aria-label={quoteattr(label)}" if label else ""
    opening, rest = text.split(">", 1)
    opening = re.sub(r' (?:width|height|version|xmlns(?::\w+)?)="[^"]*"', "", opening)
    return f'<svg role="img"{name} stroke-linejoin="round"{opening.removeprefix("<svg")}>{rest.strip()}'


def _own_identifiers(text: str, prefix: str) -> str:
    """Drop the identifiers that nothing refers to and put the prefix before the others."""
    needed = set(_REFERENCE.findall(text))
    text = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in needed else "", text)
    return _PREFIXED.sub(rf"\g<1>{prefix}-", text)


def _svg(figure: Figure) -> str:
    text = rendered(figure, "svg").decode()
    return _FAMILY.sub(rf"\g<1>{FONTS}", text)


class Plan(NamedTuple):
    """A figure of a page that is yet to be drawn."""

    name: str  # of its files
    section: str
    label: str  # alternative text
    draw: Callable[[], Axes]


def draw_figures(
    plans: Sequence[Plan], figures_dir: Path | None, progress: Progress
) -> tuple[dict[str, list[str]], tuple[Path, ...]]:
    """The SVG of every figure by section; with a folder, also each as PNG and SVG files, whose paths are returned."""
    sections: dict[str, list[str]] = {}
    files = []
    for done, plan in enumerate(plans):
        progress("figures", done, len(plans))
        figure = cast("Figure", plan.draw().figure)
        sections.setdefault(plan.section, []).append(figure_svg(figure, label=plan.label))
        if figures_dir is not None:
            files += [save_figure(figure, figures_dir / f"{plan.name}.{kind}") for kind in ("png", "svg")]
    progress("figures", len(plans), len(plans))
    return sections, tuple(files)
