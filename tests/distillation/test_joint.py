"""Joint training: refreshes, guides, early stopping, starts, refused settings and progress."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sureness.distillation import joint
from sureness.distillation.learner import Learner
from sureness.distillation.settings import Direction
from sureness.distillation.starts import truncated
from sureness.errors import DataError, SettingError
from sureness.metrics.ranking import evaluate_ranking
from tests.distillation.worlds import fitted, joined, model, parts, same, unlabelled, weights


@pytest.fixture
def refreshes(monkeypatch):
    """The epochs before which ranks were refreshed."""
    found = []
    plain = joint.JointTraining.refresh

    def watched(self, number):
        found.append(number)
        plain(self, number)

    monkeypatch.setattr(joint.JointTraining, "refresh", watched)
    return found


@pytest.mark.parametrize(
    ("warm_up", "epochs", "every", "expected"), [(2, 7, 3, [3, 6, 9]), (0, 4, 10, [1]), (1, 3, 1, [2, 3, 4])]
)
def test_ranks_are_refreshed_every_few_epochs_after_the_warm_up(warm_up, epochs, every, expected, refreshes):
    joined(model(), model(n_factors=2), warm_up=warm_up, epochs=epochs, refresh_every=every).fit(parts()[0])
    assert refreshes == expected


def test_two_fitted_models_need_no_warm_up(refreshes):
    both = joined(fitted(), fitted(n_factors=2), warm_up=5, epochs=2, refresh_every=1).fit(parts()[0])
    assert both.warm_up_ == 0
    assert refreshes == [1, 2]
    assert both.history_["epoch"].max() == 2


def test_a_fitted_teacher_waits_while_the_student_warms_up():
    both = joined(fitted(), model(n_factors=2), warm_up=3, epochs=2).fit(*parts())
    epochs = {name: both.history_.filter(pl.col("model") == name, pl.col("loss").is_not_null())["epoch"].to_list()
              for name in ("teacher", "student")}  # fmt: skip
    assert epochs == {"teacher": [4, 5], "student": [1, 2, 3, 4, 5]}


@pytest.fixture
def teacher_scores(monkeypatch):
    """The teacher's scores at each refresh: those it is ranked by, and those that become soft labels."""
    ranked, labelled, plain = [], [], joint.refresh

    def watched(sources, *others, guides):
        ranked.append(sources[0].score_block(np.arange(10)))
        labelled.append((sources if guides is None else guides)[0].score_block(np.arange(10)))
        return plain(sources, *others, guides=guides)

    monkeypatch.setattr(joint, "refresh", watched)
    return ranked, labelled


@pytest.mark.parametrize("guides", ["current", "best"])
def test_with_best_guides_a_teacher_that_gets_worse_keeps_supplying_its_best_labels(guides, teacher_scores):
    """The teacher's learning rate is far too high."""
    teacher = fitted(learning_rate=0.01, epochs=30)
    both = joined(teacher, fitted(n_factors=2), guides=guides, refresh_every=1, validate_every=1, fitted_rate=200.0)
    both.fit(*parts())
    unchanged = [[np.array_equal(scores, kind[0]) for scores in kind] for kind in teacher_scores]
    assert unchanged == [[True, False, False, False], [True] * 4 if guides == "best" else [True, False, False, False]]
    assert_array_equal(both.teacher_.score_block(np.arange(10)), teacher_scores[1][0])


def test_with_best_guides_a_teacher_that_gets_better_supplies_its_current_labels(teacher_scores):
    both = joined(model(), model(n_factors=2), guides="best", epochs=4, refresh_every=1, validate_every=1)
    both.fit(*parts())
    metrics = both.history_.filter(pl.col("model") == "teacher")["metric"].drop_nulls().to_list()
    better = [metric == max(metrics[: place + 1]) for place, metric in enumerate(metrics)][: len(teacher_scores[0])]
    assert any(better[1:])
    assert [np.array_equal(*scores) for scores in zip(*teacher_scores, strict=True)] == better


def test_a_fixed_guide_is_always_at_its_best():
    """The learner is ranked by its current weights in both cases."""
    runs = [joined(fitted(), fitted(n_factors=2), teacher_learns=False, guides=guides, refresh_every=1,
                   validate_every=3, fitted_rate=20.0).fit(*parts()) for guides in ("current", "best")]  # fmt: skip
    same(*runs)


# --- early stopping --------------------------------------------------------------------------------------------------


def judged(recommender):
    train, validation = parts()
    return evaluate_ranking(recommender, validation, seen=train, metrics=["ndcg@10"])["ndcg@10"]


