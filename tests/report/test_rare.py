"""A report about rare events: a base rate of 0.1%, where lists promise too much and a mean over all pairs hides it."""

import re

import numpy as np
import pytest
from scipy.special import expit

from sureness.calibration.nonparametric import SigmoidCalibrator
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import SurenessWarning
from sureness.report import Additions, draw_bands, draw_fitted_curves, gather_contents, write_report
from sureness.report.methods import PLAIN_NAMES, best_of_columns

N_USERS, N_ITEMS = 1_500, 200


class Overconfident(SigmoidCalibrator):
    """Right for nearly all pairs; promises too much for the most likely ones."""

    learns_from_labels = True

    def _probability(self, scores):
        p = super()._probability(scores)
        return np.where(p > 0.01, np.minimum(1.8 * p, 1.0), p)


class Constant(SigmoidCalibrator):
    """Promises half a percent for every pair."""

    learns_from_labels = True

    def _probability(self, scores):
        return np.full(len(scores), 0.005)


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(3)
    scores = rng.normal(-9.2, 2.15, N_USERS * N_ITEMS)
    labels = rng.random(len(scores)) < expit(scores)
    users, items = np.divmod(np.arange(len(scores)), N_ITEMS)
    return ScoredPairs.of(scores, labels, users=users, items=items)


@pytest.fixture(scope="module")
def calibrators(pairs):
    return {
        "curve": Overconfident().fit(pairs.scores, pairs.labels),
        "sigmoid": SigmoidCalibrator().fit(pairs.scores, pairs.labels),
    }


@pytest.fixture(scope="module")
def contents(pairs, calibrators):
    return gather_contents(pairs, calibrators, additions=Additions(outcome="bought"), n_resamples=20)


def test_the_data_are_rare_and_the_mean_error_flatters(contents, pairs):
    assert 0.0008 < pairs.labels.mean() < 0.0015
    assert contents.main.ece.value < 0.001


def test_the_headline_says_that_the_top_promised_too_much(contents, pairs, calibrators):
    top = np.argsort(-pairs.scores.reshape(N_USERS, N_ITEMS), axis=1)[:, :10]
    p = calibrators["curve"].probability(pairs.scores).reshape(N_USERS, N_ITEMS)
    promised = np.take_along_axis(p, top, axis=1).mean()
    came = np.take_along_axis(pairs.labels.reshape(N_USERS, N_ITEMS), top, axis=1).mean()
    assert f"promised {promised:.1%}; {came:.1%} were bought" in contents.headline.sentence
    assert contents.promise.main.ratio.high < 1
    assert "too much is promised" in contents.headline.detail
    assert contents.promise.lift == pytest.approx(came / pairs.labels.mean())
    assert f"{contents.promise.lift:.3g} times the {100 * pairs.labels.mean():.2g}%" in contents.headline.detail


def test_probabilities_that_are_right_keep_their_promise(contents, pairs, calibrators):
    right = gather_contents(pairs, {"right": calibrators["sigmoid"]}, n_resamples=2)
    assert right.promise.main.ratio.low < 1 < right.promise.main.ratio.high
    assert "too much" not in right.headline.detail
    assert right.promise.gain > 0


def test_a_method_that_is_worse_than_a_simple_baseline_is_called_so(pairs):
    with pytest.warns(SurenessWarning, match="the same probability"):
        constant = {"constant": Constant().fit([0.0, 1.0], [0, 1])}
    found = gather_contents(pairs, constant, n_resamples=2)
    assert found.promise.gain < 0
    assert "higher than that of the best simple baseline" in found.headline.detail


def test_the_best_simple_baseline_is_named_and_knows_the_ranks(contents):
    assert contents.promise.baseline.name == "one rate for each rank"
    names = [row.name for row in contents.promise.methods]
    assert names == ["curve", "sigmoid", "one rate for all pairs", "one rate for each rank"]
    assert contents.promise.methods[2].ratio.low > 5  # the base rate promises far too little at the top
    assert contents.promise.baseline.ratio.low < 1 < contents.promise.baseline.ratio.high
    assert "one rate for each rank" in contents.headline.detail


def test_diagrams_fit_the_data(contents):
    assert contents.rare
    assert contents.diagrams == {}
    for bands in contents.bands.values():
        assert len(bands.names) >= 8
        right, top = draw_bands(bands).get_xlim()[1], bands.promised.max()
        assert right < 3 * top
    axes = draw_fitted_curves(contents.drawn, contents.pairs.scores)
    assert axes.get_ylim()[1] < 2 * axes.lines[0].get_ydata().max()


def test_the_page_has_no_empty_numbers_and_no_negatives(pairs, calibrators, tmp_path):
    write_report(tmp_path / "page.html", pairs, calibrators, additions=Additions(outcome="bought"), n_resamples=2)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    text = re.sub(r"<[^>]*>", " ", page[page.index("<body>") :])
    assert "ECE 0.0000" not in text
    assert "not bought" in text
    assert not re.search(r"\b(negatives?|positives?)\b", text.replace("negative log-likelihood", ""))
    assert not re.search(r"\b(nan|None)\b", text)


def test_the_contents_lead_to_every_section_with_a_heading(pairs, calibrators, tmp_path):
    write_report(tmp_path / "page.html", pairs, calibrators, n_resamples=2)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    listed = re.findall(r'<li><a href="#([^"]+)">', page)
    assert listed[0] == "promise"
    assert len(listed) == page.count("<h2>") >= 6
    assert all(f'<section id="{place}">' in page for place in listed)


def test_every_column_of_the_methods_has_a_plain_name(contents):
    assert set(best_of_columns(contents.methods)) == set(PLAIN_NAMES)
