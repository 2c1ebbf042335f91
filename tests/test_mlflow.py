"""Models of MLflow answer as the calibrator or recommender does; run by `make test-adapters`, where it is installed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import sureness as sn

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed; make test-adapters has it")
import pandas as pd  # noqa: E402

import sureness.mlflow  # noqa: E402  # which loads mlflow.pyfunc when it is used


@pytest.fixture(scope="module")
def split():
    world = sn.simulate(sn.SimulatorSettings(n_users=60, n_items=30, exposure_rate=0.7))
    return sn.by_ratio(sn.data.k_core(sn.Interactions.from_matrix(world.train), 3), seed=0)


@pytest.fixture(scope="module")
def source(split):
    rng = np.random.default_rng(0)
    users, items = split.train.n_users, split.train.n_items
    return sn.FactorSource(
        rng.normal(size=(users, 4)), rng.normal(size=(items, 4)), users=split.train.users, items=split.train.items
    )


@pytest.fixture(scope="module")
def platt():
    return sn.PlattCalibrator().fit([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0], [0, 0, 0, 1, 1, 1])


@pytest.fixture(scope="module")
def recommender(source, split):
    return sn.ConfidentRecommender(source).fit(split.train, split.validation)


def saved(model, folder):
    sureness.mlflow.save_model(model, folder / "model")
    return str(folder / "model")


def test_a_calibrator_answers_with_its_probabilities(platt, tmp_path):
    opened = mlflow.pyfunc.load_model(saved(platt, tmp_path))
    found = opened.predict(pd.DataFrame({"score": [-1.0, 3.0], "item": ["a", "b"]}))
    assert list(found) == ["probability"]
    assert found["probability"].tolist() == platt.probability([-1.0, 3.0]).tolist()


def test_maps_of_users_read_the_users(source, split, tmp_path):
    fitted = sn.calibration.PerUserPlatt().fit(source, split.validation, seen=split.train)
    users = split.train.users.at([3, 0])
    opened = mlflow.pyfunc.load_model(saved(fitted, tmp_path))
    found = opened.predict(pd.DataFrame({"score": [0.2, 0.4], "user_id": users.to_list()}))
    assert found["probability"].tolist() == fitted.probability([0.2, 0.4], users=users).tolist()


def test_maps_of_segments_read_the_segments(tmp_path):
    labels, names = [0, 0, 1, 0, 1, 1] * 4, ["film"] * 12 + ["book"] * 12
    fitted = sn.SegmentCalibrator().fit(np.arange(24.0) % 6, labels, segments=names)
    opened = mlflow.pyfunc.load_model(saved(fitted, tmp_path))
    found = opened.predict(pd.DataFrame({"score": [1.0, 1.0], "segment": ["film", "book"]}))
    assert found["probability"].tolist() == fitted.probability([1.0, 1.0], segments=["film", "book"]).tolist()


@pytest.mark.parametrize("names", [["ann"] * 12 + ["zoë"] * 12, [7] * 12 + [2**40] * 12], ids=["text", "numbers"])
def test_a_map_for_lists_reads_groups_histories_and_traits(names, tmp_path):
    rng = np.random.default_rng(0)
    groups, scores = np.repeat(np.arange(60), 12), rng.normal(size=720)
    labels = rng.random(720) < 1 / (1 + np.exp(1 - scores))
    fitted = sn.ListCalibrator().fit(scores, labels, groups=groups, history=groups % 7, traits={"age": groups % 5})
    opened = mlflow.pyfunc.load_model(saved(fitted, tmp_path))
    assert opened.metadata.signature.inputs.input_names() == ["score", "user_id", "history", "age"]
    asked = {"score": scores[:24], "user_id": names, "history": [3] * 24, "age": [4.0] * 23 + [None], "more": [0] * 24}
    found = opened.predict(pd.DataFrame(asked))
    wanted = fitted.probability(scores[:24], groups=names, history=[3] * 24, traits={"age": asked["age"]})
    assert found["probability"].tolist() == wanted.tolist()
    with pytest.raises(mlflow.MlflowException, match="user_id"):
        opened.predict(pd.DataFrame(asked).drop(columns="user_id"))


def test_maps_of_fields_read_their_fields(tmp_path):
    fields = {"market": ["a", "b"] * 12, "age": np.arange(24.0)}
    fitted = sn.SegmentCalibrator().fit(np.arange(24.0) % 6, [0, 0, 1, 0, 1, 1] * 4, segments=fields)
    opened = mlflow.pyfunc.load_model(saved(fitted, tmp_path))
    found = opened.predict(pd.DataFrame({"score": [1.0, 1.0], "market": ["a", "b"], "age": [3.0, 4.0]}))
    wanted = fitted.probability([1.0, 1.0], segments={"market": ["a", "b"], "age": [3.0, 4.0]})
    assert found["probability"].tolist() == wanted.tolist()


def test_a_recommender_answers_with_lists(recommender, tmp_path):
    users = recommender.source.users.at([5, 2]).to_list()
    wanted = recommender.recommend(users)
    found = mlflow.pyfunc.load_model(saved(recommender, tmp_path)).predict(pd.DataFrame({"user_id": users}))
    assert len(wanted)
    assert list(found) == wanted.columns
    assert found.to_dict("list") == wanted.to_dict(as_series=False)


def test_what_was_saved_is_opened_as_it_was(recommender, platt, tmp_path):
    assert isinstance(sureness.mlflow.load_model(saved(platt, tmp_path / "map")), sn.PlattCalibrator)
    assert isinstance(sureness.mlflow.load_model(saved(recommender, tmp_path / "lists")), sn.ConfidentRecommender)


def test_the_model_says_what_it_reads_gives_and_means(recommender, platt, tmp_path):
    known = mlflow.models.get_model_info(saved(recommender, tmp_path / "lists"))
    assert known.signature.inputs.input_dict()["user_id"].type.name == "long"
    assert known.signature.outputs.input_names() == recommender.recommend([]).columns
    known = mlflow.models.get_model_info(saved(platt, tmp_path / "map"))
    assert known.signature.inputs.input_names() == ["score"]
    assert known.metadata["meaning"] == platt.meaning


def test_options_of_mlflow_reach_it(platt, tmp_path):
    sureness.mlflow.save_model(platt, tmp_path / "model", metadata={"team": "shop"}, pip_requirements=["sureness"])
    assert mlflow.models.get_model_info(str(tmp_path / "model")).metadata == {"team": "shop"}
    assert (tmp_path / "model" / "requirements.txt").read_text().split()[1:] == ["sureness"]  # beside MLflow


def test_bad_questions_are_refused(platt, recommender, tmp_path):
    opened = mlflow.pyfunc.load_model(saved(platt, tmp_path / "map"))
    with pytest.raises(mlflow.MlflowException, match="score"):
        opened.predict(pd.DataFrame({"user_id": [1]}))
    with pytest.raises(sn.errors.ColumnError, match="score"):  # as maps without a signature are asked
        sureness.mlflow.Answers(platt).predict(pd.DataFrame({"user_id": [1]}))
    opened = mlflow.pyfunc.load_model(saved(recommender, tmp_path / "lists"))
    with pytest.raises(sn.errors.DataError, match="999"):
        opened.predict(pd.DataFrame({"user_id": [999]}))


def test_what_is_no_map_is_refused(source, tmp_path):
    with pytest.raises(sn.errors.SettingError, match="FactorSource"):
        sureness.mlflow.save_model(source, tmp_path / "model")


def test_a_server_of_mlflow_answers(platt, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "models", "serve", "--env-manager", "local", "--workers", "1"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # mlflow looks for uvicorn there
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            [*command, "-m", saved(platt, tmp_path), "--port", str(port)],
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=os.environ | {"PATH": path},
        )
        try:
            answer = asked(f"http://127.0.0.1:{port}/invocations", {"dataframe_records": [{"score": 0.5}]}, server)
        finally:
            end(server)
    assert answer == {"predictions": [{"probability": pytest.approx(platt.probability([0.5])[0])}]}


def asked(url, body, server):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    for _ in range(600):
        assert server.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error
        except OSError:  # it still starts
            time.sleep(0.2)
    raise AssertionError("the server did not start within two minutes")


def end(server):
    if server.poll() is None:
        os.killpg(server.pid, signal.SIGTERM)  # the workers too
    server.wait(timeout=30)
