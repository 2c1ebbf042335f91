"""Compare every map on every real database with Python, and write the table of docs/measured/databases.md."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from typing import Any

from tests.sql.cases import MAPS, difference, domain_of, expected, fitted, nasty
from tests.sql.engines import ENGINES, Column, Engine, started, why_absent

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "databases.md"
MARKED = re.compile(r"(?<=<!-- written by make sql-table -->\n).*?(?=<!-- end -->)", re.DOTALL)
VERSIONS = {
    "sqlite": "SELECT sqlite_version()", "duckdb": "SELECT version()",
    "postgres": "SELECT current_setting('server_version')", "spark": "SELECT version()",
}  # fmt: skip
NAMES = {"sqlite": "SQLite", "duckdb": "DuckDB", "postgres": "PostgreSQL", "spark": "Spark"}


def main() -> None:
    if absent := [reason for engine in ENGINES if (reason := why_absent(engine))]:
        sys.exit("; ".join(absent))
    found = {}
    for name in ENGINES:
        with started(name) as engine:
            version = str(engine.rows(VERSIONS[name])[0][0]).split()[0].removeprefix("v")
            found[f"{NAMES[name]} {version}"] = differences(engine)
    text = MARKED.sub(lambda _: f"\n{table(found)}\n", PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE}")  # noqa: T201


def differences(engine: Engine) -> dict[str, float]:
    """The largest difference of each map, over double-precision scores."""
    scores = nasty("double")
    engine.load("pairs", {"id": Column("integer", range(len(scores.values))), "score": scores})
    return {name: difference(answers(engine, name), expected_of(name, scores)) for name in MAPS}


def answers(engine: Engine, name: str) -> list[Any]:
    rows = engine.rows(f"SELECT id, {fitted(name).expression(engine.dialect)} FROM pairs")
    return [row[1] for row in sorted(rows, key=lambda row: row[0])]


def expected_of(name: str, scores: Column) -> list[float | None]:
    return expected(fitted(name).probability, scores, domain_of(name))


def table(found: dict[str, dict[str, float]]) -> str:
    """Markdown: a row for each map, a column for each database."""
    n_scores = len(nasty("double").values)
    lines = [
        f"Largest difference to Python over {n_scores:,} scores; 0 means the same to the last bit:",
        "",
        f"| map | {' | '.join(found)} |",
        f"|---|{'---|' * len(found)}",
    ]
    lines += [f"| {name} | {' | '.join(shown(each[name]) for each in found.values())} |" for name in MAPS]
    return "\n".join(lines) + "\n"


def shown(value: float) -> str:
    return "0" if value == 0 else f"{value:.0e}".replace("e-0", "e-")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
