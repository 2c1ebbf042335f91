"""The document is complete: its examples work, other tools understand it, and the service does what it says."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

N_CASES = int(os.environ.get("SURENESS_CASES", "60"))  # of each operation; 2,000 cases in all


def program(name):
    """A tool whose pins clash with ours, in an environment of its own."""
    path = Path(__file__).parents[2] / ".venv-clients" / "bin" / name
    if not path.exists():
        pytest.skip(f"no {name}; make test-service installs it")
    return str(path)


def test_every_example_is_answered(server):
    found = server.get("/openapi.json").json
    n_examples = 0
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            for each in operation.get("parameters", ()):
                if each["in"] == "path":
                    path = path.replace(f"{{{each['name']}}}", each["example"])
            bodies = [None]
            if "requestBody" in operation:
                bodies = [
                    each["value"]
                    for each in operation["requestBody"]["content"]["application/json"]["examples"].values()
                ]
                assert bodies, path
            for body in bodies:
                answer = server.ask(path, body, method.upper())
                assert answer.status == 200, (path, answer.body)
                n_examples += 1
    assert n_examples > 15


def test_every_route_of_the_explorer_and_of_programs_is_described(server):
    described = set(server.get("/openapi.json").json["paths"])
    assert {
        "/v1/users/{id}/list",
        "/v1/lists",
        "/v1/probabilities",
        "/v1/pages",
        "/v1/budgets",
        "/v1/users",
    } <= described
    assert {"/v1/artefacts", "/v1/reload", "/health/live", "/health/ready", "/v2/models/{model}/infer"} <= described


def test_schemathesis_finds_nothing(server, tmp_path):
    """All checks: no 5xx, nothing undocumented, nothing accepted that the schema forbids."""
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(  # 422 is what the schema cannot say: unknown users, lengths that differ
        '[checks.positive_data_acceptance]\nexpected-statuses = ["2xx", "401", "403", "404", "422", "429"]\n'
    )
    words = [
        program("schemathesis"), "--config-file", str(settings), "run", f"{server.address}/openapi.json", "--checks",
        "all", "--max-examples", str(N_CASES), "--generation-database", "none", "--request-timeout", "60",
        "--max-response-time", "60",
        "--no-color",
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=1_800)
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]


def test_a_client_is_generated_and_works(server, recommender, tmp_path, monkeypatch):
    (tmp_path / "openapi.json").write_bytes(server.get("/openapi.json").body)
    words = [program("openapi-python-client"), "generate", "--path", "openapi.json", "--output-path", "client"]
    (tmp_path / "settings.yml").write_text("post_hooks: []\n")
    done = subprocess.run(
        [*words, "--meta", "none", "--config", "settings.yml"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    monkeypatch.syspath_prepend(str(tmp_path))
    package = importlib.import_module("client")
    api, models = (importlib.import_module(f"client.{name}") for name in ("api.lists", "models"))
    assert api is not None
    with package.Client(base_url=server.address) as client:
        user_list = importlib.import_module("client.api.lists.user_list")
        found = user_list.sync(id="3", client=client, max_size=4)
        lists = recommender.decide([3])
        assert found.list_.list_size <= 4
        assert_allclose(found.list_.probabilities, lists.probabilities[0, : found.list_.list_size], rtol=1e-12)
        many = importlib.import_module("client.api.lists.lists")
        answer = many.sync(client=client, body=models.ListsAsked(user_ids=[3, 4]))
        assert [each.user_id for each in answer.lists] == [3, 4]
        refused = user_list.sync(id="nobody", client=client)
        assert refused.code == "ids"
    for name in [name for name in sys.modules if name.split(".")[0] == "client"]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_client_of_the_open_inference_protocol_works_unchanged(server, recommender):
    if importlib.util.find_spec("tritonclient") is None or importlib.util.find_spec("geventhttpclient") is None:
        pytest.skip("no tritonclient; make test-service installs it")
    from tritonclient import http

    client = http.InferenceServerClient(server.address.removeprefix("http://"))
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("sureness")
    metadata = client.get_model_metadata("sureness")
    assert [each["name"] for each in metadata["inputs"]] == ["score", "group", "history"]
    scores, groups = np.linspace(0.3, 0.01, 20), np.array(["a query"] * 20, dtype=object)
    inputs = [
        http.InferInput(name, [20], kind) for name, kind in (("score", "FP64"), ("group", "BYTES"), ("history", "FP64"))
    ]
    for each, values in zip(inputs, (scores, groups, np.full(20, 4.0)), strict=True):
        each.set_data_from_numpy(values, binary_data=False)
    output = http.InferRequestedOutput("probability", binary_data=False)
    found = client.infer("sureness", inputs, outputs=[output]).as_numpy("probability")
    expected = recommender.map_.probability(scores, groups=groups, history=np.full(20, 4.0))
    assert_allclose(found, expected, rtol=1e-12)
    client.close()
