"""The dense reference does the work of the package, so that the benchmark compares like with like."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.baselines.dense_distillation import DenseDistillation, dense_ranks, draws, exp_weights, tanh_weights
from sureness.data.interactions import Interactions
from sureness.data.simulator import SimulatorSettings, simulate
from sureness.distillation.learner import Learner, soft_labels
from sureness.distillation.refresh import Pool, Refreshed
from sureness.distillation.sampling import weight_table
from sureness.distillation.settings import Direction, DistillationSettings
from sureness.models.bpr import BPR
from sureness.models.networks.batches import Batch
from sureness.models.networks.factors import BPRNetwork
from sureness.numerics.ranking import exact_ranks

_SETTINGS = DistillationSettings(
    to_teacher=Direction(scheme="exp", rank_gap_scale=0.03, weight=0.7, items=4, temperature=3.0),
    to_student=Direction(scheme="tanh", rank_gap_scale=0.02, weight=0.4, items=4, temperature=2.0),
)
_RATE = 0.01


@pytest.fixture(scope="module")
def train():
    return Interactions.from_matrix(simulate(SimulatorSettings(n_users=30, n_items=50)).train)


@pytest.fixture
def networks(train):
    """Teacher and student, far enough from zero for all labels to differ."""
    return tuple(BPR(n_factors=n, learning_rate=_RATE, l2=0.0, start_scale=0.8, seed=n).build(train) for n in (6, 2))


@pytest.fixture
def dense(train, networks):
    return DenseDistillation(train, *(_factors(network) for network in networks), _SETTINGS, learning_rate=_RATE)


def test_ranks_are_the_exact_ones(train, dense, networks):
    for network, model in zip(networks, dense.models, strict=True):
        ours = _ranks(network, train)
        theirs = dense_ranks(model.everything().masked_fill_(dense.seen, -torch.inf)).numpy()
        assert_array_equal(theirs[ours > 0], ours[ours > 0])


@pytest.mark.parametrize(("weights", "learner"), [(exp_weights, 0), (tanh_weights, 1)], ids=["exp", "tanh"])
def test_weights_are_those_of_the_schemes(train, dense, networks, weights, learner):
    mine, other = _ranks(networks[learner], train), _ranks(networks[1 - learner], train)
    direction = dense.directions[learner]
    table = weight_table(direction.scheme, direction.rank_gap_scale, train.n_items)
    expected = np.where(mine > 0, table[mine - other + train.n_items], 0.0)
    found = weights(torch.tensor(mine), torch.tensor(other), direction.rank_gap_scale, dense.seen).numpy()
    assert_allclose(_shares(found), _shares(expected), rtol=1e-5, atol=1e-9)


def test_each_pair_gets_unseen_items_of_its_user(train, dense):
    dense.refresh()
    for drawn in dense.drawn:
        assert drawn.shape == (len(train), 4)
        assert not dense.seen[torch.tensor(train.user_rows)[:, None], drawn].any()


def test_the_guide_ranks_what_is_drawn_higher(train, dense, networks):
    dense.refresh()
    ranks = [_ranks(network, train) for network in networks]
    users = train.user_rows[:, None]
    to_teacher, to_student = (
        ranks[learner][users, drawn] - ranks[1 - learner][users, drawn] for learner, drawn in enumerate(dense.drawn)
    )
    assert (to_student > 0).all()
    assert to_teacher.mean() > 5


def test_draws_follow_the_weights():
    torch.manual_seed(0)
    weights = torch.tensor([[1.0, 0.0, 3.0], [0.0, 1.0, 1.0]])
    drawn = draws(weights, np.array([2_000, 0]), 4)
    assert_allclose(np.bincount(drawn.numpy().ravel()) / drawn.numel(), [0.25, 0.0, 0.75], atol=0.02)


@pytest.mark.parametrize("learner", [0, 1], ids=["teacher", "student"])
def test_a_step_is_that_of_the_package(train, dense, networks, learner):
    dense.refresh()
    places = np.random.default_rng(0).permutation(len(train))[:64]
    users, positives = train.user_rows[places], train.item_rows[places]
    negatives = np.random.default_rng(1).integers(0, train.n_items, len(places))
    ours = _learner(train, networks, learner, dense.drawn[learner].numpy())
    loss = ours.step(Batch(users, positives, negatives[:, None], places))
    items = dense.drawn[learner][torch.tensor(places)]
    theirs = dense.step(learner, *map(torch.tensor, (users, positives, negatives)), items)
    assert theirs == pytest.approx(loss, rel=1e-5)
    model = dense.models[learner]
    for table, mine in zip((model.users, model.items), _factors(networks[learner]), strict=True):
        assert_allclose(mine, table.weight.detach().numpy(), atol=2e-5)


def test_an_epoch_learns(dense):
    torch.manual_seed(0)
    dense.refresh()
    first = dense.epoch()
    for _ in range(5):
        last = dense.epoch()
    assert all(after < before for before, after in zip(first, last, strict=True))
    assert all(seconds > 0 for seconds in dense.watch.seconds.values())


def _factors(network: BPRNetwork) -> tuple[np.ndarray, np.ndarray]:
    return network.user_factors.detach().numpy(), network.item_factors.detach().numpy()


def _ranks(network: BPRNetwork, train: Interactions) -> np.ndarray:
    """Exact ranks among the unseen items, 0 for those that were seen."""
    users, items = _factors(network)
    seen = {"rows": np.arange(train.n_users), "starts": train.row_starts, "seen": train.item_rows}
    return exact_ranks(users @ items.T, **seen)


def _shares(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum(axis=1, keepdims=True)


def _learner(train: Interactions, networks: tuple, learner: int, drawn: np.ndarray) -> Learner:
    direction = (_SETTINGS.to_teacher, _SETTINGS.to_student)[learner]
    ours = Learner(networks[learner], train, direction)
    pool = Pool(drawn[:, None].astype(np.int32), by_user=False)
    guide = networks[1 - learner]
    ours.imitate(guide, Refreshed(train, pool), soft_labels(direction, networks[learner], guide, None))
    return ours
