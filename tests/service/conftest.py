from __future__ import annotations

import pytest

import sureness as sn
from tests.service.running import Server, exact_recommender


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="session")
def recommender():
    return exact_recommender()


@pytest.fixture(scope="session")
def saved(recommender, folder):
    path = folder / "recommender.sureness"
    recommender.save(path)
    return path


@pytest.fixture(scope="session")
def server(saved):
    with Server((saved,)) as running:
        yield running
        assert running.stop() == ""  # no traceback, no warning


@pytest.fixture(scope="session")
def named(folder):
    """A recommender whose ids are text with slashes."""
    made = exact_recommender(names=True, seed=1)
    path = folder / "named.sureness"
    made.save(path)
    return made, path


@pytest.fixture(scope="session")
def platt(folder):
    """A calibrator of pairs."""
    path = folder / "platt.json"
    fitted = sn.PlattCalibrator().fit([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0], [0, 0, 0, 1, 1, 1])
    fitted.save(path)
    return fitted, path
