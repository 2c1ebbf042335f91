"""The distillation part of a page: its numbers, and the page around them."""

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ttest_rel

import sureness as sn
from sureness.data.interactions import Interactions
from sureness.errors import DataError, EmptyError, SettingError, SurenessWarning
from sureness.metrics import compare_ranks
from sureness.report import (
    DistilledModels,
    TrainingRecord,
    gather_distillation,
    write_distillation_report,
)
from sureness.report.distillation import distillation_headline, distillation_tiles
from sureness.report.formatting import spoken_percent
from sureness.sources.base import FactorSource, MatrixSource
from tests.report.test_page import Structure, page_alone

SECTIONS = ["distillation", "distillation-ranks", "distillation-costs"]
N_USERS, N_ITEMS = 300, 60
METRICS = ["hit@10", "ndcg@10", "recall@5"]
HISTORY = pl.DataFrame(
    {"epoch": [0, 5, 0, 5], "model": ["teacher"] * 2 + ["student"] * 2, "metric": [0.4, 0.5, 0.2, 0.3]}
)


@pytest.fixture(scope="module")
def truth():
    return np.random.default_rng(0).normal(size=(N_USERS, N_ITEMS))


@pytest.fixture(scope="module")
def test(truth):
    """The best item of each user."""
    return Interactions.from_matrix(truth == truth.max(axis=1, keepdims=True))


@pytest.fixture(scope="module")
def seen(truth):
    return Interactions.from_matrix(truth < np.quantile(truth, 0.1, axis=1, keepdims=True))


def noisy(truth, noise, seed):
    return MatrixSource(truth + noise * np.random.default_rng(seed).normal(size=truth.shape))


@pytest.fixture(scope="module")
def models(truth):
    rng = np.random.default_rng(3)
    factors = FactorSource(rng.normal(size=(N_USERS, 2)), rng.normal(size=(N_ITEMS, 2)))
    teachers = {"Teacher": noisy(truth, 0.5, 1), "BD-Teacher": noisy(truth, 0.5, 1)}
    return teachers, {"Student": noisy(truth, 2.0, 2), "Worse": factors, "BD-Student": noisy(truth, 1.0, 4)}


@pytest.fixture(scope="module")
def found(models, test, seen):
    named = DistilledModels(
        teachers=models[0], students=models[1], after=("BD-Teacher", "BD-Student"), about={"Worse": "By chance."}
    )
    return gather_distillation(
        named,
        test,
        seen=seen,
        training=TrainingRecord(history=HISTORY, metric="ndcg@50"),
        metrics=METRICS,
    )


def gathered(teachers, students, test, *, metrics=("hit@5",), training=None, **named):
    """`gather_distillation` with little to measure."""
    models = DistilledModels(teachers=teachers, students=students, **named)
    return gather_distillation(models, test, training=training, metrics=metrics)


# --- numbers -------------------------------------------------------------------------------------------------------


def test_measures_are_those_of_full_ranking_with_a_paired_test(found, models, test, seen):
    both = {**models[0], **models[1]}
    judged = {name: sn.evaluate_ranking(model, test, seen=seen, metrics=METRICS) for name, model in both.items()}
    assert found.metrics == ("H@10", "N@10", "recall@5")
    assert [row.name for row in found.rows] == list(both)
    for row in found.rows:
        alone = "Teacher" if row.role == "teacher" else "Student"
        for metric, title in zip(METRICS, found.metrics, strict=True):
            measure, values = row.measures[title], judged[row.name].per_user[metric].to_numpy()
            assert_allclose(measure.value.value, values.mean())
            assert measure.value.low <= measure.value.value <= measure.value.high
            if row.name == alone:
                assert (measure.difference, measure.p_value, measure.gain) == (None, None, None)
            elif row.name == "BD-Teacher":
                assert measure.unchanged
            else:
                base = judged[alone].per_user[metric].to_numpy()
                assert_allclose(measure.difference, (values - base).mean())
                assert_allclose(measure.p_value, ttest_rel(values, base).pvalue)
                assert_allclose(measure.gain, values.mean() / base.mean() - 1)


