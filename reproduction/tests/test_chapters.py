"""Chapter 3: the authors' code, whose rows differ in one thing. Chapter 4: the notebook, and budgets that are kept."""

from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest
from numpy.testing import assert_allclose

from reproduction.tests.small import small_log
from sureness.data import by_ratio
from sureness.sources import svd_source
from sureness_reproduction.declarations import find_studies
from sureness_reproduction.distillation.controls import method_settings
from sureness_reproduction.distillation.measures import MASKED, PUBLIC, at_ranks
from sureness_reproduction.distillation.settings import public
from sureness_reproduction.distillation.training import spread_over
from sureness_reproduction.list_size.pages import densest
from sureness_reproduction.list_size.perk import NOTEBOOK, PUBLISHED, fitted_forms
from sureness_reproduction.list_size.runs import Opened
from sureness_reproduction.pages import run_studies
from sureness_reproduction.study import Asked


def made(row, model="bpr"):
    """The settings with which a row is trained at full scale, by name and direction."""
    found = public("full", {"model": model, "methods": [row]})
    settings = asdict(method_settings(found["method"], **spread_over(found["method"], found["tried"][0])))
    sides = {(side, name): value for side in ("to_teacher", "to_student") for name, value in settings.pop(side).items()}
    return sides | {("", name): value for name, value in settings.items()}


@pytest.mark.parametrize(
    ("row", "model", "changed"),
    [
        ("printed sign", "bpr", {"ranked_higher_by"}),
        ("printed sign, uniform negatives", "bpr", {"ranked_higher_by", "reuse"}),
        ("weight 0, drawn negatives", "bpr", {"weight"}),
        ("weight 0, uniform negatives", "bpr", {"weight", "reuse"}),
        ("weight 0, uniform negatives", "cdae", {"weight"}),  # which takes no drawn items as negatives
        ("weight decay kept", "bpr", {"keeps_weight_decay"}),
    ],
)
def test_a_control_differs_from_the_public_code_in_one_thing_and_in_both_directions(row, model, changed):
    one, other = made(row, model), made("bd-public", model)
    differing = [key for key in one if one[key] != other[key]]
    assert {name for _, name in differing} == changed
    assert Counter(side for side, _ in differing)["to_teacher"] == Counter(side for side, _ in differing)["to_student"]


def test_the_public_code_counts_ranks_below_fifty():
    ranks = np.array([1, 49, 50, 51])
    theirs, masked = ({name: values.mean() for name, values in at_ranks(some).items()} for some in (ranks + 1, ranks))
    assert (theirs["hit@50"], masked["hit@50"], masked["hit@100"]) == (0.5, 0.75, 1.0)
    assert theirs["ndcg@50"] == pytest.approx((1 / np.log2(3) + 1 / np.log2(51)) / 4)
    assert masked["ndcg@50"] == pytest.approx((1 + 1 / np.log2(50) + 1 / np.log2(51)) / 4)


@pytest.mark.parametrize("row", ["printed sign, uniform negatives", "cd"])
def test_rows_that_cdae_or_the_public_code_do_not_have_are_left_out(row):
    assert public("full", {"model": "cdae", "methods": [row]}) is None


def test_rows_can_be_chosen_and_share_the_models_trained_alone(tmp_path, small_store):
    asked = Asked(seeds=1, model=("bpr",), method=("bd-public", "weight decay kept"))
    (results,) = run_studies(find_studies(["authors-code"]), asked, small_store, tmp_path)
    assert set(results.summary["method"]) == {"bd-public", "weight decay kept"}
    assert set(results.summary["counting"]) == {PUBLIC, MASKED}
    trained = Counter(folder.name.split("-")[0] for folder in small_store.folder.iterdir())
    assert (trained["alone"], trained["distilled"], trained["counted"]) == (2, 2, 2)


@pytest.mark.parametrize("model", ["bpr", "cdae"])
def test_the_public_code_looks_at_no_validation_data(model):
    found = public("full", {"model": model, "methods": ["alone"]})
    assert found["start"] == "public"
    assert {each["adam"] for tried in found["bases"].values() for each in tried} == {"dense"}


@pytest.fixture(scope="module")
def opened_log():
    split = by_ratio(small_log(exposure_rate=0.4))
    return Opened(svd_source(split.train, n_factors=4), split)


def test_the_notebook_spreads_the_validation_items_over_the_candidates(opened_log):
    plain, notebook = fitted_forms(opened_log, [PUBLISHED, NOTEBOOK], 20)
    assert plain.recommender is notebook.recommender  # one fit serves both
    factor = notebook.lists.probabilities / plain.lists.probabilities
    free = (notebook.lists.probabilities < 1).all(axis=1)
    assert free.sum() > 50
    assert_allclose(factor[free].max(axis=1), factor[free].min(axis=1))
    recommender, validation = plain.recommender, opened_log.split.validation
    scores = opened_log.source.score_block(np.arange(90))
    users = np.repeat(np.arange(90), scores.shape[1])
    every = recommender.map_.probability(scores.ravel(), users=users).reshape(scores.shape)
    gone = np.array([every[user, validation.items_of(user)].sum() for user in range(90)])
    left = every.sum(axis=1) - np.array([every[user, opened_log.seen.items_of(user)].sum() for user in range(90)])
    assert_allclose(factor[free][:, 0], (1 + gone / left)[free], rtol=1e-6)
    assert (notebook.lists.probabilities <= 1).all()


def test_the_densest_items_leave_no_better_one_out():
    rng = np.random.default_rng(0)
    gains, costs = rng.random((30, 8)), rng.lognormal(size=(30, 8))
    chosen = densest(gains, costs, budget=40.0)
    assert 40.0 - costs.max() < costs[chosen].sum() <= 40.0
    assert (gains / costs)[chosen].min() >= np.sort((gains / costs)[~chosen])[-1]
