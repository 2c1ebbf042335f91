"""The commands as a user runs them."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness._registry import names
from sureness.cli import _console
from sureness.errors import SettingError
from sureness.jobs.fitting import AUTO
from tests.cli.runner import consoles, refused, run, succeed, told
from tests.conftest import draw_pairs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pairs as Parquet, CSV and TSV, with string ids."""
    folder = tmp_path_factory.mktemp("tables")
    scores, labels = draw_pairs(4_000)
    table = pl.DataFrame(
        {
            "user_id": [f"user-{i // 8}-ü" for i in range(4_000)], "item_id": np.arange(4_000) % 50,
            "score": scores, "label": labels, "domain": np.where(np.arange(4_000) % 2, "books", "films"),
        }
    )  # fmt: skip
    table.write_parquet(folder / "pairs.parquet")
    table.write_csv(folder / "pairs.csv")
    table.rename({"score": "s", "label": "clicked"}).write_csv(folder / "other.tsv", separator="\t")
    return folder


@pytest.mark.parametrize("method", names("calibrator"))
def test_fit_and_apply_agree_with_the_library(folder, tmp_path, method):
    succeed("fit", folder / "pairs.csv", "--method", method, "-o", "map.json", cwd=tmp_path)
    succeed("apply", "map.json", folder / "pairs.parquet", "-o", "out.parquet", cwd=tmp_path)
    table = pl.read_parquet(tmp_path / "out.parquet")
    fitted = sn.calibration.make_calibrator(method).fit(table["score"].to_numpy(), table["label"].to_numpy())
    assert_allclose(table["probability"], fitted.probability(table["score"].to_numpy()), atol=1e-9)
    assert table.columns == ["user_id", "item_id", "score", "label", "domain", "probability"]


def test_columns_can_have_other_names(folder, tmp_path):
    succeed(
        "fit", folder / "other.tsv", "--columns", "score=s,label=clicked", "-o", "map.json", cwd=tmp_path
    )  # fmt: skip
    succeed("apply", "map.json", folder / "other.tsv", "--columns", "score=s", "-o", "out.csv", cwd=tmp_path)
    assert pl.read_csv(tmp_path / "out.csv").columns[-1] == "probability"


def test_json_for_machines(folder, tmp_path):
    fitted = json.loads(succeed("fit", folder / "pairs.parquet", "-o", "map.json", "--json", cwd=tmp_path))
    assert fitted["pairs"] == 4_000
    assert set(fitted["parameters"]) == {"a", "b", "c"}
    assert 0 <= fitted["out_of_fold"]["ece"]["low"] <= fitted["out_of_fold"]["ece"]["value"]
    applied = json.loads(succeed("apply", "map.json", folder / "pairs.csv", "-o", "out.tsv", "--json", cwd=tmp_path))
    assert applied["pairs"] == 4_000


def test_auto_says_why(folder, tmp_path):
    found = json.loads(
        succeed("fit", folder / "pairs.parquet", "--method", "auto", "-o", "m.json", "--json", cwd=tmp_path)
    )
    assert len(found["comparison"]) == len(AUTO)
    assert found["chosen_because"]


def test_auto_and_segments_do_not_mix(folder, tmp_path):
    done = run(
        "fit", folder / "pairs.csv", "--method", "auto", "--columns", "segment=domain", "-o", "m.json", cwd=tmp_path
    )
    refused(done, SettingError, "segments")


def test_overlapping_segments_from_fit_to_apply(folder, tmp_path):
    fields = ["--field", "domain", "--numeric-field", "item_id", "--method", "platt"]
    assert "map.json" in succeed("fit", folder / "pairs.parquet", *fields, "-o", "map.json", cwd=tmp_path)
    succeed("apply", "map.json", folder / "pairs.parquet", "-o", "o.parquet", cwd=tmp_path)
    assert pl.read_parquet(tmp_path / "o.parquet")["probability"].is_between(0, 1).all()


