"""The demo tells the whole story, in a world whose truth is known and on a log, and is short about it."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import sureness as sn
from sureness.cli import _demo_findings as findings
from sureness.cli import demo
from sureness.cli._demo_parts import Told, learner
from sureness.cli._demo_progress import Stages, demo_progress
from sureness.cli._distilled_demo import NOTE, SEED
from sureness.experiments.demo_recommender import IN_WORLDS
from sureness.experiments.shared_pages import DomainPage
from sureness.list_size.allocation import AllocationComparison
from sureness.report import Finding
from tests.cli.runner import run, succeed

LIST_SECTIONS = ["list-sizes", "list-policies", "list-groups", "list-cases"]
TAUGHT_SECTIONS = ["distillation", "distillation-ranks", "distillation-costs"]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    told = json.loads(succeed("demo", "--users", "300", "--items", "80", "-o", "demo", "--json", cwd=folder))
    return folder / "demo", told


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log with two domains, as a file."""
    folder = tmp_path_factory.mktemp("log")
    world = sn.simulate(sn.SimulatorSettings(n_users=250, n_items=60, n_domains=2, exposure_rate=0.4, seed=3))
    users, items = world.train.nonzero()
    domains = np.array(world.domains)[world.item_domain[items]]
    pl.DataFrame({"user_id": users, "item_id": items, "domain": domains}).write_csv(folder / "log.csv")
    return folder


def sections(page):
    return re.findall(r'<section id="([^"]+)">', page.read_text(encoding="utf-8"))


def test_the_demo_tells_the_whole_story(simulated):
    folder, told = simulated
    assert sn.load(folder / "calibrator.json").estimand_ == "preference"
    assert {row["knowledge"] for row in told["results"]} >= {"naive", "unbiased", "true preference"}
    assert len({row["method"] for row in told["results"]}) == 12
    assert {row["policy"] for row in told["list_sizes"]} >= {"PerK", "best fixed k", "Val-k", "Rand", "Oracle"}
    assert told["page"]["slots"] == 12
    assert {row["role"] for row in told["distillation"]} == {"teacher", "student"}
    lists = pl.read_parquet(folder / "lists.parquet")
    assert lists["rank"].max() == lists["list_size"].max()


def test_the_page_begins_with_what_was_found_and_every_finding_leads_somewhere(simulated):
    folder, told = simulated
    found = sections(folder / "report.html")
    assert found[:3] == ["in-short", "how-to-read", "reliability"]
    assert set(found) > {"metrics", *LIST_SECTIONS, *TAUGHT_SECTIONS, "list-table-1", "table-1", "notes"}
    assert {finding["section"] for finding in told["findings"]} <= set(found)
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "One page of 12 slots for 4 domains" in text
    assert ">the truth<" in text


def test_findings_are_the_numbers_that_were_measured(simulated):
    _, told = simulated
    ece = {(row["method"], row["knowledge"]): row["ece"] for row in told["results"]}
    first, _, third = (told["findings"][place]["value"] for place in range(3))
    assert first == f"off by {100 * ece['sigmoid', 'naive']:.1f} → {100 * ece['gamma', 'unbiased']:.1f} points"
    assert third.endswith(f"best {100 * ece['gamma', 'true preference']:.1f}")
    policies = {row["policy"]: row for row in told["list_sizes"]}
    gain = policies["PerK"]["difference"] / policies["best fixed k"]["f1"]
    assert f"{gain:+.1%} F1" in [finding["value"] for finding in told["findings"]]


def test_what_is_printed_is_short(simulated, monkeypatch):
    folder, told = simulated
    console = Console(file=io.StringIO(), width=100, highlight=False)
    monkeypatch.setattr(demo, "out", console)
    demo.print_told(
        Told("A world.", tuple(Finding(**each) for each in told["findings"]), (), folder / "report.html", {})
    )
    lines = [line for line in console.file.getvalue().splitlines() if line.strip()]
    assert len(lines) <= 18
    assert lines[-1].endswith("report.html")
    assert all(finding["title"] in console.file.getvalue() for finding in told["findings"])


def test_a_log_gets_the_same_judged_by_its_test_part(log):
    told = json.loads(succeed("demo", "--data", "log.csv", "-o", "out", "--json", cwd=log))
    found = sections(log / "out" / "report.html")
    assert set(found) > {"in-short", "metrics", *LIST_SECTIONS, *TAUGHT_SECTIONS, "list-table-1", "table-1"}
    assert sn.load(log / "out" / "calibrator.json").estimand_ == "interaction"
    assert len(told["results"]) == 12
    assert told["main"] in {"platt", "beta", "gaussian", "gamma"}
    assert told["skipped"] == []
    assert "Nobody knows what these users would have liked" in (log / "out" / "report.html").read_text(encoding="utf-8")


def test_data_that_is_not_there_gets_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("SURENESS_DATA", str(tmp_path))
    monkeypatch.setenv("SURENESS_CACHE", str(tmp_path / "cache"))
    done = run("demo", "--data", "ml-100k", cwd=tmp_path)
    assert done.returncode == 1
    assert "sureness data fetch ml-100k" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "cache").exists()  # nothing was downloaded


def test_without_torch_a_plain_recommender_is_used(monkeypatch):
    monkeypatch.setattr("sureness.cli._demo_parts.find_spec", lambda name: None)
    with pytest.warns(sn.SurenessWarning, match="BPR needs torch"):
        name, learn = learner("bpr", IN_WORLDS)
    assert "singular vectors" in name
    assert learn(sn.Interactions.of([1, 1, 2, 2], [1, 2, 2, 3])).n_users == 2


def test_a_finding_that_brought_nothing_says_so():
    def shared(difference, p_value):
        compared = AllocationComparison(
            n_users=100, value=0.4 + difference, reference=0.4, difference=difference, standard_error=0.01,
            p_value=p_value,
        )  # fmt: skip
        sizes = np.full((100, 2), 2)
        return findings.page(DomainPage(6, ("books", "films"), sizes, sizes, compared))

    better, unclear, worse = shared(0.02, 0.001), shared(0.02, 0.4), shared(-0.02, 0.001)
    assert better.holds
    assert better.value == "+5.0% F1"
    assert not unclear.holds
    assert "no clear difference" in unclear.short
    assert not worse.holds
    assert "worse" in worse.text


def test_the_bar_never_goes_back_and_ends_with_the_last_stage():
    stages = Stages({"train": 10.0, "judge": 30.0})
    seen = []
    for name in ("train", "judge"):
        tell = stages.stage(name)
        for done, total in ((1, 2), (2, 2), (0, 5), (5, 5), (0, 0)):
            tell("step", done, total)
            seen.append(stages.done)
    assert seen == sorted(seen)
    assert seen[-1] == 40.0


def test_a_terminal_sees_the_time_left_and_nobody_else_does():
    shown = {}
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
        with demo_progress({"train": 10.0, "judge": 30.0}, console=console) as stages:
            stages.stage("judge")("epoch 1", 1, 2)
        shown[terminal] = console.file.getvalue()
    assert re.search(r"about \d+ s left", shown[True])
    assert not shown[False].strip()


def test_the_world_of_distillation_is_not_one_that_settings_were_chosen_in():
    assert SEED not in (0, 101, 102)
    assert "worlds with other seeds" in NOTE
