"""A child of a fork works, or says in one sentence why it cannot."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_PARENT = """
import os, warnings
import numpy as np
import sureness as sn

warnings.simplefilter("ignore")
world = sn.simulate(sn.SimulatorSettings(n_users=80, n_items=40))
split = sn.by_ratio(sn.Interactions.from_matrix(world.train), seed=0)

def in_child(work):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except sn.errors.ForkError:
            code = 7
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""

_USED = """
recommender = sn.ConfidentRecommender(sn.svd_source(split.train, n_factors=4)).fit(split.train, split.validation)
expected = recommender.recommend()
expected.sort("rank").write_parquet("lists.parquet")  # polars has threads by now
assert in_child(lambda: recommender.recommend()) == 7
assert in_child(lambda: recommender.recommend([1, 2])) == 7
assert in_child(lambda: recommender.sizes()) == 7
assert in_child(lambda: sn.Interactions.read("lists.parquet")) == 7
assert in_child(lambda: sn.Interactions.of(["a", "b"], [1, 2])) == 7
assert in_child(lambda: in_child(lambda: recommender.recommend()) == 7 or os._exit(1)) == 0
scores = np.linspace(-3, 3, 200)
fitted = sn.PlattCalibrator().fit(scores, scores > 0.5 * np.sin(40 * scores))
assert in_child(lambda: fitted.probability(scores)) == 0
assert in_child(lambda: sn.expected_utility(np.full((300, 50), 0.2))) == 0
assert recommender.recommend().equals(expected)  # the parent is as it was
"""

_OPENED = """
recommender = sn.load("recommender.sureness")
assert in_child(lambda: recommender.recommend()) == 0
assert in_child(lambda: recommender.recommend([1, 2])) == 0
"""

_SAVE = """
sn.ConfidentRecommender(sn.svd_source(split.train, n_factors=4)).fit(split.train, split.validation).save(
    "recommender.sureness")
"""


def succeed(script, folder):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], env=os.environ | {"NUMBA_NUM_THREADS": "2"}, cwd=folder,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not tell the names of threads")
def test_a_child_of_a_process_that_used_polars_says_so(tmp_path):
    succeed(_PARENT + _USED, tmp_path)


def test_a_parent_that_only_opened_a_recommender_may_fork(tmp_path):
    """What `gunicorn --preload` does."""
    succeed(_PARENT + _SAVE, tmp_path)
    succeed(_PARENT.partition("world =")[0] + "def in_child" + _PARENT.partition("def in_child")[2] + _OPENED, tmp_path)
