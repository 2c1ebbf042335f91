"""What each network computes, against its formula."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import polars as pl
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import DataError, DivergedError
from sureness.models.catalogue import make_recommender
from sureness.models.networks.batches import Batch, PairBatches, UserBatches
from sureness.models.networks.lightgcn import Smoothing, normalised_graph
from sureness.models.networks.training import Trainer
from sureness.models.settings import Settings
from tests.models.worlds import everyone, fitted, simulated

LOG = Interactions.from_matrix(
    np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [0, 1, 1, 1, 0]])
)


def built(name, train=LOG, **settings):
    return make_recommender(name, **({"n_factors": 4, "start_scale": 0.5} | settings)).build(train)


def array(tensor):
    return tensor.detach().numpy().astype(np.float64)


def all_pairs(network):
    """Scores of all pairs by the method for pairs."""
    users = torch.arange(network.n_users)
    items = torch.arange(network.n_items).expand(network.n_users, -1)
    with torch.no_grad():
        return network.score(users, items).numpy()


# --- batches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PairBatches, UserBatches])
@pytest.mark.parametrize("batch_size", [1, 4, 1_000])
def test_an_epoch_shows_every_positive_once_with_unseen_negatives(kind, batch_size):
    seen = LOG.matrix.toarray()
    seen[3] = 1  # someone who has seen everything has no negatives
    log = Interactions.from_matrix(seen)
    batches = kind(log, Settings(batch_size=batch_size, negatives=3))
    found = list(batches.epoch(np.random.default_rng(0)))
    assert len(found) == batches.n_batches
    users, positives, negatives, places = (np.concatenate(parts) for parts in zip(*found, strict=True))
    expected = [(user, item) for user, item in zip(log.user_rows, log.item_rows, strict=True) if user != 3]
    assert sorted(zip(users, positives, strict=True)) == expected
    assert_array_equal(log.user_rows[places], users)
    assert_array_equal(log.item_rows[places], positives)
    assert negatives.shape == (len(users), 3)
    assert not seen[users[:, None], negatives].any()


def test_a_user_is_never_cut_in_two():
    batches = UserBatches(simulated().train, Settings(batch_size=50))
    parts = [set(batch.users) for batch in batches.epoch(np.random.default_rng(0))]
    assert len(parts) > 3
    assert sum(map(len, parts)) == len(set().union(*parts)) == np.count_nonzero(simulated().train.user_degree)


# --- UBPR ----------------------------------------------------------------------------------------------------------


def test_ubpr_weighs_each_pair_by_its_propensities():
    omega = np.linspace(0.2, 1.0, len(LOG))
    model = make_recommender("ubpr", n_factors=4, start_scale=0.5, l2=0.0, seen_negatives=True, propensity_clip=0.3)
    network = model.build(LOG, propensity=omega)
    of = np.zeros(LOG.shape)
    of[LOG.user_rows, LOG.item_rows] = np.maximum(omega, 0.3)
    batch = Batch(np.array([0, 2, 4]), np.array([1, 0, 3]), np.array([[0, 4], [1, 3], [2, 2]]), np.array([1, 4, 9]))
    assert LOG.item_rows[batch.places].tolist() == batch.positives.tolist()
    scores = all_pairs(network).astype(np.float64)
    for row, (user, liked, others) in enumerate(zip(*batch[:3], strict=True)):
        for column, other in enumerate(others):
            observed = of[user, other] > 0
            weight = (1 / of[user, liked]) * (1 - (1 / of[user, other] if observed else 0))
            expected = weight * np.log1p(np.exp(scores[user, other] - scores[user, liked]))
            assert float(network.loss(batch)[row, column].detach()) == pytest.approx(expected, rel=1e-4)


def test_ubpr_with_a_propensity_of_one_is_bpr():
    train = simulated().train
    settings = {"n_factors": 4, "epochs": 3, "batch_size": 128}
    plain = make_recommender("bpr", **settings).fit(train)
    known = make_recommender("ubpr", **settings).fit(train, propensity=np.ones(len(train)))
    assert_allclose(everyone(known), everyone(plain), atol=1e-5)
    assert np.abs(everyone(make_recommender("ubpr", **settings).fit(train)) - everyone(plain)).max() > 1e-3


@pytest.mark.parametrize("propensity", [[0.5], np.zeros(10), np.full(10, 1.5)])
def test_ubpr_refuses_impossible_propensities(propensity):
    with pytest.raises(DataError, match="propensit"):
        make_recommender("ubpr").build(LOG, propensity=propensity)


# --- CML -----------------------------------------------------------------------------------------------------------


def test_the_score_of_cml_is_minus_the_squared_distance():
    network = built("cml")
    users, items = array(network.user_factors), array(network.item_factors)
    expected = -np.array([[np.sum((user - item) ** 2) for item in items] for user in users])
    assert_allclose(all_pairs(network), expected, rtol=1e-5)
    source = network.source(LOG.users, LOG.items)
    assert_allclose(source.score_block(np.arange(5)), expected, rtol=1e-5, atol=1e-5)
    assert (all_pairs(network) <= 0).all()


def test_the_loss_of_cml_is_a_margin_between_distances():
    network = built("cml", margin=0.7)
    batch = Batch(np.array([0, 4]), np.array([1, 3]), np.array([[2, 4], [0, 4]]), np.array([1, 9]))
    scores = all_pairs(network)
    expected = [
        [max(0.0, 0.7 - scores[user, liked] + scores[user, other]) for other in others]
        for user, liked, others in zip(*batch[:3], strict=True)
    ]
    assert_allclose(network.loss(batch).detach(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("radius", [0.4, 1.0])
def test_embeddings_of_cml_stay_inside_the_ball(radius):
    train = simulated().train
    network = built("cml", train, radius=radius, learning_rate=0.2, start_scale=0.01, batch_size=64)
    trainer = Trainer(network, train)
    longest = 0.0
    for batch in trainer.batches.epoch(np.random.default_rng(0)):
        trainer.step(batch)
        for table in (network.user_factors, network.item_factors):
            longest = max(longest, float(table.detach().norm(dim=1).max()))
        assert longest <= radius * (1 + 1e-5)
    assert longest == pytest.approx(radius, rel=1e-4)  # some were pulled back


# --- LightGCN ------------------------------------------------------------------------------------------------------


def dense_graph(log, power=-0.5):
    """D^p A D^p with users before items; rows without edges are 0."""
    seen = log.matrix.toarray().astype(np.float64)
    adjacency = np.block([[np.zeros((log.n_users,) * 2), seen], [seen.T, np.zeros((log.n_items,) * 2)]])
    degree = adjacency.sum(axis=1)
    scale = np.array([d**power if d else 0.0 for d in degree])
    return scale[:, None] * adjacency * scale


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_smoothing_is_the_mean_of_powers_of_the_graph(layers):
    network = built("lightgcn", layers=layers)
    graph, factors = dense_graph(LOG), array(network.factors)
    assert_allclose(network.graph.to_dense(), graph, atol=1e-6)
    smooth = np.mean([np.linalg.matrix_power(graph, power) @ factors for power in range(layers + 1)], axis=0)
    expected = smooth[: LOG.n_users] @ smooth[LOG.n_users :].T
    assert_allclose(all_pairs(network), expected, rtol=1e-4, atol=1e-5)
    network.settle()
    assert_allclose(network.smooth, smooth, rtol=1e-4, atol=1e-5)
    assert_allclose(network.source(LOG.users, LOG.items).score_block(np.arange(5)), expected, rtol=1e-4, atol=1e-5)
    assert_allclose(all_pairs(network.eval()), expected, rtol=1e-4, atol=1e-5)


def test_edges_can_be_divided_by_degrees_as_in_the_public_code():
    network = built("lightgcn", divided_by="degree")
    assert_allclose(network.graph.to_dense(), dense_graph(LOG, power=-1.0), atol=1e-7)


@pytest.mark.parametrize("layers", [1, 3])
def test_the_gradient_of_smoothing_is_right(layers):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse", category=UserWarning)
        graph = normalised_graph(LOG).to(torch.float64)
    values = torch.randn(10, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: Smoothing.apply(graph, layers, x), (values,))


def test_the_loss_of_lightgcn_follows_the_graph_in_both_directions():
    """Its gradient equals that of the dense formula, by autograd."""
    network = built("lightgcn", l2=0.1)
    batch = Batch(np.array([0, 4]), np.array([1, 3]), np.array([[2, 4], [0, 4]]), np.array([1, 9]))
    network.loss(batch).mean().backward()
    graph = torch.from_numpy(dense_graph(LOG))
    factors = network.factors.detach().double().requires_grad_()
    smooth = (factors + graph @ factors + graph @ graph @ factors) / 3
    losses = []
    for user, liked, others in zip(*batch[:3], strict=True):
        for other in others:
            gap = smooth[user] @ (smooth[5 + other] - smooth[5 + liked])
            rows = torch.stack([factors[user], factors[5 + liked], factors[5 + other]])
            losses.append(torch.nn.functional.softplus(gap) + 0.1 * rows.square().sum() / 2)
    torch.stack(losses).mean().backward()
    assert_allclose(network.factors.grad, factors.grad, rtol=1e-4, atol=1e-6)


# --- CDAE ----------------------------------------------------------------------------------------------------------


def hidden_of(network, user):
    """The formula of the hidden layers, one user at a time."""
    items, settings = LOG.items_of(user), network.settings
    history = array(network.items_in)[items].sum(axis=0)
    if settings.history == "root":
        history /= np.sqrt(max(len(items), 1))
    first = history + array(network.users_in)[user] + array(network.first_bias)
    if not settings.deep:
        return 1 / (1 + np.exp(-first))
    hidden = np.tanh(first)
    for layer in (network.encoder, network.decoder):
        hidden = np.tanh(array(layer.weight) @ hidden + array(layer.bias))
    return hidden


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("history", ["sum", "root"])
def test_the_score_of_cdae_is_its_formula(history, deep):
    network = built("cdae", history=history, deep=deep).eval()
    for user in range(5):
        expected = array(network.items_out) @ hidden_of(network, user) + array(network.item_level)[:, 0]
        with torch.no_grad():
            assert_allclose(network.score_block(torch.tensor([user]))[0], expected, rtol=1e-4, atol=1e-6)
        assert_allclose(all_pairs(network)[user], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("n_users", "n_items", "millions"), [(5_219, 25_187, 2.805), (2_293, 61_858, 6.362), (25_677, 25_815, 3.891)]
)
def test_cdae_has_as_many_parameters_as_published(n_users, n_items, millions):
    """Table bdinfer of the dissertation prints 2.80, 6.36 and 3.89 million, which one hidden layer of 50 has."""
    names = pl.Series(range(n_items))
    log = Interactions(IdMap(pl.Series(range(n_users))), IdMap(names), np.array([0]), np.array([0]))
    network = make_recommender("cdae", n_factors=50).build(log)
    assert sum(parameter.numel() for parameter in network.parameters()) == pytest.approx(millions * 1e6, abs=500)


def test_cdae_drops_history_only_while_training():
    network, users = built("cdae", simulated().train), torch.arange(150)
    with torch.no_grad():
        network.train()
        first, second = network.hidden(users), network.hidden(users)
        network.eval()
        whole, again = network.hidden(users), network.hidden(users)
    assert not torch.equal(first, second)
    assert torch.equal(whole, again)
    open_ = built("cdae", simulated().train, dropout=0.0)
    with torch.no_grad():
        assert torch.equal(open_.train().hidden(users), open_.eval().hidden(users))


def test_a_fitted_cdae_drops_nothing():
    assert_array_equal(everyone(fitted("cdae")), everyone(fitted("cdae")))
    assert not fitted("cdae").network_.training


def test_cdae_drops_whole_items_and_scales_up_the_others():
    """Dropout takes an item's whole contribution, and doubles the others at a half."""
    network = built("cdae", Interactions.from_matrix(np.array([[1, 0, 0], [1, 1, 0]])), dropout=0.5).train()
    with torch.no_grad():
        network.users_in.zero_()
        seen = {tuple(np.round(network.hidden(torch.tensor([0]))[0].numpy(), 5)) for _ in range(60)}
        kept = torch.sigmoid(2 * network.items_in[0]).numpy()
    assert seen == {(0.5,) * 4, tuple(np.round(kept, 5))}


