"""The multi-domain case: one page that several domains share, slots where they are worth most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from sureness.data import Interactions, SimulatorSettings, Split, by_ratio, simulate
from sureness.sources import ScoreSource, svd_source
from sureness.workflows import DomainLists, domain_lists
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.comparing import paired, spread
from sureness_reproduction.experiment import Experiment, Finder, Plan, Scale
from sureness_reproduction.list_size.runs import SEEDS, als_is_here, als_source
from sureness_reproduction.list_size.showing import where_data
from sureness_reproduction.outcome import Outcome, ResultTable
from sureness_reproduction.types import AnyArray
from sureness_reproduction.workbench import Workbench

SLOTS = 40
SHOPS, SIMULATED = "amazon-crossdomain", "simulator"
PAIRS = ("sport-phone", "electronic-phone", "sport-cloth", "electronic-cloth")
_WORLD: dict[Scale, dict[str, int]] = {
    "quick": {"n_users": 1_000, "n_items": 600}, "full": {"n_users": 2_000, "n_items": 1_200},
}  # fmt: skip
_PAIRS: dict[Scale, Sequence[str]] = {"quick": PAIRS[:1], "full": PAIRS}
_DATA: dict[Scale, Sequence[str]] = {"quick": (SIMULATED, SHOPS), "full": (SIMULATED, SHOPS)}
_ALS = {"factors": 64, "iterations": 20, "regularization": 0.1, "alpha": 10.0}  # not tuned: all pages have its lists
_APART = 10_000_000  # more than the users of a world
_HOW = {"equal": "equal shares", "free": "shared, slots may stay free", "filled": "shared, all filled"}


@work(judges=True, cost=30, version=2)
def pages_shared(
    bench: Workbench, *, data: str, pair: str, world: dict[str, int], slots: int, seed: int, source: str
) -> Tables:
    """Total F1 over the domains of pages made of the same lists: equal shares, shared, and shared to the last slot."""
    scores, split, domains = _simulated(world, seed) if data == SIMULATED else _shops(bench, data, pair, seed, source)
    lists = domain_lists(scores, split, domains, slots=slots)
    sizes = {"equal": lists.equal(), "free": lists.shared(), "filled": lists.shared(fill=True)}
    worth = {how: lists.realised(each) for how, each in sizes.items()}
    columns: dict[str, Any] = {"user": lists.users}
    for how, each in sizes.items():
        columns |= {how: worth[how].sum(axis=1), f"{how}_items": each.sum(axis=1)}
    return {"values": pl.DataFrame(columns), "slots": _slots(lists, sizes), "cases": _cases(lists, sizes, worth)}


def _simulated(world: dict[str, int], seed: int) -> tuple[ScoreSource, Split, AnyArray]:
    drawn = simulate(SimulatorSettings(**world, seed=seed))
    split = by_ratio(Interactions.from_matrix((drawn.train + drawn.held_out).tocsr()), seed=seed)
    return svd_source(split.train, n_factors=7, seed=seed), split, np.array(drawn.domains)[drawn.item_domain]


def _shops(bench: Workbench, data: str, pair: str, seed: int, source: str) -> tuple[ScoreSource, Split, AnyArray]:
    split = bench.split(data, "ratio", seed=seed, pair=pair)
    domains = split.train.item_domain
    assert domains is not None
    scores = als_source(split, _ALS, seed) if source == "als" else svd_source(split.train, n_factors=64, seed=seed)
    return scores, split, domains.to_numpy()


def _slots(lists: DomainLists, sizes: dict[str, Any]) -> pl.DataFrame:
    parts = [
        pl.DataFrame({"page": how, "domain": lists.domains, "mean": each.mean(axis=0),
                      "fewest": each.min(axis=0), "most": each.max(axis=0)})
        for how, each in sizes.items()
    ]  # fmt: skip
    return pl.concat(parts)


def _cases(lists: DomainLists, sizes: dict[str, Any], worth: dict[str, Any]) -> pl.DataFrame:
    """Two users with a hit: in the middle of, and at nine tenths of, the order by how uneven their pages are."""
    shared = sizes["free"]
    order = np.lexsort((lists.users, shared.max(axis=1) - shared.min(axis=1)))
    met = (worth["equal"] + worth["free"]).sum(axis=1) > 0
    order = order[met[order]] if met.any() else order
    rows = []
    for share in (0.5, 0.9):
        place = order[int(share * (len(order) - 1))]
        for column, domain in enumerate(lists.domains):
            row: dict[str, Any] = {"user": int(lists.users[place]), "domain": domain,
                                   "relevant": int(lists.relevant[place, column])}  # fmt: skip
            for how in ("equal", "free"):
                k = int(sizes[how][place, column])
                found = "".join(str(int(hit)) for hit in lists.hits[place, column, :k])
                row |= {f"{how}_size": k, f"{how}_labels": found, f"{how}_f1": float(worth[how][place, column])}
            rows.append(row)
    return pl.DataFrame(rows)


# --- the experiment -------------------------------------------------------------------------------------------------


def _settings(plan: Plan) -> dict[str, list[Cell]]:
    """The cells of every set of domains, one for each seed."""
    source = "als" if als_is_here() else "svd"
    found = {}
    for data in plan.data:
        for pair in _PAIRS[plan.scale] if data == SHOPS else ("",):
            world = _WORLD[plan.scale] if data == SIMULATED else {}
            found[pair or data] = [
                pages_shared.cell(data=data, pair=pair, world=world, slots=SLOTS, seed=seed,
                                  source=source if data == SHOPS else "svd")
                for seed in plan.seeds
            ]  # fmt: skip
    return found


def _cells(plan: Plan) -> Sequence[Cell]:
    return [cell for cells in _settings(plan).values() for cell in cells]


def _outcome(plan: Plan, find: Finder) -> Outcome:
    rows, tidy, slots, cases, findings = [], [], [], [], []
    for name, cells in _settings(plan).items():
        values = pl.concat([_values(cell, find) for cell in cells])
        means = values.group_by("seed", maintain_order=True).agg(pl.exclude("user").mean())
        rows += [_row(name, how, values, means) for how in _HOW]
        tidy.append(means.unpivot(index="seed", variable_name="measure").with_columns(domains=pl.lit(name)))
        parts = pl.concat([find(cell).table("slots") for cell in cells])
        slots.append(_mean_slots(parts).select(pl.lit(name).alias("domains"), pl.all()))
        cases.append(find(cells[0]).table("cases").select(pl.lit(name).alias("domains"), pl.all()))
        findings += told(name, values)
    tables = [
        ResultTable("pages", "Total F1 of a page", pl.DataFrame(rows),
                    f"Pages of {SLOTS} slots; F1 added up over the domains, mean ± deviation over splits; paired "
                    "t-test over users against equal shares.", tidy=pl.concat(tidy)),
        ResultTable("slots", "Slots of each domain", pl.concat(slots),
                    "Mean over users and splits; the fewest and most that any user gives a domain."),
        ResultTable("cases", "Two users", _shown(pl.concat(cases)),
                    "First split. Of the users with a hit, those in the middle and at nine tenths of the order by the "
                    "unevenness of their shared pages. 1: relevant, 0: not, in the order of the list; none: no item "
                    "of the domain is shown."),
    ]  # fmt: skip
    return Outcome(tables=tables, findings=findings, notes=_notes(plan))


def _values(cell: Cell, find: Finder) -> pl.DataFrame:
    """What the pages were worth; every simulated world has users of its own."""
    table = find(cell).table("values").with_columns(seed=pl.lit(cell["seed"]))
    return table.with_columns(pl.col("user") + _APART * cell["seed"]) if cell["data"] == SIMULATED else table


def _row(name: str, how: str, values: pl.DataFrame, means: pl.DataFrame) -> dict[str, str]:
    gain, p_value = _gain(values, how)
    test = "-" if how == "equal" else f"{gain:+.4f} (p {p_value:.1g})"
    return {"domains": name, "page": _HOW[how], "total F1": spread(means[how]),
            "items shown": spread(means[f"{how}_items"], 1), "against equal shares": test}  # fmt: skip


def _gain(values: pl.DataFrame, how: str) -> tuple[float, float]:
    return paired(*(values.select("user", "seed", pl.col(name).alias("value")) for name in (how, "equal")))


def _mean_slots(parts: pl.DataFrame) -> pl.DataFrame:
    table = parts.group_by("page", "domain", maintain_order=True).agg(
        pl.col("mean").mean().round(1).cast(pl.String), pl.col("fewest").min(), pl.col("most").max()
    )
    return table.with_columns(pl.col("page").replace(_HOW)).rename({"mean": "mean slots"})


def told(name: str, values: pl.DataFrame) -> list[str]:
    """A sentence: whether a shared page is worth more than equal shares, with slots that may stay free and without."""
    parts = []
    for how in ("free", "filled"):
        gain, p_value = _gain(values, how)
        verdict = "no difference" if p_value >= 0.05 else "more" if gain > 0 else "less"
        parts.append(f"{_HOW[how]}: {verdict} ({gain:+.4f}, p {p_value:.1g})")
    base = float(values["equal"].mean() or 0.0)  # type: ignore[arg-type]
    return [f"{name}: total F1 against {base:.4f} of equal shares; {'; '.join(parts)}."]


def _shown(cases: pl.DataFrame) -> pl.DataFrame:
    told = [
        pl.format("{}: {}", f"{how}_size", pl.col(f"{how}_labels").replace({"": "none"})).alias(_HOW[how])
        for how in ("equal", "free")
    ]
    f1 = pl.format("{} to {}", *(pl.col(f"{how}_f1").abs().round(3) for how in ("equal", "free"))).alias("F1")
    return cases.select("domains", pl.col("user").cast(pl.String), "domain", "relevant", *told, f1)


def _notes(plan: Plan) -> list[str]:
    text = (
        "The dissertation's four domains of Amazon with the same users cannot be had; pairs of shops and a simulated "
        "world "
    )
    notes = [text + "with four domains stand for them. The dissertation averages F1 over domains, here it is added up."]
    if SHOPS in plan.data:
        kind = "ALS of implicit" if als_is_here() else "a truncated SVD, since implicit is not installed"
        notes.append(f"Shops: scores by {kind}, 64 factors, not tuned: all pages are made of the same lists.")
    return notes


EXPERIMENTS = (
    Experiment(
        name="multi-domain", chapter=4, title="One page for several domains", shows="the case study of several domains",
        data=_DATA, cells=_cells, outcome=where_data(_outcome), seeds=SEEDS,
    ),
)  # fmt: skip
