"""sureness data list: the data sets that have a recipe."""

from __future__ import annotations

from string import ascii_lowercase

from sureness.cli._console import present, print_table, say
from sureness.cli._options import Json
from sureness.jobs.datasets import DatasetList, list_datasets


def list_data(json: Json = False) -> None:
    """List the data sets that can be named, how large they are, and where they would be taken from."""
    present(list_datasets(), json, _show)


def _show(found: DatasetList) -> None:
    licences = dict.fromkeys(each.recipe.licence for each in found.datasets)
    terms = dict(zip(licences, ascii_lowercase, strict=False))
    rows = [
        (each.recipe.name, *(each.recipe.size or (None,) * 3), each.kind, terms[each.recipe.licence])
        for each in found.datasets
    ]
    print_table("Data sets", ["name", "users", "items", "interactions", "found in", "terms"], rows)
    say(*(f"terms {letter}: {licence}" for licence, letter in terms.items()))
    say(
        "folder: below the folder that SURENESS_DATA names. download: `sureness data fetch NAME` gets it. "
        "by hand: `sureness data fetch NAME` says how."
    )


COMMAND = list_data
