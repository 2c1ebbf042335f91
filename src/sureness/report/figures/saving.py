"""Figures as files, and as SVG text for a page."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from sureness.errors import OutputError
from sureness.report.figures.style import rendered
from sureness.saving.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
