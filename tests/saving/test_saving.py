"""Anything that was saved is opened by `load`; what is something else, older or newer is refused before that."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace

import numpy as np
import pytest

import sureness as sn
from sureness import _registry
from sureness._registry import names, register
from sureness.errors import ArtefactError, DamagedError, KindError, OutputError, VersionError
from sureness.recommender.run import Run
from sureness.saving import _container, inspect
from sureness.saving.objects import read_packed, save, write_packed
from sureness.saving.packed import Packed, Savable, kind_of, plain, revived
from sureness.saving.records import heading, read_record, write_record
from tests.saving.kinds import FILES, HAS_TORCH, KINDS, ending, fingerprint, made

every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def own_kind():
    """A kind of one's own, registered for one test."""

    class Note(Savable):
        def __init__(self, text=None, number=0.0, inner=None):
            self.text, self.number, self.inner = text, number, inner

        def pack(self):
            parts = {"inner": self.inner.pack()} if self.inner is not None else {}
            state = {"text": self.text, "number": self.number}
            return Packed(kind=kind_of("saved", type(self)), state=state, parts=parts)

        @classmethod
        def unpack(cls, packed, parts):
            return cls(packed.state["text"], packed.state["number"], parts.get("inner"))

    register("saved", "note", Note)
    yield Note
    _registry._TABLE["saved"].pop("note")


class TestRoundTrip:
    def test_every_name_of_the_registry_that_can_be_saved_is_tried_here(self):
        families = ("calibrator", "map", "policy", "model", "source", "saved")
        known = {f"{family}/{name}" for family in families for name in names(family)} - {
            "policy/attn-cut",
            "policy/mt-cut",
        }
        without = set() if HAS_TORCH else {kind for kind in known if kind.startswith("model/")}
        assert known - without - {"saved/histogram"} == set(KINDS)

    @every_kind
    def test_every_kind_comes_back_as_it_was(self, kind, tmp_path):
        place = tmp_path / f"it{ending(made(kind))}"
        made(kind).save(place)
        for options in ({}, {"mapped": True}, {"mapped": False}, {"verify": "header"}):
            opened = sn.load(place, **options)
            assert type(opened) is type(made(kind))
            assert fingerprint(opened) == fingerprint(made(kind))
        assert os.listdir(tmp_path) == [place.name]

    @every_kind
    def test_what_was_opened_can_be_saved_over_itself(self, kind, tmp_path):
        place = tmp_path / f"it{ending(made(kind))}"
        made(kind).save(place)
        before = place.read_bytes()
        sn.load(place, mapped=True).save(place)
        assert place.read_bytes() == before

    @every_kind
    def test_everybody_who_may_read_new_files_may_read_what_is_saved(self, kind, tmp_path):
        old = os.umask(0o022)
        try:
            made(kind).save(tmp_path / f"it{ending(made(kind))}")
        finally:
            os.umask(old)
        assert [stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()] == [0o644]

    @every_kind
    def test_nothing_is_pickled(self, kind, tmp_path):
        made(kind).save(tmp_path / f"it{ending(made(kind))}")
        (file,) = tmp_path.iterdir()
        assert b"\x80\x04\x95" not in file.read_bytes()
        assert file.suffix == (".sureness" if kind in FILES else ".json")

    def test_a_part_of_a_file_is_opened_by_its_path(self, tmp_path):
        made("saved/distilled").save(tmp_path / "pair.sureness")
        student = sn.load(tmp_path / "pair.sureness" / "student", Run)
        assert fingerprint(student) == fingerprint(made("saved/run"))
        source = sn.load(f"{tmp_path}/pair.sureness/student/source")
        assert type(source) is sn.MatrixSource
        assert isinstance(sn.load(f"{tmp_path}/pair.sureness/student/source/users"), sn.IdMap)

    def test_a_part_that_is_not_there_is_named(self, tmp_path):
        made("saved/run").save(tmp_path / "run.sureness")
        for path in ("run.sureness/student", "run.sureness/source/student", "run.sureness/train/x"):
            with pytest.raises(KindError, match="no part"):
                sn.load(tmp_path / path)

    def test_a_part_that_needs_more_says_so(self, tmp_path):
        made("saved/run").save(tmp_path / "run.sureness")
        with pytest.raises(KindError, match="users"):
            sn.load(tmp_path / "run.sureness/train")
        ids = {side: sn.load(tmp_path / "run.sureness/source" / side) for side in ("users", "items")}
        train = sn.load(tmp_path / "run.sureness/train", parts=ids)
        assert train.table().equals(made("saved/run").train.table())

    def test_numbers_that_json_lacks_come_back_everywhere(self, own_kind, tmp_path):
        own_kind({"of": [np.inf, -np.inf, 1.5, None, True]}, np.float32(-np.inf)).save(tmp_path / "it.sureness")
        opened = sn.load(tmp_path / "it.sureness", own_kind)
        assert opened.text == {"of": [np.inf, -np.inf, 1.5, None, True]}
        assert opened.number == -np.inf
        assert np.isnan(revived(plain(float("nan"))))

    @pytest.mark.parametrize("given", [
        {"number": "q"}, {"packed": 1}, {"mapping": {"number": 2}}, {"x": [{"number": "inf"}]}, {"mapping": {}},
    ])  # fmt: skip
    def test_mappings_that_look_like_markers_come_back(self, given, own_kind, tmp_path):
        own_kind(given).save(tmp_path / "it.sureness")
        write_packed(read_packed(tmp_path / "it.sureness"), tmp_path / "again.sureness", "file")
        assert sn.load(tmp_path / "again.sureness").text == given

    @pytest.mark.parametrize("name", ["a/b", "", "__metadata__"])
    def test_names_that_would_be_lost_are_refused(self, name, tmp_path):
        for content in ({"arrays": {name: np.zeros(1)}}, {"parts": {name: sn.IdMap.of([1]).pack()}}):
            with pytest.raises(sn.errors.DataError, match="names"):
                write_packed(Packed(kind="saved/ids", **content), tmp_path / "it.sureness", "file")
        assert not os.listdir(tmp_path)


