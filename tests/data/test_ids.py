"""Ids and their rows agree with a dictionary, for all kinds of ids, saved or not; finding one costs a logarithm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sureness as sn
from sureness.data import ids as ids_module
from sureness.data.interactions import Interactions, union
from sureness.errors import IdError
from sureness.saving.packed import Parts, arrays_of, packed_of, tree_of

INTEGERS = {pl.Int8: "int8", pl.Int16: "int16", pl.Int32: "int32", pl.Int64: "int64", pl.UInt8: "uint8",
            pl.UInt16: "uint16", pl.UInt32: "uint32", pl.UInt64: "uint64"}  # fmt: skip


def bounds(dtype):
    limits = np.iinfo(INTEGERS[dtype])
    return int(limits.min), int(limits.max)


def numbers(dtype):
    """Values of a type; small ones and those at its ends are tried often."""
    lowest, highest = bounds(dtype)
    near = st.integers(max(lowest, -5), min(highest, 20))
    return st.one_of(near, st.integers(lowest, highest), st.sampled_from([lowest, highest]))


def columns(values, dtype):
    return st.lists(values, max_size=30, unique=True).map(lambda ids: pl.Series(ids, dtype=dtype))


texts = st.one_of(
    st.text(max_size=4), st.sampled_from(["", "a", "ab", "abc", "zoë", "z", "Ødegård", "\0", "\0\0", "𝄞", "\uffff"])
)
any_ids = st.one_of(columns(texts, pl.String), *(columns(numbers(dtype), dtype) for dtype in INTEGERS))


def reopened(ids):
    """Through a file's content, but without a file."""
    packed = ids.pack()
    stored = {name: np.frombuffer(array.tobytes(), array.dtype) for name, array in arrays_of(packed).items()}
    packed = packed_of(tree_of(packed), stored)
    return sn.IdMap.unpack(packed, Parts(packed.parts))


def assert_agrees(ids, expected, asked):
    """Everything that a map is asked, beside a list of its ids in order and a dictionary of their rows."""
    rows = {value: row for row, value in enumerate(expected)}
    assert len(ids) == len(expected)
    assert ids.rows(asked).tolist() == [rows.get(value, -1) for value in asked.to_list()]
    assert ids.rows(asked).dtype == np.int64
    everyone = np.arange(len(expected))
    assert ids.at(everyone[::-1]).to_list() == expected[::-1]
    assert ids.at(np.repeat(everyone, 2)).to_list() == [value for value in expected for _ in range(2)]
    assert ids.ids.to_list() == expected
    assert ids.at(everyone).to_list() == expected
    known = asked.filter(pl.Series([value in rows for value in asked.to_list()], dtype=pl.Boolean))
    assert ids.known_rows(known, "ids").tolist() == [rows[value] for value in known.to_list()]
    if len(known) < len(asked):
        with pytest.raises(IdError):
            ids.known_rows(asked, "ids")


@settings(max_examples=40)
@given(any_ids, st.data())
def test_sorted_ids_agree_with_a_dictionary(values, data):
    asked = asked_of(values, data)
    ids = sn.IdMap.of(values)
    expected = sorted(values.to_list(), key=lambda value: value.encode() if isinstance(value, str) else value)
    assert_agrees(ids, expected, asked)
    assert_agrees(reopened(ids), expected, asked)


@settings(max_examples=40)
@given(any_ids, st.data())
def test_ids_in_any_order_agree_with_a_dictionary(values, data):
    asked = asked_of(values, data)
    ids = sn.IdMap(values)
    assert_agrees(ids, values.to_list(), asked)
    assert_agrees(reopened(ids), values.to_list(), asked)
    assert reopened(ids).same_as(ids)


def asked_of(values, data):
    """Some of the ids, and some that may not be among them, of the same kind."""
    is_text = values.dtype == pl.String
    dtype = values.dtype if is_text else data.draw(st.sampled_from([values.dtype, pl.Int64]))
    others = texts if is_text else numbers(dtype)
    lowest, highest = bounds(dtype) if not is_text else (None, None)
    own = [value for value in values.to_list() if is_text or lowest <= value <= highest]
    drawn = data.draw(st.lists(st.one_of(others, st.sampled_from(own)) if own else others, max_size=100))
    return pl.Series(drawn, dtype=dtype)


