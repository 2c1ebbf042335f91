"""What personal sizes cost: parameters, and the time of a user's list."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from sureness.evaluation import n_parameters, top_blocks
from sureness.list_size import ExpectedUtility
from sureness.pipeline import ConfidentRecommender, open_run
from sureness.sources import id_maps
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.comparing import beside_published
from sureness_reproduction.experiment import Experiment, Finder, Plan, Scale
from sureness_reproduction.list_size.grid import DATA, MAX_SIZE, MODEL_NAMES, title, why_absent
from sureness_reproduction.list_size.runs import Recipe, base, needs_base, opened, recipe_of
from sureness_reproduction.list_size.showing import beside_shown, where_data
from sureness_reproduction.outcome import Outcome, ResultTable, Verdict
from sureness_reproduction.published import published
from sureness_reproduction.workbench import Workbench

_MODELS = ("bpr", "neumf", "lightgcn")
_TOP_K, _PERK = "Top-k", "PerK"
_MOST_USERS = 500
_ROUNDS = 9
_ABOUT_A_TENTH = 0.15  # at most so much more time is "about 10%"; the table of the dissertation has 5 to 14%
_DATA: dict[Scale, Sequence[str]] = {
    "quick": ("ml-100k",),
    "full": [name for name in DATA["neumf"]["full"] if name != "amazon-music"],
}


@work(needs=needs_base, cost=15)
def serving_measured(bench: Workbench, *, data: str, model: str, recipe: Recipe, seed: int) -> Tables:
    """Lists of up to 50 items with and without personal sizes, in turns, so that a busy machine slows both alike."""
    run = opened(bench, data, model, recipe, seed)
    assert run.validation is not None
    recommender = ConfidentRecommender(run.source, policy=ExpectedUtility("ndcg", max_size=MAX_SIZE))
    recommender.fit(run.train, run.validation)
    recommender.source = open_run(bench.found(base(data, model, recipe, seed)).folder / "model.sureness").source
    rows = np.arange(min(_MOST_USERS, recommender.source.n_users))
    users = id_maps(recommender.source)[0].at(rows)

    def plain() -> None:
        for _ in top_blocks(recommender.source, rows, MAX_SIZE, recommender.seen_):
            pass

    sides: dict[str, Callable[[], object]] = {_TOP_K: plain, _PERK: lambda: recommender.sizes(users)}
    learned = n_parameters(recommender.source) or 0
    more = {_TOP_K: 0, _PERK: 2 * recommender.source.n_users}
    return {
        "times": _in_turns(sides, len(rows)),
        "parameters": pl.DataFrame({"method": list(more), "parameters": [learned + each for each in more.values()]}),
    }


def _in_turns(sides: Mapping[str, Callable[[], object]], n_users: int) -> pl.DataFrame:
    """Milliseconds a user of each side in each round; a first one, in which functions are compiled, does not count."""
    rows = []
    for number in range(_ROUNDS + 1):
        for name, side in sides.items():
            started = time.perf_counter()
            side()
            seconds = time.perf_counter() - started
            rows.append({"method": name, "round": number, "milliseconds": 1_000 * seconds / n_users})
    return pl.DataFrame(rows).filter(pl.col("round") > 0)


def _measured(plan: Plan) -> Iterator[tuple[str, str, Cell]]:
    for data in plan.data:
        for model in _MODELS:
            recipe = recipe_of(data, model, plan.scale)
            yield data, model, serving_measured.cell(data=data, model=model, recipe=recipe, seed=0)


def _outcome(plan: Plan, find: Finder) -> Outcome:
    rows, findings, slower = [], [], []
    for data, model, cell in _measured(plan):
        times, parameters = find(cell).table("times"), find(cell).table("parameters")
        rows += numbers(data, model, times, parameters)
        findings.append(told(data, model, times, parameters))
        slower.append(increase(times))
    theirs = published("list-size-space-time")
    keys = ("data", "model", "method", "metric")
    table = beside_published(
        pl.DataFrame(rows), theirs, keys, higher_is_better=False, why_not_run=lambda row: why_absent(plan, row["data"])
    )
    ours = table.filter(pl.col("ours").is_not_null())
    known = theirs["data"].unique(maintain_order=True).to_list()
    return Outcome(
        tables=[
            ResultTable("measured", "Parameters and time a user", _wide(ours),
                        "Parameters in million; time in milliseconds a user, the median of nine rounds.", tidy=ours),
            ResultTable("beside-published", "Beside the published numbers", _beside(table, known),
                        "Published times are those of a GPU; compare the increase, not the times.", tidy=table),
        ],
        findings=findings,
        verdicts=[verdict(slower)],
        notes=[
            "Both sides score all items, hide the seen ones and take the best 50; PerK then computes the exact "
            "expected NDCG of every size and cuts, from summaries that were stored when the maps were fitted. One "
            f"thread, {_MOST_USERS} users, one split; the sides take turns.",
            "What PerK adds does not grow with the number of items, what it is added to does: the share falls with the "
            "catalogue and with the cost of a score.",
        ],
    )  # fmt: skip


def numbers(data: str, model: str, times: pl.DataFrame, parameters: pl.DataFrame) -> list[dict[str, object]]:
    """Million parameters and median milliseconds of each method, one row each."""
    same = {"data": data, "model": model}
    found = [{**same, "method": row["method"], "metric": "parameters", "value": row["parameters"] / 1e6}
             for row in parameters.to_dicts()]  # fmt: skip
    median = times.group_by("method", maintain_order=True).agg(pl.col("milliseconds").median())
    return found + [{**same, "method": row["method"], "metric": "time", "value": row["milliseconds"]}
                    for row in median.to_dicts()]  # fmt: skip


def increase(times: pl.DataFrame) -> float:
    """How much longer PerK takes, as a share; the median over rounds.

    Examples
    --------
    >>> rows = {"round": [1, 1, 2, 2], "method": ["Top-k", "PerK"] * 2, "milliseconds": [1.0, 1.1, 2.0, 2.2]}
    >>> round(increase(pl.DataFrame(rows)), 3)
    0.1
    """
    by_round = times.pivot("method", index="round", values="milliseconds")
    return float(np.median(by_round[_PERK].to_numpy() / by_round[_TOP_K].to_numpy())) - 1


def verdict(slower: Sequence[float]) -> Verdict:
    """On the claim that inference takes about a tenth longer."""
    mean = float(np.mean(slower))
    found = f"{mean:+.0%} on average, {min(slower):+.0%} to {max(slower):+.0%}"
    return Verdict("increase of inference time", found, mean <= _ABOUT_A_TENTH)


def told(data: str, model: str, times: pl.DataFrame, parameters: pl.DataFrame) -> str:
    """A sentence: how much PerK adds, beside the dissertation's increase."""
    size = dict(zip(parameters["method"], parameters["parameters"], strict=True))
    added = size[_PERK] / size[_TOP_K] - 1
    text = published("claims").filter(fact="increase of inference time")["value"].item()
    return (
        f"{title(data)}, {MODEL_NAMES[model]}: personal sizes take {increase(times):+.0%} time (dissertation: about "
        f"{text:.0f}%) and {added:+.1%} parameters."
    )