def test_segments_from_fit_to_apply(folder, tmp_path):
    succeed("fit", folder / "pairs.parquet", "--columns", "segment=domain", "-o", "map.json", cwd=tmp_path)
    done = run("apply", "map.json", folder / "pairs.parquet", "-o", "out.parquet", cwd=tmp_path)
    refused(done, SettingError, "segment")
    succeed(
        "apply", "map.json", folder / "pairs.parquet", "--columns", "segment=domain", "-o", "o.parquet", cwd=tmp_path
    )
    assert pl.read_parquet(tmp_path / "o.parquet")["probability"].is_between(0, 1).all()


def test_top_n_base_rate_and_anchor_are_understood(folder, tmp_path):
    succeed("fit", folder / "pairs.parquet", "--top-n", "3", "-o", "top.json", cwd=tmp_path)
    assert told("inspect", "top.json", cwd=tmp_path)["kind"] == "map/top-n"
    succeed("fit", folder / "pairs.parquet", "--base-rate", "0.05", "-o", "low.json", cwd=tmp_path)
    scores = pl.read_parquet(folder / "pairs.parquet")["score"].to_numpy()
    assert sn.load(tmp_path / "low.json").probability(scores).mean() == pytest.approx(0.05, abs=1e-6)
    succeed("fit", folder / "pairs.parquet", "--anchor", folder / "pairs.csv", "-o", "anchored.json", cwd=tmp_path)
    succeed(
        "fit", folder / "pairs.parquet", "--sampling-rate", "unknown", "--base-rate", "0.1", "-o", "u.json",
        cwd=tmp_path,
    )  # fmt: skip


def test_from_the_simulator_to_a_page(tmp_path):
    succeed("data", "simulate", "-o", "world", "--users", "300", "--items", "60", "--ending", "csv", cwd=tmp_path)
    fit = ("fit", "world/candidates.csv", "--held-out-share", "0.1", "--training-pairs", "left_out")
    succeed(*fit, "--method", "platt", "-o", "platt.json", cwd=tmp_path)
    succeed(*fit, "--method", "platt", "--set", "risk=naive", "-o", "naive.json", cwd=tmp_path)
    found = json.loads(
        succeed(
            "report", "world/test.csv", "platt.json", "naive.json", "--items", "world/items.csv", "--seen",
            "world/train.csv", "--group-column", "domain", "--figures",
            "figures",
            "-o", "page.html", "--json", cwd=tmp_path,
        )
    )  # fmt: skip
    assert found["ece"]["platt"] < found["ece"]["naive"]
    assert (tmp_path / "page.html").stat().st_size > 50_000
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".png", ".svg"}
    world = pl.read_csv(tmp_path / "world" / "held_out.csv")
    assert world["propensity"].is_between(0, 1).all()


def test_reports_on_large_tables_sample_users(folder, tmp_path):
    succeed("fit", folder / "pairs.parquet", "-o", "map.json", cwd=tmp_path)
    found = json.loads(
        succeed(
            "report", folder / "pairs.csv", "map.json", "--most-rows", "1000", "-o", "p.html", "--json", cwd=tmp_path
        )
    )
    assert 500 < found["pairs"] < 1_500
    assert re.search(r"Judged on \d+ of \d+ users", (tmp_path / "p.html").read_text())


def test_help_and_version(tmp_path):
    assert "sureness 0." in succeed("--version", cwd=tmp_path)
    for command in ("demo", "fit", "apply", "report", "list-size", "allocate", "data simulate"):
        assert "Usage" in succeed(*command.split(), "--help", cwd=tmp_path)


def test_names_with_brackets_and_blanks_are_shown_as_they_are(folder, tmp_path, capsys):
    assert "wrote my [a].json" in succeed("fit", folder / "pairs.parquet", "-o", "my [a].json", cwd=tmp_path)
    assert "my [a].json" in succeed("inspect", "my [a].json", cwd=tmp_path)
    with consoles(sys.stdout, sys.stderr):
        _console.print_next("it", "a run.sureness")
    assert "sureness fit 'a run.sureness' --method" in capsys.readouterr().out
