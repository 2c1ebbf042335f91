"""The declared grid: equal numbers of settings for the compared methods, all of them valid."""

from __future__ import annotations

import pytest

from sureness.distillation import distillation_method
from sureness.models import make_recommender
from sureness_reproduction.distillation.declared import (
    BASES,
    COMPARED,
    GRIDS,
    QUICK_BASES,
    STARTS,
    bases,
    grids,
    pair,
    sized_pair,
    versus_cd_pair,
)
from sureness_reproduction.distillation.works import spread_over

MODELS = ("bpr", "neumf", "cdae")
SIZES = {("strong", "bpr"): 11, ("published", "bpr"): 6}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("model", MODELS)
def test_compared_methods_have_equal_numbers_of_settings_over_the_same_ranges(start, model):
    tried = GRIDS[start, model]
    for name in COMPARED:
        assert len(tried[name]) == SIZES.get((start, model), 3) <= 12
        assert all(tried[name].count(each) == 1 for each in tried[name])
        assert {each["weight"] for each in tried[name]} == {0.1, 0.5, 1.0}
    for setting in ("weight", "items", "temperature"):
        values = [{each[setting] for each in tried[name]} for name in ("bd", "cd")]
        assert max(values[0]) >= max(values[1])
        assert min(values[0]) <= min(values[1])
    quick = grids("quick", start, model)
    assert len({len(quick[name]) for name in COMPARED}) == 1


@pytest.mark.parametrize("scale", ["quick", "full"])
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("model", MODELS)
def test_all_settings_are_valid(scale, start, model):
    for method, tried in grids(scale, start, model).items():
        for changes in tried:
            distillation_method(method, **spread_over(method, changes), **pair(scale, start, model).schedule)
    for role, factors in (("teacher", 50), ("student", 5)):
        for settings in bases(scale, start, model, role):
            assert make_recommender(model, **settings).settings.n_factors == factors


def test_every_start_model_and_role_has_bases():
    assert set(BASES) == set(QUICK_BASES) == {(s, m, r) for s in STARTS for m in MODELS for r in ("teacher", "student")}


def test_other_sizes_keep_everything_else():
    medium = sized_pair("full", "published", "bpr", 50, 25)
    assert {each["n_factors"] for each in medium.student} == {25}
    assert [each | {"n_factors": 50} for each in medium.student] == medium.teacher
    assert sized_pair("full", "published", "bpr", 50, 5).about == pair("full", "published", "bpr").about
    neumf = sized_pair("full", "published", "neumf", 50, 25)
    assert neumf.student[0]["layer_widths"] == [25, 12]


def test_twins_begin_with_different_seeds():
    twins = sized_pair("full", "published", "bpr", 50, 50)
    assert twins.alone("teacher", 1)["seed"] == 1
    assert twins.alone("student", 1)["seed"] == 1_001
    assert pair("full", "published", "bpr").alone("student", 1)["seed"] == 1


def test_the_comparison_with_cd_has_equal_numbers_and_no_rd():
    for scale in ("quick", "full"):
        found = versus_cd_pair(scale, "ml-100k").grids
        assert set(found) == {"bd", "cd"}
        assert len(found["bd"]) == len(found["cd"])
