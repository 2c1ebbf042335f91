"""Is a log with an anchor ever worse than the better of the two? Twenty simulated worlds, and Coat with five models.

    python -m benchmarks.anchoring

Each part is judged by its mean negative log-likelihood on uniformly exposed pairs that nothing was fitted on (in
simulated worlds by the true preference). Finished worlds are kept in benchmarks/results/anchoring.csv; a second run
goes on from there, and then prints the table of docs/measured/calibration.md.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

import sureness as sn
from benchmarks.knowledge import prepare
from sureness.errors import NoMinimumError, SurenessWarning

RESULTS = Path(__file__).parent / "results" / "anchoring.csv"
METHODS = ("platt", "beta", "gaussian", "gamma")
SIZES = (100, 300, 1_000, 3_000)
DRAWS = 3
WORLDS = 20
COAT_MODELS = ("bpr", "ubpr", "neumf", "cml", "lightgcn")

Loss = Callable[[sn.calibration.Calibrator], float]


@dataclass(frozen=True, eq=False)
class Case:
    """A log to calibrate on, uniformly exposed pairs to draw anchors from, and how a map is judged."""

    name: str
    log: sn.CalibrationSet
    uniform: sn.data.ScoredPairs
    loss: Loss


def worlds() -> Iterator[Case]:
    """Worlds that differ in how often things are liked and seen, and in how biased their log is."""
    for seed in range(WORLDS):
        rng = np.random.default_rng(1_000 + seed)
        settings = sn.SimulatorSettings(
            n_users=1_200, n_items=400, preference_rate=float(rng.uniform(0.05, 0.25)),
            exposure_rate=float(rng.uniform(0.08, 0.25)), popularity_bias=float(rng.uniform(0.5, 2)),
            selection_bias=float(rng.uniform(0, 1.2)), seed=seed,
        )  # fmt: skip
        world = sn.simulate(settings)
        study = prepare(world, n_anchor=8_000, n_uniform=8_000, seed=seed)
        test = study.test
        liked = world.preference_block(np.arange(world.n_users))[test.users, test.items]
        for knowledge in ("naive", "popularity"):
            yield Case(f"world {seed}, {knowledge}", study.calibration_set(knowledge), study.anchor, _loss(test, liked))


def coat(folder: Path) -> Iterator[Case]:
    """Coat with five models, fitted on chosen positives and judged on coats drawn at random."""
    sys.path.append(str(Path(__file__).parents[1] / "examples"))
    import coat as example

    data = example.read_coat(folder / "coat")
    users, items = (data.uniform[name].to_numpy() for name in ("user_id", "item_id"))
    labels = data.uniform["label"].to_numpy()
    train = sn.Interactions.from_matrix(data.train)
    for name in COAT_MODELS:
        model = sn.models.make_recommender(name, seed=0).fit(train)
        scores = model.score_block(np.arange(model.n_users))[users, items]
        pairs = sn.data.ScoredPairs.of(scores, labels, users=users, items=items)
        order = np.random.default_rng(0).permutation(len(pairs))
        half = len(pairs) * 3 // 4
        anchors, test = pairs.take(order[:half]), pairs.take(order[half:])
        for knowledge in ("naive", "popularity"):
            log = example.calibration_set(data, model, knowledge, anchors)
            yield Case(f"coat {name}, {knowledge}", log, anchors, _loss(test, test.labels))


def _loss(test: sn.data.ScoredPairs, liked: np.ndarray) -> Loss:
    def loss(calibrator: sn.calibration.Calibrator) -> float:
        promised = np.clip(calibrator.probability(test.scores), 1e-12, 1 - 1e-12)
        return float(-np.mean(liked * np.log(promised) + (1 - liked) * np.log1p(-promised)))

    return loss


def judged(case: Case) -> list[dict[str, object]]:
    """The losses of the log alone, the anchor alone and both, for every method, size and draw."""
    rows: list[dict[str, object]] = []
    risk = "naive" if case.name.endswith("naive") else None
    for method in METHODS:
        alone = _tried(lambda: case.loss(sn.calibration.make_calibrator(method, risk=risk).fit(case.log)))  # noqa: B023
        for size in SIZES:
            for draw in range(DRAWS):
                chosen = np.random.default_rng(draw).permutation(len(case.uniform))[:size]
                anchor = case.uniform.take(chosen)
                if not anchor.n_positive:
                    continue
                both, anchor_of = replace(case.log, anchor=anchor), (anchor.scores, anchor.labels)
                rows.append({
                    "case": case.name, "method": method, "anchor": size, "draw": draw, "log_alone": alone,
                    "anchor_alone": _tried(lambda: case.loss(sn.calibration.make_calibrator(method).fit(*anchor_of))),  # noqa: B023
                    "both": _tried(lambda: case.loss(sn.calibration.make_calibrator(method, risk=risk).fit(both))),  # noqa: B023
                })  # fmt: skip
    return rows


def _tried(loss: Callable[[], float]) -> float | None:
    """A loss, or None where a map cannot be fitted alone."""
    try:
        return round(loss(), 6)
    except NoMinimumError:
        return None


def summary(rows: pl.DataFrame) -> pl.DataFrame:
    """Mean losses by size and kind of log, and how much worse than the better part both are, with standard errors."""
    better = pl.min_horizontal("log_alone", "anchor_alone")
    return (
        rows.drop_nulls("both")
        .with_columns(
            data=pl.col("case").str.replace(r"^(world|coat) .*, ", "$1, "), worse=pl.col("both") - better,
        )
        .group_by("data", "anchor")
        .agg(
            pl.col("log_alone", "anchor_alone", "both").mean(), worse=pl.col("worse").mean(),
            standard_error=pl.col("worse").std() / pl.len().sqrt(), cells=pl.len(),
        )
        .sort("data", "anchor")
    )  # fmt: skip


def main() -> None:
    warnings.simplefilter("ignore", SurenessWarning)
    done = pl.read_csv(RESULTS, infer_schema_length=None) if RESULTS.exists() else None
    folder = Path(os.environ.get("SURENESS_DATA", "../shared/data"))
    known = set() if done is None else set(done["case"])
    for cases in (worlds(), coat(folder) if (folder / "coat").exists() else iter(())):
        for case in cases:
            if case.name in known:
                continue
            found = pl.DataFrame(judged(case), infer_schema_length=None)
            done = found if done is None else pl.concat([done, found], how="vertical_relaxed")
            RESULTS.parent.mkdir(exist_ok=True)
            done.write_csv(RESULTS)
            print(case.name, flush=True)
    if done is not None:
        with pl.Config(tbl_rows=-1, tbl_formatting="ASCII_MARKDOWN", float_precision=4):
            print(summary(done))


if __name__ == "__main__":
    main()
