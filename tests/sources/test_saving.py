"""Saved sources score as before, with their ids; what computes its scores cannot be saved."""

from __future__ import annotations

import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sureness as sn
from sureness.data.ids import IdMap
from sureness.errors import DamagedError, KindError
from sureness.saving.objects import write_packed
from sureness.saving.packed import Packed

RNG = np.random.default_rng(0)
USERS, ITEMS = IdMap.of(["ann", "bob", "zoë", "Ødegård"]), IdMap.of([3, 7, 9])
FACTORS = RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2)).astype(np.float32)
SOURCES = {
    "factors": sn.FactorSource(*FACTORS),
    "factors with everything": sn.FactorSource(*FACTORS, np.arange(4.0), np.arange(3.0), USERS, ITEMS),
    "factors in another order": sn.FactorSource(*FACTORS, users=IdMap(USERS.ids.reverse())),
    "biases alone": sn.FactorSource(np.zeros((4, 0)), np.zeros((3, 0)), np.arange(4.0), np.arange(3.0)),
    "matrix": sn.MatrixSource(RNG.normal(size=(4, 3)), items=ITEMS),
    "transposed matrix": sn.MatrixSource(RNG.normal(size=(3, 4)).T, users=USERS),
    "matrix in another byte order": sn.MatrixSource(RNG.normal(size=(4, 3)).astype(">f4")),
    "matrix of small numbers": sn.MatrixSource(np.arange(12, dtype=np.int8).reshape(4, 3)),
    "matrix of truths": sn.MatrixSource(np.eye(4, 3, dtype=bool)),
    "candidates": sn.CandidateSource.of(["ann", "zoë", "ann"], [3, 7, 9], [1.0, 2.0, 3.0]),
}
every_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())


@pytest.fixture
def saved(tmp_path):
    SOURCES["factors with everything"].save(tmp_path / "source.sureness")
    return tmp_path / "source.sureness"


def same_ids(first, second):
    return first is second is None or first.same_as(second)


@every_source
@pytest.mark.parametrize("mapped", [True, False])
def test_a_source_comes_back_as_it_was(source, mapped, tmp_path):
    source.save(tmp_path / "source.sureness")
    found = sn.load(tmp_path / "source.sureness", type(source), mapped=mapped)
    everyone = np.arange(source.n_users)
    assert_array_equal(found.score_block(everyone), source.score_block(everyone))
    assert type(found.score_block(everyone)) is np.ndarray
    assert same_ids(found.users, source.users)
    assert same_ids(found.items, source.items)


def test_arrays_cannot_be_written_to(saved):
    source = sn.load(saved)
    with pytest.raises(ValueError, match="read-only"):
        source.user_factors[0, 0] = 1.0


def test_a_source_may_be_saved_over_itself_while_it_is_mapped(saved):
    before = sn.load(saved, mapped=True)
    before.save(saved)
    assert_array_equal(sn.load(saved).user_factors, before.user_factors)


@pytest.mark.parametrize(
    "packed",
    [Packed(kind="source/matrix", arrays={"user_factors": FACTORS[0]}), Packed(kind="source/factors")],
    ids=["another kind", "no arrays"],
)
def test_content_that_does_not_fit_its_kind_is_refused(packed, tmp_path):
    write_packed(packed, tmp_path / "it.sureness", "file")
    with pytest.raises(DamagedError):
        sn.load(tmp_path / "it.sureness")


def test_another_source_than_expected_is_refused(saved):
    with pytest.raises(KindError):
        sn.load(saved, sn.MatrixSource)


def test_sources_that_compute_cannot_be_saved(tmp_path):
    source = sn.sources.FunctionSource(lambda users: np.zeros((len(users), 2)), 3, 2)
    with pytest.raises(sn.errors.DataError, match="FunctionSource"):
        sn.recommender.Run(source).save(tmp_path / "run.sureness")
    assert not os.listdir(tmp_path)