def test_the_loss_of_cdae_is_cross_entropy_of_all_drawn_items():
    network = built("cdae", dropout=0.0, l2=0.2)
    batch = Batch(np.array([0, 0, 4]), np.array([0, 1, 3]), np.array([[2, 4], [3, 4], [0, 4]]), np.array([0, 1, 9]))
    scores, out, users = all_pairs(network), array(network.items_out), array(network.users_in)
    for row, (user, liked, others) in enumerate(zip(*batch[:3], strict=True)):
        expected = np.log1p(np.exp(-scores[user, liked])) + np.log1p(np.exp(scores[user, others])).sum()
        rows = [users[user], array(network.items_in)[liked], *out[[liked, *others]]]
        expected += 0.2 * sum(np.sum(vector**2) for vector in rows) / 2
        assert float(network.loss(batch)[row].detach()) == pytest.approx(expected, rel=1e-4)


# --- NeuMF ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer_widths", [(8,), (8, 4), (6, 5, 3)])
def test_the_score_of_neumf_is_its_formula(layer_widths):
    network = built("neumf", layer_widths=layer_widths)
    weights = np.hstack([array(network.of_user.weight), array(network.of_item.weight)])
    for user in range(5):
        for item in range(5):
            deep = np.concatenate([array(network.user_inputs)[user], array(network.item_inputs)[item]])
            deep = np.maximum(weights @ deep + array(network.of_user.bias), 0)
            for layer in network.layers[::2]:
                deep = np.maximum(array(layer.weight) @ deep + array(layer.bias), 0)
            shallow = array(network.user_factors)[user] * array(network.item_factors)[item]
            last = np.concatenate([shallow, deep])
            expected = array(network.output.weight)[0] @ last + array(network.output.bias)[0]
            assert all_pairs(network)[user, item] == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("layer_widths", [(1,), (6, 5, 3)])
