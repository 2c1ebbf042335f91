"""Numbers agree with their nouns: one user, two users."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

from sureness._wording import agreeing, counted

SOURCE = Path(__file__).parents[1] / "src" / "sureness"
NOUNS = (
    "bytes|candidates|characters|columns|combinations|days|domains|entries|epochs|factors|fields|files|fits|ids|"
    "interactions|items|lines|lists|numbers|others|pages|pairs|parameters|policies|positives|probabilities|ratings|"
    "rows|scores|segments|sizes|slots|times|trials|users|utilities|values"
)
AFTER = re.compile(rf" (?:(?!has )[a-z-]+ )?(?:{NOUNS})\b")
COUNT = re.compile(r"(^|\.)n_\w+$|^len\(|\.(height|width|size|nnz)$|\.shape\[\d\]$")


def uncounted(text: str) -> list[str]:
    """Counts in f-strings that are followed by a plural, whatever the number."""
    found = []
    for node in ast.walk(ast.parse(text)):
        parts = node.values if isinstance(node, ast.JoinedStr) else []
        for value, rest in pairwise(parts):
            if isinstance(value, ast.FormattedValue) and isinstance(rest, ast.Constant) and AFTER.match(rest.value):
                name = ast.unparse(value.value)
                spec = ast.unparse(value.format_spec) if value.format_spec else ""
                if not name.isupper() and (spec == "f','" or (not spec and COUNT.search(name))):
                    found.append(f"line {node.lineno}: {name}{rest.value[:20]!r}")
    return found


@pytest.mark.parametrize("text", ['f"{n_users} users"', 'f"{few:,} other pairs"', 'f"{len(table)} rows"'])
def test_a_plural_after_any_number_is_found(text):
    assert uncounted(text)


@pytest.mark.parametrize("text", ["f\"{counted(n, 'user')}\"", 'f"{MOST:,} users"', 'f"{days:,.1f} days"'])
def test_what_is_always_plural_is_not(text):
    assert not uncounted(text)


def test_every_message_counts_with_the_right_form():
    found = {str(path.relative_to(SOURCE)): uncounted(path.read_text()) for path in SOURCE.rglob("*.py")}
    assert not {path: lines for path, lines in found.items() if lines}


def test_only_one_is_singular():
    assert [counted(n, "user has", "users have") for n in (0, 1, 2)] == ["0 users have", "1 user has", "2 users have"]
    assert [agreeing(n, "is", "are") for n in (0, 1, 2)] == ["are", "is", "are"]
