"""Methods that only the tables of chapter 3 need: the authors' code, ablations and controls."""

from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from reproduction.tests.small import small_log
from sureness.data import by_ratio
from sureness.distillation import (
    BidirectionalDistillation,
    Pool,
    Refreshed,
    distillation_method,
    method_names,
    soft_labels,
)
from sureness.models import Trainer, make_recommender
from sureness_reproduction.distillation import controls
from sureness_reproduction.distillation.controls import ControlDirection, ControlLearner

CONTROLS = [name for name, value in vars(controls).items() if name.isupper() and not name.startswith("_")]
SHORT = {"warm_up": 1, "epochs": 3, "refresh_every": 2, "validate_every": 1}
QUICK = {"n_factors": 6, "batch_size": 512, "learning_rate": 0.01, "epochs": 4, "metric": "ndcg@10"}


@pytest.fixture(scope="module")
def split():
    return by_ratio(small_log(exposure_rate=0.4))


def model(name="bpr", **changes):
    return make_recommender(name, **(QUICK | changes))


def both(name):
    made = distillation_method(name)
    return made.to_student, made.to_teacher


def test_every_control_is_registered():
    assert {name.lower().replace("_", "-") for name in CONTROLS} <= set(method_names())


@pytest.mark.parametrize("name", [name.lower().replace("_", "-") for name in CONTROLS])
def test_every_control_runs(name, split):
    settings = distillation_method(name, **SHORT)
    teacher, student = model(), model(n_factors=2)
    if name == "to-teacher":
        student.fit(split.train)
    joined = BidirectionalDistillation.from_settings(teacher, student, settings).fit(split.train, split.validation)
    losses = joined.history_["loss"].drop_nulls().to_numpy()
    assert len(losses)
    assert np.isfinite(losses).all()


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "items", "temperature", "scales", "reuse"),
    [("bd-public", 1, 5.0, (1e-2, 1e-4), True), ("bd-public-cdae", 5, 2.0, (1e-4, 1e-4), False)],
)
def test_bd_public_is_what_the_authors_code_does(name, items, temperature, scales, reuse):
    """Its settings for BPR and for CDAE; drawn items are reused as negatives for BPR alone."""
    assert distillation_method(name).refresh_every == 10
    assert [direction.scheme for direction in both(name)] == ["tanh", "exp"]
    for direction, scale in zip(both(name), scales, strict=True):
        assert not direction.keeps_weight_decay
        assert (direction.ranked_higher_by, direction.tempered) == ("learner", "labels")
        assert (direction.weight, direction.items, direction.temperature) == (0.5, items, temperature)
        assert (direction.rank_gap_scale, direction.reuse) == (scale, reuse)
        assert direction.dropout == (name == "bd-public-cdae")


def test_swapped_exchanges_the_two_sampling_functions():
    assert [direction.scheme for direction in both("swapped")] == ["exp", "tanh"]


@pytest.mark.parametrize(("name", "scheme"), [("mutual", "uniform"), ("rank-aware", "rank-aware"), ("top-n", "top")])
def test_methods_with_one_scheme_in_both_directions(name, scheme):
    assert [direction.scheme for direction in both(name)] == [scheme] * 2
    assert distillation_method(name).teacher_learns


def test_the_controls_draw_like_bd():
    assert all(direction.constant and direction.weight > 0 for direction in both("constant-labels"))
    assert all(direction.reuse and direction.weight == 0 and direction.draws for direction in both("drawn-negatives"))
    assert not any(direction.draws or direction.positives for direction in both("continued"))
    plain = both("bd")
    for name in ("constant-labels", "drawn-negatives"):
        for direction, usual in zip(both(name), plain, strict=True):
            same = {each.name for each in fields(usual)} - {"weight"}
            assert all(getattr(direction, each) == getattr(usual, each) for each in same)


