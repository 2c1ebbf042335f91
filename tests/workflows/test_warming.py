"""Warming runs every job once, so that numba has its kernels in the cache."""

from __future__ import annotations

from sureness.workflows import warming


def test_every_module_of_kernels_is_found():
    found = {kernel.py_func.__module__.rpartition(".")[2] for kernel in warming.kernels()}
    assert {"_counting_kernels", "_logistic_kernels", "_rank_kernels", "_text_kernels"} <= found
    assert all(name.endswith("_kernels") for name in found)


def test_kernels_are_compiled_or_loaded(monkeypatch):
    steps = []
    monkeypatch.setattr(warming, "_train", lambda *_: None)  # minutes, where nothing is cached
    monkeypatch.setattr(warming, "_distill", lambda *_: None)
    result = warming.warm(progress=lambda *told: steps.append(told))
    assert result.n_compiled + result.n_loaded > 10
    assert [done for _, done, _ in steps] == list(range(1, 10))
    assert steps[-1][2] == 9
