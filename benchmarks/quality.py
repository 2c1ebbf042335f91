"""How well recommenders rank, all tuned with the same budget: `python -m benchmarks.quality --baseline implicit`.

Every setting is judged on the validation set, the best one is trained with three seeds and judged on the test set.
Each finished run is one line of `runs.jsonl`: called again, the command goes on where it was, and prints the table of
all runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Annotated, Any

import typer

from benchmarks.baselines import recbole_process as recbole
from benchmarks.baselines.fitted import Fitted
from benchmarks.baselines.implicit_bpr import fit_bpr
from benchmarks.logs import absent, split_of
from benchmarks.tables import Table
from sureness.data import Split, union
from sureness.metrics import evaluate_ranking
from sureness.models import tune
from sureness.sources import ScoreSource

SEEDS = (2024, 2025, 2026)
METRICS = ("ndcg@50", "recall@50", "hit@50")
STORE = Path("build/quality")

Settings = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A library's model on a data set, and what is tried."""

    baseline: str
    model: str
    data: str
    metric: str  # by which the best setting and the best epoch are chosen
    tried: tuple[Settings, ...]  # for ours: only their number counts, which are drawn by `tune`
    fixed: Settings  # the same in all of them

    @property
    def name(self) -> str:
        return f"{self.baseline}-{self.model}-{self.data}"


@dataclass(frozen=True)
class Run:
    """One finished training."""

    case: str
    stage: str  # "tuning", judged on validation alone, or "test"
    settings: Settings
    seed: int
    validation: float
    epoch: int
    epochs_run: int
    seconds: float
    test: dict[str, float]
    history: list[dict[str, Any]]


def _grid(**values: tuple[Any, ...]) -> tuple[Settings, ...]:
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


# On the small logs, rates below 0.05 were still rising after 200 iterations, and a pull of 0.001 was worse than 0.01.
_SMALL = _grid(learning_rate=(0.1, 0.2), regularization=(0.003, 0.01, 0.03))
_IMPLICIT = {
    "ml-1m": _grid(learning_rate=(0.03, 0.1), regularization=(0.01, 0.03)),
    "citeulike-a": _SMALL,
    "citeulike-bd": _SMALL,
}
_ITERATIONS = {"ml-1m": 200, "citeulike-a": 600, "citeulike-bd": 600}  # at most
# RecBole's loss adds the norm of the batch, not its square, so a pull that is felt needs a large weight. An epoch of
# ML-1M takes 18 s there, hence few settings and epochs.
_RECBOLE = {
    "ml-1m": (
        {"learning_rate": 0.01, "reg_weight": 1e-4}, {"learning_rate": 0.005, "reg_weight": 1e-4},
    ),
    "citeulike-a": _grid(learning_rate=(0.005, 0.01), reg_weight=(1e-4, 1e-2)),
}  # fmt: skip
_EPOCHS = {"ml-1m": 25, "citeulike-a": 60}
# Validation falls for some epochs before it rises, so a patience of 5 would stop too early: RecBole's own 10 stays.
_LIGHTGCN = {"embedding_size": 64, "n_layers": 2, "train_batch_size": 8192, "stopping_step": 10}
_FACTORS = {"ml-1m": 64, "citeulike-a": 64, "citeulike-bd": 50}


def cases() -> Iterator[Case]:
    """Everything that is compared; ours has as many trials as its baseline."""
    for data, n_factors in _FACTORS.items():
        metric = "hit@50" if data == "citeulike-bd" else "ndcg@50"
        tried, fixed = _IMPLICIT[data], {"factors": n_factors, "iterations": _ITERATIONS[data]}
        yield Case("implicit", "bpr", data, metric, tried, fixed)
        given = {"n_factors": n_factors, "metric": metric, "epochs": _ITERATIONS[data]}
        yield Case("ours", "bpr", data, metric, tried, given)
    for data, tried in _RECBOLE.items():
        yield Case("recbole", "lightgcn", data, "ndcg@50", tried, _LIGHTGCN | {"epochs": _EPOCHS[data]})
        yield Case("ours", "lightgcn", data, "ndcg@50", tried, {"n_factors": 64, "layers": 2, "epochs": _EPOCHS[data]})


# --- running -------------------------------------------------------------------------------------------------------


