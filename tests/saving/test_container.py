"""The binary form: what is written comes back, other readers open it, and no damage goes unnoticed."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from numpy.testing import assert_array_equal
from safetensors import safe_open

from sureness.errors import ArtefactError, DamagedError, DataError, FileError, KindError, SettingError, VersionError
from sureness.saving import _container
from sureness.saving.objects import read_packed
from tests.saving.kinds import FILES, ending, made

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
          "float64"]  # fmt: skip
MANIFEST = {"format": "sureness", "schema": 2, "package": "0.2", "kind": "saved/ids"}
CONTENT = {"bytes": np.arange(3, dtype=np.uint8), "numbers": np.arange(6.0).reshape(2, 3), "none": np.empty((0, 2))}


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "it.sureness"
    _container.write(place, MANIFEST, CONTENT)
    return place


def assert_same(found, expected):
    assert set(found) == set(expected)
    for name, array in expected.items():
        assert (found[name].dtype, found[name].shape) == (np.asarray(array).dtype, np.shape(array))
        assert found[name].tobytes() == np.asarray(array).tobytes()


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array.obj if isinstance(array, memoryview) else array, mmap.mmap)


class TestRoundTrip:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)], ids=str)
    def test_every_type_and_shape_comes_back(self, tmp_path, dtype, shape):
        array = np.random.default_rng(0).integers(0, 2, size=shape).astype(dtype)
        _container.write(tmp_path / "it.sureness", MANIFEST, {"it": array})
        for mapped in (True, False):
            assert_same(_container.read(tmp_path / "it.sureness", mapped=mapped).arrays, {"it": array})

    @settings(max_examples=40)
    @given(
        st.dictionaries(
            st.text(max_size=5),
            st.sampled_from(DTYPES).flatmap(
                lambda name: arrays_of.arrays(name, arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0))
            ),
            max_size=5,
        )
    )
    def test_any_arrays_under_any_names_come_back_aligned(self, tmp_path_factory, arrays):
        place = tmp_path_factory.mktemp("it") / "it.sureness"
        _container.write(place, MANIFEST, arrays)
        found = _container.read(place)
        assert_same(found.arrays, arrays)
        assert all(array.flags.aligned for array in found.arrays.values())
        assert found.n_bytes == place.stat().st_size
        with safe_open(place, "numpy") as other:
            assert_same({name: other.get_tensor(name) for name in other.keys()}, arrays)  # noqa: SIM118

    @pytest.mark.parametrize(
        "array",
        [np.arange(12.0).reshape(3, 4).T, np.arange(12)[::-2], np.arange(4, dtype=">i4"), np.array(2.5, dtype=">f8"),
         np.broadcast_to(np.float32(1), (3, 2))],
        ids=["transposed", "backwards", "other byte order", "one number", "broadcast"],
    )  # fmt: skip
    def test_the_layout_in_memory_does_not_matter(self, tmp_path, array):
        _container.write(tmp_path / "it.sureness", MANIFEST, {"it": array})
        found = _container.read(tmp_path / "it.sureness").arrays["it"]
        assert found.shape == array.shape
        assert_array_equal(found, array)
        with safe_open(tmp_path / "it.sureness", "numpy") as other:
            assert_array_equal(other.get_tensor("it"), array)

    @pytest.mark.parametrize("dtype", ["U4", "object", "complex128", "datetime64[s]"])
    def test_arrays_of_other_things_are_refused_before_anything_is_written(self, tmp_path, dtype):
        array = np.zeros(2, dtype=dtype)
        with pytest.raises(DataError, match="it"):
            _container.write(tmp_path / "it.sureness", MANIFEST, {"it": array})
        assert not os.listdir(tmp_path)

    def test_the_manifest_comes_back(self, path):
        manifest = _container.read(path).manifest
        assert {name: manifest[name] for name in MANIFEST} == MANIFEST
        assert set(manifest["arrays"]) == set(CONTENT)

    def test_equal_content_gives_equal_bytes_in_any_order(self, path, tmp_path):
        _container.write(tmp_path / "again.sureness", MANIFEST, dict(reversed(CONTENT.items())))
        assert (tmp_path / "again.sureness").read_bytes() == path.read_bytes()

    def test_a_manifest_that_is_no_json_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match="JSON"):
            _container.write(tmp_path / "it.sureness", {"x": float("nan")}, {})
        assert not os.listdir(tmp_path)

    @pytest.mark.parametrize("kind", FILES)
    def test_the_safetensors_library_reads_every_kind(self, kind, tmp_path):
        made(kind).save(tmp_path / "it.sureness")
        ours = _container.read(tmp_path / "it.sureness")
        with safe_open(tmp_path / "it.sureness", "numpy") as other:
            assert_same({name: other.get_tensor(name) for name in other.keys()}, ours.arrays)  # noqa: SIM118
            manifest = json.loads(other.metadata()["manifest"])
        assert manifest["kind"] == kind
        assert manifest["format"] == "sureness"


class TestMapping:
    @pytest.mark.parametrize("mapped", [True, False])
    def test_arrays_are_mapped_or_read_as_asked(self, path, mapped):
        numbers = _container.read(path, mapped=mapped).arrays["numbers"]
        assert is_mapped(numbers) == mapped

    @pytest.mark.parametrize("mapped", [True, False])
    def test_no_array_can_be_written_to(self, path, mapped):
        for array in _container.read(path, mapped=mapped).arrays.values():
            assert not array.flags.writeable
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 1

    def test_files_are_mapped_from_64_megabytes_on(self, path, monkeypatch):
        assert _container.MAPPED_FROM == 64 * 2**20
        size = path.stat().st_size
        monkeypatch.setattr(_container, "MAPPED_FROM", size)
        assert is_mapped(_container.read(path).arrays["numbers"])
        monkeypatch.setattr(_container, "MAPPED_FROM", size + 1)
        assert not is_mapped(_container.read(path).arrays["numbers"])

    def test_a_mapped_file_that_is_replaced_keeps_its_content_for_its_readers(self, path):
        found = _container.read(path, mapped=True)
        _container.write(path, MANIFEST, {name: array + 1 for name, array in CONTENT.items()})
        assert_same(found.arrays, CONTENT)

    def test_checking_the_header_alone_reads_no_array(self, path):
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        found = _container.read(path, verify="header")
        assert_array_equal(found.arrays["numbers"], CONTENT["numbers"])
        with pytest.raises(DamagedError, match="bytes"):
            _container.read(path)

    def test_a_damaged_header_is_noticed_without_the_arrays_too(self, path):
        content = bytearray(path.read_bytes())
        content[200] ^= 1
        path.write_bytes(content)
        with pytest.raises(DamagedError):
            _container.read(path, verify="header")
        with pytest.raises(DamagedError):
            _container.described(path)

    def test_an_unknown_way_to_verify_is_refused(self, path):
        with pytest.raises(SettingError, match="verify"):
            _container.read(path, verify="everything")

    def test_a_file_that_shrinks_while_it_is_opened_is_noticed(self, path, monkeypatch):
        original = _container._checked_entries

        def shrinking(*arguments):
            os.truncate(path, 100)
            return original(*arguments)

        monkeypatch.setattr(_container, "_checked_entries", shrinking)
        with pytest.raises(DamagedError):
            _container.read(path, mapped=True)


# --- damage; tests/attacks changes every byte of every kind ----------------------------------------------------------


@contextmanager
def opened(place):
    handle = os.open(place, os.O_RDWR)
    try:
        yield handle
    finally:
        os.close(handle)


def unnoticed(place, content):
    """Whether a damaged file is read without a word; any other exception than ours is a bug and ends the test."""
    try:
        read_packed(place)
    except ArtefactError:
        return False
    return place.read_bytes() != content


def saved(kind, folder):
    place = folder / f"it{ending(made(kind))}"
    made(kind).save(place)
    return place, place.read_bytes()


@pytest.mark.parametrize("kind", ["calibrator/platt", "source/factors"])
def test_a_byte_may_change_in_any_way(kind, tmp_path):
    place, content = saved(kind, tmp_path)
    missed = []
    with opened(place) as handle:
        for number in range(0, len(content), 7):
            for way in (0x02, 0x04, 0x08, 0x10, 0x40, 0x7F, content[number] ^ 0x7B, content[number]):
                os.pwrite(handle, bytes([content[number] ^ way]), number)
                if way and unnoticed(place, content):
                    missed.append((number, way))
            os.pwrite(handle, content[number : number + 1], number)
    assert missed == []


@pytest.mark.parametrize("kind", ["calibrator/platt", "source/factors"])
@pytest.mark.parametrize("more", [b"\0", b" ", b"\n", b"{}"], ids=repr)
def test_what_is_appended_is_noticed(kind, more, tmp_path):
    place, content = saved(kind, tmp_path)
    place.write_bytes(content + more)
    assert not unnoticed(place, content)


def test_line_endings_of_a_readable_file_do_not_count(tmp_path):
    place, content = saved("calibrator/platt", tmp_path)
    place.write_bytes(content.replace(b"\n", b"\r\n"))
    assert read_packed(place).kind == "calibrator/platt"


# --- headers that were forged, with a checksum that matches ---------------------------------------------------------


def forged(place, header, data=b""):
    """Write a file with any header at all; its checksum is filled in."""
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    blank = len(text).to_bytes(8, "little") + text
    checksum = hashlib.sha256(blank).hexdigest().encode()
    place.write_bytes(blank.replace(_container._START + _container._BLANK, _container._START + checksum, 1) + data)


def entry(shape, offsets, dtype="F64"):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def header_of(entries, manifest=None):
    whole = json.dumps({**MANIFEST, "arrays": dict.fromkeys(entries, "")} if manifest is None else manifest)
    return {"__metadata__": {"checksum": "0" * 64, "manifest": whole}, **entries}


WRONG_ENTRIES = {
    "overlap": {"a": entry([1], [0, 8]), "b": entry([1], [0, 8])},
    "partial overlap": {"a": entry([2], [0, 16]), "b": entry([1], [8, 16])},
    "gap": {"a": entry([1], [8, 16])},
    "gap between": {"a": entry([1], [0, 8], "F64"), "b": entry([4], [12, 16], "I8")},
    "too short": {"a": entry([1], [0, 8])},
    "too long": {"a": entry([3], [0, 24])},
    "another size than its shape": {"a": entry([1], [0, 16])},
    "negative shape": {"a": entry([-2], [0, 16])},
    "two negative shapes": {"a": entry([-2, -1], [0, 16])},
    "negative offsets": {"a": entry([2], [-8, 8]), "b": entry([1], [8, 16])},
    "backwards": {"a": entry([2], [16, 0])},
    "shape that overflows to nothing": {"a": entry([2], [0, 16]), "b": entry([2**32, 2**32], [16, 16])},
    "shape with a fraction": {"a": entry([2.0], [0, 16])},
    "offsets with a fraction": {"a": entry([2], [0.0, 16.0])},
    "shape with a truth value": {"a": entry([2, True], [0, 16])},
    "too many dimensions": {"a": entry([2] + [1] * 99, [0, 16])},
    "a dimension that is too long": {"a": entry([2], [0, 16]), "b": entry([0, 2**62, 2**62], [16, 16])},
    "unknown type": {"a": entry([2], [0, 16], "F128")},
    "type that is a list": {"a": entry([2], [0, 16], ["F64"])},
    "shape that is a number": {"a": entry(2, [0, 16])},
    "shape that is a text": {"a": entry("2", [0, 16])},
    "no shape": {"a": {"dtype": "F64", "data_offsets": [0, 16]}},
    "three offsets": {"a": entry([2], [0, 8, 16])},
    "no offsets": {"a": entry([2], None)},
    "an entry that is a text": {"a": "F64"},
    "an entry that is nothing": {"a": None},
}


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("entries", WRONG_ENTRIES.values(), ids=WRONG_ENTRIES)
def test_arrays_that_do_not_fit_are_refused(tmp_path, entries, mapped):
    forged(tmp_path / "it.sureness", header_of(entries), bytes(16))
    for verify in ("all", "header"):
        with pytest.raises(DamagedError):
            _container.read(tmp_path / "it.sureness", verify=verify, mapped=mapped)


def test_a_key_that_stands_twice_is_refused(tmp_path):
    once = json.dumps(header_of({"a": entry([1], [0, 8])}), separators=(",", ":"))
    twice = once[:-1] + ',"a":' + json.dumps(entry([1], [8, 16])) + "}"
    forged(tmp_path / "it.sureness", twice.encode(), bytes(16))
    with pytest.raises(DamagedError, match="twice"):
        _container.read(tmp_path / "it.sureness")


def test_a_key_that_stands_twice_in_the_manifest_is_refused(tmp_path):
    header = header_of({})
    header["__metadata__"]["manifest"] = '{"format":"sureness","kind":"a","kind":"b","arrays":{}}'
    forged(tmp_path / "it.sureness", header)
    with pytest.raises(DamagedError, match="twice"):
        _container.read(tmp_path / "it.sureness")


@pytest.mark.parametrize("named", [{}, {"a": "", "b": ""}, {"b": ""}, None, [], "a", 3], ids=repr)
def test_a_manifest_that_names_other_arrays_is_refused(tmp_path, named):
    manifest = MANIFEST if named is None else {**MANIFEST, "arrays": named}
    forged(tmp_path / "it.sureness", header_of({"a": entry([1], [0, 8])}, manifest), bytes(8))
    with pytest.raises(DamagedError):
        _container.read(tmp_path / "it.sureness")


def test_arrays_with_exchanged_types_or_shapes_are_noticed(tmp_path, path):
    arrays = {"a": np.arange(4.0), "b": np.arange(4)}
    _container.write(path, MANIFEST, arrays)
    manifest = _container.read(path).manifest
    for entries in (
        {"a": entry([2, 2], [0, 32]), "b": entry([4], [32, 64], "I64")},
        {"a": entry([4], [0, 32], "I64"), "b": entry([4], [32, 64], "I64")},
        {"b": entry([4], [0, 32]), "a": entry([4], [32, 64], "I64")},
    ):
        forged(path, header_of(entries, manifest), arrays["a"].tobytes() + arrays["b"].tobytes())
        with pytest.raises(DamagedError):
            _container.read(path)


@pytest.mark.parametrize(
    "manifest", ["", "[]", "3", "null", "[[[", '{"a":NaN', "[" * 100_000, None, 3], ids=lambda m: str(m)[:9]
)
def test_a_manifest_that_is_none_is_refused(tmp_path, manifest):
    forged(tmp_path / "it.sureness", {"__metadata__": {"checksum": "0" * 64, "manifest": manifest}})
    with pytest.raises(ArtefactError):
        read_packed(tmp_path / "it.sureness")


def test_a_header_without_end_is_refused(tmp_path):
    deep = b'{"__metadata__":{"checksum":"' + b"0" * 64 + b'"},"a":' + b"[" * 100_000
    forged(tmp_path / "it.sureness", deep)
    with pytest.raises(DamagedError):
        _container.read(tmp_path / "it.sureness")


def test_a_header_over_the_limit_is_neither_written_nor_read(path, tmp_path, monkeypatch):
    monkeypatch.setattr(_container, "MOST_HEADER", 100)
    with pytest.raises(KindError):
        _container.read(path)
    with pytest.raises(DataError):
        _container.write(tmp_path / "new.sureness", MANIFEST, CONTENT)
    assert os.listdir(tmp_path) == [path.name]


def test_a_length_that_is_absurd_is_refused_before_it_is_read(tmp_path):
    (tmp_path / "it.sureness").write_bytes(b"\xff" * 8 + b'{"__metadata__":{}}')
    with pytest.raises(KindError):
        _container.read(tmp_path / "it.sureness")


def test_a_length_that_looks_like_the_start_of_a_text_is_no_text(tmp_path):
    """A header of 0x7b20 bytes starts the file with a blank and a brace."""
    place = tmp_path / "it.sureness"
    _container.write(place, {**MANIFEST, "about": {"note": ""}}, {})
    missing = 0x7B20 - int.from_bytes(place.read_bytes()[:8], "little")
    _container.write(place, {**MANIFEST, "about": {"note": "x" * missing}}, {})
    assert place.read_bytes()[:2] == b" {"
    assert read_packed(place).about["note"] == "x" * missing


# --- other files ----------------------------------------------------------------------------------------------------


def test_files_of_other_programs_are_refused(tmp_path):
    from safetensors.numpy import save_file

    save_file({"weight": np.ones(3)}, tmp_path / "theirs.sureness")
    (tmp_path / "table.sureness").write_bytes(b"PAR1" + bytes(100))
    (tmp_path / "empty.sureness").write_bytes(b"")
    for name in ("theirs", "table", "empty"):
        with pytest.raises(KindError):
            read_packed(tmp_path / f"{name}.sureness")


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(FileError, match="nowhere") as raised:
        read_packed(tmp_path / "nowhere.sureness")
    assert type(raised.value) is FileError
    with pytest.raises(VersionError, match="folder"):
        read_packed(tmp_path)
