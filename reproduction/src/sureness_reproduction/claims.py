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


SETTING = {
    "data": ["coat", "yahoo-r3", "citeulike-bd", "foursquare-tky", "yelp", "ml-100k", "ml-10m", "ml-25m", "citeulike-a",
             "amazon-books", "amazon-crossdomain"],
    "pairs": ["57 negatives per positive (public code)", "all candidates, propensities at their word"],
    "start": ["published"],
}  # fmt: skip
"""What the dissertation used, by the columns of contrasts: data, calibration sets, starts of two models."""

IN_SETTING, ELSEWHERE = "in the dissertation's setting", "elsewhere"

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

    A claim is judged apart where it was tested in the dissertation's setting and elsewhere. It holds ("yes") if it does
    so beyond chance in every place, and does not ("no") if the opposite is beyond chance in any; otherwise it is open.
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
            IN_SETTING: _verdict(table, True), ELSEWHERE: _verdict(table, False), "why": claim["why"],
        })  # fmt: skip
    return pl.DataFrame(rows)


def _verdict(table: pl.DataFrame, in_setting: bool) -> str:
    """Whether a claim holds in those places that are, or are not, of the dissertation's setting, with counts."""
    if table.is_empty():
        return NONE
    named = [
        pl.col(column).is_in(values) | pl.col(column).is_null()
        for column, values in SETTING.items()
        if column in table.columns
    ]
    there = pl.all_horizontal(*named) if named else pl.lit(True)
    held = table.filter(there if in_setting else ~there)["holds"].to_list()
    if not held:
        return NONE
    verdict = "no" if "no" in held else "yes" if {*held} == {"yes"} else "open"
    return f"{verdict}: {held.count('yes')} of {len(held)}"


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
