"""A model of another package: one file with settings, network and class, and one line of registration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from torch import nn

from sureness import _registry
from sureness.models import FactorRecommender, Recommender, Settings, Space, make_recommender, model_names, tune
from sureness.models.networks import Batch, BPRNetwork, Network, new_table
from sureness.saving.objects import load
from tests.models.worlds import QUICK, everyone, simulated


@dataclass(frozen=True, kw_only=True)
class TastesSettings(Settings):
    """Settings of Tastes."""

    boost: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        self.require_number("above 0", "boost")


class TastesNetwork(BPRNetwork):
    """BPR that learns `boost` times as much from each pair."""

    has_fused_step: ClassVar[bool] = False
    settings: TastesSettings

    def loss(self, batch: Batch):
        return self.settings.boost * super().loss(batch)


class Tastes(FactorRecommender, TastesSettings):
    """Products of factors."""

    search_space: ClassVar[Space] = {"boost": (1.0, 2.0)}

    @classmethod
    def network_type(cls):
        return TastesNetwork


class LevelsNetwork(Network):
    """One number for each item."""

    def __init__(self, train, settings):
        super().__init__(train, settings)
        self.levels = new_table(self.n_items, 1, settings.start_scale)

    def score(self, users, items):
        return self.levels[items, 0].expand(len(users), -1)

    def loss(self, batch):
        liked, others = (self.score(self.tensor(batch.users), self.tensor(items).reshape(len(batch.users), -1))
                         for items in (batch.positives, batch.negatives))  # fmt: skip
        return nn.functional.softplus(others - liked)


class Levels(Recommender, Settings):
    """Popularity, learned; has no settings of its own."""

    @classmethod
    def network_type(cls):
        return LevelsNetwork


@pytest.fixture(params=[Tastes, Levels], ids=lambda kind: kind.__name__)
def registered(request, monkeypatch):
    """A model of another package under a name."""
    monkeypatch.setitem(_registry._TABLE, "model", dict(_registry._TABLE["model"]))
    name = request.param.__name__.lower()
    _registry.register("model", name, request.param)
    return name


def test_it_is_made_fitted_saved_and_opened_like_ours(registered, tmp_path):
    split = simulated()
    assert registered in model_names()
    model = make_recommender(registered, **QUICK).fit(split.train, split.validation, checkpoint=tmp_path / "run.ckpt")
    assert model.name == registered
    assert model.history_["loss"][-1] < model.history_["loss"][0]
    model.save(tmp_path / "model.sureness")
    opened = load(tmp_path / "model.sureness", Recommender)
    assert type(opened) is type(model)
    assert_array_equal(everyone(opened), everyone(model))
    assert model.recommend([0], 3, seen=split.train).height == 3


def test_its_settings_are_searched(registered):
    found = tune(registered, simulated(), 3, **QUICK | {"validate_every": 1})
    assert found.trials.height == (3 if registered == "tastes" else 1)  # Levels has no search space
    assert isinstance(found.recommender(), Recommender)


def test_a_model_without_a_name_works_but_cannot_be_saved(tmp_path):
    model = Tastes(**QUICK).fit(simulated().train)
    assert np.isfinite(everyone(model)).all()
    with pytest.raises(ValueError, match="register"):
        model.save(tmp_path / "model.sureness")