@pytest.mark.parametrize("n_items", [1, 100])
def test_neumf_scores_all_items_as_it_scores_pairs(n_items, layer_widths):
    rng = np.random.default_rng(n_items)
    network = built("neumf", Interactions.from_matrix(rng.random((6, n_items)) < 0.5), layer_widths=layer_widths)
    with torch.no_grad():
        assert_allclose(
            network.score_block(torch.tensor([3, 0, 5])), all_pairs(network)[[3, 0, 5]], rtol=1e-4, atol=1e-5
        )


def test_layers_of_neumf_are_as_wide_as_its_factors_and_half_as_wide():
    """An embedding of d enters as 2d values; so is the published student, with 5 factors."""
    shapes = [tuple(layer.weight.shape) for layer in built("neumf", n_factors=5).layers[::2]]
    assert built("neumf", n_factors=5).of_user.weight.shape == (5, 5)
    assert shapes == [(2, 5)]
    assert built("neumf", n_factors=1).settings.widths == (1, 1)


def traded(network, factor):
    """The same scores with embeddings times a factor, and what they meet divided by it."""
    changed = copy.deepcopy(network)
    size = network.settings.n_factors
    with torch.no_grad():
        for table in (changed.user_factors, changed.item_factors, changed.user_inputs, changed.item_inputs):
            table *= factor
        changed.output.weight[:, :size] /= factor**2
        for layer in (changed.of_user, changed.of_item):
            layer.weight /= factor
    return changed


