"""The demo as a job: in a simulated world, and on a log."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import sureness as sn
import sureness.demo as running
from sureness.data.recipes import Dataset
from sureness.demo import promise_kept, shortened, unsure_users
from sureness.lists import Lists
from sureness.report import gather_list_sizes
from sureness.report.list_sizes import list_headline

HIDDEN = """
import sys
from pathlib import Path
sys.modules["{library}"] = None
import sureness.demo as running
def no_work(*_, **__): raise AssertionError("work was done before the missing library was noticed")
running.simulate = no_work
from sureness.errors import MissingExtraError
try:
    running.run_demo(Path("out"), users=50, items=30)
except MissingExtraError as error:
    print(error.code, error)
"""


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    result = running.run_demo(folder, users=300, items=80, recommender="svd")
    return folder, json.loads(json.dumps(result.plain()))


@pytest.mark.parametrize("library", ["jinja2", "matplotlib"])
def test_a_missing_library_is_noticed_before_any_work(tmp_path, library):
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN.format(library=library)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("extra ")
    assert library in done.stdout
    assert not (tmp_path / "out").exists()


def test_the_page_leads_with_items_and_hits_and_every_finding_links_to_a_section(simulated):
    folder, found = simulated
    text = (folder / "report.html").read_text(encoding="utf-8")
    there = re.findall(r'<section id="([^"]+)">', text)
    assert there == ["in-short", "list-sizes", "list-policies", "list-promise", "list-groups", "list-cases", "notes"]
    first, *others = found["findings"]
    assert f"<h1>{first['value']}.</h1>" in text
    assert {finding["section"] for finding in others} <= set(there)
    assert {row["policy"] for row in found["list_sizes"]} >= {"PerK", "best fixed k", "Oracle"}
    lists = pl.read_parquet(folder / "lists.parquet")
    assert lists.equals(sn.load(folder / "recommender.sureness").recommend())


def test_the_numbers_of_the_demo_hold_in_a_world_of_its_size(tmp_path):
    found = running.run_demo(tmp_path, users=1_500, items=300, recommender="svd")
    assert all(finding.holds for finding in found.findings)
    fewer, hits = (float(number) for number in re.findall(r"([\d.]+)%", found.findings[0].value))
    assert fewer > 10
    assert 92 < hits < 98


def test_a_log_in_a_file_is_split_trained_on_and_judged(tmp_path):
    world = sn.simulate(sn.SimulatorSettings(n_users=250, n_items=60, exposure_rate=0.4, seed=3))
    users, items = world.train.nonzero()
    pl.DataFrame({"user_id": users, "item_id": items}).write_csv(tmp_path / "log.csv")
    steps = []
    found = running.run_demo(
        tmp_path / "out", data=str(tmp_path / "log.csv"), progress=lambda *step: steps.append(step)
    )
    assert "231 users" in found.about
    assert found.page.exists()
    assert list(dict.fromkeys(step.split(":")[0] for step, _, _ in steps)) == ["train", "fit", "compare", "page"]


def test_without_torch_a_decomposition_is_used(monkeypatch):
    monkeypatch.setattr(running, "find_spec", lambda name: None)
    with pytest.warns(sn.errors.SurenessWarning, match="torch"):
        source, name = running.trained(sn.Interactions.of([1, 1, 2, 2], [1, 2, 2, 3]), "bpr")
    assert source.n_users == 2
    assert name.startswith("an SVD")


def test_a_large_log_is_sampled_by_user(monkeypatch):
    monkeypatch.setattr(running, "_MOST_INTERACTIONS", 500)
    log = sn.Interactions.of(np.repeat(np.arange(200), 10), np.tile(np.arange(10), 200))
    split = running.small_split(Dataset("large", log))
    assert 20 < split.train.n_users < 90
    assert "were sampled" in " ".join(split.notes)


def test_what_is_left_out_is_the_least_likely_of_all_users():
    rng = np.random.default_rng(0)
    probabilities = -np.sort(-rng.beta(1, 6, (2_000, 10)) * rng.random((2_000, 1)), axis=1)
    lists = Lists.of(probabilities=probabilities, hits=rng.random(probabilities.shape) < probabilities)
    found = shortened(lists)
    assert 0.2 < found.left_out < 0.7
    assert abs(found.kept - 0.95) < 0.02  # as promised
    assert found.equal_lists < found.kept - 0.05


def test_users_who_cannot_be_told_apart_are_no_success():
    lists = Lists.of(probabilities=np.full((40, 2), 0.5), hits=np.ones((40, 2)))
    assert not unsure_users(lists).holds
    assert unsure_users(lists.take(np.arange(40) < 10)) is None


def test_a_promise_that_bands_exclude_is_no_success():
    world = sn.simulate(sn.SimulatorSettings(n_users=400, n_items=80, seed=1))
    split = sn.by_ratio(sn.Interactions.from_matrix((world.train + world.held_out).tocsr()), seed=0)
    recommender = sn.ConfidentRecommender(sn.svd_source(split.train, n_factors=4)).fit(split.train, split.validation)
    sizes = gather_list_sizes(recommender, test=split.test, n_resamples=2)
    kept = sizes.promise.by_probability
    ranks = sizes.promise.by_rank.with_columns(low=pl.lit(0.9), high=pl.lit(1.1))
    sizes = replace(sizes, promise=replace(sizes.promise, by_rank=ranks))
    right = kept.with_columns(low=pl.lit(0.9), high=pl.lit(1.1))
    tilted = right.with_columns(low=pl.when(pl.col("probabilities") == "all").then(0.9).otherwise(1.05))
    for table, holds in ((right, True), (tilted, False)):
        changed = replace(sizes, promise=replace(sizes.promise, by_probability=table))
        assert promise_kept(changed).holds is holds
    tilted = ranks.with_columns(low=pl.when(pl.col("ranks") == "all").then(0.9).otherwise(1.05))
    changed = replace(sizes, promise=replace(sizes.promise, by_rank=tilted, by_probability=right))
    assert not promise_kept(changed).holds
    n = ranks.height - 1
    said = f"but {n} of {n} bands of ranks exclude it, and the highest of them promises too little"
    assert said in promise_kept(changed).text
    assert said in list_headline(changed).detail
