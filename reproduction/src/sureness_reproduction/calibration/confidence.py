"""Whom the recommender is sure about: confidence by degree, and the top items of a few users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from sureness.calibration import Calibrator
from sureness.evaluation import top_blocks
from sureness_reproduction.calibration.fitting import maps_cell, maps_of
from sureness_reproduction.calibration.grid import DATA, base_of, not_run, recommender
from sureness_reproduction.calibration.sentences import between
from sureness_reproduction.calibration.sets import AS_LOGGED, WITH_ANCHOR, title_of, training_log
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.experiment import Experiment, Finder, Plan
from sureness_reproduction.outcome import Outcome, ResultFigure, ResultTable, Verdict
from sureness_reproduction.published import TITLES
from sureness_reproduction.workbench import Workbench

_SETS = (AS_LOGGED, WITH_ANCHOR)
_RISKS = ("unbiased", "weighted", "naive")
_TOP = 10
_SURE, _NEARLY_ALL = 0.99, 0.9  # a map is saturated if this share of the top probabilities is above


def _needs(*, base: dict[str, Any], pairs: str, **_: Any) -> Iterable[Cell]:
    yield recommender(base)
    yield maps_cell(base, pairs)


@work(needs=_needs, judges=True, cost=1)
def topped(bench: Workbench, *, data: str, base: dict[str, Any], pairs: str) -> Tables:
    """The top items of every user with score and probability (Gaussian), and how many positives training has."""
    split, found = bench.split(data, "preference", seed=base["seed"]), bench.found(maps_cell(base, pairs))
    risk, calibrator = _first(maps_of(found))
    train, source = split.train, bench.found(recommender(base)).model
    tables = []
    for users, items, scores in top_blocks(source, np.arange(train.n_users), _TOP, train):
        there = items >= 0
        rows, ranks = np.nonzero(there)
        tables.append(pl.DataFrame({
            "user_id": train.users.at(users[rows]), "rank": ranks + 1, "item_id": train.items.at(items[there]),
            "score": scores[there].astype(np.float64), "probability": calibrator.probability(scores[there]),
        }))  # fmt: skip
    degrees = pl.DataFrame({"user_id": train.users.at(np.arange(train.n_users)), "degree": train.user_degree})
    return {"top": pl.concat(tables), "degrees": degrees, "about": pl.DataFrame({"risk": [risk]})}


def _first(maps: dict[tuple[str, str], Calibrator]) -> tuple[str, Calibrator]:
    """The Gaussian map with the unbiased risk, or the next risk that has a minimum."""
    return next((risk, maps["gaussian", risk]) for risk in _RISKS if ("gaussian", risk) in maps)


def _bases(plan: Plan, model: str) -> list[dict[str, Any]]:
    return [base_of(data, model, seed, plan.scale) for data in plan.data for seed in plan.seeds]


def _cell(base: dict[str, Any], pairs: str) -> Cell:
    return topped.cell(data=base["data"], base=base, pairs=pairs)


# --- user degree -----------------------------------------------------------------------------------------------------


def _degree_cells(plan: Plan) -> Sequence[Cell]:
    return [_cell(base, pairs) for pairs in _SETS for base in _bases(plan, "bpr")]


def _degree(plan: Plan, find: Finder) -> Outcome:
    if not plan.data:
        return Outcome(notes=not_run(plan))
    rows = [
        {"data": base["data"], "fitted on": title_of(pairs), "seed": base["seed"], "method": "gaussian"}
        | _correlation(find, base, pairs)
        for pairs in _SETS
        for base in _bases(plan, "bpr")
    ]
    table = pl.DataFrame(rows)
    figures = [
        ResultFigure(f"degree-{base['data']}-{pairs}", f"BPR on {TITLES[base['data']]}, {title_of(pairs)}, first seed.",
                     partial(_draw_degree, find, base, pairs))
        for pairs in _SETS
        for base in _bases(plan, "bpr")
        if base["seed"] == plan.seeds[0]
    ]  # fmt: skip
    shown = ResultTable(
        "user-degree", "Degree and mean top-10 confidence, BPR with the Gaussian map", table, _DEGREE_CAPTION
    )
    return Outcome([shown], figures, _degree_findings(table), not_run(plan), [_degree_verdict(table)])


def _prepared(find: Finder, base: dict[str, Any], pairs: str) -> Any:
    from sureness.plots import prepare_confidence_by_degree

    found = find(_cell(base, pairs))
    return prepare_confidence_by_degree(found.table("top"), found.table("degrees"), n=_TOP)


def _draw_degree(find: Finder, base: dict[str, Any], pairs: str) -> Any:
    from sureness.plots import draw_confidence_by_degree

    return draw_confidence_by_degree(_prepared(find, base, pairs))


def _correlation(find: Finder, base: dict[str, Any], pairs: str) -> dict[str, object]:
    """Pearson's r with its interval (Fisher), beside the bound that the dissertation claims."""
    data = _prepared(find, base, pairs)
    centre, half = np.arctanh(data.correlation), 1.96 / np.sqrt(max(data.n_users - 3, 1))
    found = find(_cell(base, pairs))
    risk = found.table("about")["risk"].item()
    sure = float(np.mean(found.table("top")["probability"].to_numpy() > _SURE))
    return {
        "risk": risk, "users": data.n_users, "above 0.99": sure, "r": data.correlation,
        "low": float(np.tanh(centre - half)), "high": float(np.tanh(centre + half)), "text": "> 0.5",
        "claim": _degree_claim(data.correlation, sure, risk),
    }  # fmt: skip


