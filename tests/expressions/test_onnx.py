"""Maps of pairs as ONNX graphs give what Python gives; run by make test-adapters, where onnxruntime is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness.calibration import TopNCalibrator, make_calibrator
from sureness.cli import main
from sureness.errors import MissingExtraError, SettingError

NAMES = (
    "minmax", "sigmoid", "histogram", "isotonic", "bbq", "temperature", "platt", "beta", "gaussian", "gamma",
    "manmatha", "kanoulas", "shape",
)  # fmt: skip


def drawn(n: int = 3_000):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=n).astype(np.float32)
    return scores, rng.random(n) < 1 / (1 + np.exp(1 - 2 * scores))


def answers(calibrator, scores):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(calibrator.onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"score": np.asarray(scores, dtype=np.float32)})[0]


@pytest.mark.parametrize("name", NAMES)
def test_every_calibrator_is_the_same_graph(name):
    scores, labels = drawn()
    calibrator = make_calibrator(name).fit(scores, labels)
    asked = np.concatenate([scores, np.linspace(-5, 5, 999), [0.0, -1e30, 1e30]]).astype(np.float32)
    expected = calibrator.probability_of(asked.astype(np.float64), sn.calibration.Who(len(asked)))
    assert_allclose(answers(calibrator, asked), expected, atol=1e-6)


def test_probabilities_corrections_and_top_n_too():
    scores, labels = drawn()
    q = (1 / (1 + np.exp(-scores))).astype(np.float32)
    for calibrator in (
        make_calibrator("platt", scores_are="probabilities").fit(q, labels),
        sn.prior_correction(kept=0.1),
    ):
        assert_allclose(answers(calibrator, q), calibrator.probability(q), atol=1e-6)
        assert np.isnan(answers(calibrator, [-0.5, 1.5, np.nan])).all()
    top = TopNCalibrator(n=5).fit(scores, labels, users=np.arange(len(scores)) // 20)
    assert_allclose(answers(top, scores), top.probability(scores), atol=1e-6)
    assert np.isnan(answers(top, [np.nan, np.inf])).all()


def test_a_file_is_written_by_the_command(tmp_path, monkeypatch):
    runtime = pytest.importorskip("onnxruntime")
    scores, labels = drawn()
    calibrator = sn.PlattCalibrator().fit(scores, labels)
    calibrator.save(tmp_path / "map.json")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["sureness", "export", "--onnx", "map.json", "-o", "map.onnx"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code in (0, None)
    session = runtime.InferenceSession(tmp_path / "map.onnx", providers=["CPUExecutionProvider"])
    assert_allclose(session.run(None, {"score": scores})[0], calibrator.probability(scores), atol=1e-6)


def test_what_is_no_formula_of_a_score_is_refused(tmp_path):
    scores, labels = drawn(5_000)
    pytest.importorskip("onnx")
    steps = sn.IsotonicCalibrator().fit(np.arange(5_000.0), np.random.default_rng(0).random(5_000) < 0.5)
    steps.knots_ = np.arange(3_000.0)
    steps.values_ = np.linspace(0, 1, 3_000)
    with pytest.raises(SettingError, match="more than the 2,000 that an ONNX file takes"):
        steps.onnx()
    lists = sn.ListCalibrator().fit(scores, labels, groups=np.arange(5_000) // 25)
    lists.save(tmp_path / "lists.json")
    with pytest.raises(SettingError, match="takes a calibrator of single scores, got ListCalibrator"):
        sn.jobs.exporting.export_onnx(tmp_path / "lists.json", tmp_path / "lists.onnx")


def test_without_onnx_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sureness\[onnx\]'"):
        sn.PlattCalibrator().fit(*drawn()).onnx()