class TestExpected:
    def test_a_class_or_a_base_of_it_may_be_expected(self, tmp_path):
        made("calibrator/platt").save(tmp_path / "it.json")
        for expected in (None, sn.PlattCalibrator, sn.calibration.Calibrator, sn.calibration.ProbabilityMap):
            assert type(sn.load(tmp_path / "it.json", expected)) is sn.PlattCalibrator

    def test_another_kind_is_refused_before_it_is_opened(self, tmp_path, monkeypatch):
        made("saved/run").save(tmp_path / "it.sureness")
        monkeypatch.setattr(Run, "unpack", lambda *_: pytest.fail("it was opened"))
        for expected in (sn.ConfidentRecommender, sn.calibration.Calibrator, sn.MatrixSource):
            with pytest.raises(KindError, match=expected.__name__):
                sn.load(tmp_path / "it.sureness", expected)

    def test_a_record_of_another_kind_is_refused(self, tmp_path):
        write_record(tmp_path / "it.json", "trials", {"best": 3})
        assert read_record(tmp_path / "it.json", "trials")["best"] == 3
        with pytest.raises(KindError):
            read_record(tmp_path / "it.json", "cells")
        with pytest.raises(KindError):
            sn.load(tmp_path / "it.json")

    @pytest.mark.parametrize("kind", ["saved/nothing", "os/system", "platt", "/", "calibrator/", "/platt", "a/b/c"])
    def test_an_unknown_kind_is_refused(self, kind, tmp_path):
        write_packed(Packed(kind=kind), tmp_path / "it.sureness", "file")
        write_packed(Packed(kind=kind), tmp_path / "it.json", "json")
        for name in ("it.sureness", "it.json"):
            with pytest.raises(KindError, match=kind):
                sn.load(tmp_path / name)

    def test_a_kind_whose_content_makes_no_sense_is_refused(self, tmp_path):
        write_packed(Packed(kind="saved/ids", state={"of": "text"}), tmp_path / "it.sureness", "file")
        with pytest.raises(DamagedError, match="ids"):
            sn.load(tmp_path / "it.sureness")
        write_packed(Packed(kind="calibrator/platt", settings={"monotony": 3}), tmp_path / "it.json", "json")
        with pytest.raises(DamagedError, match="platt"):
            sn.load(tmp_path / "it.json")


