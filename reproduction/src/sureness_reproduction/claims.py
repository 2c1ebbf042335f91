"""What the dissertation claims, what full runs found, and why; claims.json holds claims and reasons, by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from sureness_reproduction.cells import CellStore
from sureness_reproduction.declarations import find_studies
from sureness_reproduction.pages import NONE
from sureness_reproduction.results import Results, matches, read_csv
from sureness_reproduction.study import Asked

_PACKED = Path(str(files("sureness_reproduction"))) / "results"  # of an installed wheel
RESULTS = _PACKED if _PACKED.is_dir() else Path(__file__).parents[2] / "results"
"""Where the CSV files of full runs are kept."""


DECLARED = json.loads(files("sureness_reproduction").joinpath("claims.json").read_text(encoding="utf-8"))
"""Every claim of the dissertation: chapter, studies, texts of their contrasts, published numbers and our reason."""


def committed(study: str) -> pl.DataFrame:
    """The contrasts of a study that a full run left in the folder of results."""
    path = RESULTS / f"{study}.claims.csv"
    return read_csv(path) if path.exists() else pl.DataFrame()


def computed(store: CellStore, study: str) -> pl.DataFrame:
    """Contrasts from finished cells of full scale where there are any, otherwise the committed ones."""
    found = Results(find_studies([study])[0], Asked("full"), store)
    return found.contrasts if store.folder.is_dir() and found.finished else committed(study)


def claims_table(contrasts: Callable[[str], pl.DataFrame] = committed) -> pl.DataFrame:
    """One row for each claim: what was published, what we found with p-values after Holm, whether it holds, and why.

    A claim is meant for every place it was tested in: it holds ("yes") if it does so everywhere beyond chance, and does
    not ("no") if the opposite is beyond chance anywhere; otherwise it is open.
    """
    rows = []
    for claim in DECLARED:
        found = [pl.DataFrame(), *(_rows_of(contrasts(study), claim) for study in claim["studies"])]
        table = pl.concat(found, how="diagonal_relaxed")
        held = table["holds"].to_list() if table.height else []
        missing = f"not run; `sureness reproduce {' '.join(claim['studies'])} --full`"
        rows.append({
            "chapter": str(claim["chapter"]), "the dissertation claims": claim["claim"],
            "published": claim["published"], "we found": _summary(table, held) if held else missing,
            "holds": "no" if "no" in held else "yes" if {*held} == {"yes"} else "open", "why": claim["why"],
        })  # fmt: skip
    return pl.DataFrame(rows)


def _rows_of(table: pl.DataFrame, claim: dict[str, Any]) -> pl.DataFrame:
    where = {key: tuple(value) for key, value in claim.get("where", {}).items()}
    wanted = {"claim": tuple(claim["contrasts"]), "claimed": True} | where
    return table.filter(matches(wanted, table.columns)).drop_nulls("difference") if table.height else table


def _summary(table: pl.DataFrame, held: list[str]) -> str:
    """The range of differences, how often it holds, and the range of p-values after Holm."""
    counts = ", ".join(f"{held.count(each)} {each}" for each in ("yes", "no", "open") if each in held)
    if (table["second"] == "").all():
        size = f"{_range(table['value'], '.3g')} against {table['against'][0]:g}"
    else:
        size = _range((table["difference"] / table["against"].abs()).drop_nans(), "+.1%")
    return f"{size}; {counts}; p {_range(table['p_holm'].drop_nulls(), '.1g')}"


def _range(values: pl.Series, form: str) -> str:
    low, high = (NONE if end is None else format(end, form) for end in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"
