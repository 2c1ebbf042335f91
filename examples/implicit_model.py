"""Turn the scores of an implicit model into probabilities in five lines.

The same five lines work for LensKit, Cornac, RecTools, RecBole, LightFM and Surprise, through sn.source_of:

    python examples/implicit_model.py
"""

from __future__ import annotations

import polars as pl
import threadpoolctl
from implicit.als import AlternatingLeastSquares

import sureness as sn
from sureness.calibration import MinMaxCalibrator
from sureness.sources import from_implicit


def simulated_log() -> sn.Interactions:
    """A log of interactions; read yours with sn.Interactions.read("log.parquet")."""
    world = sn.simulate(sn.SimulatorSettings(n_users=800, n_items=200, exposure_rate=0.5))
    users = sn.IdMap.of([f"user-{row:04}" for row in range(800)])
    items = sn.IdMap.of([f"item-{row:03}" for row in range(200)])
    return sn.Interactions.from_matrix(world.train + world.held_out, users, items)


def main() -> None:
    threadpoolctl.threadpool_limits(1, "blas")  # implicit asks for this
    log = sn.by_ratio(simulated_log(), seed=0)  # 60% to train, 20% to calibrate, 20% to judge
    model = AlternatingLeastSquares(factors=16, regularization=1.0, random_state=0, num_threads=1)
    model.fit(log.train.matrix, show_progress=False)

    # the five lines
    source = from_implicit(model, log.train)
    pairs = sn.CalibrationSet.from_source(source, log.validation, seen=log.train)
    calibrator = sn.GaussianCalibrator().fit(pairs)
    test = sn.CalibrationSet.from_source(source, log.test, seen=log.train).gather()
    probabilities = calibrator.probability(test.scores)

    shown = pl.DataFrame({"user_id": test.users, "item_id": test.items, "probability": probabilities})
    print(shown.filter(user_id="user-0000").top_k(5, by="probability"))
    before = MinMaxCalibrator().fit(pairs).probability(test.scores)
    for name, promised in (("scores stretched over 0 to 1", before), ("calibrated", probabilities)):
        error = sn.expected_calibration_error(test.labels, promised)
        at_the_top = sn.metrics.top_n_calibration_error(test.labels, promised, test.users, scores=test.scores)
        print(f"{name:>28}: ECE {error:.4f}, ECE of each user's top 10 {at_the_top:.4f}")


if __name__ == "__main__":
    main()
