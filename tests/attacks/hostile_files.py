"""Give odd files to every command that reads: one sentence, or a result; never a traceback."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import polars as pl

from tests.attacks.commands import make_inputs
from tests.attacks.fork_server import NONE, Server, serving
from tests.attacks.kills import told_badly
from tests.attacks.outcome import Outcome

FAILURE = "a traceback, more than one sentence, a signal, or a changed input"

COMMANDS = {
    "fit": ("fit", "{}", "-o", "out.json"),
    "apply": ("apply", "map.json", "{}", "-o", "out.parquet"),
    "report": ("report", "{}", "map.json", "-o", "page.html"),
    "list-size": ("list-size", "{}", "-o", "out.parquet"),
    "allocate": ("allocate", "{}", "-o", "out.parquet", "--budget", "10"),
    "train": ("train", "{}", "-o", "out.sureness", "--set", "epochs=1", "--factors", "2"),
    "data describe": ("data", "describe", "{}"),
    "evaluate": ("evaluate", "run.sureness", "--test", "{}"),
}
"""Commands that read a table."""

SAVED = {
    "apply": ("apply", "{}", "pairs.parquet", "-o", "out.parquet"),
    "inspect": ("inspect", "{}"),
    "sql": ("sql", "{}", "--dialect", "duckdb"),
    "evaluate": ("evaluate", "{}"),
    "list-size": ("list-size", "{}", "-o", "out.parquet"),
}
"""Commands that read something saved."""

_HEADER = "user_id,item_id,score,label,probability\n"
_ROWS = "".join(f"{n // 5},{n % 5},{n / 40},{n % 2},{n / 41}\n" for n in range(40))


def _parquet(**changed: object) -> bytes:
    columns: dict[str, object] = {
        "user_id": np.arange(40) // 5, "item_id": np.arange(40) % 5, "score": np.arange(40) / 40,
        "label": np.arange(40) % 2, "probability": np.arange(40) / 41,
    }  # fmt: skip
    written = io.BytesIO()
    pl.DataFrame({**columns, **changed}).write_parquet(written)
    return written.getvalue()


TABLES: dict[str, Callable[[], bytes]] = {
    "good.csv": lambda: (_HEADER + _ROWS).encode(),
    "good.parquet": _parquet,
    "empty.csv": lambda: b"",
    "header.csv": lambda: _HEADER.encode(),
    "one-row.csv": lambda: (_HEADER + "1,1,0.5,1,0.5\n").encode(),
    "no-header.csv": lambda: _ROWS.encode(),
    "bom.csv": lambda: b"\xef\xbb\xbf" + (_HEADER + _ROWS).encode(),
    "windows.csv": lambda: (_HEADER + _ROWS).replace("\n", "\r\n").encode(),
    "old-mac.csv": lambda: (_HEADER + _ROWS).replace("\n", "\r").encode(),
    "semicolons.csv": lambda: (_HEADER + _ROWS).replace(",", ";").encode(),
    "utf-16.csv": lambda: (_HEADER + _ROWS).encode("utf-16"),
    "latin-1.csv": lambda: (_HEADER + "é,ü,0.5,1,0.5\n").encode("latin-1"),
    "zero-bytes.csv": lambda: (_HEADER + _ROWS).encode() + bytes(100),
    "noise.csv": lambda: np.random.default_rng(0).bytes(5_000),
    "long-line.csv": lambda: (_HEADER + "9" * 1_000_000 + "\n").encode(),
    "ragged.csv": lambda: (_HEADER + _ROWS + "1,2\n" + "1,2,3,4,5,6,7\n").encode(),
    "open-quote.csv": lambda: (_HEADER + _ROWS + '1,"2,0.5,1,0.5\n').encode(),
    "words.csv": lambda: (_HEADER + _ROWS + "1,2,high,yes,low\n").encode(),
    "nan.csv": lambda: (_HEADER + _ROWS + "9,2,nan,1,nan\n").encode(),
    "infinite.csv": lambda: (_HEADER + _ROWS + "9,2,inf,1,inf\n").encode(),
    "huge.csv": lambda: (_HEADER + _ROWS + "9,2,1e400,1,1e400\n").encode(),
    "blank-cells.csv": lambda: (_HEADER + _ROWS + ",,,,\n").encode(),
    "comma-decimals.csv": lambda: (_HEADER + '1,1,"0,5",1,"0,5"\n').encode(),
    "same-names.csv": lambda: b"user_id,item_id,score,score,label,probability\n1,1,0.5,0.6,1,0.5\n",
    "gzip.csv.gz": lambda: gzip.compress((_HEADER + _ROWS).encode()),
    "cut.csv.gz": lambda: gzip.compress((_HEADER + _ROWS).encode())[:-20],
    "not-gzip.csv.gz": lambda: (_HEADER + _ROWS).encode(),
    "csv.parquet": lambda: (_HEADER + _ROWS).encode(),
    "empty.parquet": lambda: b"",
    "cut.parquet": lambda: _parquet()[:-100],
    "magic.parquet": lambda: b"PAR1" + bytes(40) + b"PAR1",
    "nulls.parquet": lambda: _parquet(score=[None] * 40, user_id=[None] * 40),
    "words.parquet": lambda: _parquet(score=["high"] * 40, label=["yes"] * 40, probability=["low"] * 40),
    "lists.parquet": lambda: _parquet(user_id=[[1]] * 40, score=[[0.5]] * 40, probability=[[0.5]] * 40),
    "structs.parquet": lambda: _parquet(item_id=[{"a": 1}] * 40),
    "booleans.parquet": lambda: _parquet(user_id=[True] * 40, label=[True, False] * 20),
    "nan.parquet": lambda: _parquet(score=[float("nan")] * 40, probability=[float("nan")] * 40),
    "negative.parquet": lambda: _parquet(probability=[-1.0] * 40, label=[-1] * 40),
    "huge.parquet": lambda: _parquet(score=[1e308] * 40, user_id=[2**63 - 1] * 40),
    "constant.parquet": lambda: _parquet(score=[1.0] * 40, label=[1] * 40),
    "unicode.parquet": lambda: _parquet(user_id=[f"ü{n}𝄞" for n in range(40)], item_id=[""] * 40),
    "duplicates.parquet": lambda: _parquet(user_id=[1] * 40, item_id=[1] * 40),
    "table.xlsx": lambda: b"PK\x03\x04",
    "no-ending": lambda: (_HEADER + _ROWS).encode(),
}

OBJECTS: dict[str, Callable[[], bytes]] = {
    "empty.json": lambda: b"",
    "list.json": lambda: b"[1, 2]",
    "deep.json": lambda: b"[" * 100_000,
    "number.json": lambda: b"1e999999",
    "other.json": lambda: b'{"name": "a package"}',
    "nan.json": lambda: b'{"format": "sureness", "schema": NaN}',
    "older.json": lambda: b'{"format": "sureness-calibrator", "schema": 1, "package": "0.1"}',
    "utf-16.json": lambda: '{"format": "sureness"}'.encode("utf-16"),
    "noise.sureness": lambda: np.random.default_rng(0).bytes(5_000),
    "empty.sureness": lambda: b"",
    "long-header.sureness": lambda: b"\xff" * 7 + b"\x00" + bytes(100),
    "table.sureness": _parquet,
    "text.sureness": lambda: b"hello\n",
}


def attack_commands(folder: Path, names: Iterable[str] | None = None) -> Outcome:
    """Every command that reads, with every odd file."""
    inputs = folder / "inputs"
    make_inputs(inputs)
    wanted = None if names is None else set(names)
    tried, failures = 0, []
    with serving() as server:
        for commands, files in ((COMMANDS, TABLES), (SAVED, OBJECTS)):
            for name, make in files.items():
                (inputs / name).write_bytes(make())
                for command, words in commands.items():
                    if wanted is None or command in wanted:
                        tried += 1
                        failures += _attack(server, inputs, name, [word.format(name) for word in words])
    return Outcome.of("odd files for every command that reads", FAILURE, tried, failures)


def _attack(server: Server, inputs: Path, name: str, words: list[str]) -> list[str]:
    before = (inputs / name).read_bytes()
    code, said = server.run(words, inputs, NONE)
    problem = told_badly(code, said)
    if problem is None and (inputs / name).read_bytes() != before:
        problem = "the input has changed"
    for left in ("out.json", "out.parquet", "page.html", "out.sureness"):
        (inputs / left).unlink(missing_ok=True)
    return [f"{' '.join(words)}: {problem}"] if problem else []