def _degree_claim(correlation: float, sure: float, risk: str) -> str:
    """Whether the dissertation's claim holds, where the correlation can tell.

    Examples
    --------
    >>> _degree_claim(0.6, 0.1, "unbiased"), _degree_claim(0.6, 0.95, "unbiased")
    ('holds', 'not decided: nearly all probabilities are 1')
    """
    if sure > _NEARLY_ALL:
        return "not decided: nearly all probabilities are 1"
    if risk != _RISKS[0]:
        return "not decided: the unbiased risk has no minimum"
    if np.isnan(correlation):
        return "not decided: degree or confidence does not vary"
    return "holds" if correlation > 0.5 else "does not hold"


def _decided(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(~pl.col("claim").str.starts_with("not decided"))


def _degree_findings(table: pl.DataFrame) -> list[str]:
    """For each data set, calibration set and risk, since r belongs to one map."""
    findings = []
    for (data, fitted_on, risk), rows in table.group_by("data", "fitted on", "risk", maintain_order=True):
        decided = _decided(rows)
        undecided = rows.join(decided, on="seed", how="anti")["claim"].unique(maintain_order=True).to_list()
        kept = decided.filter(claim="holds").height
        holds = f"The dissertation's r > 0.5 holds on {kept} of {decided.height} decided seeds"
        told = [holds] if decided.height else []
        told += [f"{reason.capitalize()} ({_seeds(rows.filter(claim=reason))})" for reason in undecided]
        findings.append(
            f"{TITLES.get(str(data), data)}, {fitted_on}: with the Gaussian map and the {risk} risk, Pearson's r of "
            f"degree and mean top-10 confidence is {_span(rows)} over seeds. {'. '.join(told)}."
        )
    return findings


def _seeds(rows: pl.DataFrame) -> str:
    sure = fmean(rows["above 0.99"])
    return f"{rows.height} seed{'' if rows.height == 1 else 's'}, {sure:.1%} of the top-10 probabilities above {_SURE}"


def _span(rows: pl.DataFrame) -> str:
    """The r of several seeds, once if they read the same."""
    known = rows["r"].drop_nans().to_list()
    return between(known) if known else "not defined"


def _degree_verdict(table: pl.DataFrame) -> Verdict:
    """On all data and both calibration sets: one decided no is enough, a yes needs all of them."""
    parts = [
        f"{TITLES.get(str(data), data)}, {fitted_on}, Gaussian with the {risk} risk: {_told(rows)}"
        for (data, fitted_on, risk), rows in table.group_by("data", "fitted on", "risk", maintain_order=True)
    ]
    decided = _decided(table)
    fails = decided.filter(claim="does not hold").height > 0
    holds = False if fails else True if decided.height == table.height else None
    return Verdict("correlation of user degree and mean top-10 confidence", "; ".join(parts), holds)


def _told(rows: pl.DataFrame) -> str:
    """The r of the decided seeds, or why none is."""
    decided = _decided(rows)
    return f"r {_span(decided)}" if decided.height else str(rows["claim"][0])


_DEGREE_CAPTION = (
    "Degree: positives of the user in training. Confidence: mean probability of the ten best items that are not in "
    "training, by the Gaussian map with the named risk (the unbiased one, or the next that has a minimum). above 0.99: "
    "share of these probabilities; where nearly all are, r says nothing. low and high: 95% interval of r (Fisher)."
)


# --- case study ------------------------------------------------------------------------------------------------------


def _case_cells(plan: Plan) -> Sequence[Cell]:
    return [_cell(base, WITH_ANCHOR) for base in _bases(plan, "lightgcn") if base["seed"] == plan.seeds[0]] + [
        described.cell(data=data) for data in plan.data
    ]


@work(cost=1)
def described(bench: Workbench, *, data: str) -> Tables:
    """Items in words, from their features where there are any."""
    log = training_log(bench, data)
    features = log.item_features
    ids = log.items.at(np.arange(log.n_items))
    if features is None:
        return {"items": pl.DataFrame({"item_id": ids, "item": [f"item {each}" for each in ids]})}
    kinds = [name for name in features.columns if ":" in name]
    words = [_words([kind for kind in kinds if row[kind]]) for row in features.to_dicts()]
    return {"items": features.select("item_id").with_columns(item=pl.Series(words))}


def _words(features: list[str]) -> str:
    """Features as one phrase.

    Examples
    --------
    >>> _words(["gender:men", "jackettype:bomber", "color:black", "onfrontpage:yes"])
    'men, bomber, black'
    """
    return ", ".join(name.split(":", 1)[1] for name in features if not name.startswith("onfrontpage"))


def _case(plan: Plan, find: Finder) -> Outcome:
    if not plan.data:
        return Outcome(notes=not_run(plan))
    tables, findings = [], []
    for base in _bases(plan, "lightgcn"):
        if base["seed"] != plan.seeds[0]:
            continue
        found = find(_cell(base, WITH_ANCHOR))
        top, risk = found.table("top").filter(pl.col("rank") <= 5), found.table("about")["risk"].item()
        chosen = _cases(top)
        named = find(described.cell(data=base["data"])).table("items")
        table = pl.concat([
            top.filter(user_id=user).select(pl.lit(kind).alias("user is"), *top.columns)
            for kind, user in chosen.items()
        ]).join(named, on="item_id", how="left", maintain_order="left")  # fmt: skip
        title = f"LightGCN with the Gaussian map on {TITLES[base['data']]}"
        caption = f"{_CASE_CAPTION} {risk.capitalize()} risk, {title_of(WITH_ANCHOR)}."
        tables.append(ResultTable(f"case-study-{base['data']}", f"Top-5 items of three users, {title}", table, caption))
        findings.append(_case_finding(title, top, table))
    return Outcome(tables, findings=findings, notes=not_run(plan))


def _cases(top: pl.DataFrame) -> dict[str, Any]:
    """The surest user, the least sure, and the one whose five probabilities lie widest apart."""
    users = top.group_by("user_id", maintain_order=True).agg(
        lowest=pl.col("probability").min(), highest=pl.col("probability").max()
    ).with_columns(width=pl.col("highest") - pl.col("lowest"))  # fmt: skip
    return {
        "sure of all": users.sort("lowest", descending=True)["user_id"][0],
        "sure of none": users.sort("highest")["user_id"][0],
        "wide apart": users.sort("width", descending=True)["user_id"][0],
    }


def _case_finding(title: str, top: pl.DataFrame, table: pl.DataFrame) -> str:
    ranges = {
        kind: (float(rows["probability"].min()), float(rows["probability"].max()))  # type: ignore[arg-type]
        for (kind,), rows in table.group_by("user is", maintain_order=True)
    }
    told = "; ".join(f"{kind}: {low:.2f} to {high:.2f}" for kind, (low, high) in ranges.items())
    likely = top.group_by("user_id").agg(pl.col("probability").max()).filter(pl.col("probability") > 0.5).height
    n_users = top["user_id"].n_unique()
    return f"{title}: probabilities of the top five, {told}. {likely} of {n_users} users have an item above 0.5."


_CASE_CAPTION = (
    "The users are found by rule, not by eye: the highest of all fifth probabilities, the lowest of all first ones, "
    "and the widest gap between first and fifth."
)

EXPERIMENTS = (
    Experiment(
        name="user-degree", chapter=2, title="User degree against calibrated confidence",
        shows="the figure of user degree and mean top-10 confidence (BPR)", data=DATA, cells=_degree_cells,
        outcome=_degree, claims=True,
    ),
    Experiment(
        name="calibration-case-study", chapter=2, title="Top-5 items of a few users with score and probability",
        shows="the case study (LightGCN with Gaussian calibration)", data=DATA, cells=_case_cells, outcome=_case,
    ),
)  # fmt: skip
