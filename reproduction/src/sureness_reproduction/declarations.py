"""Studies as the chapters declare them: one file `studies.toml` in each folder, read and checked here."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from itertools import product
from typing import Any

from sureness.errors import DataError
from sureness_reproduction.own import METHOD_KINDS
from sureness_reproduction.study import Claim, Study

PACKAGE = "sureness_reproduction"
CHAPTERS = ("calibration", "distillation", "list_size")  # in the order of the dissertation
DRAWINGS = {
    "figure-3.3": "an illustration of bidirectional distillation",
    "figure-4.1": "an illustration of personal list sizes",
    "figure-5.1": "an overview of its chapters",
}
_FILE = ("methods", "values", "settings", "defaults", "study")
_STUDY = [field.name for field in fields(Study) if field.name not in ("name", "takes")] + ["like", "tested"]
_KINDS = (
    dict.fromkeys(("title", "number", "note", "measure", "settings", "draw", "published", "numbers", "like"), str)
    | dict.fromkeys(("rows", "columns", "metrics", "average", "claims"), list)
    | dict.fromkeys(("grid", "parameters", "beside", "where", "tested"), dict) | {"digits": int}
)  # fmt: skip
_CHOICES = {"samples": ("users", "draws")}
_CLAIM = ("claim", "metric", "first", "above", "below", "both", "each", "per", "claimed")


def studies() -> list[Study]:
    """Every study, in the order of the dissertation."""
    return [study for chapter in CHAPTERS for study in declared_studies(read(chapter), f"{PACKAGE}.{chapter}")]


def find_studies(names: Sequence[str]) -> list[Study]:
    """Studies by name, by number ("table-2.3"), by the numbers of a chapter ("table-2"), or all.

    Examples
    --------
    >>> [each.name for each in find_studies(["table-2.3", "nll"])]
    ['ece', 'nll']
    """
    every, found = studies(), dict[str, Study]()
    for name in names:
        within = [
            each for each in every if any(f"{number}.".startswith(f"{name}.") for number in each.tables_and_figures)
        ]
        named = every if name == "all" else [each for each in every if each.name == name] or within
        if name in DRAWINGS:
            raise DataError(f"{name} of the dissertation is {DRAWINGS[name]}, so there is nothing to compute")
        if not named:
            known = ", ".join(each.name for each in every)
            raise DataError(f"there is no study {name!r}; there are {known}, numbers such as table-2.3, and all")
        found |= {each.name: each for each in named}
    return list(found.values())


@cache
def read(chapter: str) -> dict[str, Any]:
    """The file of a chapter; its `settings` are those of the chapter's own functions."""
    try:
        return tomllib.loads(files(f"{PACKAGE}.{chapter}").joinpath("studies.toml").read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{chapter}/studies.toml cannot be read: {error}") from error


def declared_studies(declared: Mapping[str, Any], package: str) -> list[Study]:
    """The studies of a file; functions are looked up in the package."""
    _refuse_unknown("a file of studies", declared, _FILE)
    if unknown := set(declared.get("methods", ())) - set(METHOD_KINDS):
        raise DataError(f"methods of a file of studies are {', '.join(METHOD_KINDS)}, got {', '.join(unknown)}")
    values, every, found = dict[str, Any](), dict[str, dict[str, Any]](), list[Study]()
    for name, value in declared.get("values", {}).items():
        values[name] = _looked_up(value, values)
    usual = _looked_up(declared.get("defaults", {}), values)
    _refuse_unknown("[defaults]", usual, _STUDY)
    for name, given in declared["study"].items():
        if not isinstance(given, Mapping):
            raise DataError(f"the study {name} of {package} must be a table, got {given!r}")
        _refuse_unknown(f"the study {name}", given, _STUDY)
        if (like := given.get("like", name)) not in (name, *every):
            raise DataError(f"the study {name} is like {like!r}, which is not declared before it")
        every[name] = usual | every.get(like, {}) | _looked_up(given, values)
        _check_kinds(f"the study {name}", every[name])
        try:
            found.append(_study(name, every[name], package, declared.get("methods", ())))
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise DataError(f"the study {name} of {package} cannot be understood: {error}") from error
    return found


def _check_kinds(place: str, about: Mapping[str, Any]) -> None:
    """Refuse values of another kind than their field has, axes without values, and seeds that repeat."""
    for field, value in about.items():
        if not isinstance(value, _KINDS.get(field, object)) or value not in _CHOICES.get(field, (value,)):
            raise DataError(f"{field} of {place} must be {_named_kind(field)}, got {value!r}")
    for axis in ("data", "seed"):
        if axis not in about.get("grid", {axis: ()}):
            raise DataError(f"the grid of {place} has no axis {axis!r}; add it")
    for axis, values in about.get("grid", {}).items():
        for some in values.values() if isinstance(values, Mapping) else [values]:
            if not isinstance(some, list) or not some or (axis == "seed" and len(set(some)) < len(some)):
                raise DataError(f"the axis {axis} of {place} must be a list of different values, or one for each of "
                                f"quick and full; got {values!r}")  # fmt: skip


def _named_kind(field: str) -> str:
    names = {str: "a text", list: "a list", dict: "a table", int: "a whole number"}
    return " or ".join(_CHOICES[field]) if field in _CHOICES else names[_KINDS[field]]


def _study(name: str, about: dict[str, Any], package: str, methods: Sequence[str]) -> Study:
    if missing := [field for field in ("title", "grid", "measure") if field not in about]:
        raise DataError(f"the study {name} has no {missing[0]}; add one")
    for axis, values in about["grid"].items():
        if not isinstance(values, list) and set(values) != {"quick", "full"}:
            raise DataError(f"the axis {axis} of the study {name} must be a list, or one for each of quick and full")
    tested = {"per": ["data", "model"], "both": {}} | about.get("tested", {})
    claims = [claim for given in about.get("claims", ()) for claim in _claims(given, tested, f"the study {name}")]
    made = {field: about[field] for field in about if field not in ("like", "tested")}
    made |= {field: function_of(made[field], package) for field in ("measure", "settings", "draw") if field in made}
    made |= {"claims": claims, "takes": methods, "note": " ".join(about.get("note", "").split())}
    return Study(name=name, **made)


def _claims(given: Mapping[str, Any], tested: Mapping[str, Any], place: str) -> Iterator[Claim]:
    """One claim for each metric and each combination of the values of `each`; `tested` is what all claims share."""
    about = {**tested, **given, "both": tested["both"] | given.get("both", {})}
    _refuse_unknown(f"a claim of {place}", about, _CLAIM)
    if not {"claim", "metric", "first"} <= set(about) or len({"above", "below"} & set(about)) != 1:
        raise DataError(f"a claim of {place} must have claim, metric, first, and either above or below; got {given}")
    each, metrics = about.pop("each", {}), about["metric"]
    for values in product(*each.values()):
        claim = _filled(about, dict(zip(each, values, strict=True)))
        second = claim.get("above", claim.get("below"))
        if isinstance(second, Mapping):
            second = claim["both"] | second
        for metric in metrics if isinstance(metrics, list) else [metrics]:
            yield Claim(
                claim["claim"], metric, claim["both"] | claim["first"], second, "+" if "above" in claim else "-",
                tuple(claim["per"]), claim.get("claimed", True),
            )  # fmt: skip


def _looked_up(given: Any, values: Mapping[str, Any]) -> Any:
    """The same with the values behind every "@name"."""
    if isinstance(given, str) and given.startswith("@"):
        if given[1:] not in values:
            raise DataError(f"{given!r} is not declared before it is used; [values] has {', '.join(values)}")
        return values[given[1:]]
    return _inside(given, lambda part: _looked_up(part, values))


def _filled(given: Any, names: Mapping[str, str]) -> Any:
    """The same with the values of {name} in every text."""
    if isinstance(given, str):
        for name, value in names.items():
            given = given.replace(f"{{{name}}}", value)
        if "{" in given:
            raise DataError(f"nothing is known for {given!r}; `each` has {', '.join(names) or 'no names'}")
        return given
    return _inside(given, lambda part: _filled(part, names))


def _inside(given: Any, changed: Callable[[Any], Any]) -> Any:
    """A table or list with changed parts; anything else as it is."""
    if isinstance(given, Mapping):
        return {key: changed(part) for key, part in given.items()}
    return [changed(part) for part in given] if isinstance(given, list) else given


def function_of(name: str, package: str) -> Any:
    """The object behind "module:name" of a package; a dot before the module is one package up."""
    module, _, attribute = name.partition(":")
    found = None
    if find_spec(f".{module}", package) is not None:
        found = getattr(import_module(f".{module}", package), attribute, None)
    if found is None:
        raise DataError(f"there is no {name!r} in {package}; give module:function")
    return found


def _refuse_unknown(place: str, given: Mapping[str, Any], known: Iterable[str]) -> None:
    if unknown := [key for key in given if key not in known]:
        raise DataError(f"{place} has no field {unknown[0]!r}; the fields are {', '.join(known)}")
