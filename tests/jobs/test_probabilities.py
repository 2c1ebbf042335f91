"""A table of probabilities is judged in the words of those who sell clicks, by field and by value."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from sureness.errors import ColumnError, DataError, SettingError
from sureness.jobs import EvaluateOptions, evaluate, evaluate_table
from sureness.metrics import field_calibration_error, field_relative_error, interval
from sureness.tables import Columns
from tests.cli.runner import run, succeed


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    p, shop = rng.uniform(0.01, 0.3, 4_000), rng.integers(0, 8, 4_000)
    columns = {"probability": p, "label": (rng.random(4_000) < p * (1 + shop / 20)).astype(int), "shop": shop}
    return pl.DataFrame(columns | {"price": rng.uniform(0.1, 5, 4_000), "query_id": np.arange(4_000) // 10})


def test_the_numbers_are_those_of_the_metrics(table):
    found = evaluate_table(table, EvaluateOptions(field=("shop",)), columns=Columns(weight="price", group="query_id"))
    labels, p, value, ids, shop = (table[name] for name in ("label", "probability", "price", "query_id", "shop"))
    assert found.weighted
    assert found.n_pairs == 4_000
    for name, metric in (
        ("normalised entropy", "normalised_entropy"),
        ("predicted over observed", "calibration_ratio"),
    ):
        assert found.metrics[name] == interval(metric, labels, p, users=ids, sample_weight=value)
    for name, metric in (("F-ECE by shop", field_calibration_error), ("Field-RCE by shop", field_relative_error)):
        assert found.metrics[name] == metric(labels, p, shop, users=ids, sample_weight=value)
    unweighted = evaluate_table(table.drop("query_id"))
    assert not unweighted.weighted
    assert unweighted.metrics["predicted over observed"] != found.metrics["predicted over observed"]


def test_the_command_judges_tables_too(table, tmp_path):
    table.write_csv(tmp_path / "ads.csv")
    words = ("evaluate", "ads.csv", "--columns", "weight=price,user_id=query_id", "--field", "shop")
    succeed(*words, cwd=tmp_path)
    found = json.loads(run(*words, "--json", cwd=tmp_path).stdout)
    assert found["pairs"] == 4_000
    assert found["metrics"]["F-ECE by shop"]["low"] <= found["metrics"]["F-ECE by shop"]["value"]


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        (lambda t: t.drop("probability"), {}, "no column probability"),
        (lambda t: t, {"field": ("market",)}, "no column market"),
        (lambda t: t, {"metric": ("ndcg@5",)}, "metric belongs to a run"),
        (lambda t: t.with_columns(probability=pl.col("probability") * 9), {}, r"probabilities must lie in \[0, 1\]"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_a_sentence(table, change, options, sentence):
    with pytest.raises((ColumnError, DataError, SettingError), match=sentence):
        evaluate_table(change(table), EvaluateOptions(**options), columns=Columns(group="query_id"))


def test_fields_belong_to_tables():
    with pytest.raises(SettingError, match="field belongs to a table with probabilities, got run.sureness"):
        evaluate("run.sureness", EvaluateOptions(field=("shop",)))
