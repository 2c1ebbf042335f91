"""Ids that would become one, or lose digits, are refused at every door; what is exact passes."""

from __future__ import annotations

import datetime
import decimal
import uuid

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.data.interactions import Interactions
from sureness.data.scored_pairs import ScoredPairs, concatenate
from sureness.errors import IdError
from sureness.metrics.calibration import top_n_calibration_error
from sureness.numerics.checks import check_ids
from sureness.tables.id_values import id_series, segment_series

WIDE = 2**70

REFUSED = {
    "text and numbers": ["1", 1],
    "numbers and text": [1, "1"],
    "objects": np.array(["1", 1], dtype=object),
    "text and a fraction": ["a", 1.5],
    "numpy scalars": [np.str_("1"), np.int64(1)],
    "true and 1": [True, 1],
    "floats at 2^53": [2.0**53],
    "floats beyond 2^53": np.array([1e17, 1.0]),
    "negative floats": np.array([-(2.0**60)]),
    "a whole number that becomes a float": [2**53 + 1, 1.0],
    "narrow floats": np.array([2.0**24], dtype=np.float32),
    "half floats": np.array([2048.0], dtype=np.float16),
    "infinity": [np.inf],
    "fractions": [0.5],
    "wide": pl.Series([WIDE, 1], dtype=pl.Int128),
    "wide list": [WIDE, 1],
    "wide objects": np.array([WIDE, 1], dtype=object),
    "truth values": [True, False],
    "truth values of numpy": np.array([True, False]),
    "days": np.array(["2020-01-01"], dtype="M8[D]"),
    "seconds": np.array(["2020-01-01"], dtype="M8[s]"),
    "dates": [datetime.date(2020, 1, 1)],
    "durations": np.array([5], dtype="m8[s]"),
    "decimals with a fraction": [decimal.Decimal("9007199254740992.25")],
    "wide decimals": [decimal.Decimal(WIDE)],
    "uuids": [uuid.UUID(int=5)],
    "bytes": [b"a"],
    "pairs": [(1, 2)],
    "a matrix": np.array([[1, 2], [3, 4]]),
    "complex": np.array([1 + 0j]),
}

ACCEPTED = {
    "floats": ([7.0, 3.0], [7, 3]),
    "floats below 2^53": ([2.0**53 - 1], [2**53 - 1]),
    "missing floats": ([7.0, np.nan], [7, None]),
    "a list of text with a missing value": (["a", float("nan"), None], ["a", None, None]),
    "a tuple of numbers with a missing value": ((7, float("nan")), [7, None]),
    "whole numbers and floats": ([1, 2.0], [1, 2]),
    "text with a missing value": (np.array(["a", np.nan, None], dtype=object), ["a", None, None]),
    "objects that are numbers": (np.array([1, None], dtype=object), [1, None]),
    "wide, but small": (pl.Series([2, 1], dtype=pl.Int128), [2, 1]),
    "64 bits": ([2**63, 1], [2**63, 1]),
    "decimals of a database": ([decimal.Decimal("7.00"), None], [7, None]),
    "categories": (pl.Series(["b", "a"], dtype=pl.Categorical), ["b", "a"]),
    "a masked array": (np.ma.array([1, 2], mask=[False, True]), [1, None]),
    "an iterator": (iter([3, 4]), [3, 4]),
}


@pytest.mark.parametrize("values", REFUSED.values(), ids=REFUSED)
def test_ids_that_would_merge_or_lose_digits_are_refused_in_one_sentence(values):
    with pytest.raises(IdError) as caught:
        id_series(values)
    assert caught.value.code == "ids"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("values", "expected"), ACCEPTED.values(), ids=ACCEPTED)
def test_exact_ids_pass(values, expected):
    assert id_series(values).to_list() == expected


DOORS = {
    "IdMap.of": lambda ids: sn.IdMap.of(ids),
    "IdMap.rows": lambda ids: sn.IdMap.of(["1"]).rows(ids),
    "Interactions.of": lambda ids: Interactions.of(ids, [5] * len(ids)),
    "items of Interactions.of": lambda ids: Interactions.of([5] * len(ids), ids),
    "CandidateSource.of": lambda ids: sn.CandidateSource.of(ids, [5] * len(ids), [0.5] * len(ids)),
    "ScoredPairs.of": lambda ids: ScoredPairs.of([0.5] * len(ids), [1] * len(ids), users=ids),
    "top n": lambda ids: top_n_calibration_error([0] * len(ids), [0.5] * len(ids), users=ids, n=1),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("values", [["1", 1], np.array(["1", 1], dtype=object), np.array([1e17, 1e17 + 16])], ids=str)
def test_every_door_refuses_ids_that_merge(door, values):
    with pytest.raises(IdError):
        door(values)


def test_masked_ids_are_missing():
    with pytest.raises(IdError):
        check_ids(np.ma.array([1, 2], mask=[False, True]), 2, "users")
    assert check_ids(np.ma.array([1, 2]), 2, "users").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1], ["1"]),
        ([1, 2**60 + 1], np.array([2**60], dtype=np.uint64)),
        (np.array(["a"], object), np.array([1], object)),
    ],
    ids=["text", "rounded", "objects"],
)
def test_chunks_with_ids_of_several_kinds_are_refused(first, second):
    parts = [ScoredPairs.of([0.5] * len(ids), [1] * len(ids), users=ids) for ids in (first, second)]
    with pytest.raises(IdError):
        concatenate(parts)


def test_chunks_with_ids_of_several_widths_are_joined():
    parts = [ScoredPairs.of([0.5], [1], users=ids) for ids in (np.array([1], np.int32), np.array([2], np.int64))]
    assert concatenate(parts).users.tolist() == [1, 2]
    parts = [ScoredPairs.of([0.5], [1], users=[ids]) for ids in ("a", "longer")]
    assert concatenate(parts).users.tolist() == ["a", "longer"]


def test_segments_may_be_true_or_false():
    assert segment_series([True, False]).to_list() == ["true", "false"]
    assert segment_series([1.0]).to_list() == [1]
    with pytest.raises(IdError):
        segment_series([True, "true"])


def test_features_are_matched_by_how_numbers_are_written():
    log = Interactions.of([1, 7], [1, 1])
    found = log.with_features(users=pl.DataFrame({"user_id": ["007", "7", "1"], "age": [1, 2, 3]}))
    assert found.user_features["age"].to_list() == [3, 2]
