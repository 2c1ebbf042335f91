"""The stubs of the packages are those that their tables give."""

from __future__ import annotations

from tools.stubs import SOURCE, stub, stubs


def test_every_stub_is_current():
    held = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("__init__.pyi")}
    assert held == stubs(), "a table of public names changed: run `make stubs`"


def test_a_stub_lists_every_name_with_its_module():
    text = stub("sureness.data", {"ids": ["IdMap"], "columns": ["Columns"]}, {"__version__": "str"})
    assert (
        "from sureness.data.columns import Columns as Columns\nfrom sureness.data.ids import IdMap as IdMap\n" in text
    )
    assert "__version__: str" in text
    assert '__all__ = [\n    "Columns",\n    "IdMap",\n    "__version__",\n]' in text
