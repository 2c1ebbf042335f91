"""Compiled loops run on threads that callers in other threads and in children of a fork can use as well."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sureness.jobs.warming import kernels
from sureness.lists.expectation import expected_utility
from sureness.numerics import threads
from sureness.numerics.threads import at_most_threads, each_block, each_stretch, n_threads, row_loop


@row_loop()
def _square(start, stop, rows, result):
    for row in range(start, stop):
        for column in range(rows.shape[1]):
            result[row, column] = rows[row, column] ** 2


@pytest.fixture
def four_threads(monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 4)


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("shape", [(0, 3), (1, 9_000), (3, 2), (3, 5_000), (700, 50)])
def test_every_row_is_done_once(shape):
    rows = np.random.default_rng(0).normal(size=shape)
    result = np.full(shape, np.nan)
    _square(rows, result)
    assert_array_equal(result, rows**2)


@pytest.mark.usefixtures("four_threads")
def test_blocks_run_on_several_threads_at_once():
    meeting = threading.Barrier(3, timeout=20)  # passes only if three blocks are worked on at a time
    each_block(lambda _: meeting.wait(), 3)


@pytest.mark.usefixtures("four_threads")
def test_one_thread_is_enough_and_few_entries_are_one_stretch():
    where, stretches = [], []
    with at_most_threads(1):
        assert n_threads() == 1
        each_block(lambda block: where.append((block, threading.get_ident())), 5)
    assert where == [(block, threading.get_ident()) for block in range(5)]
    each_stretch(lambda *stretch: stretches.append(stretch), 40, 80)
    assert stretches == [(0, 40)]


@pytest.mark.usefixtures("four_threads")
def test_an_error_of_any_block_arrives_and_stops_the_others():
    begun = []

    def work(block):
        begun.append(block)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        each_block(work, 1_000)
    assert len(begun) <= 4
    each_block(begun.append, 3)  # the threads are usable as before


def test_no_kernel_uses_the_threads_of_numba():
    found = list(kernels())
    assert not any(getattr(kernel, "targetoptions", {}).get("parallel") for kernel in found)
    assert any(isinstance(kernel, threads.RowLoop) for kernel in found)


_WORK = """
import numpy as np
from sureness.lists.budgets import allocate_budget
from sureness.lists.expectation import expected_utility
from sureness.numerics.histogram import ScoreHistogram
from sureness.numerics.ranking import top_k

rng = np.random.default_rng(0)
probabilities = np.sort(rng.random((300, 100)), axis=1)[:, ::-1].copy()

def work(_=None):
    worth = expected_utility(probabilities, "f1", max_size=20)
    top = top_k(probabilities.astype(np.float32), 5)[0]
    return float(worth.sum() + top.sum() + allocate_budget(worth, 900.0).total)
"""

_FORK = """
import multiprocessing
before = work()
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(work, range(4)) == [before] * 4
assert work() == before
"""

_GRANDCHILD = """
import os
before = work()
child = os.fork()
if child == 0:
    assert work() == before
    grandchild = os.fork()
    os._exit(work() != before if grandchild == 0 else os.waitpid(grandchild, 0)[1] != 0)
assert os.waitpid(child, 0)[1] == 0
"""

_EIGHT = """
from concurrent.futures import ThreadPoolExecutor
before = work()
with ThreadPoolExecutor(8) as pool:
    assert list(pool.map(work, range(24))) == [before] * 24
"""


@pytest.mark.parametrize("layer", ["default", "workqueue", "omp"])
@pytest.mark.parametrize("script", [_FORK, _GRANDCHILD, _EIGHT], ids=["fork", "grandchild", "eight threads"])
def test_callers_may_be_children_of_a_fork_and_many_threads(script, layer):
    settings = os.environ | {"NUMBA_NUM_THREADS": "3", "NUMBA_THREADING_LAYER": layer}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _WORK + script], env=settings, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_results_do_not_depend_on_who_else_calls():
    probabilities = np.sort(np.random.default_rng(0).random((200, 60)), axis=1)[:, ::-1].copy()
    alone = expected_utility(probabilities, "ndcg")
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: expected_utility(probabilities, "ndcg"), range(16)):
            assert_array_equal(found, alone)
