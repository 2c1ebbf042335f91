"""What every command prints with --json, and the numbers of the files that it writes, frozen.

`SURENESS_GOLDEN=write` writes them anew; a commit that does so says why a number has changed.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from tests.cli.runner import told

GOLDEN = Path(__file__).parent / "golden"
TOLERANCE = 1e-9
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")  # in SQL, for example

COMMANDS = {
    "fit": "fit t.parquet --output out.json",
    "fit-auto": "fit t.parquet --method auto --output out.json",
    "fit-isotonic": "fit t.parquet --method isotonic --output out.json",
    "fit-segments": "fit t.parquet --columns segment=kind --output out.json",
    "fit-overlapping": "fit t.parquet --field kind --field item_id --output out.json",
    "fit-lists": "fit run.sureness --method lists --output out.json",
    "fit-users": "fit run.sureness --method per-user-platt --output out.sureness",
    "apply": "apply map.json t.parquet --columns probability=p --output out.parquet",
    "apply-segments": "apply segments.json t.parquet --columns segment=kind,probability=p --output out.parquet",
    "apply-run": "apply lists.json run.sureness --top 5 --output out.parquet",
    "list-size": "list-size run.sureness --utility ndcg --max-size 10 --output out.parquet",
    "list-size-f1": "list-size run.sureness --utility f1 --max-size 10 --calibrator lists.json --output out.parquet",
    "list-size-table": "list-size t.parquet --utility dcg --max-size 5 --output out.parquet",
    "allocate-slots": "allocate domains.parquet --slots 4 --output out.parquet",
    "allocate-budget": "allocate t.parquet --budget 150 --utility tp --output out.parquet",
    "evaluate": "evaluate run.sureness --metric ndcg@10 --metric hit@5",
    "report": "report t.parquet map.json --output out.html",
    "sql": "sql map.json --dialect duckdb",
    "sql-lists": "sql lists.json --dialect postgres --table scores",
    "inspect": "inspect map.json",
    "inspect-run": "inspect run.sureness",
    "export": "export run.sureness --output out",
    "describe": "data describe whole.csv",
    "distill": "distill whole.csv --teacher bpr:8 --student bpr:2 --set epochs=2 --no-pretrain -o out.sureness",
    "train": "train whole.csv --model bpr --factors 4 --set epochs=3 --output out.sureness",
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_output_is_what_it_was(name, inputs, log, tmp_path):
    folder = tmp_path / "work"
    shutil.copytree(inputs, folder)
    table = pl.read_parquet(folder / "t.parquet")
    table.with_columns(domain=pl.format("d{}", "kind")).write_parquet(folder / "domains.parquet")
    log.write_csv(folder / "whole.csv")
    found = {"printed": told(*COMMANDS[name].split(), cwd=folder)} | written(folder)
    kept = GOLDEN / f"{name}.json"
    if os.environ.get("SURENESS_GOLDEN") == "write":
        kept.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    assert_same(found, json.loads(kept.read_text()), where=name)


def written(folder: Path) -> dict:
    """The numbers in what a command wrote: a calibrator as it is, the sums of a table's columns."""
    if (folder / "out.json").exists():
        return {"calibrator": without_versions(json.loads((folder / "out.json").read_text()))}
    if (folder / "out.parquet").exists():
        table = pl.read_parquet(folder / "out.parquet")
        sums = {name: float(table[name].sum()) for name in table.columns if table[name].dtype.is_numeric()}
        return {"columns": table.columns, "rows": table.height, "sums": sums}
    return {}


def without_versions(value):
    """Leave out what differs between releases and machines."""
    if not isinstance(value, dict):
        return value
    return {key: without_versions(each) for key, each in value.items() if key not in VOLATILE}


VOLATILE = {"checksum", "sureness", "version", "versions", "created", "seconds", "bytes", "n_bytes", "size"}
VOLATILE |= {"python", "numpy"}


def assert_same(found, expected, where: str) -> None:
    """Equal, numbers to 1e-9."""
    if isinstance(expected, dict) and isinstance(found, dict):
        assert found.keys() - VOLATILE == expected.keys() - VOLATILE, where
        for key in expected.keys() - VOLATILE:
            assert_same(found[key], expected[key], f"{where}.{key}")
    elif isinstance(expected, list) and isinstance(found, list):
        assert len(found) == len(expected), where
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_same(one, other, f"{where}[{place}]")
    elif isinstance(expected, float) and isinstance(found, int | float):
        assert math.isclose(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE), (where, found, expected)
    elif isinstance(expected, str) and isinstance(found, str):
        assert NUMBER.sub("#", found) == NUMBER.sub("#", expected), where
        numbers = ([float(number) for number in NUMBER.findall(text)] for text in (found, expected))
        assert_same(*numbers, where)
    else:
        assert found == expected, where


def test_a_changed_number_is_noticed():
    with pytest.raises(AssertionError, match="where"):
        assert_same({"ece": 0.5}, {"ece": 0.5 + 1e-6}, "where")