@settings(max_examples=20)
@given(st.lists(texts, min_size=1, unique=True), st.lists(texts, min_size=65, max_size=90))
def test_many_texts_are_found_like_few(known, asked):
    """More than 64 are found by a compiled search."""
    ids = sn.IdMap.of(known)
    assert ids.rows(asked).tolist() == [int(ids.rows([text])[0]) for text in asked]


@given(st.integers(0, 30), st.lists(st.integers(-40, 40)))
def test_counted_ids_are_their_own_rows(n, asked):
    ids = sn.IdMap.counting(n)
    column = pl.Series(asked, dtype=pl.Int64)
    assert_agrees(ids, list(range(n)), column)
    assert_agrees(reopened(ids), list(range(n)), column)
    assert ids.same_as(sn.IdMap.of(np.arange(n)))


@pytest.mark.parametrize(
    "ids", [sn.IdMap.of(["a", "b"]), sn.IdMap(pl.Series(["b", "a"])), sn.IdMap.of([3, 5])], ids=repr
)
def test_missing_values_are_unknown(ids):
    asked = pl.Series([None, ids.at([1])[0], None])
    for found in (ids, reopened(ids)):
        assert found.rows(asked).tolist() == [-1, 1, -1]


def test_a_row_that_is_not_there_is_refused():
    for ids in (sn.IdMap.of(["a", "b"]), sn.IdMap.of([3, 5]), sn.IdMap.counting(2), sn.IdMap(pl.Series(["b", "a"]))):
        for found in (ids, reopened(ids)):
            with pytest.raises(IdError):
                found.at([2])


def test_negative_rows_count_from_the_end():
    for ids in (sn.IdMap.of(["a", "b"]), sn.IdMap.of([3, 5]), sn.IdMap.counting(2), sn.IdMap(pl.Series(["b", "a"]))):
        for found in (ids, reopened(ids)):
            assert found.at([-1]).to_list() == ids.at([1]).to_list()


def test_ids_of_another_kind_are_refused_unless_they_come_from_a_text_file():
    names, rows = sn.IdMap.of(["007", "7"]), sn.IdMap.of([7])
    for found in (names, reopened(names)):
        with pytest.raises(IdError):
            found.rows([7])
        assert found.rows([7], of_text=True).tolist() == [1]
    for found in (rows, reopened(rows)):
        with pytest.raises(IdError):
            found.rows(["7"])
        assert found.rows(["7", "007", "x"], of_text=True).tolist() == [0, -1, -1]


def test_a_missing_id_is_refused():
    with pytest.raises(IdError, match="missing"):
        sn.IdMap.of(pl.Series(["a", None]))


# --- what finding one id costs --------------------------------------------------------------------------------------


class Counted(ids_module._Texts):
    """Sorted texts that count how often one of them is looked at."""

    looked_at = 0

    def __getitem__(self, place):
        type(self).looked_at += 1
        return super().__getitem__(place)

    def every(self):
        pytest.fail("all texts were read")


@pytest.mark.parametrize("n_ids", [1_000, 100_000])
def test_finding_one_id_looks_at_a_logarithm_of_the_texts(n_ids, monkeypatch):
    packed = replace(sn.IdMap.of([f"user {number:06d}" for number in range(n_ids)]).pack(), trusted=True)
    monkeypatch.setattr(ids_module, "_Texts", Counted)
    monkeypatch.setattr(Counted, "looked_at", 0)
    ids = sn.IdMap.unpack(packed, Parts({}))
    assert Counted.looked_at == 0
    assert ids.rows(["user 000777"]).tolist() == [777]
    assert 0 < Counted.looked_at <= np.log2(n_ids) + 2
    assert ids.at([777]).to_list() == ["user 000777"]
    assert Counted.looked_at <= np.log2(n_ids) + 3
    assert ids.rows(["nobody"]).tolist() == [-1]
    assert Counted.looked_at <= 2 * np.log2(n_ids) + 5


