"""Write the public names of every package as `__init__.pyi`, where type checkers and editors find them.

A package loads its names lazily from a table (see `sureness/_lazy.py`), which a type checker cannot follow. The stub is
the same table as imports. `python tools/stubs.py` writes all of them; tests/test_stubs.py checks that they are current.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[1] / "src"
_HEAD = "# Written by `make stubs` from the table in __init__.py.\n"


def stubs() -> dict[Path, str]:
    """What every stub should hold, by its path."""
    found = {}
    for file in sorted(SOURCE.rglob("__init__.py")):
        package = ".".join(file.parent.relative_to(SOURCE).parts)
        tree = ast.parse(file.read_text(encoding="utf-8"))
        if table := _table(tree):
            found[file.with_suffix(".pyi")] = stub(package, table, _constants(tree), _modules(tree), _packages(tree))
    return found


def stub(
    package: str,
    table: dict[str, list[str]],
    constants: dict[str, str],
    modules: tuple[str, ...] = (),
    packages: tuple[str, ...] = (),
) -> str:
    """The stub of a package whose names live in these modules.

    Examples
    --------
    >>> print(stub("sureness.data", {"ids": ["IdMap"]}, {}))
    # Written by `make stubs` from the table in __init__.py.
    from sureness.data.ids import IdMap as IdMap
    <BLANKLINE>
    __all__ = [
        "IdMap",
    ]
    <BLANKLINE>
    """
    imports = [f"from {package} import {name} as {name}\n" for name in (*modules, *packages)]
    imports += [
        f"from {package}.{module} import {name} as {name}\n" for module in sorted(table) for name in table[module]
    ]
    assigned = [f"{name}: {kind}\n" for name, kind in constants.items()]
    names = sorted({*constants, *modules, *(name for names in table.values() for name in names)})
    listed = "".join(f'    "{name}",\n' for name in names)
    return "".join([_HEAD, *imports, "\n", *assigned, *["\n"] * bool(assigned), f"__all__ = [\n{listed}]\n"])


def _table(tree: ast.Module) -> dict[str, list[str]] | None:
    """The second argument of `lazy_names`, if the package calls it."""
    found = _arguments(tree)
    return {module: list(names) for module, names in found[0].items()} if found else None


def _packages(tree: ast.Module) -> tuple[str, ...]:
    """The third argument of `lazy_names`: packages that are attributes of the package."""
    arguments = _arguments(tree)
    return tuple(arguments[1]) if len(arguments) > 1 else ()


def _arguments(tree: ast.Module) -> list[Any]:
    """The arguments of `lazy_names` after the name of the package; none where it is not called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "lazy_names":
            return [ast.literal_eval(argument) for argument in node.args[1:]]
    return []


def _constants(tree: ast.Module) -> dict[str, str]:
    """Constants that the package itself holds, such as `__version__`, with their types."""
    return {
        node.targets[0].id: type(node.value.value).__name__
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.targets[0], ast.Name)
    }


def _modules(tree: ast.Module) -> tuple[str, ...]:
    """Modules that the package itself imports to offer them, such as `errors`."""
    taken = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "sureness"]
    return tuple(alias.name for node in taken for alias in node.names)


if __name__ == "__main__":
    current = stubs()
    for left in set(SOURCE.rglob("__init__.pyi")) - set(current):
        left.unlink()
    for path, text in current.items():
        path.write_text(text, encoding="utf-8")