@pytest.fixture(scope="module")
def one_stops_early():
    """A teacher that only gets worse beside a student that goes on."""
    teacher = model(n_factors=8, learning_rate=0.02, epochs=40, l2=0.001).fit(*parts()).set_params(learning_rate=0.9)
    changes = {"warm_up": 3, "epochs": 12, "validate_every": 1, "patience": 3}
    return joined(teacher, model(n_factors=3, learning_rate=0.02), **changes).fit(*parts())


def test_each_model_stops_when_its_own_metric_stops_rising(one_stops_early):
    last = dict(one_stops_early.history_.group_by("model").agg(pl.col("epoch").max()).iter_rows())
    assert last == {"teacher": 3 + 3, "student": 3 + 12}


def test_each_model_is_left_at_its_best(one_stops_early):
    for name, recommender in (("teacher", one_stops_early.teacher_), ("student", one_stops_early.student_)):
        metrics = one_stops_early.history_.filter(pl.col("model") == name)["metric"].drop_nulls()
        assert recommender.best_metric_ == metrics.max()
        assert judged(recommender) == pytest.approx(recommender.best_metric_)


def test_a_teacher_that_only_gets_worse_ends_with_the_given_weights(one_stops_early):
    given, result = (weights(one_stops_early.teacher), weights(one_stops_early.teacher_))
    assert all(np.array_equal(given[name], result[name]) for name in given)


def test_the_best_epoch_is_a_row_of_the_models_own_history(one_stops_early):
    assert one_stops_early.teacher_.best_epoch_ == 0  # the given weights
    assert one_stops_early.teacher_.history_.height == 3


def test_the_best_epoch_of_a_model_that_warmed_up_is_a_row_of_its_history(one_stops_early):
    student = one_stops_early.student_
    assert student.history_["epoch"].to_list() == list(range(1, 16))
    (metric,) = student.history_.filter(pl.col("epoch") == student.best_epoch_)["metric"]
    assert metric == student.best_metric_


def test_training_ends_when_both_have_stopped():
    changes = {"warm_up": 1, "epochs": 50, "validate_every": 1, "patience": 2}
    both = joined(model(learning_rate=0.9), model(n_factors=2, learning_rate=0.9), **changes).fit(*parts())
    assert both.history_["epoch"].max() < 51


def test_models_are_validated_every_few_epochs_and_at_the_end():
    both = joined(model(), model(n_factors=2), warm_up=2, epochs=7, validate_every=3).fit(*parts())
    at = both.history_.filter(pl.col("metric").is_not_null())["epoch"].unique().sort().to_list()
    assert at == [2, 5, 8, 9]


def test_without_validation_all_epochs_are_run_and_the_last_one_stays():
    both = joined(model(), model(n_factors=2), warm_up=2, epochs=3).fit(parts()[0])
    assert both.history_["metric"].null_count() == both.history_.height
    for recommender in (both.teacher_, both.student_):
        assert recommender.best_metric_ is None
        assert recommender.best_epoch_ == 5


# --- starts ----------------------------------------------------------------------------------------------------------


def test_an_svd_start_is_validated_before_any_step_and_ranks_like_the_truncated_teacher():
    teacher = fitted()
    changes = {"student_start": "svd", "teacher_learns": False, "warm_up": 2, "epochs": 1}
    both = joined(teacher, model(n_factors=3), **changes).fit(*parts())
    first = both.history_.row(0, named=True)
    assert (first["model"], first["loss"]) == ("student", None)
    assert first["metric"] == pytest.approx(judged(truncated(teacher.source_, 3)))


def test_an_svd_start_follows_the_warm_up_of_the_teacher():
    """The student starts from the teacher after its warm-up, not before."""
    both = joined(
        model(n_factors=8), model(n_factors=3, learning_rate=1e-12), unlabelled(student_start="svd", epochs=1)
    )
    both.fit(parts()[0])
    warmed = model(n_factors=8, epochs=2).fit(parts()[0])
    expected = truncated(warmed.source_, 3)
    found = both.student_.source_
    everyone = np.arange(found.n_users)
    assert_allclose(found.score_block(everyone), expected.score_block(everyone), atol=1e-5)


def test_there_is_no_warm_up_if_no_model_needs_one():
    changes = {"student_start": "svd", "teacher_learns": False, "warm_up": 4, "epochs": 1}
    both = joined(fitted(), model(n_factors=3), **changes).fit(parts()[0])
    assert both.warm_up_ == 0
    assert both.history_["epoch"].max() == 1


