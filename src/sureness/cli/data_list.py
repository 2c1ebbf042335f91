"""sureness data list: the data sets that have a recipe."""

from __future__ import annotations

from string import ascii_lowercase

from sureness.cli._columns import Json
from sureness.cli._console import out, print_json, print_table
from sureness.data.recipes.base import Recipe
from sureness.data.recipes.catalogue import RECIPES
from sureness.data.recipes.loading import whereabouts
from sureness.errors import FileError


def list_data(json: Json = False) -> None:
    """List the data sets that can be named, how large they are, and where they would be taken from."""
    found = {name: _found(each) for name, each in RECIPES.items()}
    if json:
        print_json({"datasets": [_as_dict(each, found[name]) for name, each in RECIPES.items()]})
        return
    terms = {licence: letter for letter, licence in zip(ascii_lowercase, _licences(), strict=False)}
    rows = [
        (each.name, *(each.size or (None,) * 3), found[each.name][0], terms[each.licence]) for each in RECIPES.values()
    ]
    print_table("Data sets", ["name", "users", "items", "interactions", "found in", "terms"], rows)
    for licence, letter in terms.items():
        out.print(f"terms {letter}: {licence}", markup=False, soft_wrap=True)
    out.print(
        "folder: below the folder that SURENESS_DATA names. download: `sureness data fetch NAME` gets it. "
        "by hand: `sureness data fetch NAME` says how.",
        markup=False, soft_wrap=True,
    )  # fmt: skip


def _licences() -> list[str]:
    return list(dict.fromkeys(each.licence for each in RECIPES.values()))


def _found(each: Recipe) -> tuple[str, str | None]:
    """The kind of place, and the place itself where there is one."""
    try:
        place, kind = whereabouts(each.name)
    except FileError:
        return "damaged", None
    if kind == "download":
        return ("download" if each.addresses else "by hand"), None
    return kind, str(place)


def _as_dict(each: Recipe, found: tuple[str, str | None]) -> dict[str, object]:
    size = each.size._asdict() if each.size else {"users": None, "items": None, "interactions": None}
    return {"name": each.name, "title": each.title, **size, "licence": each.licence,
            "found": found[0], "place": found[1]}  # fmt: skip


COMMAND = list_data
