"""Formulas become MathML when the site is built, so that pages need no script for them; numbers keep together."""

from __future__ import annotations

import html as markup
import re
from typing import TYPE_CHECKING

from latex2mathml.converter import convert
from mkdocs.plugins import get_plugin_logger

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

FORMULA = re.compile(
    r'<span class="arithmatex">\\\((.+?)\\\)</span>|<div class="arithmatex">\\\[(.+?)\\\]</div>', flags=re.DOTALL
)
OPERATOR = re.compile(r"<mo>([a-z]{2,})</mo>")  # max, min and the like, which would stand apart as operators
FUNCTION = r"<mi>(?:log|exp|tanh)</mi>"
BEFORE = re.compile(rf"(?<=</m[ion]>)(?={FUNCTION})")
BEHIND = re.compile(rf"({FUNCTION})(?=<m[inr]|<msu|<mf)")  # unless the argument stands in brackets
MARKED = re.compile(r"(?<=\d) ([±+-])( (?=\d)|(?=</td>))")  # a deviation, or the mark of a test
THIN = '<mspace width="0.17em"/>'
log = get_plugin_logger("formulas")


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    together = MARKED.sub(lambda found: found[0].replace(" ", "&nbsp;"), html)
    return FORMULA.sub(lambda found: _mathml(found, page.file.src_uri), together)


def _mathml(found: re.Match[str], page: str) -> str:
    within, apart = found.groups()
    formula = markup.unescape(within or apart).strip()
    converted = convert(formula, display="inline" if within else "block")
    if unknown := re.search(r"<m\w+>(\\\w+)<", converted):
        log.warning("%s: the formula %r has %s, which MathML does not know", page, formula, unknown[1])
    spaced = _spaced(converted)
    return spaced if within else f'<div class="formula">{spaced}</div>'


def _spaced(formula: str) -> str:
    """The same with a little room around the names of functions, and no more."""
    return BEHIND.sub(rf"\1{THIN}", BEFORE.sub(THIN, OPERATOR.sub(r"<mi>\1</mi>", formula)))
