"""Warming runs every job once, so that numba has its kernels in the cache."""

from __future__ import annotations

import subprocess
import sys

from sureness.jobs import warming


def test_every_module_of_kernels_is_found():
    found = {kernel.py_func.__module__.rpartition(".")[2] for kernel in warming.kernels()}
    assert {"_counting_kernels", "_kernels"} <= found
    assert all(name.endswith("_kernels") for name in found)


COLD = """
from sureness.jobs import warming

warming._train = warming._distill = lambda *_: None  # these train every model by every method that is registered
steps = []
result = warming.warm(progress=lambda *step: steps.append(step))
assert result["compiled"] + result["loaded"] > 10
assert [done for _, done, _ in steps] == list(range(1, steps[-1][2] + 1))
kernels = list(warming.kernels())
inner = {name for kernel in kernels for name in kernel.py_func.__code__.co_names}  # compiled with those that call them
for kernel in kernels:
    used = sum(kernel.stats.cache_hits.values()) + sum(kernel.stats.cache_misses.values())
    if not used and kernel.py_func.__name__ not in inner:
        print(kernel.py_func.__module__.removeprefix("sureness."), kernel.py_func.__name__)
"""


def test_no_kernel_is_left_out():
    """Every job reports, and no kernel waits; in a process of its own, as other tests may call what warming forgets."""
    done = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, check=True)
    assert [line for line in done.stdout.splitlines() if not line.startswith("models.networks.")] == []
