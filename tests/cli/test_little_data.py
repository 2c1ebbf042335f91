"""Data that have too little in them, in Python and on the command line: one sentence, or the obviously right answer."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.errors import ColumnError, DataError, EmptyError, IdError
from tests.cli.runner import refused, run, told

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=400)
LABELS = (RNG.random(400) < 1 / (1 + np.exp(1 - SCORES))).astype(int)


def write(folder, name, **columns):
    """A table of pairs; score and label are usual unless others are given."""
    n_rows = len(next(iter(columns.values()))) if columns else len(SCORES)
    usual = {"user_id": np.arange(n_rows) % 20, "item_id": np.arange(n_rows), "score": SCORES[:n_rows]}
    pl.DataFrame(usual | {"label": LABELS[:n_rows]} | columns, strict=False).write_csv(folder / name)
    return name


def write_run(folder, scores, held_out):
    sn.recommender.Run(sn.MatrixSource(scores), validation=sn.Interactions.from_matrix(held_out)).save(
        folder / "run.sureness"
    )
    return sn.MatrixSource(scores), sn.Interactions.from_matrix(held_out)


@pytest.mark.parametrize("label", [0, 1], ids=["without positives", "without negatives"])
def test_an_anchor_of_one_class(tmp_path, label):
    anchor = sn.data.ScoredPairs.of(SCORES[:50], np.full(50, label))
    with pytest.raises(EmptyError):
        sn.PlattCalibrator().fit(sn.CalibrationSet.from_pairs(SCORES, LABELS, anchor=anchor))
    write(tmp_path, "pairs.csv")
    write(tmp_path, "anchor.csv", label=np.full(50, label))
    done = run("fit", "pairs.csv", "--method", "platt", "--anchor", "anchor.csv", "-o", "map.json", cwd=tmp_path)
    refused(done, EmptyError, "anchor")
    assert not (tmp_path / "map.json").exists()


@pytest.mark.parametrize("method", ["lists", "per-user-platt", "platt", "shape"])
def test_one_user_is_enough(tmp_path, method):
    scores = RNG.normal(size=(1, 80))
    source, held_out = write_run(tmp_path, scores, RNG.random((1, 80)) < 1 / (1 + np.exp(2 - 2 * scores)))
    words = ("list-size", "run.sureness", "--calibrator", method, "-o", "lists.parquet")
    assert told(*words, cwd=tmp_path)["users"] == 1
    lists = pl.read_parquet(tmp_path / "lists.parquet")
    assert lists["probability"].is_between(0, 1, closed="none").all()
    assert lists["probability"].is_sorted(descending=True)
    if method == "lists":
        assert sn.ConfidentRecommender(source).fit(None, held_out).recommend().equals(lists)


def test_one_user_in_a_table_is_fitted_but_not_judged(tmp_path):
    write(tmp_path, "one.csv", user_id=np.zeros(400, dtype=int))
    done = run("fit", "one.csv", "--method", "platt", "-o", "map.json", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["out_of_fold"] == {}
    assert "cannot be judged" in done.stderr


@pytest.mark.parametrize("method", ["platt", "gaussian", "isotonic", "shape", "auto"])
def test_equal_scores_cannot_be_calibrated(tmp_path, method):
    write(tmp_path, "equal.csv", score=np.full(400, 2.0))
    refused(run("fit", "equal.csv", "--method", method, "-o", "map.json", cwd=tmp_path), DataError, "scores")


@pytest.mark.parametrize("method", ["platt", "shape"])
def test_equal_scores_of_a_recommender_cannot_be_calibrated(tmp_path, method):
    source, held_out = write_run(tmp_path, np.full((20, 30), 2.0), RNG.random((20, 30)) < 0.2)
    for calibrator in (sn.PlattCalibrator(), sn.calibration.ShapeCalibrator()):
        with pytest.raises(DataError, match="score"):
            sn.ConfidentRecommender(source, calibrator).fit(None, held_out)
    words = ("list-size", "run.sureness", "--calibrator", method, "-o", "lists.parquet")
    refused(run(*words, cwd=tmp_path), DataError, "score")


def test_a_shape_of_three_scores_rises(tmp_path):
    scores = np.arange(400) % 3
    labels = (np.arange(400) % 7 <= scores).astype(int)
    write(tmp_path, "three.csv", score=scores, label=labels)
    told("fit", "three.csv", "--method", "shape", "-o", "map.json", cwd=tmp_path)
    opened = sn.load(tmp_path / "map.json")
    found = sn.calibration.ShapeCalibrator().fit(scores.astype(float), labels).probability([0.0, 1.0, 2.0])
    assert (np.diff(found) > 0).all()
    np.testing.assert_allclose(opened.probability([0.0, 1.0, 2.0]), found)
    rates = [labels[scores == score].mean() for score in range(3)]
    np.testing.assert_allclose(found, rates, atol=0.08)


@pytest.mark.parametrize(
    "kind", [sn.calibration.PerUserPlatt, sn.calibration.PerUserGaussian, sn.calibration.PerUserGamma]
)
def test_maps_of_users_of_three_scores_rise(kind):
    scores = RNG.integers(0, 3, (60, 40)).astype(float)
    held_out = sn.Interactions.from_matrix(RNG.random((60, 40)) < 0.1 + 0.2 * scores)
    found = kind().fit(sn.MatrixSource(scores), held_out)
    assert (np.diff(found.probability([0.0, 1.0, 2.0], users=[0, 0, 0])) > 0).all()


@pytest.mark.parametrize("missing", [None, float("nan")], ids=["None", "NaN"])
def test_missing_segments_are_a_value_of_their_own(missing):
    names = ["a", "b"] * 200
    fitted = sn.SegmentCalibrator(sn.PlattCalibrator()).fit(SCORES, LABELS, segments=[missing, *names[1:]])
    assert np.isfinite(fitted.probability([0.0, 1.0], segments=["a", missing])).all()
    with pytest.raises(IdError):
        sn.calibration.Segments(["a", missing])


def test_missing_segments_of_a_table(tmp_path):
    write(tmp_path, "missing.csv", kind=[None, "b"] * 200)
    told("fit", "missing.csv", "--columns", "segment=kind", "--method", "platt", "-o", "map.json", cwd=tmp_path)
    told("apply", "map.json", "missing.csv", "--columns", "segment=kind", "-o", "new.csv", cwd=tmp_path)
    assert pl.read_csv(tmp_path / "new.csv")["probability"].null_count() == 0


@pytest.mark.parametrize("command", [["train", "log.csv"], ["data", "describe", "log.csv"]], ids=" ".join)
def test_a_log_without_times_cannot_be_split_by_them(tmp_path, command):
    write(tmp_path, "log.csv")
    with pytest.raises(ColumnError, match="times"):
        sn.by_time(sn.Interactions.read(tmp_path / "log.csv"))
    refused(run(*command, "--split", "time", cwd=tmp_path), ColumnError, "times")
