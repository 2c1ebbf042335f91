"""The demo as a job: everything once, in a world whose truth is known and on a log."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.demo import findings
from sureness.demo.judging import ALL_METHODS
from sureness.demo.log import log_demo
from sureness.demo.recommenders import IN_WORLDS, SVDLearner, choose_learner
from sureness.demo.simulated import simulated_demo
from sureness.jobs.shared_pages import DomainPage
from sureness.lists.comparing import AllocationComparison

LIST_SECTIONS = ["list-sizes", "list-policies", "list-groups", "list-cases"]
DISTILLATION_SECTIONS = ["distillation", "distillation-ranks", "distillation-costs"]

HIDDEN = """
import sys, warnings
from pathlib import Path
sys.modules["{library}"] = None
import sureness.demo.simulated as simulated
def no_work(*_, **__): raise AssertionError("work was done before the missing library was noticed")
simulated.simulate = no_work
from sureness.errors import MissingExtraError
try:
    simulated.simulated_demo(Path("out"), users=50, items=30)
except MissingExtraError as error:
    print(error.code, error)
"""


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    result = simulated_demo(folder, users=300, items=80)
    return folder, json.loads(json.dumps(result.plain()))


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log with two domains, as a file."""
    folder = tmp_path_factory.mktemp("log")
    world = sn.simulate(sn.SimulatorSettings(n_users=250, n_items=60, n_domains=2, exposure_rate=0.4, seed=3))
    users, items = world.train.nonzero()
    domains = np.array(world.domains)[world.item_domain[items]]
    pl.DataFrame({"user_id": users, "item_id": items, "domain": domains}).write_csv(folder / "log.csv")
    return folder / "log.csv"


def sections(page):
    return re.findall(r'<section id="([^"]+)">', page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("library", ["jinja2", "matplotlib"])
def test_a_missing_library_is_noticed_before_any_work(tmp_path, library):
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN.format(library=library)],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("extra ")
    assert library in done.stdout
    assert "sureness[plots]" in done.stdout
    assert not (tmp_path / "out").exists()


def test_every_part_leaves_its_results(simulated):
    folder, found = simulated
    assert sn.load(folder / "calibrator.json").estimand_ == "preference"
    assert {row["knowledge"] for row in found["results"]} >= {"naive", "unbiased", "true preference"}
    assert len({row["method"] for row in found["results"]}) == len(ALL_METHODS)
    assert {row["policy"] for row in found["list_sizes"]} >= {"PerK", "best fixed k", "Val-k", "Rand", "Oracle"}
    assert found["page"]["slots"] == 12
    assert {row["role"] for row in found["distillation"]} == {"teacher", "student"}
    lists = pl.read_parquet(folder / "lists.parquet")
    assert lists["rank"].max() == lists["list_size"].max()


def test_the_page_begins_with_the_findings_and_each_links_to_a_section(simulated):
    folder, found = simulated
    there = sections(folder / "report.html")
    assert there[:4] == ["in-short", "promise", "how-to-read", "reliability"]
    assert set(there) > {"metrics", *LIST_SECTIONS, *DISTILLATION_SECTIONS, "list-table-1", "table-1", "notes"}
    assert {finding["section"] for finding in found["findings"]} <= set(there)
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "One page of 12 slots for 4 domains" in text
    assert ">the truth<" in text


def test_findings_quote_the_measured_numbers(simulated):
    _, found = simulated
    ece = {(row["method"], row["knowledge"]): row["ece"] for row in found["results"]}
    first, _, third = (found["findings"][place]["value"] for place in range(3))
    assert first == f"off by {100 * ece['sigmoid', 'naive']:.1f} → {100 * ece['gamma', 'unbiased']:.1f} points"
    assert third.endswith(f"best {100 * ece['gamma', 'true preference']:.1f}")
    policies = {row["policy"]: row for row in found["list_sizes"]}
    gain = policies["PerK"]["difference"] / policies["best fixed k"]["f1"]
    assert f"{gain:+.1%} F1" in [finding["value"] for finding in found["findings"]]


def test_a_log_gets_the_same_judged_on_its_test_part(log, tmp_path):
    seen = []
    found = log_demo(str(log), tmp_path, progress=lambda *step: seen.append(step)).plain()
    there = sections(tmp_path / "report.html")
    assert set(there) > {"in-short", "metrics", *LIST_SECTIONS, *DISTILLATION_SECTIONS, "list-table-1", "table-1"}
    assert sn.load(tmp_path / "calibrator.json").estimand_ == "interaction"
    assert len(found["results"]) == len(ALL_METHODS)
    assert found["main"] in {"platt", "beta", "gaussian", "gamma"}
    assert found["skipped"] == []
    assert "Real data does not say" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert seen[-1][1] == seen[-1][2]  # all of it is done
    assert list(dict.fromkeys(step.split(":")[0] for step, _, _ in seen))[:2] == ["reading", "training"]


def test_without_torch_a_decomposition_is_used(monkeypatch):
    monkeypatch.setattr("sureness.demo.recommenders.find_spec", lambda name: None)
    with pytest.warns(sn.errors.SurenessWarning, match="torch"):
        learner = choose_learner("bpr", IN_WORLDS)
    assert learner == SVDLearner()
    assert learner(sn.Interactions.of([1, 1, 2, 2], [1, 2, 2, 3])).n_users == 2


def test_a_finding_without_a_clear_gain_says_so():
    def shared(difference, p_value):
        compared = AllocationComparison(
            n_users=100, value=0.4 + difference, reference=0.4, difference=difference, standard_error=0.01,
            p_value=p_value,
        )  # fmt: skip
        sizes = np.full((100, 2), 2)
        return findings.shared_page(DomainPage(6, ("books", "films"), sizes, sizes, compared))

    better, unclear, worse = shared(0.02, 0.001), shared(0.02, 0.4), shared(-0.02, 0.001)
    assert better.holds
    assert better.value == "+5.0% F1"
    assert not unclear.holds
    assert "no clear difference" in unclear.short
    assert not worse.holds
    assert "worse" in worse.text
