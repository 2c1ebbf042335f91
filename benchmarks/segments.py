"""Maps of overlapping segments against MCGrad: multicalibration error, likelihood, time to fit, time of one row.

    python -m benchmarks.segments [--task "ml-1m rated"] [--seeds 3] [--pairs 40000]

Both start from the same learned shape for all pairs, are fitted on the same pairs and judged on the same others. MCGrad
runs with its default settings in an environment of its own (`make mcgrad`). Times are those of the processor, of one
thread. Finished cells are kept in benchmarks/results/segments.csv; a second run goes on from there, and then prints the
table of docs/measured/calibration.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

import sureness as sn
from benchmarks.segment_tasks import TASKS, Task
from sureness.errors import SurenessWarning

RESULTS = Path(__file__).parent / "results" / "segments.csv"
MCGRAD = Path(os.environ.get("MCGRAD_PYTHON", Path(__file__).parents[1] / ".venv-mcgrad" / "bin" / "python"))
OURS = {"one map": 0, "each field": 1, "pairs of fields": 2, "triples of fields": 3}
_JUDGED = 100_000  # pairs
_SINGLE_ROWS = 2_000
_GROUPS, _FEWEST = 10, 10  # of numbers, and pairs of a segment that counts
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def cell(name: str, seed: int, pairs: int) -> list[dict[str, object]]:
    """One row for each method."""
    whole = TASKS[name](seed)
    fit, test = (
        part.sample(min(most, part.height), seed=seed) for part, most in ((whole.fit, pairs), (whole.test, _JUDGED))
    )
    task = Task(fit, test, whole.categories, whole.numbers)
    found = {method: _ours(task, interactions) for method, interactions in OURS.items()}
    with tempfile.TemporaryDirectory() as folder:
        found["MCGrad"], errors = _mcgrad(task, found, Path(folder))
    place = {"task": name, "seed": seed, "pairs": fit.height}
    return [place | {"method": method} | each | errors[method] for method, each in _judged(task, found).items()]


def _ours(task: Task, interactions: int) -> dict[str, object]:
    """Probabilities of the judged pairs, seconds of the fit and of one row."""
    scores, labels, fields = task.fit["score"].to_numpy(), task.fit["label"].to_numpy(), task.fit.select(task.fields)
    judged = task.test["score"].to_numpy()
    started = time.process_time()
    if not interactions:
        overall = sn.calibration.ShapeCalibrator().fit(scores, labels)
        return {"p": overall.probability(judged), "fit_seconds": time.process_time() - started, "overall": overall}
    fitted = sn.SegmentCalibrator(numeric=task.numbers, interactions=interactions)
    fitted.fit(scores, labels, segments=fields)
    seconds = time.process_time() - started
    rows = task.test.head(_SINGLE_ROWS).select("score", *task.fields).to_dicts()
    started = time.process_time()
    for row in rows:
        fitted.probability([row["score"]], segments=row)
    one_row = (time.process_time() - started) / len(rows)
    return {"p": fitted.probability(judged, segments=task.test), "fit_seconds": seconds, "row_seconds": one_row}


def _mcgrad(
    task: Task, ours: dict[str, dict[str, object]], folder: Path
) -> tuple[dict[str, object], dict[str, dict[str, float]]]:
    """The same of MCGrad, and everybody's multicalibration error by its own metric."""
    overall = ours["one map"]["overall"]
    assert isinstance(overall, sn.calibration.ShapeCalibrator)
    columns = [pl.Series(method, each["p"]) for method, each in ours.items()]
    task.fit.with_columns(pl.Series("one map", overall.probability(task.fit["score"]))).write_parquet(
        folder / "fit.parquet"
    )
    task.test.with_columns(columns).write_parquet(folder / "test.parquet")
    told = {"categories": task.categories, "numbers": task.numbers, "start": "one map", "methods": list(ours)}
    (folder / "fields.json").write_text(json.dumps(told))
    script = Path(__file__).parent / "baselines" / "mcgrad_fit.py"
    subprocess.run([MCGRAD, script, folder], check=True, env=os.environ | _ONE_THREAD | {"PYTHONPATH": ""})
    found = json.loads((folder / "mcgrad.json").read_text())
    times = {"fit_seconds": found["fit_seconds"], "row_seconds": found["row_seconds"]}
    return {"p": np.load(folder / "mcgrad.npy"), **times}, found["errors"]


