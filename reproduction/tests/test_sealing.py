"""Experiments reach data through `workbench` alone, so that no choice can look at test labels."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import sureness_reproduction

SOURCE = Path(sureness_reproduction.__file__).parent
READING = {"load_dataset", "prepare", "fetch_dataset"}


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda file: str(file.relative_to(SOURCE)))
def test_only_the_workbench_reads_data_sets(file):
    if file.name == "workbench.py":
        return
    tree = ast.parse(file.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    from_library = [node for node in imports if (node.module or "").split(".")[0] == "sureness"]
    assert not {alias.name for node in from_library for alias in node.names} & READING
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in READING]