class TestOtherVersions:
    def test_a_newer_schema_is_refused(self, tmp_path):
        for schema in (1, 3, "2", None):
            manifest = {**heading(), "schema": schema, "package": "9.0", "kind": "saved/ids"}
            _container.write(tmp_path / "it.sureness", manifest, {})
            with pytest.raises(VersionError, match="9.0"):
                sn.load(tmp_path / "it.sureness")

    def test_a_newer_record_is_refused_whatever_its_checksum(self, tmp_path):
        (tmp_path / "it.json").write_text(json.dumps({**heading(), "schema": 99, "package": "9.0"}))
        with pytest.raises(VersionError, match="9.0"):
            sn.load(tmp_path / "it.json")

    def test_a_folder_of_version_0_1_is_refused_in_one_sentence(self, tmp_path):
        folder = tmp_path / "maps"
        folder.mkdir()
        (folder / "manifest.json").write_text('{"format": "sureness-maps", "schema": 1}')
        for path in (folder, folder / "student"):
            with pytest.raises(sn.errors.FileError) as raised:
                sn.load(path)
            assert "\n" not in str(raised.value)
        with pytest.raises(VersionError, match="folder"):
            sn.load(folder)

    def test_a_calibrator_of_version_0_1_is_refused(self, tmp_path):
        old = {"format": "sureness-calibrator", "schema": 1, "package": "0.1.0", "calibrator": {"kind": "platt"}}
        (tmp_path / "old.json").write_text(json.dumps(old))
        with pytest.raises(VersionError, match="0.1.0") as raised:
            sn.load(tmp_path / "old.json")
        assert "\n" not in str(raised.value)

    @pytest.mark.parametrize(
        "content",
        ["[]", "{}", '{"format": "something else"}', "3", "[" * 100_000, '{"a": ' * 100_000, '{"a": 1, "a": 2}'],
        ids=lambda text: text[:20],
    )
    def test_other_text_is_refused(self, content, tmp_path):
        (tmp_path / "it.json").write_text(content)
        with pytest.raises(ArtefactError):
            sn.load(tmp_path / "it.json")

    def test_a_pipe_is_refused_instead_of_waited_for(self, tmp_path):
        os.mkfifo(tmp_path / "it.json")
        for open_it in (sn.load, inspect, read_record):
            with pytest.raises(sn.errors.FileError, match="pipe"):
                open_it(tmp_path / "it.json")

    def test_bytes_that_are_no_text_are_refused(self, tmp_path):
        for content in (b"\xff\xfe\x00\x80PAR1", b'{"format": "\xff"}', b""):
            (tmp_path / "it.json").write_bytes(content)
            with pytest.raises(ArtefactError):
                sn.load(tmp_path / "it.json")


class TestWriting:
    @pytest.mark.parametrize("kind", ["calibrator/platt", "map/per-user-platt", "saved/run", "map/segment"])
    def test_the_ending_says_what_is_in_the_file(self, kind, tmp_path):
        other = {".json": ".sureness", ".sureness": ".json"}[ending(made(kind))]
        for name in ("it", f"it{other}", "it.txt", f"it{ending(made(kind))}.bak", ending(made(kind))):
            with pytest.raises(OutputError, match="end in"):
                made(kind).save(tmp_path / name)
        assert not os.listdir(tmp_path)

    def test_a_folder_is_not_replaced(self, tmp_path):
        (tmp_path / "it.sureness").mkdir()
        with pytest.raises(OutputError, match="folder"):
            made("saved/run").save(tmp_path / "it.sureness")

    def test_what_is_not_fitted_is_not_saved(self, tmp_path):
        for unfitted in (
            sn.PlattCalibrator(),
            sn.SegmentCalibrator(),
            sn.calibration.TopNCalibrator(),
            sn.ListCalibrator(),
        ):
            with pytest.raises(sn.errors.NotFittedError):
                unfitted.save(tmp_path / "it.json")
        for unfitted in (sn.calibration.PerUserPlatt(), sn.ConfidentRecommender(made("source/matrix"))):
            with pytest.raises(sn.errors.NotFittedError):
                unfitted.save(tmp_path / "it.sureness")
        assert not os.listdir(tmp_path)

    def test_a_class_without_a_name_is_refused_before_anything_is_written(self, tmp_path):
        class Mine(sn.PlattCalibrator):
            pass

        with pytest.raises(sn.errors.DataError, match="register"):
            Mine().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1]).save(tmp_path / "it.json")
        assert not os.listdir(tmp_path)

    def test_a_readable_file_can_be_read(self, tmp_path):
        made("calibrator/gaussian").save(tmp_path / "it.json")
        content = json.loads((tmp_path / "it.json").read_text())
        assert content["kind"] == "calibrator/gaussian"
        assert content["about"]["estimand"] == "interaction"
        assert content["about"]["pairs"] == 300
        assert len((tmp_path / "it.json").read_text().splitlines()) > 10

    def test_save_as_a_function_is_the_method(self, tmp_path):
        save(made("calibrator/platt"), tmp_path / "a.json")
        made("calibrator/platt").save(tmp_path / "b.json")
        assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