def _judged(task: Task, found: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    """Likelihood and plain errors over all segments of one and two fields, beside the times."""
    labels, segments = task.test["label"].to_numpy().astype(float), _segments(task)
    judged: dict[str, dict[str, object]] = {}
    for method, each in found.items():
        p = np.asarray(each["p"])
        loss = -np.mean(labels * np.log(p) + (1 - labels) * np.log1p(-p))
        far, gaps, sizes = (
            np.concatenate(part) for part in zip(*(_gaps(codes, labels, p) for codes in segments), strict=True)
        )
        truth = task.test["truth"].to_numpy() if "truth" in task.test.columns else np.full(len(p), np.nan)
        judged[method] = {
            "nll": loss, "largest_z": far.max(), "mean_z": far.mean(), "gap": gaps.sum() / sizes.sum(),
            "from_truth": np.abs(p - truth).mean(), "fit_seconds": each["fit_seconds"],
            "row_seconds": each.get("row_seconds"),
        }  # fmt: skip
    return judged


def _segments(task: Task) -> list[np.ndarray]:
    """Every segment of one field and of two, as the code of each judged pair."""
    codes = [task.test[name].rank("dense").to_numpy().astype(np.int64) for name in task.categories]
    for name in task.numbers:
        numbers = task.test[name].to_numpy()
        edges = np.unique(np.quantile(numbers, np.arange(1, _GROUPS) / _GROUPS))
        codes.append(np.searchsorted(edges, numbers, side="right"))
    return codes + [first * (second.max() + 1) + second for first, second in combinations(codes, 2)]


def _gaps(codes: np.ndarray, labels: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each segment: positives off what was promised in standard deviations, in number, and its pairs."""
    off, variance, pairs = (np.bincount(codes, values) for values in (labels - p, p * (1 - p), np.ones(len(p))))
    large = pairs >= _FEWEST
    off = np.abs(off[large])
    return off / np.sqrt(variance[large]), off, pairs[large]


def summary(rows: pl.DataFrame) -> pl.DataFrame:
    """Means over seeds."""
    measured = ["mce_sigma", "mce_relative", "largest_z", "mean_z", "gap", "nll", "from_truth", "fit_seconds"]
    return rows.group_by("task", "pairs", "method", maintain_order=True).agg(
        pl.len().alias("seeds"), pl.col(measured).mean(), (pl.col("row_seconds").mean() * 1e6).alias("row_microseconds")
    )


def main() -> None:
    """Add the missing cells, one at a time, so that a stopped study goes on where it was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=40_000, help="to fit on")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", SurenessWarning)  # rare values that only the judged pairs have
    _ours(TASKS["simulated"](0), 1)  # compiles what is not compiled yet
    for seed, task in ((seed, task) for seed in range(asked.seeds) for task in asked.task):
        known = pl.read_csv(RESULTS) if RESULTS.exists() else None
        if known is not None and known.filter(task=task, seed=seed, pairs=asked.pairs).height:
            continue
        rows = pl.DataFrame(cell(task, seed, asked.pairs), infer_schema_length=None)
        rows = rows.with_columns(pl.col(pl.Float64).round_sig_figs(6))
        RESULTS.parent.mkdir(exist_ok=True)
        pl.concat([rows] if known is None else [known, rows], how="diagonal_relaxed").write_csv(RESULTS)
        print(task, seed, flush=True)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200, tbl_formatting="ASCII_MARKDOWN", float_precision=4):
        print(summary(pl.read_csv(RESULTS)))


if __name__ == "__main__":
    main()