class Store:
    """Finished runs on disk."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.file = folder.resolve(), folder / "runs.jsonl"

    def runs(self, case: Case) -> list[Run]:
        if not self.file.exists():
            return []
        lines = [json.loads(line) for line in self.file.read_text(encoding="utf-8").splitlines()]
        return [Run(**line) for line in lines if line["case"] == case.name]

    def find(self, case: Case, stage: str, settings: Settings, seed: int) -> Run | None:
        wanted = (stage, settings, seed)
        return next((run for run in self.runs(case) if (run.stage, run.settings, run.seed) == wanted), None)

    def add(self, run: Run) -> Run:
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(run)) + "\n")
        print(f"{run.case} {run.stage} {run.settings} seed {run.seed}: {run.validation:.4f} {run.test}", flush=True)
        return run

    def scratch(self, case: Case, settings: Settings, seed: int) -> Path:
        """A folder of one run of its own."""
        key = json.dumps([settings, seed], sort_keys=True).encode()
        folder = self.folder / case.name / hashlib.sha256(key).hexdigest()[:12]
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def baseline(case: Case, store: Store) -> None:
    """Try every setting with the first seed, then the best one with all."""
    split = split_of(case.data)
    tried = [_run(case, "tuning", case.fixed | settings, SEEDS[0], split, store) for settings in case.tried]
    best = max(tried, key=lambda run: run.validation)
    for seed in SEEDS:
        _run(case, "test", best.settings, seed, split, store)


def ours(case: Case, store: Store) -> None:
    """Draw as many settings as the baseline had, then the best one with all seeds."""
    split = split_of(case.data)
    found = tune(
        case.model, split, trials=len(case.tried), seed=0, record=store.folder / f"{case.name}.json", **case.fixed
    )
    settings = {name: value for name, value in found.best.items() if name != "seed"}
    for seed in SEEDS:
        if store.find(case, "test", settings, seed) is not None:
            continue
        model = found.recommender(seed=seed).fit(split.train, split.validation)
        history = model.history_.drop_nulls("metric").select("epoch", "metric", "seconds").to_dicts()
        fitted = Fitted(
            model, model.best_metric_ or 0.0, model.best_epoch_, model.history_.height,
            float(model.history_["seconds"].sum()), history,
        )  # fmt: skip
        store.add(_finished(case, "test", settings, seed, fitted, split))


def _run(case: Case, stage: str, settings: Settings, seed: int, split: Split, store: Store) -> Run:
    found = store.find(case, stage, settings, seed)
    if found is not None:
        return found
    if case.baseline == "recbole":
        fitted = recbole.fit_lightgcn(split, settings, seed, store.scratch(case, settings, seed))
    else:
        fitted = fit_bpr(split, settings, seed, case.metric)
    return store.add(_finished(case, stage, settings, seed, fitted, split))


def _uninstalled(case: Case) -> str | None:
    return recbole.ABSENT if case.baseline == "recbole" and not recbole.is_installed() else None


def _finished(case: Case, stage: str, settings: Settings, seed: int, fitted: Fitted, split: Split) -> Run:
    test = {} if stage == "tuning" else _tested(fitted.source, split)
    return Run(
        case.name, stage, settings, seed, fitted.validation, fitted.epoch, fitted.epochs_run, fitted.seconds, test,
        fitted.history,
    )  # fmt: skip


def _tested(source: ScoreSource, split: Split) -> dict[str, float]:
    seen = union([split.train, split.validation])
    return evaluate_ranking(source, split.test, seen=seen, metrics=METRICS).means


# --- telling -------------------------------------------------------------------------------------------------------


def table(store: Store) -> Table:
    """What all finished runs say."""
    rows = [row for case in sorted(cases(), key=lambda case: (case.model, case.data, case.baseline))
            if (row := _row(case, store))]  # fmt: skip
    header = ("model", "data", "library", "best settings", "tried", "validation", *METRICS, "epoch", "seconds a run")
    notes = (
        f"Mean and standard deviation over {len(SEEDS)} seeds of the model on the same split (seed 0). Validation is "
        "the metric by which settings and epoch were chosen.",
    )
    return Table("Quality of ranking, tuned on validation with the same number of trials", header, rows, notes=notes)


def _row(case: Case, store: Store) -> tuple[str, ...] | None:
    runs = [run for run in store.runs(case) if run.stage == "test"]
    if not runs:
        return None
    settings = {name: value for name, value in runs[0].settings.items() if name not in ("metric", "stopping_step")}
    shown = ", ".join(f"{name} {value:g}" for name, value in settings.items())
    validation = _spread([run.validation for run in runs])
    spread = [_spread([run.test[metric] for run in runs]) for metric in METRICS]
    return (
        case.model, case.data, case.baseline, shown, str(len(case.tried)), validation, *spread,
        f"{mean(run.epoch for run in runs):.0f} of {mean(run.epochs_run for run in runs):.0f}",
        f"{mean(run.seconds for run in runs):.0f}",
    )  # fmt: skip


def _spread(values: list[float]) -> str:
    return f"{mean(values):.4f}" + (f" ± {stdev(values):.4f}" if len(values) > 1 else "")


def results(store: Store) -> dict[str, Any]:
    """Everything but the histories, by case."""
    return {
        case.name: [{name: value for name, value in asdict(run).items() if name != "history"} for run in runs]
        for case in cases()
        if (runs := store.runs(case))
    }


_RUNNERS: dict[str, Callable[[Case, Store], None]] = {"implicit": baseline, "recbole": baseline, "ours": ours}


def main(
    baselines: Annotated[
        list[str] | None, typer.Option("--baseline", help="implicit, recbole or ours; may repeat.")
    ] = None,
    data: Annotated[list[str] | None, typer.Option(help=f"One of {', '.join(_FACTORS)}; may be repeated.")] = None,
    store: Annotated[Path, typer.Option(help="Where finished runs are kept.")] = STORE,
) -> None:
    """Run what is missing of the chosen comparisons, and print the table of all."""
    kept = Store(store)
    for case in cases():
        if case.baseline not in (baselines or ()) or (data and case.data not in data):
            continue
        if reason := absent(case.data) or _uninstalled(case):
            print(f"{case.name}: {reason}")
            continue
        _RUNNERS[case.baseline](case, kept)
    (kept.folder / "results.json").write_text(json.dumps(results(kept), indent=1) + "\n", encoding="utf-8")
    print(table(kept).markdown())


if __name__ == "__main__":
    typer.run(main)
