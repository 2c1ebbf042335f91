from __future__ import annotations

import json
import shutil
from importlib.resources import files

import polars as pl
import pytest

import sureness as sn
from tests.service.running import Server

BACKTEST = {
    "windows": [
        {
            "start": f"2026-{month:02}-01", "end": f"2026-{month + 1:02}-01", "users": 900,
            "users_there": {"promised": 300.5, "realised": 310},
            "there": {"promised": 100.0, "realised": 110, "ratio": 1.1, "low": 0.9, "high": 1.3},
            "period": {"promised": 100.0, "realised": 60, "ratio": 0.6, "low": 0.4, "high": 0.8},
            "f1": {"personal": 0.1, "fixed": 0.09},
        }
        for month in range(1, 10)
    ],
    "coming": [{"what": "users there", "promised": 320.123, "low": 250.5, "high": 400.25}],
    "cautions": ["the windows differ: <b>expect</b> as much again"],
    "by_rank": [
        {"ranks": "all", "promised": 200.0, "realised": 150, "ratio": 0.75, "low": 0.65, "high": 0.85},
        {"ranks": "1", "promised": 90.0, "realised": 45, "ratio": 0.5, "low": 0.4, "high": 0.6},
        {"ranks": "2-3", "promised": 110.0, "realised": 105, "ratio": 0.95, "low": 0.8, "high": 1.1},
        {"ranks": "4-5", "promised": 0.0, "realised": 0, "ratio": None, "low": None, "high": None},
    ],
    "by_group": [
        {"field": "gender", "group": name, "promised": 100.0, "realised": 99, "ratio": 0.99, "low": 0.9, "high": 1.1}
        for name in ("<b>f</b>", "m", "a name that is much longer than what fits next to an interval")
    ],
}  # fmt: skip
SIZES = {"phone": (390, 844), "desktop": (1_200, 900)}


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """Ten thousand users, and items with titles in several domains."""
    folder = tmp_path_factory.mktemp("browser")
    made = sn.simulate(sn.SimulatorSettings(n_users=10_000, n_items=200, seed=0))
    split = sn.by_ratio(sn.Interactions.from_matrix(made.train), seed=0)
    recommender = sn.ConfidentRecommender(sn.svd_source(split.train, n_factors=6)).fit(split.train, split.validation)
    recommender.save(folder / "recommender.sureness")
    names = ("Books", "Films", "Music", "Games")
    titles = [f"Title <b>&\"' {item}" for item in range(200)]
    table = pl.DataFrame({"item_id": range(200), "title": titles, "domain": [names[item % 4] for item in range(200)]})
    table.write_parquet(folder / "items.parquet")
    (folder / "promise.json").write_text(json.dumps(BACKTEST))
    return recommender, folder


@pytest.fixture(scope="session")
def server(world):
    _, folder = world
    words = ("--items", folder / "items.parquet", "--backtest", folder / "promise.json", "--max-seconds", "120")
    with Server((folder / "recommender.sureness", *words)) as running:  # whose machine may be busy
        yield running


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="make test-browser installs playwright")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium; make test-browser installs Debian's")
    words = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync"]  # fmt: skip
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=program, args=words)
        yield found
        found.close()


class Visit:
    """A page of the explorer, and what must not happen on it."""

    def __init__(self, context, address):
        self.address, self.problems, self.requests = address, [], []
        self.page = context.new_page()
        self.page.set_default_timeout(30_000)
        self.page.on("console", lambda said: self.problems.append(said.text) if said.type != "log" else None)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda asked: self.requests.append(asked.url))

    def open(self, view, words=""):
        self.page.goto(f"{self.address}/#/{view}{words}")
        self.shown(view)
        return self.page

    def shown(self, view):
        self.page.wait_for_selector(f"main[data-view={view}]")

    def check(self):
        """No error, no request to another host, nothing wider than the screen, nothing that axe finds."""
        assert self.problems == []
        assert all(url.startswith((self.address, "data:")) for url in self.requests), self.requests
        wide = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0
        self.page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text())
        found = self.page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []


@pytest.fixture(params=SIZES)
def visit(request, browser, server):
    width, height = SIZES[request.param]
    context = browser.new_context(viewport={"width": width, "height": height}, has_touch=request.param == "phone")
    made = Visit(context, server.address)
    made.size = request.param
    yield made
    context.close()
