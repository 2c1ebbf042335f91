"""Tables are read by one function, which takes a name for what it is if there is such a file, else for a pattern."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sureness import jobs
from sureness.data.data_files import DataFiles
from sureness.data.interactions import Interactions
from sureness.errors import FileError
from sureness.sources.candidates import CandidateSource
from sureness.tables.reading import scan_table
from sureness.tables.writing import write_table

ROOT = Path(__file__).parents[1]
READERS = {f"src/sureness/tables/{name}.py" for name in ("files", "text/dialect", "text/files")}
NAMES = ["top[1]", "star*", "a?b", "{a,b}", "**", "[!x]", "~", "a%20b", "#1", "a b", "-"]
NEIGHBOURS = ["top1", "star", "starfish", "a1b", "a", "b", "x", "y", "a b 2", "1"]


def reads(code: str) -> list[str]:
    """Calls of polars that read files; what is parsed from bytes in memory has no name."""
    tree = ast.parse(code)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "polars":
            found += [alias.name for alias in node.names if alias.name.startswith(("read_", "scan_"))]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner, name = node.func.value, node.func.attr
            is_polars = isinstance(owner, ast.Name) and owner.id in ("pl", "polars")
            if is_polars and name.startswith(("read_", "scan_")) and not _from_memory(node):
                found.append(name)
    return found


def _from_memory(call: ast.Call) -> bool:
    first = call.args[0] if call.args else None
    return isinstance(first, ast.Call) and ast.unparse(first.func) in ("io.BytesIO", "io.StringIO")


def test_few_modules_read_tables():
    files = [file for folder in ("src", "reproduction/src") for file in (ROOT / folder).rglob("*.py")]
    found = {str(file.relative_to(ROOT)): reads(file.read_text(encoding="utf-8")) for file in files}
    assert {file for file, calls in found.items() if calls} == READERS, "use sureness.tables.scan_table"
    nodes = (node for file in READERS for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))))
    for node in nodes:
        if isinstance(node, ast.Call) and reads(ast.unparse(node.func) + "()"):
            assert "glob=False" in ast.unparse(node) or _from_memory(node)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("pl.read_csv('a')", ["read_csv"]), ("polars.scan_parquet(path)", ["scan_parquet"]),
        ("from polars import read_ndjson", ["read_ndjson"]), ("pl.read_csv(io.BytesIO(data))", []),
        ("pl.read_csv(source=path)", ["read_csv"]), ("table.write_csv(path)", []),
    ],
)  # fmt: skip
def test_what_counts_as_reading(code, found):
    assert reads(code) == found


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".tsv", ".csv.gz"])
@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_a_file_is_no_pattern(tmp_path, name, ending):
    for number, each in enumerate([*NEIGHBOURS, name]):
        table = pl.DataFrame({"user_id": [number] * 4, "item_id": [1, 2, 3, 4], "score": [0.1, 0.3, 0.2, 0.4]})
        place = tmp_path / f"{each}{ending}"
        if ending.endswith(".gz"):
            table.write_csv(place, compression="gzip")
        else:
            write_table(table, place)
    path = tmp_path / f"{name}{ending}"
    assert scan_table(path).collect()["user_id"].to_list() == [len(NEIGHBOURS)] * 4
    assert Interactions.read(path).users.ids.to_list() == [len(NEIGHBOURS)]
    if not ending.endswith(".gz"):
        assert CandidateSource.read(path).users.ids.to_list() == [len(NEIGHBOURS)]
    path.unlink()
    if set("*?") & set(name):
        assert len(NEIGHBOURS) not in scan_table(path).collect()["user_id"]
        return
    with pytest.raises(FileError):
        scan_table(path)


def test_a_data_set_in_a_folder_with_brackets(tmp_path):
    for folder in ("set[1]", "set1"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "interactions.tsv").write_text(f"user\titem\n{folder}\t1\n")
    assert DataFiles(tmp_path / "set[1]").table("interactions.tsv")["user_id"].to_list() == ["set[1]"]


# --- names that are not ASCII ----------------------------------------------------------------------------------------

SCRIPT = """
import sys
from pathlib import Path
import sureness as sn
from sureness import jobs
from sureness.errors import FileError, OutputError
from sureness.jobs.outputs import check_outputs

assert sys.getfilesystemencoding() == "ascii", sys.getfilesystemencoding()
folder = Path(sys.argv[1])
table, saved, made = (folder / name for name in sys.argv[2:5])
jobs.fit(table, jobs.FitOptions(method="platt"), output=saved)
assert sn.load(saved).estimand_ == "interaction"
jobs.apply(saved, table, made)
unspeakable = folder / "\\u00e9.parquet"
for act, kind in [
    (lambda: check_outputs([(unspeakable, "table")]), OutputError),
    (lambda: check_outputs([(unspeakable.with_suffix(".sureness"), "file")]), OutputError),
    (lambda: jobs.fit(unspeakable), FileError),
    (lambda: sn.load(unspeakable.with_suffix(".json")), FileError),
]:
    try:
        act()
    except kind:
        continue
    raise AssertionError("not refused")
"""


def test_names_that_are_not_ascii_work_where_the_locale_is_not_utf8(tmp_path):
    """Python then knows such names of the command line as escaped bytes, which polars does not understand."""
    folder = tmp_path / "données"
    folder.mkdir()
    place = np.arange(100)
    rows = {"user_id": place // 5, "score": place % 7, "label": ((place % 7 > 3) ^ (place % 11 == 0)).astype(int)}
    pl.DataFrame(rows).write_csv(folder / "tâble.csv")
    bare = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = [sys.executable, "-c", SCRIPT, str(folder), "tâble.csv", "mäp.json", "öut.parquet"]
    done = subprocess.run(words, env=os.environ | bare, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(folder)) == sorted(["tâble.csv", "mäp.json", "öut.parquet"])
    assert pl.read_parquet(folder / "öut.parquet").height == 100


def test_a_name_that_is_not_utf8_is_refused_before_work(tmp_path):
    name = os.fsdecode(b"caf\xe9.csv")
    (tmp_path / name).write_text("score,label\n0.1,1\n")
    with pytest.raises(FileError, match="UTF-8"):
        jobs.fit(tmp_path / name)
