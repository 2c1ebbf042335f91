"""sureness export: two files for a place without sureness."""

from __future__ import annotations

import json

import numpy as np

import sureness as sn
from tests.cli.runner import run, succeed, told


def test_the_folder_gives_the_scores_of_the_run(inputs, tmp_path):
    written = told("export", "run.sureness", "--output", tmp_path / "phone", cwd=inputs)
    source = sn.recommender.open_run(inputs / "run.sureness").source
    arrays, ids = np.load(written["factors"]), json.loads((tmp_path / "phone" / "ids.json").read_text())
    scores = arrays["user_factors"] @ arrays["item_factors"].T + arrays["item_bias"] + arrays["user_bias"][:, None]
    np.testing.assert_allclose(scores, source.score_block(np.arange(source.n_users)), rtol=1e-6, atol=1e-7)
    assert (len(ids["users"]), len(ids["items"])) == (written["users"], written["items"]) == scores.shape


def test_people_are_told_what_was_written(inputs, tmp_path):
    said = succeed("export", "run.sureness", "-o", tmp_path / "phone", cwd=inputs)
    assert "factors.npz" in said
    assert "ids.json" in said


def test_a_calibrator_has_no_factors(inputs, tmp_path):
    done = run("export", "map.json", "-o", tmp_path / "phone", cwd=inputs)
    assert (done.returncode, done.error) == (1, "kind")
    assert not (tmp_path / "phone").exists()
