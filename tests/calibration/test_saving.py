from __future__ import annotations

import json

import pytest

import sureness as sn
from tests.conftest import draw_pairs


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "calibrator.json"
    sn.GaussianCalibrator().fit(*draw_pairs(200)).save(path)
    return path


def test_a_changed_number_is_noticed(saved):
    text = saved.read_text()
    number = json.loads(text)["calibrator"]["state"]["intercept"]
    saved.write_text(text.replace(repr(number), repr(number + 0.001)))
    with pytest.raises(sn.ArtefactError, match="damaged: its checksum does not match"):
        sn.load(saved)


def test_a_cut_file_is_noticed(saved):
    saved.write_text(saved.read_text()[:100])
    with pytest.raises(sn.ArtefactError, match="damaged or not a saved calibrator: it is not valid JSON"):
        sn.load(saved)


def test_a_newer_schema_is_refused(saved):
    artefact = json.loads(saved.read_text()) | {"schema": 99, "package": "9.0"}
    saved.write_text(json.dumps(artefact))
    with pytest.raises(sn.ArtefactError, match=r"schema 99 \(written by sureness 9.0\).*update sureness"):
        sn.load(saved)


@pytest.mark.parametrize("content", ["[]", "{}", '{"format": "something else"}', "3"])
def test_other_files_are_refused(saved, content):
    saved.write_text(content)
    with pytest.raises(sn.ArtefactError, match="is not a saved calibrator"):
        sn.load(saved)


def test_bytes_that_are_no_text_are_refused(saved):
    saved.write_bytes(b"\xff\xfe\x00\x80PAR1")
    with pytest.raises(sn.ArtefactError, match="damaged or not a saved calibrator"):
        sn.load(saved)


def test_an_unknown_kind_is_refused(saved):
    from sureness.calibration.saving import _checksum

    artefact = json.loads(saved.read_text())
    artefact["calibrator"]["kind"] = "os.system"
    artefact["checksum"] = _checksum(artefact["calibrator"])
    saved.write_text(json.dumps(artefact))
    with pytest.raises(sn.ArtefactError, match="cannot be understood"):
        sn.load(saved)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(sn.FileError, match="cannot read .*nowhere.json: No such file"):
        sn.load(tmp_path / "nowhere.json")


def test_unfitted_calibrators_are_not_saved(tmp_path):
    with pytest.raises(sn.NotFittedError, match="call fit before save"):
        sn.PlattCalibrator().save(tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


def test_a_failing_write_keeps_the_old_file(saved, monkeypatch):
    before = saved.read_text()
    monkeypatch.setattr("os.fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(sn.FileError, match="No space left on device"):
        sn.PlattCalibrator().fit(*draw_pairs(100)).save(saved)
    assert saved.read_text() == before
    assert [file.name for file in saved.parent.iterdir()] == [saved.name]


def test_the_file_is_plain_json_that_says_what_it_is(saved):
    artefact = json.loads(saved.read_text())
    assert artefact["format"] == "sureness-calibrator"
    assert artefact["calibrator"]["estimand"] == "interaction"
    assert artefact["calibrator"]["n_pairs"] == 200