def test_a_student_larger_than_its_teacher_uses_all_its_factors_from_an_svd_start():
    changes = {"student_start": "svd", "teacher_learns": False, "epochs": 3}
    both = joined(fitted(n_factors=2), model(n_factors=6), **changes).fit(parts()[0])
    assert np.all(np.abs(weights(both.student_)["user_factors"]).max(axis=0) > 0)


# --- refused settings ------------------------------------------------------------------------------------------------


def refused(word, teacher, student, kind=SettingError, **changes):
    with pytest.raises(kind, match=word) as caught:
        joined(teacher, student, **changes).fit(parts()[0])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("direction", ["to_student", "to_teacher"])
def test_calibrated_labels_need_a_validation_set(direction):
    refused("calibrated", model(), model(), **{f"{direction}__labels": "calibrated"})


def test_calibrated_labels_of_an_unused_direction_need_no_validation_set():
    joined(fitted(), model(), teacher_learns=False, to_teacher__labels="calibrated").fit(parts()[0])


def test_ubpr_cannot_take_positives_of_the_other_model():
    refused("UBPR", model(), model("ubpr"), to_student__positives=3)


@pytest.mark.parametrize("name", ["cdae", "neumf", "lightgcn", "cml"])
def test_an_svd_start_needs_a_student_whose_scores_are_products_of_factors(name):
    refused("student_start", fitted(), model(name), student_start="svd")


def test_an_svd_start_cannot_have_more_factors_than_items():
    refused("n_factors", fitted(), model(n_factors=101), student_start="svd", warm_up=0)


def test_training_that_diverges_is_refused():
    refused("diverged", model(learning_rate=1e30), model(n_factors=2), kind=DataError)


# --- progress --------------------------------------------------------------------------------------------------------


def test_progress_is_reported_from_the_first_step_to_the_last(monkeypatch):
    monkeypatch.setattr("sureness._progress.EVERY", -1.0)
    reported = []
    joined(model(), model(n_factors=2)).fit(*parts(), progress=lambda *step: reported.append(step))
    shares = [done / total for text, done, total in reported if text.startswith("epoch")]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert all(0 < share <= 1 for share in shares)
    texts = [text for text, _, _ in reported]
    assert texts[0].startswith("epoch 1")
    assert "warm" in texts[0]
    together = [text for text in texts if text.startswith("epoch 3")]
    assert together
    assert all("teacher 0." in text and "student 0." in text and "warm" not in text for text in together)
    assert sum(text == "ranking for the next epochs" for text in texts) == 2


def test_progress_is_not_reported_too_often(monkeypatch):
    monkeypatch.setattr("sureness._progress.EVERY", 1e9)
    reported = []
    joined(model(), model(n_factors=2)).fit(parts()[0], progress=lambda *step: reported.append(step))
    first, *_, last = steps = [step for step in reported if step[0].startswith("epoch")]
    assert len(steps) <= 3
    assert first[0].startswith("epoch 1")
    assert last[0].startswith("epoch 6")
    assert last[1] == last[2]


def test_each_epoch_after_a_refresh_takes_the_next_round_of_the_pool(monkeypatch):
    rounds = []
    plain = Learner.steps

    def watched(self, number):
        rounds.append((number, self.epochs_since_refresh))
        yield from plain(self, number)

    monkeypatch.setattr(Learner, "steps", watched)
    joined(fitted(), model(n_factors=2), teacher_learns=False, warm_up=1, epochs=5, refresh_every=3).fit(parts()[0])
    assert rounds == [(1, 0), (2, 0), (3, 1), (4, 2), (5, 0), (6, 1)]


def test_directions_have_their_own_settings(monkeypatch):
    """Each learner imitates with the settings of its own direction."""
    used = {}
    plain = Learner.imitate

    def watched(self, guide, drawn, labels):
        used[self.network.settings.n_factors] = (self.direction, drawn.pool.items.shape[2], guide.settings.n_factors)
        plain(self, guide, drawn, labels)

    monkeypatch.setattr(Learner, "imitate", watched)
    to_student, to_teacher = Direction(items=3, weight=0.1), Direction(items=4, weight=0.9, scheme="exp")
    joined(model(n_factors=8), model(n_factors=2), to_student=to_student, to_teacher=to_teacher).fit(parts()[0])
    assert used == {2: (to_student, 3, 8), 8: (to_teacher, 4, 2)}


def test_the_seed_of_the_settings_determines_the_draws():
    train = parts()[0]
    one, same, other = (
        joined(model(n_factors=4), model(n_factors=2), seed=seed).fit(train).student_ for seed in (0, 0, 1)
    )
    assert_array_equal(weights(one)["user_factors"], weights(same)["user_factors"])
    assert not np.array_equal(weights(one)["user_factors"], weights(other)["user_factors"])