class TestParts:
    def test_an_object_takes_the_place_of_a_part(self, own_kind, tmp_path):
        own_kind("outer", inner=own_kind("inner")).save(tmp_path / "it.sureness")
        assert sn.load(tmp_path / "it.sureness").inner.text == "inner"
        given = object()
        assert sn.load(tmp_path / "it.sureness", parts={"inner": given}).inner is given

    def test_an_object_takes_the_place_of_a_part_that_was_not_saved(self, own_kind, tmp_path):
        own_kind("outer").save(tmp_path / "it.sureness")
        assert sn.load(tmp_path / "it.sureness").inner is None
        assert sn.load(tmp_path / "it.sureness", parts={"inner": 3}).inner == 3

    def test_an_extra_that_is_missing_is_named_before_anything_is_opened(self, own_kind, tmp_path, monkeypatch):
        monkeypatch.setattr(own_kind, "unpack", lambda *_: pytest.fail("it was opened"))
        needy = replace(own_kind("outer").pack(), needs=("nothing_like_it",))
        write_packed(needy, tmp_path / "it.sureness", "file")
        with pytest.raises(sn.errors.MissingExtraError, match="nothing_like_it"):
            sn.load(tmp_path / "it.sureness")

    def test_the_library_behind_an_extra_is_named(self, own_kind, tmp_path, monkeypatch):
        write_packed(replace(own_kind("x").pack(), needs=("models",)), tmp_path / "it.sureness", "file")
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        with pytest.raises(sn.errors.MissingExtraError, match="torch"):
            sn.load(tmp_path / "it.sureness")

    def test_only_the_part_that_is_opened_needs_its_extra(self, own_kind, tmp_path):
        needy = replace(own_kind("inner").pack(), needs=("nothing_like_it",))
        packed = replace(own_kind("outer").pack(), parts={"inner": needy})
        write_packed(packed, tmp_path / "it.sureness", "file")
        with pytest.raises(sn.errors.MissingExtraError):
            sn.load(tmp_path / "it.sureness")
        assert sn.load(tmp_path / "it.sureness", parts={"inner": 3}).text == "outer"


class TestRetired:
    """Files of maps that only older versions have."""

    @pytest.mark.parametrize("kind", ["map/per-user", "map/shared", "map/chain"])
    def test_a_map_of_an_older_version_is_refused_in_one_sentence(self, kind, tmp_path):
        old = Packed(kind=kind, arrays={"location": np.zeros(3)}, parts={"users": made("saved/ids").pack()})
        self._refused(old, tmp_path / "old.sureness", kind)

    def test_so_is_a_chain_whose_settings_hold_maps(self, tmp_path):
        """They are in the settings, which are opened first."""
        write_record(tmp_path / "old.json", "map/chain", {"settings": {"links": [{"packed": {"kind": "map/shared"}}]}})
        with pytest.raises(VersionError, match="map/chain of an older version"):
            sn.load(tmp_path / "old.json")

    def test_so_is_a_recommender_that_holds_one(self, tmp_path):
        new = made("saved/recommender").pack()
        state = {name: value for name, value in new.state.items() if name != "below"}
        old = replace(new, state=state, parts={**new.parts, "map": Packed(kind="map/per-user")})
        self._refused(old, tmp_path / "old.sureness", "map/per-user")

    def test_and_an_older_recommender_with_any_other_map(self, tmp_path):
        new = made("saved/recommender").pack()
        state = {name: value for name, value in new.state.items() if name != "below"}
        write_packed(replace(new, state=state), tmp_path / "old.sureness", "file")
        with pytest.raises(VersionError, match="recommender was saved by an older version.*fit it again"):
            sn.load(tmp_path / "old.sureness")

    @staticmethod
    def _refused(old, path, kind):
        write_packed(old, path, "file")
        with pytest.raises(VersionError) as refusal:
            sn.load(path)
        said = str(refusal.value)
        assert f"{path} holds a {kind} of an older version" in said
        assert "fit it again" in said
        assert "\n" not in said
        assert inspect(path).kind == old.kind
