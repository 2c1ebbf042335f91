"""Whatever is wrong with a request, it gets a 4xx with a code and one sentence, and nobody else notices."""

from __future__ import annotations

import json
import socket
import time

import pytest

from tests.service.running import Server

DEEP = b'{"scores":' + b"[" * 20_000 + b"]" * 20_000 + b"}"
GROUP = {"scores": [0.3, 0.2]}

BODIES = [
    ("/v1/probabilities", b"", 400, "json"),
    ("/v1/probabilities", b"{", 400, "json"),
    ("/v1/probabilities", b"\xff\xfe", 400, "json"),
    ("/v1/probabilities", b'{"scores": [NaN]}', 400, "json"),
    ("/v1/probabilities", b'{"scores": [Infinity]}', 400, "json"),
    ("/v1/probabilities", DEEP, 422, "request"),
    ("/v1/probabilities", b"[" * 50_000, 422, "request"),
    ("/v1/probabilities", b'{"traits":' + b'{"a":' * 20_000, 422, "request"),
    ("/v1/probabilities", b'{"scores": [1e999]}', (400, 422), None),
    ("/v1/probabilities", b'{"scores": [1e40]}', 422, "request"),
    ("/v1/probabilities", b'{"scores": ["1"]}', 422, "request"),
    ("/v1/probabilities", b'{"scores": [true]}', 422, "request"),
    ("/v1/probabilities", b'{"scores": []}', 422, "request"),
    ("/v1/probabilities", b'{"scores": [' + b"9" * 5_000 + b"]}", (400, 422), None),
    ("/v1/probabilities", b'{"scores": [1.0]}', 422, "column"),
    ("/v1/probabilities", b'{"scores": [1.0], "groups": [1]}', 422, "column"),
    ("/v1/probabilities", b'{"scores": [1.0], "groups": [1, 2], "history": [1]}', 422, "data"),
    ("/v1/probabilities", b'{"scores": [1.0], "groups": [1], "history": [-1]}', 422, "request"),
    ("/v1/probabilities", b'{"scores": [1.0], "segments": ["a"]}', 422, "setting"),
    ("/v1/probabilities", b'{"scores": [1.0], "other": 1}', 422, "request"),
    ("/v1/lists", b"[]", 422, "request"),
    ("/v1/lists", b"{}", 422, "request"),
    ("/v1/lists", {"user_ids": [1], "groups": [GROUP]}, 422, "request"),
    ("/v1/lists", {"user_ids": []}, 422, "request"),
    ("/v1/lists", {"user_ids": [1.5]}, 422, "request"),
    ("/v1/lists", {"user_ids": [True]}, 422, "request"),
    ("/v1/lists", {"user_ids": [None]}, 422, "request"),
    ("/v1/lists", {"user_ids": [2**63]}, 422, "request"),
    ("/v1/lists", {"user_ids": [10**400]}, (400, 422), None),
    ("/v1/lists", {"user_ids": [900]}, 422, "ids"),
    ("/v1/lists", {"user_ids": ["\u0000"]}, 422, "ids"),
    ("/v1/lists", b'{"user_ids": ["\\ud800"]}', (400, 422), None),
    ("/v1/lists", {"user_ids": [1] * 1_001}, 422, "request"),
    ("/v1/lists", {"user_ids": [1], "utility": "best"}, 422, "setting"),
    ("/v1/lists", {"user_ids": [1], "utility": "f1", "size": 3}, 422, "setting"),
    ("/v1/lists", {"user_ids": [1], "max_size": 60}, 422, "setting"),
    ("/v1/lists", {"user_ids": [1], "max_size": 2, "min_size": 3}, 422, "setting"),
    ("/v1/lists", {"user_ids": [1], "size": 0}, 422, "request"),
    ("/v1/lists", {"user_ids": [1], "threshold": 2}, 422, "request"),
    ("/v1/lists", {"groups": [{"scores": [1.0], "item_ids": [1, 2]}]}, 422, "data"),
    ("/v1/lists", {"groups": [{"scores": [1.0, 2.0], "item_ids": [7, 7]}]}, 422, "ids"),
    ("/v1/lists", {"groups": [{"scores": [1.0, 2.0], "item_ids": [700, 700]}]}, 422, "ids"),
    ("/v1/lists", {"groups": [{"scores": [1.0, None]}]}, 422, "request"),
    ("/v1/lists", {"groups": [{"scores": [0.1] * 90_000}] + [GROUP] * 30}, 422, "setting"),
    ("/v1/pages", {"slots": -1, "user_ids": [1]}, 422, "request"),
    ("/v1/pages", {"slots": 5, "user_ids": [1]}, 422, "data"),
    ("/v1/pages", {"slots": 5, "groups": [{**GROUP, "domains": ["a"]}]}, 422, "data"),
    ("/v1/pages", {"slots": 1, "groups": [{**GROUP, "domains": ["a", "b"]}], "min_size": 1}, 422, "setting"),
    ("/v1/budgets", {"items_per_user": -1}, 422, "request"),
    ("/v2/models/sureness/infer", {"inputs": []}, 422, "request"),
    (
        "/v2/models/sureness/infer",
        {"inputs": [{"name": "score", "shape": [3], "datatype": "FP64", "data": [1.0]}]}, 422, "request",
    ),
    (
        "/v2/models/sureness/infer",
        {"inputs": [{"name": "text", "shape": [1], "datatype": "FP64", "data": [1.0]}]}, 422, "request",
    ),
    ("/v2/models/other/infer", {"inputs": []}, (404, 422), None),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "status", "code"), BODIES)
