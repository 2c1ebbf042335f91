from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sureness import workflows
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.per_user import PerUserPlatt
from sureness.data.interactions import Interactions
from sureness.data.simulator import SimulatorSettings, simulate
from sureness.data.splitting import by_ratio
from sureness.pipeline.runs import Run
from sureness.sources.svd import svd_source
from tests.conftest import draw_pairs


@pytest.fixture(scope="session")
def inputs(tmp_path_factory):
    """A folder with every kind of input of the commands, to read."""
    folder = tmp_path_factory.mktemp("inputs")
    scores, labels = draw_pairs(1_000)
    table = pl.DataFrame({"user_id": np.arange(1_000) // 10, "item_id": np.arange(1_000) % 10, "score": scores,
                          "label": labels, "probability": 1 / (1 + np.exp(-scores)),
                          "kind": np.arange(1_000) % 2})  # fmt: skip
    table.write_parquet(folder / "t.parquet")
    table.write_parquet(folder / "u.parquet")
    pl.DataFrame({"item_id": range(40), "title": [f"item {n}" for n in range(40)]}).write_csv(folder / "items.csv")
    pl.DataFrame({"item_id": range(40), "kind": [n % 2 for n in range(40)]}).write_csv(folder / "segments.csv")
    world = simulate(SimulatorSettings(n_users=60, n_items=40, preference_rate=0.3, seed=3))
    log = Interactions.from_matrix((world.train + world.held_out).tocsr())
    split = by_ratio(log, (0.6, 0.2, 0.2), seed=0)
    for name, part in {"log": split.validation, "log2": split.train, "log3": split.test}.items():
        part.table().write_csv(folder / f"{name}.csv")
    run_ = Run(svd_source(split.train, n_factors=4), **split.parts, about={"protocol": "ratio"})
    for name in ("run", "run2"):
        run_.save(folder / f"{name}.sureness")
    workflows.fit(folder / "t.parquet", output=folder / "map.json")
    columns = workflows.fitting.Columns(segment="kind")
    workflows.fit(folder / "t.parquet", columns=columns, output=folder / "segments.json")
    for map_, name in ((PerUserPlatt(), "users.sureness"), (ListCalibrator(), "lists.json")):
        map_.fit_source(run_.source, split.validation, seen=split.train).save(folder / name)
    (folder / "data").mkdir()
    (folder / "data" / "interactions.tsv").write_text("user\titem\trating\tsplit\n1\t1\t5\ttrain\n")
    return folder


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
