from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from sureness import _registry

settings.register_profile("sureness", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sureness")


@pytest.fixture(scope="session", autouse=True)
def working_directory(tmp_path_factory):
    """Tests run in an empty folder, so that none writes into the repository; the last one sees whether any did."""
    before, folder = os.getcwd(), tmp_path_factory.mktemp("working-directory")
    if "SURENESS_DATA" in os.environ:
        os.environ["SURENESS_DATA"] = os.path.abspath(os.environ["SURENESS_DATA"])
    os.chdir(folder)
    yield folder
    os.chdir(before)
    assert not os.listdir(folder), "a test wrote into the working directory; give it a path in tmp_path"


def draw_pairs(n_pairs: int, seed: int = 0, level: float = -1.0, slope: float = 1.0, bend: float = 0.15):
    """Scores and labels whose log-odds are level + slope s + bend s^2."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n_pairs) * 1.5
    chance = 1 / (1 + np.exp(-(level + slope * scores + bend * scores**2)))
    return scores, (rng.random(n_pairs) < chance).astype(int)


@pytest.fixture(scope="session")
def pairs():
    return draw_pairs(3_000)


@pytest.fixture(scope="session")
def data_folder():
    folder = Path(os.environ.get("SURENESS_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set SURENESS_DATA to the folder that holds coat/, ml-100k/, ...")
    return folder


@pytest.fixture
def registry(monkeypatch):
    """Names that a test registers are forgotten when it ends."""
    tables = vars(_registry)["_TABLE"]
    monkeypatch.setattr("sureness._registry._TABLE", {family: dict(table) for family, table in tables.items()})