def test_ranks_before_and_after_are_compared(found, models, test, seen):
    before = compare_ranks(models[0]["Teacher"], models[1]["Student"], test, seen=seen)
    after = compare_ranks(models[0]["BD-Teacher"], models[1]["BD-Student"], test, seen=seen)
    assert found.before.ranks.equals(before.ranks)
    assert found.after.ranks.equals(after.ranks)
    assert list(found.differences.curves) == ["before", "after"]
    assert found.after.average_difference < found.before.average_difference
    assert found.scatter.points.height == 1_200


def test_rows_hold_costs_and_descriptions(found):
    assert found.row("Worse").about == "By chance."
    assert found.row("Worse").parameters == 2 * (N_USERS + N_ITEMS)
    assert found.row("Student").parameters is None
    assert all(row.seconds > 0 for row in found.rows)
    assert (found.n_users, found.n_items) == (N_USERS, N_ITEMS)


def test_an_interval_holds_the_true_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(100):
        lucky = np.flatnonzero(rng.random(400) < 0.3)
        scores = np.zeros((400, 4))
        scores[:, 0] = 1
        items = np.ones(400, dtype=int)
        items[lucky] = 0
        test = Interactions.from_matrix(np.eye(4)[items])
        source = MatrixSource(scores)
        row = gathered({"T": source}, {"S": source}, test, metrics=["hit@1"]).rows[0]
        hits += row.measures["H@1"].value.low <= 0.3 <= row.measures["H@1"].value.high
    assert 88 <= hits <= 100


def test_by_default_the_headline_is_about_the_last_student(models, test):
    found = gathered(*models, test)
    assert (found.main, found.after, found.training) == ("BD-Student", None, None)
    assert list(found.differences.curves) == ["before"]
    assert gathered(*models, test, main="Worse").main == "Worse"


def test_only_users_that_all_know_are_judged(truth, test):
    items = sn.IdMap.counting(N_ITEMS)
    large, small = (MatrixSource(truth[:n], users=sn.IdMap.counting(n), items=items) for n in (N_USERS, 200))
    with pytest.warns(SurenessWarning, match="100 of the 300"):
        found = gathered({"T": large}, {"S": small}, test)
    assert found.n_users == len(found.before) == 200


def test_a_gain_that_all_users_share_is_certain():
    rising = np.tile(np.arange(4.0), (5, 1))
    test = Interactions.from_matrix(rising == 3)
    students = {"S": MatrixSource(-rising), "D": MatrixSource(rising)}
    found = gathered({"T": MatrixSource(rising)}, students, test, metrics=["hit@1"])
    measure = found.row("D").measures["H@1"]
    assert (measure.difference, measure.p_value, measure.gain) == (1.0, 0.0, None)
    assert "ranks clearly better" in distillation_headline(found).sentence


def test_a_history_without_judged_epochs_is_not_drawn(models, test):
    unjudged = HISTORY.with_columns(metric=pl.lit(None, dtype=pl.Float64))
    found = gathered(*models, test, training=TrainingRecord(history=unjudged))
    assert found.training is None


@pytest.mark.parametrize(
    ("change", "error", "word"),
    [
        ({"teachers": {}}, EmptyError, "teacher"),
        ({"students": {"Teacher": None}}, SettingError, "'Teacher'"),
        ({"main": "nobody"}, SettingError, "main .* 'nobody'"),
        ({"after": ("nobody", "BD-Student")}, SettingError, "after .* 'nobody'"),
        ({"metrics": []}, DataError, "metric"),
    ],
)
def test_models_that_cannot_be_compared_are_refused(models, test, change, error, word):
    given = {"teachers": models[0], "students": models[1], "test": test} | change
    with pytest.raises(error, match=word):
        gathered(**given)


# --- words ---------------------------------------------------------------------------------------------------------


