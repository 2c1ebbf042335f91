"""The same comparison on real data."""

from __future__ import annotations

import pytest

import sureness as sn
from sureness.experiments.coat import compare, read_coat


@pytest.fixture(scope="module")
def results(data_folder):
    return compare(read_coat(data_folder / "coat"), ("gaussian", "gamma"), n_factors=4)


def test_the_split_is_that_of_the_data(data_folder):
    coat = read_coat(data_folder / "coat")
    assert coat.train.shape == (290, 300)
    assert coat.train.nnz + coat.held_out.nnz == 1_905  # ratings above 3 among 6,960 chosen ones
    assert 4_640 - 366 <= coat.uniform.height <= 4_640
    assert 0 < coat.propensity.min() < coat.propensity.max() <= 1


@pytest.mark.parametrize("method", ["gaussian", "gamma"])
def test_propensities_and_an_anchor_each_help(results, method):
    def row(known):
        return results.filter(method=method, knowledge=known).row(0, named=True)

    assert row("given propensities")["high"] < row("naive")["low"]
    assert row("popularity + base rate")["high"] < row("naive")["low"]
    assert row("popularity + anchor")["ece"] < 0.05 < 0.1 < row("naive")["ece"]


def test_a_wrong_folder_is_named(tmp_path):
    with pytest.raises(sn.FileError, match="give the folder that holds Coat"):
        read_coat(tmp_path)
