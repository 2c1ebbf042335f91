"""A map knows the column of its scores and the rate of positives that it was fitted on."""

from __future__ import annotations

import json
import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness import jobs
from sureness.errors import KindError, SettingError, SurenessWarning
from sureness.tables import Columns
from tests.cli.runner import refused, run
from tests.conftest import draw_pairs


@pytest.fixture
def table(tmp_path):
    scores, labels = draw_pairs(2_000)
    frame = pl.DataFrame({"score": scores[::-1], "logit": scores, "label": labels, "kind": np.arange(2_000) % 2})
    frame.write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


@pytest.mark.parametrize("segment", [None, "kind"])
def test_apply_reads_the_column_that_the_map_was_fitted_on(table, tmp_path, segment):
    columns = Columns(score="logit", segment=segment)
    fitted = jobs.fit(table, columns=columns, output=tmp_path / "map.json").calibrator
    applied = jobs.apply(tmp_path / "map.json", table, columns=Columns(segment=segment)).frame
    known = {} if segment is None else {"segments": applied["kind"].to_numpy()}
    assert_allclose(applied["probability"], fitted.probability(applied["logit"].to_numpy(), **known))


def test_another_column_is_read_only_with_a_word(table, tmp_path):
    jobs.fit(table, columns=Columns(score="logit"), output=tmp_path / "map.json")
    frame = pl.read_parquet(table).drop("logit")
    with pytest.warns(SurenessWarning, match="fitted on the column 'logit'"):
        jobs.apply(tmp_path / "map.json", frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jobs.apply(tmp_path / "map.json", frame.rename({"score": "mine"}), columns=Columns(score="mine"))


def test_a_report_judges_the_column_that_its_maps_were_fitted_on(table, tmp_path):
    for name in ("map", "again"):
        jobs.fit(table, columns=Columns(score="logit"), output=tmp_path / f"{name}.json")
    jobs.fit(pl.read_parquet(table).drop("score").rename({"logit": "score"}), output=tmp_path / "other.json")
    paths = [tmp_path / "map.json", tmp_path / "again.json"]
    named = jobs.report(table, paths, tmp_path / "page.html", columns=Columns(score="logit"))
    assert jobs.report(table, paths, tmp_path / "page.html") == named
    with pytest.raises(SettingError, match="'logit' and 'score'"):
        jobs.report(table, [tmp_path / "map.json", tmp_path / "other.json"], tmp_path / "page.html")


def test_sql_reads_the_column_that_the_map_was_fitted_on(table, tmp_path):
    jobs.fit(table, columns=Columns(score="logit"), output=tmp_path / "map.json")
    for words, column in (((), "logit"), (("--columns", "score=mine"), "mine")):
        sql = run("sql", "map.json", "--dialect", "duckdb", *words, cwd=tmp_path).stdout
        assert f'"{column}"' in sql
        assert '"score"' not in sql


def test_a_map_fitted_on_scores_is_saved_as_before(table, tmp_path):
    scores, labels = draw_pairs(500)
    jobs.fit(pl.DataFrame({"score": scores, "label": labels}), output=tmp_path / "map.json")
    assert "scores" not in json.loads((tmp_path / "map.json").read_text())["about"]["horizon"]


def test_a_sampled_table_without_its_rate_is_noticed(table):
    table = pl.read_parquet(table).drop("score").rename({"logit": "score"})
    share = table["label"].mean()
    with pytest.warns(SurenessWarning, match=r"labelled 1, and base_rate is .*sampling_rate=\.\.\."):
        jobs.fit(table, jobs.FitOptions(base_rate=share / 6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jobs.fit(table, jobs.FitOptions(base_rate=share))
        jobs.fit(table, jobs.FitOptions(base_rate=share / 6, sampling_rate=None))


def test_a_recommender_names_the_map_in_it(inputs, tmp_path):
    jobs.cut_run(inputs / "run.sureness", tmp_path / "l.csv", page=jobs.PageOptions(save=tmp_path / "rec.sureness"))
    with pytest.raises(KindError, match=r"rec\.sureness/map$"):
        sn.load(tmp_path / "rec.sureness", sn.calibration.ProbabilityMap)
    done = run("sql", "rec.sureness", "--dialect", "duckdb", cwd=tmp_path)
    refused(done, KindError, "rec.sureness/map")
    sql = ("sql", "rec.sureness/map", "--dialect", "duckdb", "--table", "scores")
    assert "SELECT" in run(*sql, cwd=tmp_path).stdout
