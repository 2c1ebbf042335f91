"""To run it in earnest: reloads, signals, kills, metrics, a dashboard, replicas behind nginx, an image."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.service.attack import killed, reloads, replace
from tests.service.running import Server, exact_recommender

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "examples" / "deploy"


def needed(program):
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
    if path is None:
        pytest.skip(f"no {program}; make test-service installs Debian's")
    return path


def test_a_minute_of_reloads_under_load(tmp_path):
    """Old, new, damaged and half-written files in turn; every answer is that of one of the two good ones."""
    found = reloads(tmp_path, float(os.environ.get("SURENESS_RELOAD_SECONDS", "60")))
    assert found["wrong"] == []
    assert set(found["statuses"]) <= {200, 400, 404, 422}
    assert found["reloads"] > 10
    assert found["refused"]
    assert found["log"] == ""
    assert 0.9 < found["memory"] < 1.1


def test_a_damaged_file_keeps_the_old_one_and_says_so(saved, tmp_path):
    path = tmp_path / "served.sureness"
    shutil.copy(saved, path)
    with Server((path, "--reload-seconds", "0")) as server:
        before = server.get("/v1/artefacts").json["recommender"]["artefact"]["version"]
        list_before = server.list_of(3)
        content = bytearray(path.read_bytes())
        content[-5] ^= 1
        replace(path, bytes(content))
        refused = server.post("/v1/reload", {})
        assert (refused.status, refused.json["code"]) == (422, "damaged")
        found = server.get("/v1/artefacts").json
        assert found["problem"]["code"] == "damaged"
        assert "the file in force stays" in found["problem"]["message"]
        assert found["recommender"]["artefact"]["version"] == before
        assert server.list_of(3) == list_before
        assert b"sureness_artefact_refused 1.0" in server.get("/metrics").body
        path.unlink()
        assert server.post("/v1/reload", {}).status == 422
        exact_recommender(seed=3).save(path)
        found = server.post("/v1/reload", {}).json
        assert found["problem"] is None
        assert found["recommender"]["artefact"]["version"] != before
        assert found["reloads"] == 1


def test_a_folder_that_nobody_may_write_to(saved, tmp_path):
    folder = tmp_path / "read-only"
    folder.mkdir()
    shutil.copy(saved, folder / "served.sureness")
    folder.chmod(0o500)
    try:
        with Server((folder / "served.sureness",)) as server:
            assert server.list_of(3)
    finally:
        folder.chmod(0o700)


def test_sigterm_answers_what_is_in_flight(saved):
    with Server((saved,)) as server:
        body = json.dumps({"user_ids": list(range(240)) * 4, "explain": True}).encode()
        found = []
        asking = [threading.Thread(target=lambda: found.append(server.post("/v1/lists", body))) for _ in range(3)]
        for each in asking:
            each.start()
        time.sleep(0.15)
        assert server.stop(signal.SIGTERM) == ""
        for each in asking:
            each.join()
        assert [each.status for each in found] == [200, 200, 200]
        assert all(len(each.json["lists"]) == 960 for each in found)
        assert server.process.returncode in (0, -signal.SIGTERM, 128 + signal.SIGTERM)


def test_kill_and_restart_with_100_000_users(tmp_path):
    found = killed(tmp_path)
    assert found["users"] == 100_000
    assert found["seconds until ready"] < 60  # 3 s on a quiet machine; here others may compute


def test_metrics_please_promtool_and_have_no_ids(server):
    server.get("/v1/users/77/list")
    server.get("/v1/users/somebody/list")
    text = server.get("/metrics").body.decode()
    assert "somebody" not in text
    assert 'route="/v1/users/{id}/list"' in text
    checked = subprocess.run([needed("promtool"), "check", "metrics"], input=text, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stderr == ""


def test_the_dashboard_shows_metrics_that_there_are(server):
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    server.get("/v1/users/77/list")
    text = server.get("/metrics").body.decode()
    there = set(re.findall(r"^([a-z_]+)", text, flags=re.MULTILINE))
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(queries) >= 8
    for query in queries:
        names = set(re.findall(r"\b((?:sureness|process)_[a-z_]+)", query))
        assert names
        assert names <= there, names - there
    subprocess.run([needed("promtool"), "--version"], check=True, capture_output=True)


def test_two_replicas_behind_nginx(saved, tmp_path):
    program = needed("nginx")
    with Server((saved,)) as one, Server((saved,)) as two:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        text = (DEPLOY / "nginx.conf").read_text()
        text = text.replace("127.0.0.1:8001", f"127.0.0.1:{one.port}").replace(
            "127.0.0.1:8002", f"127.0.0.1:{two.port}"
        )
        text = text.replace("listen 8000", f"listen 127.0.0.1:{port}")
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"):
            text = text.replace("http {", f"http {{\n    {kind}_temp_path {tmp_path}/{kind};", 1)
        (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid;\nerror_log stderr;\n{text}")
        words = [program, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"), "-g", "daemon off;"]
        nginx = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        try:
            front = Server(())
            front.address = f"http://127.0.0.1:{port}"
            for _ in range(100):
                try:
                    front.get("/health/ready")
                    break
                except OSError:
                    time.sleep(0.05)
            for user in range(40):
                assert front.list_of(user) == one.list_of(user)
            counts = [
                sum(
                    float(n)
                    for n in re.findall(r'users/\{id\}/list",status="200"\} (\S+)', each.get("/metrics").body.decode())
                )
                for each in (one, two)
            ]
            assert counts[1] > 5  # both were asked
            one.stop(signal.SIGKILL)
            for user in range(20):
                assert front.list_of(user) == two.list_of(user)
        finally:
            nginx.terminate()
            nginx.wait()


def test_the_steps_of_the_image_work_in_an_empty_environment(saved, tmp_path):
    """Docker itself is not needed: every RUN and the CMD, in an environment with nothing but the library's wheel."""
    lines = re.sub(r"\\\n\s*", " ", (DEPLOY / "Dockerfile").read_text()).splitlines()
    steps = [line.split(" ", 1) for line in lines if line and not line.startswith("#")]
    assert [name for name, _ in steps if name not in ("FROM", "WORKDIR", "COPY", "USER", "EXPOSE")] == [
        "ENV", "RUN", "RUN", "HEALTHCHECK", "CMD",
    ]  # fmt: skip
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    wheels = tmp_path / "wheels"
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, ROOT]
    subprocess.run(words, check=True, capture_output=True)
    (wheel,) = wheels.iterdir()
    environment = {
        "PATH": f"{tmp_path}/empty/bin:/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8",
        **{name: value for name, value in os.environ.items() if name.startswith("PIP_")},
    }  # fmt: skip
    cache = tmp_path / "cache"
    for name, words in steps:
        if name == "ENV":
            environment |= dict(each.split("=", 1) for each in words.split())
            environment["NUMBA_CACHE_DIR"] = str(cache)
        if name == "RUN":
            command = words.replace("sureness-*.whl", str(wheel)).replace("'sureness[serve]'", f"'{wheel}[serve]'")
            command = command.replace("/opt/numba-cache", str(cache)).replace("useradd", ": useradd")
            constrained = f"export PIP_CONSTRAINT={ROOT}/constraints.txt; {command}"
            done = subprocess.run(
                ["sh", "-ec", constrained], env=environment, cwd=tmp_path, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stdout + done.stderr
    assert any(cache.rglob("*.nbi"))
    command = json.loads(next(words for name, words in steps if name == "CMD"))
    command = [str(saved) if each == "/models/recommender.sureness" else each for each in command]
    command = ["127.0.0.1" if each == "0.0.0.0" else "0" if each == "8000" else each for each in command]
    if "--key-file" in command:
        (tmp_path / "keys").write_text("secret\n")
        command[command.index("--key-file") + 1] = str(tmp_path / "keys")
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        while "metrics" not in (line := process.stdout.readline()):
            assert line
        front = Server(())
        front.address = re.search(r"http://[\d.:]+", line)[0]
        for _ in range(100):
            try:
                assert front.get("/health/ready").status == 200
                break
            except OSError:
                time.sleep(0.05)
        found = front.get("/v1/users/3/list", headers={"Authorization": "Bearer secret"})
        assert found.status == 200
    finally:
        process.terminate()
        process.communicate()