def _wide(table: pl.DataFrame) -> pl.DataFrame:
    rows = []
    for (data, model), part in table.group_by("data", "model", maintain_order=True):
        row: dict[str, object] = {"data": title(str(data)), "model": MODEL_NAMES[str(model)]}
        for metric in ("parameters", "time"):
            value = {each["method"]: each["ours"] for each in part.filter(metric=metric).to_dicts()}
            row |= {f"{metric}, {name}": f"{value[name]:.3f}" for name in (_TOP_K, _PERK)}
            row[f"{metric}, more"] = f"{value[_PERK] / value[_TOP_K] - 1:+.1%}"
        rows.append(row)
    return pl.DataFrame(rows)


def _beside(table: pl.DataFrame, known: Sequence[str]) -> pl.DataFrame:
    told = table.with_columns(method=pl.format("{}, {}", pl.col("model").replace(MODEL_NAMES), "method"))
    return beside_shown(told, known, "method", digits=3)


EXPERIMENTS = (
    Experiment(
        name="list-size-space-time", chapter=4, title="What personal list sizes cost",
        shows="the table of space and time", data=_DATA, cells=lambda plan: [cell for *_, cell in _measured(plan)],
        outcome=where_data(_outcome), seeds={"quick": 1, "full": 1}, claims=True,
    ),
)  # fmt: skip
