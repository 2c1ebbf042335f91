"""What must hold for every learned cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn.base import clone

from reproduction.tests.truncation.worlds import POLICIES, QUICK, made_up
from sureness.errors import DataError, DivergedError, EmptyError, NotFittedError
from sureness.lists import Lists
from sureness.metrics import Utility, at_sizes, utility_at_every_size
from sureness.saving import load
from sureness_reproduction.truncation import AttnCut, MtCut

every = pytest.mark.parametrize("policy_type", POLICIES, ids=lambda kind: kind.__name__)


def quick(policy_type, **changes):
    return policy_type(**(QUICK | changes))


# --- learning ------------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("utility", ["f1", "pdcg"])
def test_lists_whose_scores_show_their_length_are_cut_better_than_at_any_fixed_size(policy_type, utility):
    policy = quick(policy_type, utility=utility, epochs=6).fit(made_up(500, seed=1))
    unseen = made_up(400, seed=2)
    values = utility_at_every_size(unseen.hits, unseen.n_relevant, utility)
    fixed, best = values.mean(axis=0).max(), values.max(axis=1).mean()
    learned = at_sizes(values, policy.sizes(unseen)).mean()
    assert learned > fixed + 0.5 * (best - fixed)


@every
def test_a_seed_gives_the_same_network_and_another_an_other(policy_type):
    lists = made_up(100)
    first, again, other = (quick(policy_type, seed=seed).fit(lists) for seed in (3, 3, 4))
    assert_array_equal(first.sizes(lists), again.sizes(lists))
    assert first.history_.drop("seconds").equals(again.history_.drop("seconds"))
    for name, tensor in first.network_.state_dict().items():
        assert torch.equal(tensor, again.network_.state_dict()[name])
    assert not first.history_["loss"].equals(other.history_["loss"])


def test_fitting_leaves_the_random_numbers_and_threads_of_torch_alone():
    torch.manual_seed(5)
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    policy = quick(AttnCut).fit(made_up(40))
    policy.sizes(made_up(40))
    policy.restore(policy.state())
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.get_num_threads() == threads


@every
def test_fitting_again_forgets_what_was_learned(policy_type):
    lists = made_up(60)
    once, twice = quick(policy_type).fit(lists), quick(policy_type).fit(made_up(50, seed=9)).fit(lists)
    assert once.history_.drop("seconds").equals(twice.history_.drop("seconds"))
    assert_array_equal(once.sizes(lists), twice.sizes(lists))


def test_the_epoch_that_is_best_for_the_users_held_out_is_kept():
    lists = made_up(150)
    policy = quick(AttnCut, learning_rate=0.05, epochs=12, patience=3).fit(lists)
    found = policy.history_["utility"]
    assert policy.best_epoch_ == found.arg_max() + 1
    assert policy.best_utility_ == found.max()
    assert policy.history_.height == min(policy.best_epoch_ + 3, 12)
    shorter = clone(policy).set_params(epochs=policy.best_epoch_).fit(lists)
    for name, tensor in shorter.network_.state_dict().items():
        assert torch.equal(tensor, policy.network_.state_dict()[name])


def test_the_users_held_out_are_judged_but_not_learned_from():
    lists = made_up(100)
    policy = quick(AttnCut, epochs=1)
    learned, held_out = policy._split(lists)
    assert (learned.n_users, held_out.n_users) == (80, 20)
    assert sorted([*learned.users, *held_out.users]) == list(range(100))
    policy.fit(lists)
    values = utility_at_every_size(held_out.hits, held_out.n_relevant, "f1")
    assert policy.best_utility_ == pytest.approx(at_sizes(values, policy.sizes(held_out)).mean(), rel=1e-12)
    turned = np.array(lists.hits)
    turned[held_out.users] = ~turned[held_out.users]
    other = clone(policy).fit(Lists.of(scores=lists.scores, hits=turned, n_relevant=np.full(100, 12)))
    same = clone(policy).fit(Lists.of(scores=lists.scores, hits=lists.hits, n_relevant=np.full(100, 12)))
    assert same.history_["loss"].equals(other.history_["loss"])
    assert same.best_utility_ != other.best_utility_


def test_users_without_a_relevant_item_or_without_candidates_are_left_out():
    lists = made_up(60)
    hits, lengths, n_relevant = np.array(lists.hits), np.array(lists.lengths), np.array(lists.n_relevant)
    hits[:10], n_relevant[:10], lengths[10:15] = False, 0, 0
    hits[10:15] = False
    some = Lists.of(scores=lists.scores, hits=hits, n_relevant=n_relevant, lengths=lengths)
    policy = quick(AttnCut)
    learned, held_out = policy._split(some)
    assert sorted([*learned.users, *held_out.users]) == list(range(15, 60))
    assert policy.fit(some).sizes(some)[10:15].tolist() == [0] * 5


def test_progress_is_reported_after_every_epoch():
    reports = []
    quick(AttnCut, epochs=3, patience=3).fit(made_up(40), progress=lambda *step: reports.append(step))
    assert [(done, total) for _, done, total in reports] == [(1, 3), (2, 3), (3, 3)]
    assert reports[0][0].startswith("epoch 1 loss ")


def test_a_learning_rate_that_explodes_is_reported():
    with pytest.raises(DivergedError, match="learning rate"):
        quick(AttnCut, learning_rate=1e38).fit(made_up(100))


def test_a_utility_of_ones_own_is_learned():
    mine = Utility("mine", gain=1.0, loss=4.0)  # an irrelevant item is worse than four relevant ones
    lists = made_up(200)
    careful = quick(AttnCut, utility=mine, epochs=5, tau=1.0).fit(lists).sizes(lists)
    greedy = quick(AttnCut, utility=Utility("more", gain=1.0), epochs=5, tau=1.0).fit(lists).sizes(lists)
    assert careful.mean() < greedy.mean()


# --- shapes --------------------------------------------------------------------------------------------------------


@every
def test_lists_of_one_item_are_shown_whole(policy_type):
    lists = Lists.of(scores=np.random.default_rng(0).normal(size=(20, 1)), hits=np.ones((20, 1), dtype=bool))
    policy = quick(policy_type).fit(lists)
    assert policy.sizes(lists).tolist() == [1] * 20
    assert (policy.best_epoch_, policy.history_.height) == (1, 2)  # of equal epochs the first is kept


@every
def test_no_list_is_longer_than_its_candidates_or_the_bounds(policy_type):
    lists = made_up(80, width=9)
    lengths = np.random.default_rng(1).integers(0, 10, size=80)
    some = Lists.of(scores=lists.scores, hits=lists.hits, n_relevant=lists.n_relevant, lengths=lengths)
    policy = quick(policy_type, min_size=3, max_size=6).fit(some)
    sizes = policy.sizes(some)
    assert (sizes <= np.minimum(lengths, 6)).all()
    assert (sizes >= np.minimum(lengths, 3)).all()


@every
def test_only_the_first_max_size_ranks_are_looked_at(policy_type):
    wide = made_up(60, width=12)
    narrow = Lists.of(scores=wide.scores[:, :5], hits=wide.hits[:, :5], n_relevant=wide.n_relevant)
    policy, same = (quick(policy_type, max_size=5).fit(lists) for lists in (wide, narrow))
    assert policy.history_.drop("seconds").equals(same.history_.drop("seconds"))
    assert_array_equal(policy.sizes(wide), same.sizes(narrow))
    assert policy.sizes(wide).max() <= 5


def test_sizes_that_were_never_learned_are_never_chosen():
    policy = quick(AttnCut, utility="dcg").fit(made_up(60, width=4))  # the more the better
    assert policy.sizes(made_up(30, width=12)).max() == 4
    assert policy.sizes(made_up(30, width=2)).max() == 2


def test_values_behind_the_end_of_a_list_do_not_count():
    lists = made_up(60, width=6)
    lengths = np.where(np.arange(60) % 2, 6, 3)
    behind = np.arange(6) >= lengths[:, None]
    given = {"n_relevant": np.full(60, 8), "lengths": lengths}
    plain = Lists.of(scores=np.where(behind, -np.inf, lists.scores), hits=lists.hits & ~behind, **given)
    odd = Lists.of(scores=np.where(behind, np.nan, lists.scores), hits=lists.hits | behind, **given)
    policy, other = quick(AttnCut).fit(plain), quick(AttnCut).fit(odd)
    assert policy.history_.drop("seconds").equals(other.history_.drop("seconds"))
    assert_array_equal(policy.sizes(plain), other.sizes(odd))


def test_no_users_get_no_sizes():
    lists = made_up(20)
    policy = quick(AttnCut).fit(lists)
    nobody = policy.sizes(lists.take(np.arange(0)))
    assert nobody.shape == (0,)
    assert nobody.dtype == np.int64


# --- what is refused -----------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_no_numbers_are_refused(policy_type, bad):
    lists = made_up(30)
    policy = quick(policy_type, epochs=1).fit(lists)
    scores = np.array(lists.scores)
    scores[7, 3] = bad
    spoilt = Lists.of(scores=scores, hits=lists.hits, n_relevant=lists.n_relevant)
    with pytest.raises(DataError, match="scores"):
        policy.sizes(spoilt)
    with pytest.raises(DataError, match="scores"):
        policy.fit(spoilt)


@pytest.mark.parametrize("n_positive", [0, 1])
def test_lists_without_two_users_to_learn_from_are_refused(n_positive):
    hits = np.zeros((10, 4), dtype=bool)
    hits[:n_positive, 0] = True
    with pytest.raises(EmptyError, match=f"got {n_positive} of 10"):
        quick(AttnCut).fit(Lists.of(scores=np.zeros((10, 4)), hits=hits))


def test_two_users_are_enough():
    lists = Lists.of(scores=[[1.0, 0.5], [0.5, 0.1]], hits=[[True, False], [True, True]])
    assert quick(AttnCut, selection_share=0.01).fit(lists).sizes(lists).shape == (2,)


def test_what_is_missing_is_named():
    hits = np.ones((5, 3), dtype=bool)
    with pytest.raises(DataError, match="needs the scores"):
        quick(AttnCut).fit(Lists.of(hits=hits))
    with pytest.raises(DataError, match="needs the n_relevant"):
        quick(AttnCut).fit(Lists.of(scores=np.zeros((5, 3))))
    with pytest.raises(NotFittedError, match="AttnCut"):
        quick(AttnCut).sizes(made_up(5))


@pytest.mark.parametrize(
    "settings",
    [
        {"n_factors": 0}, {"n_factors": 7}, {"n_factors": 8, "heads": 3}, {"layers": 1.5}, {"heads": True},
        {"dropout": 1.0}, {"tau": 0.0}, {"tau": np.nan}, {"learning_rate": -1}, {"weight_decay": -1e-9},
        {"batch_size": 0}, {"epochs": 0}, {"patience": "5"}, {"selection_share": 1.0}, {"seed": -1}, {"threads": 0},
        {"selection_share": "half"}, {"max_size": 0}, {"min_size": 9, "max_size": 8},
        {"experts": 0}, {"relevance_weight": -1.0}, {"rerank_weight": np.inf}, {"variant": "private"},
    ],
    ids=str,
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused_by_name(settings):
    with pytest.raises(DataError, match=next(iter(settings))):
        MtCut(**settings).fit(made_up(10))


@every
def test_numbers_of_numpy_are_as_good_as_plain_ones(policy_type):
    lists, settings = made_up(30), QUICK | {"batch_size": 16, "patience": 1, "dropout": 0.5, "max_size": 5, "heads": 2}
    plain = policy_type(**settings).fit(lists)
    other = policy_type(**{name: np.array(value)[()] for name, value in settings.items()}).fit(lists)
    assert plain.history_.drop("seconds").equals(other.history_.drop("seconds"))


def test_an_unknown_utility_is_refused():
    with pytest.raises(DataError, match="utility"):
        AttnCut("joy").fit(made_up(10))


# --- manners -------------------------------------------------------------------------------------------------------


@every
def test_settings_are_kept_printed_and_cloned(policy_type):
    policy = policy_type("ndcg", layers=2, seed=7)
    assert repr(policy) == f"{policy_type.__name__}(utility='ndcg', layers=2, seed=7)"
    assert clone(policy).get_params() == policy.get_params()
    assert repr(policy_type()) == f"{policy_type.__name__}()"


def test_both_take_the_same_settings_with_the_same_defaults():
    attn, mt = (policy_type().get_params() for policy_type in POLICIES)
    assert attn.items() <= mt.items()
    assert mt.keys() - attn.keys() == {"experts", "relevance_weight", "rerank_weight", "variant"}


@every
def test_what_was_learned_goes_through_arrays_and_back(policy_type):
    lists = made_up(80)
    policy = quick(policy_type, layers=2, heads=2).fit(lists)
    state = policy.state()
    assert all(isinstance(value, np.ndarray | float | int) for value in state.values())
    restored = clone(policy)
    restored.restore(state)
    unseen = made_up(50, seed=8)
    assert_array_equal(restored.sizes(unseen), policy.sizes(unseen))
    assert restored.history_.equals(policy.history_)
    assert (restored.best_epoch_, restored.best_utility_) == (policy.best_epoch_, policy.best_utility_)
    for array in state.values():  # what was given away is a copy
        if isinstance(array, np.ndarray) and array.flags.writeable:
            array[...] = 0
    assert_array_equal(restored.sizes(unseen), policy.sizes(unseen))


# --- variants -------------------------------------------------------------------------------------------------------


def with_features(lists, seed=0):
    """Lists whose scores say nothing, while a feature says how many relevant items there are."""
    told = np.repeat(np.asarray(lists.n_relevant, float)[:, None, None], lists.width, axis=1)
    noise = np.random.default_rng(seed).normal(size=(lists.n_users, lists.width, 2))
    return replace(lists, scores=np.zeros_like(lists.scores), features=np.concatenate([told, noise], axis=2))


@every
def test_features_tell_what_scores_do_not(policy_type):
    lists, unseen = with_features(made_up(300)), with_features(made_up(200, seed=5), seed=1)
    found = {}
    for features in (False, True):
        policy = quick(policy_type, features=features, epochs=12, patience=12).fit(lists)
        values = utility_at_every_size(unseen.hits, unseen.n_relevant, "f1")
        found[features] = at_sizes(values, policy.sizes(unseen)).mean()
    assert found[True] > found[False] + 0.03
    restored = clone(policy)
    restored.restore(policy.state())
    assert_array_equal(restored.sizes(unseen), policy.sizes(unseen))
    with pytest.raises(DataError, match="features"):
        policy.sizes(made_up(5))


def test_the_public_variant_learns_and_comes_back_from_a_file(tmp_path):
    lists, unseen = made_up(300), made_up(200, seed=5)
    policy = quick(MtCut, variant="public", tau=0.85, epochs=15, patience=15).fit(lists)
    values = utility_at_every_size(unseen.hits, unseen.n_relevant, "f1")
    best_of_all = values.mean(axis=0).max()
    assert at_sizes(values, policy.sizes(unseen)).mean() > best_of_all
    policy.save(tmp_path / "cut.sureness")
    assert_array_equal(load(tmp_path / "cut.sureness").sizes(unseen), policy.sizes(unseen))
