"""A report takes any map: for lists, for all pairs, per segment and per user."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness.calibration.maps import Segments
from sureness.errors import ColumnError, SettingError
from sureness.metrics import expected_calibration_error
from sureness.report import Background, gather_contents, write_report


@pytest.fixture(scope="module")
def split():
    world = sn.simulate(sn.SimulatorSettings(n_users=300, n_items=80, exposure_rate=0.4, seed=1))
    return sn.by_ratio(sn.Interactions.from_matrix(world.train + world.held_out), seed=0)


@pytest.fixture(scope="module")
def source(split):
    return sn.svd_source(split.train, n_factors=4)


@pytest.fixture(scope="module")
def pairs(split, source):
    return sn.CalibrationSet.from_source(source, split.test, seen=split.train).gather()


@pytest.fixture(scope="module")
def segments(pairs):
    """Even and odd items."""
    return np.where(np.asarray(pairs.items) % 2 == 0, "even", "odd")


@pytest.fixture(scope="module")
def maps(split, source):
    of_items = Segments(np.where(np.arange(80) % 2 == 0, "even", "odd"))
    unfitted = {
        "user": sn.calibration.PerUserPlatt(),
        "segment": sn.SegmentCalibrator(),
        "all": sn.PlattCalibrator(),
    }
    return {
        name: each.fit_source(source, split.validation, seen=split.train, segments=of_items)
        for name, each in unfitted.items()
    }


@pytest.mark.parametrize("name", ["user", "segment", "all"])
def test_every_map_is_judged_for_its_users_and_segments(name, maps, pairs, segments):
    contents = gather_contents(pairs, {name: maps[name]}, background=Background(segments=segments), n_resamples=2)
    promised = maps[name].probability(pairs.scores, users=pairs.users, segments=segments)
    assert_allclose(contents.main.ece.value, expected_calibration_error(pairs.labels, promised))
    chosen = contents.cases[0]
    rows = np.flatnonzero(np.asarray(pairs.users).astype(str) == chosen.user)
    first = rows[np.argmax(pairs.scores[rows])]
    assert_allclose(chosen.items[0]["probability"], promised[first])


@pytest.fixture(scope="module")
def of_lists(split, source):
    return sn.ListCalibrator().fit_source(source, split.validation, seen=split.train)


def test_a_map_for_lists_is_judged_on_whole_users(of_lists, split, pairs):
    history = split.train.user_degree[np.asarray(pairs.users)]
    known = Background(fields={"history": history})
    contents = gather_contents(pairs, {"lists": of_lists}, background=known, n_resamples=2)
    promised = of_lists.probability(pairs.scores, groups=pairs.users, history=history)
    assert_allclose(contents.main.ece.value, expected_calibration_error(pairs.labels, promised))
    assert_allclose(promised.sum(), pairs.labels.sum(), rtol=0.25)
    chosen = contents.cases[0]
    rows = np.flatnonzero(np.asarray(pairs.users).astype(str) == chosen.user)
    assert_allclose(chosen.items[0]["probability"], promised[rows].max())
    assert list(contents.drawn) == ["lists"]


def test_a_map_for_lists_needs_users_and_histories(of_lists, pairs):
    with pytest.raises(ColumnError, match="history"):
        gather_contents(pairs, {"lists": of_lists}, n_resamples=2)
    anonymous = sn.data.ScoredPairs.of(pairs.scores, pairs.labels)
    with pytest.raises(SettingError, match="users"):
        gather_contents(anonymous, {"lists": of_lists}, n_resamples=2)


def test_one_page_compares_maps_of_all_kinds(maps, pairs, segments, tmp_path):
    summary = write_report(tmp_path / "page.html", pairs, maps, background=Background(segments=segments), n_resamples=2)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert set(summary.ece) == set(maps)
    assert "score, user_id" in page  # what maps read
    assert "score, segment" in page


def test_a_map_that_lacks_users_or_segments_is_refused(maps, pairs):
    with pytest.raises(SettingError, match="segments"):
        gather_contents(pairs, {"segment": maps["segment"]}, n_resamples=2)
    anonymous = sn.data.ScoredPairs.of(pairs.scores, pairs.labels)
    with pytest.raises(SettingError, match="users"):
        gather_contents(anonymous, {"user": maps["user"]}, n_resamples=2)
