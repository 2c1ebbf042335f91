"""Compile all numerical kernels into numba's cache, so that later processes start without compiling."""

from __future__ import annotations

import pkgutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sureness
from sureness._progress import Progress, silent
from sureness._registry import names
from sureness.data.interactions import Interactions
from sureness.errors import SurenessWarning, warn
from sureness.jobs.allocating import AllocateOptions, allocate
from sureness.jobs.applying import apply
from sureness.jobs.cutting import PageOptions, cut_run, cut_table
from sureness.jobs.datasets import WorldOptions, write_world
from sureness.jobs.fitting import FitOptions, fit
from sureness.jobs.listing import CalibrationOptions, ListOptions
from sureness.jobs.logs import LogOptions, split_log
from sureness.lists.budgets import allocate_budget
from sureness.lists.pages import allocate_domains
from sureness.metrics.calibration import expected_calibration_error
from sureness.numerics.compiling import is_cached
from sureness.numerics.poisson_binomial import poisson_binomial_pmf
from sureness.numerics.ranking import draw_absent
from sureness.recommender.run import Run
from sureness.saving.packed import JSON
from sureness.sources.svd import svd_source
from sureness.tables.reading import scan_table
from sureness.tables.writing import write_table

_KERNELS = "_kernels"  # how the modules of kernels end


def warm(*, progress: Progress = silent) -> dict[str, JSON]:
    """Run every job on tiny data once, which compiles its kernels; numba caches them for later processes.

    Returns how many specialisations of kernels were compiled now, how many were loaded from the cache, the seconds that
    this took, and whether the kernels of training are among them: without torch they are not needed.
    """
    _say_if_lost()
    start = time.perf_counter()
    trained = find_spec("torch") is not None
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", SurenessWarning)  # tiny data deserve many a note
        jobs = _jobs(Path(folder), trained=trained)
        for done, job in enumerate(jobs, start=1):
            progress(job, done, _N_JOBS)
    found = [kernel.stats for kernel in kernels()]
    n_compiled, n_loaded = (
        sum(sum(counts.values()) for counts in each)
        for each in ([stats.cache_misses for stats in found], [stats.cache_hits for stats in found])
    )
    seconds = time.perf_counter() - start
    return {"compiled": n_compiled, "loaded": n_loaded, "seconds": seconds, "trained": trained}


def _say_if_lost() -> None:
    for _ in kernels():  # whether there is a place for the cache is known when they are imported
        pass
    if not is_cached():
        warn(
            "compiled kernels are lost when this process ends: numba finds no folder to cache them in; set "
            "NUMBA_CACHE_DIR to a writable folder, here and where the kernels are used"
        )


def kernels() -> Iterator[Any]:
    """Every kernel of the package, as numba holds it."""
    for found in pkgutil.walk_packages(sureness.__path__, "sureness."):
        if found.name.endswith(_KERNELS):
            module = import_module(found.name)
            for value in vars(module).values():
                if hasattr(value, "py_func") and value.py_func.__module__ == found.name:
                    yield value


_N_JOBS = 9  # as many as `_jobs` yields


def _jobs(folder: Path, *, trained: bool) -> Iterator[str]:
    """Run one job after the other; yields the name of each when it is done."""
    write_world(folder, WorldOptions(users=700, items=120, domains=2, factors=3))  # enough that threads are used
    yield "simulate"
    candidates, lists = folder / "candidates.parquet", folder / "lists.parquet"
    for method in names("calibrator"):
        known = FitOptions(method=method, held_out_share=0.1, training_pairs="left_out")
        fit(candidates, known, output=folder / "map.json")
    yield "fit"
    apply(folder / "map.json", candidates, folder / "probabilities.parquet")
    yield "apply"
    for utility in names("utility"):
        cut_table(folder / "probabilities.parquet", lists, ListOptions(utility=utility, max_size=10))
    yield "list-size"
    apply(folder / "map.json", folder / "test.parquet", folder / "domains.parquet")
    allocate(folder / "domains.parquet", lists, AllocateOptions(slots=4))
    allocate(folder / "probabilities.parquet", lists, AllocateOptions(budget=500.0, max_size=100))
    yield "allocate"
    log = str(folder / "train.parquet")
    run = folder / "run.sureness"
    _save_run(log, run)
    for map_ in ("lists", "per-user-platt", "per-user-gaussian", "per-user-gamma", "platt"):
        of_run = CalibrationOptions(calibrator=map_)
        cut_run(run, lists, ListOptions(max_size=10), of_run, PageOptions(save=folder / "saved.sureness"))
    cut_run(run, lists, ListOptions(max_size=10, expected_relevant=2.0))
    yield "recommend"
    _numbers()
    yield "metrics"
    if trained:
        _train(log, folder)
    yield "train"
    if trained:
        _distill(log, folder)
    yield "distill"


def _numbers() -> None:
    """Functions on arrays that no job above calls in this form: large pages and budgets, metrics, counts."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    probabilities, labels = rng.random(2_000), rng.random(2_000) < 0.5
    for truth in (labels, labels.astype(np.int64), labels.astype(np.float64)):
        for weight in (None, rng.random(2_000)):
            expected_calibration_error(truth, probabilities, sample_weight=weight)
    poisson_binomial_pmf(probabilities.reshape(20, 100))
    worth = np.sort(rng.random((60_000, 2, 10)), axis=2)  # enough that threads share the work
    allocate_domains(worth, slots=6)
    allocate_budget(worth.reshape(-1, 10), budget=90_000.0)
    allocate_budget(worth[:50, 0], budget=40.0, cost=rng.random((50, 10)))
    scores = rng.normal(size=(30, 100))
    taken = Interactions.from_matrix(csr_matrix(scores + rng.normal(size=scores.shape) > 2))
    draw_absent(taken.user_rows, taken.row_starts, taken.item_rows, taken.n_items, rng)


def _save_run(log: str, path: Path) -> None:
    """A run whose users have names, since ids that are numbers are found without a kernel."""
    named = path.with_name("named.parquet")
    write_table(scan_table(log).with_columns(pl.col("user_id").cast(pl.String)), named)
    split = split_log(str(named), LogOptions()).split
    Run(svd_source(split.train, n_factors=3), **split.parts, about={"protocol": "ratio"}).save(path)


def _train(log: str, folder: Path) -> None:
    from sureness.jobs.training import TrainOptions, train

    short, dense = ("epochs=2", "validate_every=1"), ("adam=dense", "weight_decay=0.001")
    for model, settings in [*((name, short) for name in names("model")), ("bpr", short + dense)]:
        train(log, folder / "trained.sureness", TrainOptions(model=model, factors=4, settings=settings))


def _distill(log: str, folder: Path) -> None:
    from sureness.distillation.settings import method_names
    from sureness.jobs.distilling import DistillOptions, distill

    short = ("epochs=2", "validate_every=1")
    for method in method_names():
        options = DistillOptions(
            teacher="bpr:4", student="bpr:2", method=method, teacher_set=short, student_set=short,
            settings=("epochs=2",),
        )  # fmt: skip
        distill(log, folder / "distilled.sureness", options)
