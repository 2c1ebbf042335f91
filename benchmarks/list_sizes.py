"""Chapter 4 on real data: `python -m benchmarks.list_sizes`, after `python -m benchmarks.base_models`.

Every trained recommender that has no results yet is studied; results are kept as they come, and the tables of all are
printed at the end. `--learned` adds AttnCut and MtCut, which take most of the time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from benchmarks.base_models import LEAST, MODELS, SEEDS, STORE
from sureness.experiments.list_sizes import DEFAULT, REFERENCE, UTILITIES, VARIANTS, over_runs, study, truncation_study
from sureness.list_size.base import ListSizePolicy
from sureness.list_size.lists import Lists
from sureness.models.runs import load_run

RESULTS = Path("build/list-size/results")
TRIALS = 2  # settings tried for each learned policy on CiteULike-a with BPR; the best one is used everywhere
_TUNED_ON = "citeulike-a-bpr"
_SCHEDULE = {"epochs": 30, "patience": 3}


def main(
    data: Annotated[list[str], typer.Option(help="Data set; may repeat.")] = [*LEAST],  # noqa: B006
    model: Annotated[list[str], typer.Option(help="Recommender; may repeat.")] = [*MODELS],  # noqa: B006
    max_size: Annotated[int, typer.Option(help="The longest list.")] = 50,
    learned: Annotated[bool, typer.Option(help="Train AttnCut and MtCut as well.")] = False,
    quick: Annotated[bool, typer.Option(help="The default and plain policies, no calibration errors.")] = False,
    terms: Annotated[bool, typer.Option(help="The study of M instead.")] = False,
    summary: Annotated[bool, typer.Option(help="Only print what was gained over the best fixed size.")] = False,
    store: Annotated[Path, typer.Option(help="Where trained models are.")] = STORE,
    results: Annotated[Path, typer.Option(help="Where results are kept.")] = RESULTS,
) -> None:
    """Study what is there, and print the tables."""
    results.mkdir(parents=True, exist_ok=True)
    if summary:
        _print_summary(results, max_size)
        return
    for each, name in [(d, m) for d in data for m in model]:
        for seed in SEEDS:
            folder = store / f"{each}-{name}-{seed}"
            if (folder / "model").exists():
                _study(folder, results, max_size, terms=terms, learned=learned, quick=quick)
        _print(results, each, name, max_size, learned=learned)


def _study(folder: Path, results: Path, max_size: int, *, terms: bool, learned: bool, quick: bool) -> None:
    run, start = load_run(folder), time.perf_counter()
    if terms:
        file = results / f"{folder.name}-terms.parquet"
        if not file.exists():
            truncation_study(run).write_parquet(file)
        return
    if not (file := _file(results, folder.name, max_size)).exists():
        variants = VARIANTS[:1] if quick else VARIANTS
        values, errors = study(run, max_size=max_size, variants=variants, with_errors=not quick)
        if not quick:
            errors.write_parquet(_file(results, f"{folder.name}-errors", max_size))
        values.write_parquet(file)
        print(f"{folder.name} with up to {max_size} items: {time.perf_counter() - start:.0f} s", flush=True)
    if learned and not (file := _file(results, f"{folder.name}-learned", max_size)).exists():
        make = partial(_learned, folder, results, max_size)
        values, _ = study(run, max_size=max_size, variants=VARIANTS[:1], learned=make, with_errors=False)
        values.filter(pl.col("policy").is_in(["AttnCut", "MtCut"])).write_parquet(file)
        print(f"{folder.name} learned policies: {time.perf_counter() - start:.0f} s", flush=True)


def _learned(folder: Path, results: Path, max_size: int, utility: str, before: Lists) -> Mapping[str, ListSizePolicy]:
    """AttnCut and MtCut, their settings chosen on one data set by users held out from training."""
    from sureness.truncation.tuning import CUTS, tune_cut

    seed = folder.name.rsplit("-", 1)[1]
    found: dict[str, ListSizePolicy] = {}
    for kind, label in (("attn-cut", "AttnCut"), ("mt-cut", "MtCut")):
        file = results / f"{_TUNED_ON}-{utility}-{kind}-{max_size}.json"
        if not file.exists():
            if not folder.name.startswith(_TUNED_ON):
                raise typer.BadParameter(f"settings are chosen on {_TUNED_ON}: study that one first")
            tuned = tune_cut(kind, before, utility, trials=TRIALS, seed=0, max_size=max_size, **_SCHEDULE)
            file.write_text(json.dumps(tuned.policy.get_params(deep=False)) + "\n", encoding="utf-8")
        settings = json.loads(file.read_text(encoding="utf-8")) | {"seed": int(seed)}
        found[label] = CUTS[kind](**settings).fit(before)
    return found


def _file(results: Path, name: str, max_size: int) -> Path:
    return results / f"{name}-{max_size}.parquet"


def _tables(results: Path, data: str, model: str, max_size: int, *, learned: bool) -> Iterator[pl.DataFrame]:
    for seed in SEEDS:
        name = f"{data}-{model}-{seed}"
        parts = [_file(results, name, max_size)]
        parts += [_file(results, f"{name}-learned", max_size)] if learned else []
        found = [pl.read_parquet(part) for part in parts if part.exists()]
        if found:
            yield pl.concat(found)


def _print(results: Path, data: str, model: str, max_size: int, *, learned: bool) -> None:
    tables = list(_tables(results, data, model, max_size, learned=learned))
    if not tables:
        return
    summary = over_runs(tables)
    print(f"\n## {data}, {model}, {len(tables)} runs, k from 1 to {max_size}\n")
    print("| policy | " + " | ".join(UTILITIES) + " |\n|---|" + "---|" * len(UTILITIES))
    for policy in summary["policy"].unique(maintain_order=True):
        cells = []
        for utility in UTILITIES:
            row = summary.row(by_predicate=(pl.col("policy") == policy) & (pl.col("utility") == utility), named=True)
            cells.append(f"{row['value']:.4f}{_mark(row)}")
        print(f"| {policy} | " + " | ".join(cells) + " |")
    if learned:
        _print_against(tables)


def _mark(row: dict[str, Any]) -> str:
    """Significantly better or worse than the best fixed size, by a paired t-test over users at 0.05."""
    if row["policy"] in (REFERENCE, "Oracle") or row["p_value"] > 0.05:
        return ""
    return " +" if row["gain"] > 0 else " -"


def _print_against(tables: list[pl.DataFrame]) -> None:
    for rival in (REFERENCE, "Val-k", "AttnCut", "MtCut"):
        if not all(table.filter(policy=rival).height for table in tables):
            continue
        against = over_runs(tables, rival).filter(policy=DEFAULT)
        cells = [f"{row['utility']} {row['gain']:+.4f} (p {row['p_value']:.2g})" for row in against.to_dicts()]
        print(f"\n{DEFAULT} against {rival}: " + ", ".join(cells))


def _print_summary(results: Path, max_size: int) -> None:
    """Gains of the default over its rivals in every setting, and the ablation of the calibration."""
    for rival in (REFERENCE, "AttnCut", "MtCut"):
        print(f"\n### {DEFAULT} against {rival}\n\n| data | model | runs | " + " | ".join(UTILITIES) + " |")
        print("|---|---|---:|" + "---:|" * len(UTILITIES))
        for data, model in ((d, m) for d in LEAST for m in MODELS):
            tables = list(_tables(results, data, model, max_size, learned=rival != REFERENCE))
            tables = [table for table in tables if table.filter(policy=rival).height]
            if not tables:
                continue
            against, every = over_runs(tables, rival), over_runs(tables)
            cells = []
            for utility in UTILITIES:
                row = against.filter(policy=DEFAULT, utility=utility).row(0, named=True)
                base = every.filter(policy=rival, utility=utility)["value"][0]
                cells.append(f"{base:.4f} → {row['value']:.4f}{_mark(row)}")
            print(f"| {data} | {model} | {len(tables)} | " + " | ".join(cells) + " |")
    print("\n### Calibration\n\n| data | model | map | ECE of all | ECE of the top | " + " | ".join(UTILITIES) + " |")
    print("|---|---|---|---:|---:|" + "---:|" * len(UTILITIES))
    for data, model in ((d, m) for d in LEAST for m in MODELS):
        _print_errors(results, data, model, max_size)


def _print_errors(results: Path, data: str, model: str, max_size: int) -> None:
    files = [_file(results, f"{data}-{model}-{seed}-errors", max_size) for seed in SEEDS]
    found = [pl.read_parquet(file) for file in files if file.exists()]
    if not found:
        return
    errors = pl.concat(found).group_by("variant", maintain_order=True).agg(pl.col("ece", "ece_top").mean())
    every = over_runs(list(_tables(results, data, model, max_size, learned=False)))
    for row in errors.to_dicts():
        name = row["variant"]
        cells = [f"{every.filter(policy=name, utility=utility)['value'][0]:.4f}" for utility in UTILITIES]
        print(f"| {data} | {model} | {name} | {row['ece']:.5f} | {row['ece_top']:.4f} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    typer.run(main)
