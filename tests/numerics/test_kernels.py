"""Every compiled function stays in the module that calls it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import sureness

KERNELS = sorted(Path(sureness.__file__).parent.rglob("_*kernels.py"))


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_no_compiled_function_is_imported_by_another(path):
    """The cache of the compiler looks at one file only: a change of an imported function would go unnoticed."""
    imported = [node.module for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    assert not [module for module in imported if module and module.endswith("kernels")]


def test_there_are_kernels():
    assert KERNELS, "the search for kernels finds none, so the other tests here prove nothing"