def test_a_wrong_body_is_refused_in_one_sentence(server, path, body, status, code):
    found = server.post(path, body)
    assert found.status in (status if isinstance(status, tuple) else (status,)), found.body
    assert found.headers["content-type"] == "application/json"
    assert code in (None, found.json["code"]), found.body
    assert len(found.json["message"]) > 10
    assert "\n" not in found.json["message"]
    assert "Traceback" not in found.json["message"]


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/v1/users/1/list?explain=maybe", "GET", 422), ("/v1/users/1/list?size=x", "GET", 422),
        ("/v1/users/1/list?size=3&size=4", "GET", 422), ("/v1/users/1/list?max_size=null", "GET", 422),
        ("/v1/users/%FF/list", "GET", 404), ("/v1/users/" + "9" * 400 + "/list", "GET", 404),
        ("/v1/users/%00/list", "GET", 404), ("/v1/users/-1/list", "GET", 404), ("/v1/users/1.0/list", "GET", 404),
        ("/v1/users?order=best", "GET", 422), ("/v1/users?limit=100000", "GET", 422),
        ("/v1/users?start=-1", "GET", 422),
        ("/v1/lists", "GET", 405), ("/v1/artefacts", "DELETE", 405), ("/v3", "GET", 404),
        ("/explorer/../app.py", "GET", 404),
    ],
)  # fmt: skip
def test_a_wrong_path_is_refused_in_one_sentence(server, path, method, status):
    found = server.ask(path, method=method)
    assert found.status == status, found.body
    assert set(found.json) == {"code", "message"}


def test_what_a_user_has_no_list_for_is_said_with_what_to_do(server):
    found = server.get("/v1/users/nobody/list").json
    assert found["code"] == "ids"
    assert "'nobody'" in found["message"]
    assert "/v1/lists" in found["message"]


def test_a_body_over_the_limit(saved):
    with Server((saved, "--max-body", 2_000, "--max-seconds", 1)) as server:
        body = json.dumps({"groups": [{"scores": [0.1] * 1_000}]}).encode()
        found = server.post("/v1/lists", body)
        assert (found.status, found.json["code"]) == (413, "body")
        assert server.post("/v1/lists", {"groups": [GROUP]}).status == 200
        with socket.create_connection(("127.0.0.1", server.port)) as client:  # without a length, in chunks for ever
            client.sendall(b"POST /v1/lists HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            with pytest.raises(OSError):  # noqa: PT011  # whichever way the connection ends
                for _ in range(2_000):
                    client.sendall(b"400\r\n" + b" " * 1_024 + b"\r\n")
                    time.sleep(0.001)
        assert server.post("/v1/lists", {"groups": [GROUP]}).status == 200


def test_a_slow_client_and_one_that_goes_away(saved):
    with Server((saved, "--max-seconds", 1)) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.sendall(b"POST /v1/lists HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
            slow.settimeout(10)
            assert slow.recv(1_000).startswith(b"HTTP/1.1 408 ")
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", server.port)) as gone:
                gone.sendall(b"POST /v1/lists HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
            with socket.create_connection(("127.0.0.1", server.port)) as gone:
                gone.sendall(b"GET /v1/users/1/list?explain=true HTTP/1.1\r\nHost: a\r\n\r\n")
        assert server.list_of(1)


def test_too_many_requests_wait_and_the_others_are_answered(saved):
    with Server((saved, "--max-waiting", 1)) as server:
        body = json.dumps({"user_ids": list(range(240)) * 4, "explain": True}).encode()
        head = (
            f"POST /v1/lists HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
        )
        clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(12)]
        for client in clients:
            client.sendall(head + body)
        statuses = []
        for client in clients:
            with client:
                client.settimeout(60)
                statuses.append(int(client.recv(20).split()[1]))
        assert set(statuses) == {200, 429}


def test_thousands_of_connections(server):
    clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3_000)]
    try:
        assert server.list_of(1)
        clients[7].sendall(b"GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n")
        assert clients[7].recv(100).startswith(b"HTTP/1.1 200")
    finally:
        for client in clients:
            client.close()


def test_keys(saved, folder):
    path = folder / "keys"
    path.write_text("first-key\n\nsecond key\n")
    with Server((saved, "--key-file", path)) as server:
        for headers in (
            {}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic first-key"}, {"X-API-Key": ""},
            {"Authorization": "Bearer "}, {"X-API-Key": "first-key "[:5]},
        ):  # fmt: skip
            for path in ("/v1/users/1/list", "/metrics", "/v1/artefacts", "/v2/models/sureness"):
                found = server.get(path, headers=headers)
                assert (found.status, found.json["code"]) == (401, "key")
                assert found.headers["www-authenticate"] == "Bearer"
        for headers in ({"Authorization": "Bearer first-key"}, {"X-API-Key": "second key"}):
            assert server.get("/v1/users/1/list", headers=headers).status == 200
        for path in ("/health/ready", "/", "/openapi.json"):  # probes, and the page where people give the key
            assert server.get(path).status == 200
        assert server.get("/openapi.json").json["paths"]["/v1/lists"]["post"]["security"] == [{"key": []}]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.sureness"], "nothing.sureness"),
        (["--host", "no.such.host.invalid"], "no.such.host.invalid"), (["--key-file", "nothing"], "nothing"),
        (["--calibrator", "nothing.json"], "nothing.json"), (["--items", "nothing.csv"], "nothing.csv"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_one_sentence(saved, words, said):
    given = words if words[0].endswith(".sureness") else [str(saved), *words]
    with pytest.raises(AssertionError, match="the server ended") as error, Server(tuple(given)):
        pass
    assert said in str(error.value)
    assert "Traceback" not in str(error.value)


def test_a_port_that_is_taken_is_one_sentence(saved, server):
    other = Server((saved, "--port", server.port), free_port=False)
    with pytest.raises(AssertionError, match="Address already in use") as error, other:
        pass
    assert "Traceback" not in str(error.value)