@pytest.mark.parametrize("values", [["b", "a", "c"], [5, 3, 9]], ids=["text", "numbers"])
def test_opening_and_asking_builds_no_column_of_all_ids(values):
    for ids in (sn.IdMap.of(values), sn.IdMap(pl.Series(values))):
        found = reopened(ids)
        found.rows(values[:1])
        found.known_rows(values[1:], "ids")
        assert "ids" not in found.__dict__


def test_many_texts_at_once_are_found_as_one_by_one():
    """Large questions are answered by a join, small ones by binary search."""
    known = [f"user {number:05d}" for number in range(5_000)]
    asked = [*known[::3], *(f"nobody {number}" for number in range(1_000)), "", *known[:50]]
    ids = sn.IdMap.of(known)
    expected = [known.index(text) if text.startswith("user") else -1 for text in asked]
    assert ids.rows(asked).tolist() == expected
    one_by_one = np.concatenate([ids.rows(asked[start : start + 40]) for start in range(0, len(asked), 40)])
    assert one_by_one.tolist() == expected


def test_ids_of_another_width_are_the_same_ids():
    narrow, wide = sn.IdMap.of(np.array([3, 7], dtype=np.int32)), sn.IdMap.of(np.array([3, 7], dtype=np.int64))
    assert narrow.same_as(wide)
    assert wide.same_as(narrow)
    assert not narrow.same_as(sn.IdMap.of(["3", "7"]))
    assert not narrow.same_as(sn.IdMap.of([3, 8]))
    log = Interactions.of(np.array([3, 7], dtype=np.int32), [1, 1])
    assert len(union([log, Interactions.of(np.array([3, 7], dtype=np.int64), [1, 1])])) == 2


@pytest.mark.parametrize(
    "ids", [sn.IdMap.counting(4), sn.IdMap.of([-7, 2**62, 3]), sn.IdMap(pl.Series([9, 3, -7]))], ids=str
)
def test_numbers_of_an_array_are_found_as_those_of_a_list(ids):
    asked = [3, 0, -7, -1, 4, 9, 2**62, 2**62 + 1]
    assert ids.rows(np.array(asked)).tolist() == ids.rows(asked).tolist()
    for each in asked:
        assert ids.rows(each).tolist() == ids.rows([each]).tolist()


def test_large_numbers_of_another_type_are_not_rounded():
    ids = sn.IdMap.of(np.array([2**63, 2**63 + 1], dtype=np.uint64))
    assert ids.rows(np.array([2**62, -1])).tolist() == [-1, -1]
    assert ids.rows(np.array([2**63 + 1], dtype=np.uint64)).tolist() == [1]


@pytest.mark.parametrize(("ids", "what"), [(["b", "a", "a"], "a.? more"), ([1, 1], "1 more"), (["a", None], "missing")])
def test_each_row_has_an_id_of_its_own(ids, what):
    with pytest.raises(IdError, match=what):
        sn.IdMap(pl.Series(ids))


def test_a_pivot_of_pandas_keeps_its_ids():
    """Row numbers would be taken for ids of other users without a word."""
    pivot = pd.DataFrame([[5.0, 2.0], [np.nan, 3.0]], index=[7, 1], columns=["song", "film"])
    log = sn.Interactions.from_matrix(pivot)
    assert log.table().rows() == [(7, "song"), (7, "film"), (1, "film")]
    source = sn.MatrixSource(pivot.fillna(0.0))
    assert source.score_block(source.users.rows([1])).tolist() == [[0.0, 3.0]]
    assert source.items.ids.to_list() == ["song", "film"]
    assert sn.MatrixSource(pivot, users=sn.IdMap(["zoe", "ann"])).users.ids.to_list() == ["zoe", "ann"]
    with pytest.raises(IdError, match="7 more than once"):
        sn.MatrixSource(pivot.set_axis([7, 7]))


def test_the_advice_for_ids_of_a_source_keeps_their_order():
    scores = np.array([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(IdError, match=r"use IdMap\(\.\.\.\)"):
        sn.MatrixSource(scores, users=["zoe", "ann"])
    source = sn.MatrixSource(scores, users=sn.IdMap(["zoe", "ann"]))
    assert source.score_block(source.users.rows(["zoe"])).tolist() == [[1.0, 2.0]]
