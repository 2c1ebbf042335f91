"""What a file says about itself, without being opened."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import sureness as sn
from sureness.errors import DamagedError, KindError, VersionError
from sureness.saving import _container
from sureness.saving.objects import inspect, write_packed
from sureness.saving.packed import Packed
from sureness.saving.records import heading
from tests.saving.kinds import FILES, KINDS, ending, made


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_says_what_it_is(kind, tmp_path, monkeypatch):
    place = tmp_path / f"it{ending(made(kind))}"
    made(kind).save(place)
    monkeypatch.setattr(type(made(kind)), "unpack", lambda *_: pytest.fail("it was opened"))
    found = inspect(place)
    assert (found.kind, found.package, found.n_bytes) == (kind, sn.__version__, place.stat().st_size)
    assert bool(found.arrays) <= (kind in FILES)
    assert json.loads(json.dumps(found.plain()))["kind"] == kind


def test_parts_and_arrays_are_named_by_their_paths(tmp_path):
    made("saved/distilled").save(tmp_path / "it.sureness")
    found = inspect(tmp_path / "it.sureness")
    assert found.parts["teacher"] == found.parts["student"] == "saved/run"
    assert found.parts["student/source/users"] == "saved/ids"
    assert found.arrays["student/source/matrix"] == ("F32", (12, 8))


def test_estimand_and_settings_are_shown(tmp_path):
    made("map/per-user-platt").save(tmp_path / "it.sureness")
    found = inspect(tmp_path / "it.sureness")
    assert found.about["estimand"] == "interaction"
    assert "held_out_share" in found.about["horizon"]
    assert "top" in found.settings


def test_a_kind_that_nobody_knows_is_shown_with_what_it_needs(tmp_path):
    packed = Packed(kind="model/theirs", arrays={"a": np.zeros((2, 3), np.float16)}, needs=("models",))
    write_packed(packed, tmp_path / "it.sureness", "file")
    found = inspect(tmp_path / "it.sureness")
    assert (found.kind, found.needs, found.arrays) == ("model/theirs", ("models",), {"a": ("F16", (2, 3))})


def test_arrays_are_not_read(tmp_path):
    made("source/factors").save(tmp_path / "it.sureness")
    content = bytearray((tmp_path / "it.sureness").read_bytes())
    content[-1] ^= 1
    (tmp_path / "it.sureness").write_bytes(content)
    assert inspect(tmp_path / "it.sureness").kind == "source/factors"
    os.truncate(tmp_path / "it.sureness", len(content) - 1)
    with pytest.raises(DamagedError):
        inspect(tmp_path / "it.sureness")


def test_what_is_no_saved_object_is_refused(tmp_path):
    (tmp_path / "table.csv").write_text("user_id,item_id\n1,2\n")
    with pytest.raises(KindError):
        inspect(tmp_path / "table.csv")
    with pytest.raises(VersionError):
        inspect(tmp_path)
    with pytest.raises(sn.errors.FileError):
        inspect(tmp_path / "nowhere.sureness")
    _container.write(tmp_path / "newer.sureness", {**heading(), "schema": 3, "kind": "saved/ids"}, {})
    with pytest.raises(VersionError):
        inspect(tmp_path / "newer.sureness")
