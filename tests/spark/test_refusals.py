"""Bad input is one sentence on the driver, before a job starts."""

from __future__ import annotations

import pytest

import sureness as sn
from sureness.errors import ColumnError, MissingExtraError, SettingError
from sureness.spark import allocate, apply, fit, fit_segments, histogram, lists
from tests.spark.tables import frame_of, scored

MAP = sn.PlattCalibrator().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1])
NEEDED = {  # what each function reads, and a kind that it cannot read
    "fit": (fit, {"score": "date", "label": "date"}),
    "histogram": (histogram, {"score": "string", "label": "date"}),
    "fit_segments": (fit_segments, {"score": "string", "label": "date", "segment": "double"}),
    "fit of lists": (
        lambda frame, **names: fit(frame, sn.ListCalibrator(), **names),
        {"user_id": "double", "score": "string", "label": "date"},
    ),
    "apply": (lambda frame, **names: apply(frame, MAP, **names), {"score": "string"}),
    "lists": (lists, {"user_id": "double", "item_id": "date", "probability": "string"}),
    "pages": (
        lambda frame, **names: allocate(frame, slots=4, **names),
        {"user_id": "double", "item_id": "date", "probability": "string", "domain": "double"},
    ),
    "budget": (
        lambda frame, **names: allocate(frame, budget=4, **names),
        {"user_id": "double", "item_id": "date", "probability": "string"},
    ),
}


@pytest.fixture(scope="module")
def poisoned(spark):
    """All columns, of which none can be computed."""
    from pyspark.sql import functions as sf

    kinds = {
        "user_id": "bigint", "item_id": "bigint", "score": "double", "label": "boolean", "segment": "string",
        "probability": "double", "domain": "string",
    }  # fmt: skip
    error = sf.raise_error(sf.lit("a job has started"))
    return spark.range(5).select(*(error.cast(kind).alias(name) for name, kind in kinds.items()))


def refused(call, error) -> None:
    with pytest.raises(error) as found:
        call()
    assert type(found.value) in (error, *error.__subclasses__())
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("name", NEEDED)
def test_columns_that_are_missing_or_of_another_type(poisoned, name):
    call, kinds = NEEDED[name]
    for column, kind in kinds.items():
        refused(lambda column=column: call(poisoned.drop(column)), ColumnError)
        other = poisoned.withColumn(
            column, poisoned["item_id"].cast("timestamp").cast("date" if kind == "date" else "string")
        )
        if kind == "double":
            other = poisoned.withColumn(column, poisoned["item_id"].cast("double"))
        refused(lambda other=other: call(other), ColumnError)


@pytest.mark.parametrize("name", NEEDED)
def test_what_is_no_frame_and_an_older_spark(poisoned, name, monkeypatch):
    call, _ = NEEDED[name]
    refused(lambda: call("scores.parquet"), SettingError)
    monkeypatch.setattr("pyspark.__version__", "3.5.1")
    refused(lambda: call(poisoned), SettingError)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda frame: fit(frame, score="skore"), ColumnError),
        (lambda frame: fit(frame, weight="w"), ColumnError),
        (lambda frame: fit(frame, label="score"), SettingError),
        (lambda frame: fit(frame, "plat"), SettingError),
        (lambda frame: fit(frame, 7), SettingError),
        (lambda frame: apply(frame.drop("probability"), 7), SettingError),
        (lambda frame: lists(frame, 7), SettingError),
        (lambda frame: allocate(frame, slots=2, utility="luck"), SettingError),
    ],
)
def test_settings(poisoned, call, error):
    refused(lambda: call(poisoned), error)


def test_a_recommender_that_needs_torch_where_executors_have_none(spark, monkeypatch):
    """Asked of the executors; this environment has no torch."""
    import copy

    from sureness.spark import tasks

    split = sn.by_ratio(sn.Interactions.from_matrix(sn.simulate(sn.SimulatorSettings(n_users=60, n_items=40)).train))
    made = sn.ConfidentRecommender(sn.svd_source(split.train, n_factors=3)).fit(split.train, split.validation)
    neural = copy.copy(made)
    neural.source = _OfTorch(made.source)
    frame = frame_of(spark, scored(10, seed=0)).select("user_id")
    if tasks._have_torch(frame):
        monkeypatch.setattr(tasks, "_have_torch", lambda _: False)
    refused(lambda: lists(frame, neural), MissingExtraError)


def test_executors_without_sureness(spark, monkeypatch):
    from sureness.spark import tasks

    def absent(_):
        raise RuntimeError("ModuleNotFoundError: No module named 'sureness'\n  and a hundred lines more")

    monkeypatch.setattr(tasks, "_checked", set())
    monkeypatch.setattr(tasks, "_have_torch", absent)
    frame = frame_of(spark, scored(10, seed=0).rename({"score": "probability"}))
    refused(lambda: lists(frame), MissingExtraError)


class _OfTorch:
    """A source that says that it needs torch."""

    needs = ("models",)

    def __init__(self, source):
        self.source = source

    def __getattr__(self, name):
        return getattr(self.source, name)
