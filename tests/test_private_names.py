"""Private names stay in their package: nobody else imports or reaches for what starts with one underscore.

The packages are the folders of `sureness`, and outside the library reproduction, benchmarks and examples. Modules that
lie beside the folders (`_types`, `_lazy`, ...) belong to the whole library, but not to those outside it. Private names
of other libraries are not our concern.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "src" / "sureness"
OUTSIDE = {
    "sureness_reproduction": ROOT / "reproduction",
    "benchmarks": ROOT / "benchmarks",
    "examples": ROOT / "examples",
}
OF_OTHERS = {"_asdict", "_fields", "_make", "_replace", "_exit", "_indices", "_values"}  # namedtuple, os, torch


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def packages() -> dict[str, list[Path]]:
    """The files of every package by its name."""
    inside = {f"sureness.{folder.name}": folder for folder in LIBRARY.iterdir() if (folder / "__init__.py").exists()}
    return {name: sorted(folder.rglob("*.py")) for name, folder in (inside | OUTSIDE).items()}


def offences(file: Path, package: str) -> list[str]:
    """Private names of other packages that a file uses."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [*_imported(tree, package), *_reached_for(tree, _defined(package))]


def _imported(tree: ast.AST, package: str) -> list[str]:
    """Private modules, and private names of modules, that are imported from elsewhere."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found += [name for name in names if _is_anothers(name, package)]
    return found


def _is_anothers(name: str, package: str) -> bool:
    parts = name.split(".")
    if parts[0] not in ("sureness", *OUTSIDE) or name.startswith(f"{package}."):
        return False
    if package.startswith("sureness.") and parts[0] == "sureness":
        parts = parts[2:]  # modules beside the folders are for the whole library
    return any(map(is_private, parts))


def deep_imports(file: Path) -> list[str]:
    """Names that are taken from a module of the library although its package could give them."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("sureness."):
            package = ".".join(node.module.split(".")[:2])
            public = set(getattr(import_module(package), "__all__", ()))
            if package != "sureness.errors":
                found += [
                    f"{node.module}.{a.name}" for a in node.names if node.module != package or a.name not in public
                ]
    return found


def _reached_for(tree: ast.AST, own: set[str]) -> list[str]:
    """Private attributes of objects that nobody in the package defines."""
    return [
        f".{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own | OF_OTHERS
    ]


_DEFINED: dict[str, set[str]] = {}


def _defined(package: str) -> set[str]:
    """Every private name that a package defines: functions, classes, variables, attributes, slots and fields."""
    if package not in _DEFINED:
        trees = [ast.parse(file.read_text(encoding="utf-8")) for file in packages()[package]]
        _DEFINED[package] = {name for tree in trees for node in ast.walk(tree) for name in _names_of(node)}
    return _DEFINED[package]


def _names_of(node: ast.AST) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
            return [name]
        case ast.Attribute(attr=name, ctx=ast.Store()):
            return [name]
        case ast.Constant(value=str(name)):  # setattr and __slots__
            return [name]
    return []


@pytest.mark.parametrize("package", OUTSIDE)
def test_those_outside_take_public_names_from_the_packages(package):
    files = {str(file.relative_to(ROOT)): deep_imports(file) for file in packages()[package]}
    assert not {file: names for file, names in files.items() if names}, "publish them in their package's __init__.py"


@pytest.mark.parametrize("package", packages())
def test_private_names_stay_in_their_package(package):
    files = {str(file.relative_to(ROOT)): offences(file, package) for file in packages()[package]}
    assert not {file: names for file, names in files.items() if names}, (
        "publish these names in their package's __init__.py, or do without them"
    )


@pytest.mark.parametrize(
    ("code", "package", "wrong"),
    [
        ("from sureness.jobs._style import drawing", "sureness.report", ["sureness.jobs._style.drawing"]),
        ("from sureness.jobs._style import drawing", "sureness.jobs", []),
        ("from sureness.report import _format", "sureness.jobs", ["sureness.report._format"]),
        ("from sureness._types import Seed", "sureness.jobs", []),
        ("from sureness._types import Seed", "benchmarks", ["sureness._types.Seed"]),
        ("import sureness.cli._app", "sureness_reproduction", ["sureness.cli._app"]),
        ("model._weights", "sureness.demo", ["._weights"]),
        ("self._mine = 1\nself._mine", "sureness.demo", []),
        ("pair._replace(first=1)", "sureness.demo", []),
    ],
)
def test_what_counts_as_an_offence(code, package, wrong):
    tree = ast.parse(code)
    own = {name for node in ast.walk(tree) for name in _names_of(node)}
    assert [*_imported(tree, package), *_reached_for(tree, own)] == wrong
