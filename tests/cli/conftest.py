from __future__ import annotations

import polars as pl
import pytest

from sureness.data.interactions import Interactions
from sureness.data.simulator import SimulatorSettings, simulate


@pytest.fixture(scope="session")
def log() -> pl.DataFrame:
    """A small simulated log, for commands that train."""
    world = simulate(SimulatorSettings(n_users=150, n_items=60, exposure_rate=0.3, seed=2))
    return Interactions.from_matrix(world.train).table()


@pytest.fixture
def log_folder(log, tmp_path):
    """A folder that holds that log and nothing else."""
    log.write_csv(tmp_path / "log.csv")
    return tmp_path