# --- steps -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def learner(split, monkeypatch):
    """Makes a learner with a guide and drawn items, some of them missing; its steps are recorded, not made."""
    steps = []

    def make(direction, guide=None, **changes):
        train, rng = split.train, np.random.default_rng(0)
        made = ControlLearner(model(**changes).build(train), train, direction)
        guide = model("lightgcn").fit(train).network_ if guide is None else guide
        items = rng.integers(-1, train.n_items, (len(train), 1, 3)).astype(np.int32)
        labels = soft_labels(direction, made.network, guide, None)
        made.imitate(guide, Refreshed(train, Pool(items, by_user=False)), labels)
        monkeypatch.setattr(Trainer, "step", lambda self, batch, soft=None: steps.append((batch, soft)) or 0.0)
        made.steps_made = steps
        return made, next(made.batches.epoch(np.random.default_rng(0))), guide

    return make


@pytest.mark.parametrize("negatives", [1, 5])
@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_drawn_items_are_reused_as_negatives(negatives, weight, learner):
    """Where no item was drawn, or a positive, the negative of the batch stays."""
    made, batch, _ = learner(ControlDirection(weight=weight, reuse=True), negatives=negatives)
    own = batch.negatives.copy()
    made.step(batch)
    given, soft = made.steps_made[0]
    items, train = made.pool.items[batch.places, 0], made.batches.log
    positive = [[item in train.items_of(user) for item in row] for user, row in zip(batch.users, items, strict=True)]
    usable = (items >= 0) & ~np.array(positive)
    for column in range(negatives):
        expected = np.where(usable[:, column], items[:, column], own[:, column]) if column < 3 else own[:, column]
        assert_array_equal(given.negatives[:, column], expected)
    assert_array_equal(batch.negatives, own)  # the given batch does not change
    for name in ("users", "positives", "places"):
        assert_array_equal(getattr(given, name), getattr(batch, name))
    assert (soft is None) == (weight == 0)


@pytest.mark.parametrize(("tempered", "slope"), [("both", 0.25), ("labels", 1.0)])
def test_the_temperature_is_for_both_or_for_labels_alone(tempered, slope, learner):
    made, batch, guide = learner(ControlDirection(temperature=4.0, tempered=tempered))
    made.step(batch)
    soft = made.steps_made[0][1]
    assert (soft.slope, soft.shift) == (slope, 0.0)
    expected = expit(guide.pair_scores(batch.users, np.maximum(soft.items, 0)) / 4.0)
    assert_allclose(soft.labels[soft.items >= 0], expected[soft.items >= 0], rtol=1e-4)


@pytest.mark.parametrize("dropout", [False, True])
def test_a_guide_may_label_with_its_dropout_on(dropout, learner, split):
    """Labels of two steps on the same batch differ, and the guide is left as it was."""
    guide = model("cdae").fit(split.train).network_
    made, batch, _ = learner(ControlDirection(dropout=dropout), guide)
    for _ in range(2):
        made.step(batch)
    first, second = (soft.labels for _, soft in made.steps_made)
    assert np.array_equal(first, second) == (not dropout)
    assert not guide.training


def test_constant_labels_are_the_mean_over_drawn_items(learner):
    made, batch, guide = learner(ControlDirection(constant=True, temperature=0.05))
    made.step(batch)
    soft = made.steps_made[0][1]
    there = soft.items >= 0
    expected = expit(guide.pair_scores(batch.users, np.maximum(soft.items, 0)) / 0.05)[there].mean()
    assert_allclose(soft.labels, expected, rtol=1e-3)


@pytest.mark.parametrize("kept", [True, False])
def test_joint_training_is_with_or_without_the_weight_decay_of_the_models(kept, split, monkeypatch):
    """An unfitted model still warms up with its own."""
    decays, step = [], Trainer.step
    monkeypatch.setattr(
        Trainer, "step", lambda self, *given: (decays.append(self.optimiser.weight_decay), step(self, *given))[1]
    )
    pair = [model(n_factors=n, adam="dense", weight_decay=0.1, batch_size=10**6) for n in (6, 2)]
    settings = distillation_method("bd-public", warm_up=1, epochs=1)
    settings = settings.changed(to_teacher__keeps_weight_decay=kept, to_student__keeps_weight_decay=kept)
    BidirectionalDistillation.from_settings(*pair, settings).fit(split.train)
    assert decays == [0.1, 0.1] + [0.1 if kept else 0.0] * 2
