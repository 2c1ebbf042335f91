from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

from sureness.calibration.base import Calibrator, make_calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.data.scored_pairs import ScoredPairs
from sureness.data.simulator import SimulatorSettings, World, simulate
from sureness.sources.svd import svd_source


@dataclass(frozen=True, eq=False)
class Material:
    """What a report is made of."""

    world: World
    pairs: ScoredPairs
    calibrators: dict[str, Calibrator]
    degree: pl.DataFrame
    groups: np.ndarray


@pytest.fixture(scope="session")
def material() -> Material:
    world = simulate(SimulatorSettings(n_users=600, n_items=120, smallest_exposure=0.1))
    source = svd_source(world.train, n_factors=5)
    scores = source.score_block(np.arange(world.n_users))
    kept = ~world.in_training
    users, items = world.test_users[kept], world.test_items[kept]
    data = CalibrationSet.from_source(
        source, world.held_out, seen=world.train, propensity=world, held_out_share=world.settings.held_out_share
    )
    calibrators = {name: make_calibrator(name).fit(data) for name in ("platt", "isotonic", "sigmoid")}
    calibrators["platt (naive)"] = make_calibrator("platt", risk="naive").fit(data)
    return Material(
        world=world,
        pairs=ScoredPairs.of(scores[users, items], world.test_labels[kept], users=users, items=items),
        calibrators=calibrators,
        degree=pl.DataFrame({"user_id": np.arange(world.n_users), "degree": np.diff(world.train.indptr)}),
        groups=np.array(world.domains)[world.item_domain[items]],
    )