def penalty_of(network):
    rows = network._rows(torch.arange(5), torch.arange(5).expand(5, -1))
    return network.penalty(*rows).mean()


def test_no_trade_of_embeddings_for_output_weights_escapes_the_pull_of_neumf():
    """Without a pull on output and layers, the penalty would fall for ever as embeddings shrink."""
    network = built("neumf", l2=0.03, dense_l2=0.01)
    factors = 2.0 ** np.arange(-8, 9)
    for factor in factors:
        assert_allclose(all_pairs(traded(network, factor)), all_pairs(network), rtol=1e-3, atol=1e-4)
    penalties = [float(penalty_of(traded(network, factor)).detach()) for factor in factors]
    lowest = int(np.argmin(penalties))
    assert 2 < lowest < len(factors) - 3
    assert (np.diff(penalties[: lowest + 1]) < 0).all()
    assert (np.diff(penalties[lowest:]) > 0).all()


def test_the_penalty_of_neumf_reaches_every_weight():
    network = built("neumf", l2=0.03, dense_l2=0.01)
    with torch.no_grad():
        network.output.weight[0, :4] = torch.tensor([1.0, 1.5, 0.0, -1.0])
    penalty_of(network).backward()
    weight, gradient = network.output.weight.detach()[0], network.output.weight.grad[0]
    assert_allclose(gradient[:4], 0.03 * (weight[:4] - 1), rtol=1e-5)  # products are pulled towards 1
    assert_allclose(gradient[4:], 0.01 * weight[4:], rtol=1e-5)
    for layer in (network.of_user, network.of_item, *network.layers[::2]):
        assert_allclose(layer.weight.grad, 0.01 * layer.weight.detach(), rtol=1e-5)


@pytest.mark.parametrize("name", ["of_user.bias", "of_item.weight", "layers.0.weight", "user_inputs", "output.weight"])
def test_a_network_that_is_not_a_number_any_more_says_so(name):
    """A rectifier must not turn NaN into 0, in training or in scores."""
    train = simulated().train
    network = make_recommender("neumf", n_factors=4).build(train)
    dict(network.named_parameters())[name].data.fill_(np.nan)
    assert network.score_block(torch.arange(3)).isnan().all()
    with pytest.raises(DivergedError):
        Trainer(network, train).epoch(1)


# --- all: what moves ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bpr", "ubpr", "neumf", "cml", "cdae"])
def test_items_outside_a_batch_do_not_move(name):
    train = simulated().train
    network = built(name, train, batch_size=8, learning_rate=0.1)
    trainer = Trainer(network, train)
    batch = next(iter(trainer.batches.epoch(np.random.default_rng(0))))
    before = {key: table.detach().clone() for key, table in network.named_parameters() if len(table) == train.n_items}
    trainer.step(batch)
    touched = np.concatenate([batch.positives, batch.negatives.ravel()])
    if name == "cdae":
        touched = np.concatenate([touched, *(train.items_of(user) for user in batch.users)])
    others = np.setdiff1d(np.arange(train.n_items), touched)
    assert len(others) > 5
    assert before
    for key, table in before.items():
        assert torch.equal(table[others], dict(network.named_parameters())[key].detach()[others]), key
        assert not torch.equal(table, dict(network.named_parameters())[key].detach()), key