def with_measure(found, name, **changes):
    """The same findings with another measure of one model."""
    first = found.metrics[0]
    rows = tuple(
        replace(row, measures=row.measures | {first: replace(row.measures[first], **changes)}, parameters=100)
        if row.name == name
        else replace(row, parameters=1_000)
        for row in found.rows
    )
    return replace(found, rows=rows)


@pytest.mark.parametrize(
    ("difference", "p_value", "words"),
    [
        (
            0.1,
            0.001,
            "BD-Student, with 10% of the teacher's parameters, ranks .*% better than .* trained alone.",
        ),
        (-0.1, 0.001, "BD-Student, .* ranks .*% worse than the same model trained alone."),
        (0.1, 0.2, "BD-Student, .* shows no clear difference from the same model trained alone."),
    ],
)
def test_the_headline_is_what_the_test_says(found, difference, p_value, words):
    told = distillation_headline(with_measure(found, "BD-Student", difference=difference, p_value=p_value))
    assert re.fullmatch(words, told.sentence)
    assert "The teacher is unchanged" in told.detail
    assert f"Judged on {N_USERS} users." in told.detail


@pytest.mark.parametrize(
    ("difference", "p_value", "words"),
    [
        (0.02, 0.001, "The teacher gains 0.0200 H@10."),
        (-0.02, 0.001, "The teacher loses 0.0200 H@10."),
        (0.02, 0.3, "The teacher shows no clear gain or loss."),
    ],
)
def test_the_headline_says_what_the_teacher_gained(found, difference, p_value, words):
    told = distillation_headline(with_measure(found, "BD-Teacher", difference=difference, p_value=p_value))
    assert told.detail.endswith(words)


def test_tiles_show_before_and_after(found):
    size, beats, average, result = distillation_tiles(with_measure(found, "BD-Student"))
    assert (size.value, size.note) == ("10%", "100 parameters; the teacher has 1,000")
    assert beats.value == spoken_percent(found.before.student_better)
    assert average.value == f"{found.after.average_difference:.4f}"
    assert average.note.startswith(f"{found.before.average_difference:.4f} before")
    assert result.note.startswith("Student → BD-Student, p ")


def test_only_a_clear_gain_has_the_colour_of_success(found):
    verdicts = [
        distillation_tiles(with_measure(found, "BD-Student", difference=difference, p_value=p))[-1].verdict
        for difference, p in ((0.02, 0.001), (0.02, 0.4), (-0.02, 0.001))
    ]
    assert verdicts == ["good", "", "bad"]


def test_two_models_alone_need_no_verdict(models, test):
    found = gathered({"Teacher": models[0]["Teacher"]}, {"Student": models[1]["Student"]}, test)
    assert distillation_headline(found).sentence == "A student compared with its teacher."
    assert distillation_tiles(found)[0].value == "–"
    assert distillation_tiles(found)[-1].label == "H@5"


# --- the page ------------------------------------------------------------------------------------------------------


def test_a_page_about_distillation_alone(found, tmp_path):
    summary, page, text = page_alone(write_distillation_report, found, tmp_path, [*SECTIONS, "notes"], n_figures=4)
    assert summary.headline == distillation_headline(found).sentence
    assert summary.main == "BD-Student"
    assert "By chance." in text
    assert page.count(">unchanged<") == 3
    assert "the two have moved closer" in text


def test_a_page_without_history_and_after(models, test, tmp_path):
    found = gathered(*models, test)
    write_distillation_report(tmp_path / "page.html", found)
    structure = Structure((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert structure.open == []
    assert structure.sections == [*SECTIONS, "notes"]
    assert structure.tags.count("svg") == 3


def test_what_is_given_is_escaped(models, test, tmp_path):
    evil = "<script>alert('x')</script> & 確率 $x_1$"
    found = gathered({evil: models[0]["Teacher"]}, {"Student": models[1]["Student"]}, test, about={evil: evil})
    write_distillation_report(tmp_path / "page.html", found)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert Structure(page).open == []
