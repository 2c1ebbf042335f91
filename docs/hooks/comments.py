"""The comment behind a field of a dataclass is its documentation."""

from __future__ import annotations

import io
import tokenize
from typing import Any

import griffe


class FieldComments(griffe.Extension):
    """Give each attribute of a class that has a comment and no docstring the comment as docstring."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        if attr.docstring or attr.parent is None or not attr.parent.is_class or attr.name.startswith("_"):
            return
        if said := _comment(attr.lines):
            attr.docstring = griffe.Docstring(said[0].upper() + said[1:] + ".", parent=attr, lineno=attr.lineno)


def _comment(lines: list[str]) -> str:
    tokens = tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline)
    comments = [token.string.lstrip("# ").rstrip(" .") for token in tokens if token.type == tokenize.COMMENT]
    return " ".join(comment for comment in comments if not comment.startswith(("fmt:", "type:", "noqa")))
