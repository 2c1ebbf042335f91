from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sureness import jobs
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.per_user import PerUserPlatt
from sureness.data.interactions import Interactions
from sureness.data.simulator import SimulatorSettings, simulate
from sureness.data.splitting import by_ratio
from sureness.recommender.run import Run
from sureness.sources.base import FactorSource
from tests.conftest import draw_pairs
from tests.recommender.returning import returning_log


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
    rows = returning_log(n_users=200).every_row()
    timed = {"user_id": rows.user_rows, "item_id": rows.item_rows}
    days = (np.datetime64("2024-01-01") + rows.times.astype(int)).astype(str)
    pl.DataFrame({**timed, "time": days}).write_csv(folder / "timed.csv")
    run_ = Run(drawn_factors(split.train), **split.parts, about={"protocol": "ratio"})
    for name in ("run", "run2"):
        run_.save(folder / f"{name}.sureness")
    jobs.fit(folder / "t.parquet", output=folder / "map.json")
    columns = jobs.fitting.Columns(segment="kind")
    jobs.fit(folder / "t.parquet", columns=columns, output=folder / "segments.json")
    for map_, name in ((PerUserPlatt(), "users.sureness"), (ListCalibrator(), "lists.json")):
        map_.fit_source(run_.source, split.validation, seen=split.train).save(folder / name)
    (folder / "data").mkdir()
    (folder / "data" / "interactions.tsv").write_text("user\titem\trating\tsplit\n1\t1\t5\ttrain\n")
    return folder


def drawn_factors(log: Interactions) -> FactorSource:
    """Tastes in eighths, so that every machine computes the same scores."""
    tastes = np.random.default_rng(4).integers(-8, 9, (log.n_items, 3)) / 8
    near_taken = np.clip(np.round(log.matrix @ tastes * 2), -8, 8) / 8
    popularity = np.round(np.log1p(log.item_degree) * 4) / 8
    return FactorSource(
        near_taken, tastes, item_bias=popularity, users=log.users, items=log.items, trained_pairs=len(log)
    )


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
