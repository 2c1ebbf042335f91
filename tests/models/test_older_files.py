"""Models saved before their classes had all of today's settings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from numpy.testing import assert_array_equal

import sureness as sn
from sureness.models.catalogue import make_recommender
from sureness.saving.objects import write_packed
from tests.models.worlds import QUICK, everyone, simulated

OLDER = {  # what these models were before, and the settings that they did not have
    "neumf": ({"layer_widths": (7, 3)}, ("dense_l2",)),
    "lightgcn": ({}, ("divided_by",)),
    "cdae": ({"deep": True, "history": "root"}, ("deep", "history")),
}


@pytest.mark.parametrize("name", OLDER)
def test_a_file_without_newer_settings_scores_as_before(name, tmp_path):
    settings, unknown = OLDER[name]
    model = make_recommender(name, **QUICK, **settings).fit(simulated().train)
    packed = model.pack()
    assert set(unknown) <= set(packed.settings)
    known = {key: value for key, value in packed.settings.items() if key not in unknown}
    write_packed(replace(packed, settings=known), tmp_path / "older.sureness", "file")
    opened = sn.load(tmp_path / "older.sureness")
    assert_array_equal(everyone(opened), everyone(model))
    assert opened.get_params() == model.get_params()
