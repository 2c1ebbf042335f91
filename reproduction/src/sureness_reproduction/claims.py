"""The claims of the running text, each with its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import import_module

import polars as pl

from sureness_reproduction.cells import Cell
from sureness_reproduction.experiment import Experiment, Finder, Plan, Scale
from sureness_reproduction.outcome import Outcome, ResultTable, Verdict
from sureness_reproduction.published import published

_CHAPTERS = ("calibration", "distillation", "list_size")

_UNTESTED = {
    "test images the student predicts better than the teacher": "about images: out of scope",
    "largest improvement over the existing distillation methods": "claimed of Yelp, which is not here",
    "user embedding size, against two calibration parameters": "a setting, not a finding",
    "largest summation bound M": "a setting; see the sufficient bound",
}
_WORDS = {True: "holds", False: "does not hold", None: "not decided"}
_UNTOUCHED = "not tested"


def _tested() -> list[Experiment]:
    """The experiments that speak to a claim."""
    every = [each for name in _CHAPTERS for each in import_module(f"sureness_reproduction.{name}").EXPERIMENTS]
    return [each for each in every if each.claims]


def _cells(plan: Plan) -> list[Cell]:
    return [cell for each in _tested() for cell in each.cells(each.part_of(plan))]


def _outcome(plan: Plan, find: Finder) -> Outcome:
    verdicts = {
        (verdict.fact, verdict.scope): (f"{each.name}, {n_seeds} seed{'' if n_seeds == 1 else 's'}", verdict)
        for each in _tested()
        for n_seeds in [len(each.part_of(plan).seeds)]
        for verdict in at_scale(plan.scale, each.outcome(each.part_of(plan), find).verdicts)
    }
    every = set(plan.data) | set(plan.absent) == set(_data(plan.scale))
    table = claims_table(verdicts, "its data are not here" if every else "its data are not here or not asked for")
    counts = dict(table.group_by("verdict").len().iter_rows())
    told = ", ".join(f"{word}: {counts.get(word, 0)}" for word in (*_WORDS.values(), _UNTOUCHED))
    return Outcome(
        tables=[ResultTable("claims", "What the dissertation claims", table, _CAPTIONS[plan.scale])],
        findings=[f"{table.height} claims of the running text; {told}."],
    )


_CAPTIONS: dict[Scale, str] = {
    "full": "A claim is tested on the data that are here, by means over seeds; paired tests are in the experiments.",
    "quick": "Nothing is decided at quick scale: other data, short trainings, few seeds. Take --full for verdicts.",
}


def at_scale(scale: Scale, verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Verdicts as a scale allows them: at quick scale a number is shown, and decides nothing.

    Examples
    --------
    >>> at_scale("quick", [Verdict("sufficient summation bound M", "50", True)])
    [Verdict(fact='sufficient summation bound M', found='50 (quick)', holds=None, scope='')]
    """
    if scale == "full":
        return list(verdicts)
    return [replace(each, found=f"{each.found} (quick)", holds=None) for each in verdicts]


def claims_table(
    verdicts: Mapping[tuple[str, str], tuple[str, Verdict]], why_not: str = "its data are not here"
) -> pl.DataFrame:
    """One row per claim: what the dissertation says, what we found, and whether it holds.

    Examples
    --------
    >>> claims_table({})["verdict"].unique().to_list()
    ['not tested']
    """
    rows = []
    for (chapter, fact, scope), part in published("claims").group_by("chapter", "fact", "scope", maintain_order=True):
        found = verdicts.get((str(fact), str(scope))) or verdicts.get((str(fact), ""))
        source, verdict = found or ("-", None)
        rows.append(
            {"chapter": str(chapter).replace("_", " "), "claim": fact, "of": scope, "text": _said(part),
             "here": verdict.found if verdict is not None else f"not run: {_UNTESTED.get(str(fact), why_not)}",
             "verdict": _UNTOUCHED if verdict is None else _WORDS[verdict.holds], "experiment": source}
        )  # fmt: skip
    return pl.DataFrame(rows)


def _said(part: pl.DataFrame) -> str:
    """The number of a claim, or its range."""
    unit = part["unit"][0].replace("number", "").replace("count", "")
    bounds = {row["bound"]: f"{row['value']:g}" for row in part.to_dicts()}
    if "value" in bounds:
        return f"{bounds['value']} {unit}".strip()
    if len(bounds) == 2:
        return f"{bounds['min']} to {bounds['max']} {unit}".strip()
    words = f"at least {bounds['min']} {unit}" if "min" in bounds else f"at most {bounds['max']} {unit}"
    return words.strip()


def _data(scale: Scale) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in _tested() for name in each.data[scale]))


def _claims() -> Experiment:
    return Experiment(
        name="claims", chapter=0, title="What the dissertation claims, and whether it holds here",
        shows="the claims of the running text", data={"quick": _data("quick"), "full": _data("full")}, cells=_cells,
        outcome=_outcome,
    )  # fmt: skip


EXPERIMENTS: tuple[Experiment, ...] = (_claims(),)
