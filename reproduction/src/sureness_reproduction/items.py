"""Every table, figure, formula and claim of the dissertation, and what came of it; items.toml lists them by hand."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

import polars as pl

from sureness_reproduction.claims import ELSEWHERE, IN_SETTING, RESULTS, claims_table
from sureness_reproduction.pages import NONE
from sureness_reproduction.results import matches, read_csv

DONE, NOT_RUN, CANNOT = "done", "not run", "cannot be had"

LISTED: dict[str, dict[str, str]] = tomllib.loads(
    files("sureness_reproduction").joinpath("items.toml").read_text(encoding="utf-8")
)
"""By chapter and kind: items, and where each one is answered."""


def items_table() -> pl.DataFrame:
    """One row for each item: what it is, whether it is done, and the command that answers it, or why there is none."""
    claims = {row["the dissertation claims"]: row for row in claims_table().to_dicts()}
    rows = []
    for kind, items in LISTED.items():
        for item, place in items.items():
            where, _, note = place.partition(" | ")
            state, command = _answered(where, claims)
            rows.append({"of": kind, "item": item, "state": state, "command": command, "note": note or NONE})
    return pl.DataFrame(rows)


def counts(table: pl.DataFrame) -> str:
    """How many items are in each state, as a sentence."""
    held = table["state"].to_list()
    return f"{len(held)} items: " + ", ".join(f"{held.count(each)} {each}" for each in (DONE, CANNOT, NOT_RUN)) + "."


def _answered(where: str, claims: dict[str, dict[str, str]]) -> tuple[str, str]:
    """The state of an item and its command, or the reason why it cannot be had."""
    kind, _, rest = where.partition(" ")
    if kind == "test":
        return DONE, f"`pytest {rest}`"
    if kind == "study":
        return _of_study(*rest.split(" ", 1))
    if kind == "claim":
        found = claims[rest]
        verdict = f"{IN_SETTING} {found[IN_SETTING]}, {ELSEWHERE} {found[ELSEWHERE]}"
        run = not found["we found"].startswith(NOT_RUN)
        return (DONE, verdict) if run else (NOT_RUN, found["we found"].partition("; ")[2])
    return CANNOT, where.partition(": ")[2]


def _of_study(name: str, keys: str = "") -> tuple[str, str]:
    chosen = dict(re.findall(r"(\w+)=(\S+)", keys))
    options = "".join(f" --{key} {value}" for key, value in chosen.items() if key in ("data", "model", "method"))
    path = RESULTS / f"{name}.csv"
    summary = read_csv(path) if path.exists() else pl.DataFrame()
    found = summary.height and summary.filter(matches(chosen, summary.columns)).height
    return DONE if found else NOT_RUN, f"`sureness reproduce {name} --full{options}`"
