"""Cut-offs for retrieval: what they state is what comes, and they say how little was judged."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from benchmarks.any_score import Asked, cutoffs, heuristics, mean_f1, retrieved
from sureness.errors import DataError, NotFittedError, SettingError
from sureness.lists.retrieval import Cutoff, ratio_interval

POPULATION = retrieved(600, 10**6)


def fitted(n_queries: int = 50, calibrator=None, seed: int = 0) -> sn.RetrievalCutoff:
    scores, relevant, groups = retrieved(n_queries, seed).flat
    return sn.RetrievalCutoff(calibrator).fit(scores, relevant, groups=groups)


def test_what_is_stated_comes_for_other_queries():
    """The whole, with 200 repetitions of each: benchmarks/RESULTS-any-score.md."""
    asked = Asked("precision", 0.5), Asked("recall", 0.8)
    found = cutoffs(50, 15, POPULATION, (*asked, Asked("precision", 0.5, sure=True)))
    for each in asked:
        assert sum(run.low <= run.true <= run.high for run in found[each]) >= 11
        assert sum(run.low <= each.value <= run.high for run in found[each]) >= 14
        assert abs(np.mean([run.true for run in found[each]]) - each.value) < 0.05
    plain, sure = (
        np.array([run.true for run in found[each]]) for each in (asked[0], Asked("precision", 0.5, sure=True))
    )
    assert (sure >= 0.5).mean() >= 0.85 > (plain >= 0.5).mean()


def test_expected_utility_is_as_good_as_the_best_fixed_length_and_better_than_usual_heuristics():
    judged = retrieved(100, 3)
    scores, _, groups = POPULATION.flat
    kept = fitted(100, seed=3).keep_best(scores, groups=groups).reshape(POPULATION.scores.shape)
    own = mean_f1(kept, POPULATION.relevant)
    for name, cut in heuristics(judged).items():
        assert own > mean_f1(cut(POPULATION.scores), POPULATION.relevant) - (0.01 if "k" in name else -0.01), name


def test_candidates_may_come_in_any_order():
    found, order = fitted(), np.random.default_rng(0).permutation(600)
    scores, groups = POPULATION.scores[:20].ravel(), np.repeat(np.arange(20), 30)
    kept = found.keep_best(scores, groups=groups)
    assert np.array_equal(found.keep_best(scores[order], groups=groups[order]), kept[order])
    sizes = np.bincount(groups[kept], minlength=20)
    falling = np.sort(scores.reshape(20, 30), axis=1)[:, ::-1]
    assert all(scores[(groups == q) & kept].min() == falling[q, n - 1] for q, n in enumerate(sizes) if n)


def test_one_raw_cut_off_serves_an_index():
    found = fitted(100, sn.PlattCalibrator(scores_are="scores"))
    cutoff = found.cutoff(recall=0.8)
    assert_allclose(found.probability([cutoff.score], groups=["new"]), cutoff.probability, atol=1e-9)
    scores, _, groups = POPULATION.flat
    kept = found.keep(scores, groups=groups, cutoff=cutoff)
    assert np.array_equal(kept, scores >= scores[kept].min())
    assert fitted().cutoff(recall=0.8).score is None


def test_maps_with_certain_probabilities_and_groups_of_one_have_intervals_too():
    found = fitted(60, sn.IsotonicCalibrator())
    table = found.interval(POPULATION.scores[:3].ravel(), groups=np.repeat(np.arange(3), 30))
    assert table.select(pl.all().is_between(0, 1).all()).row(0) == (True, True, True)
    assert found.cutoff(recall=0.6).score is not None
    rng = np.random.default_rng(0)
    scores = rng.normal(size=300)
    alone = sn.RetrievalCutoff().fit(scores, rng.random(300) < 1 / (1 + np.exp(-scores)), groups=np.arange(300))
    assert alone.cutoff(precision=0.6).n_queries == 300


def test_it_says_how_little_was_judged():
    few, many = fitted(30).cutoff(recall=0.5), fitted(400).cutoff(recall=0.5)
    assert many.recall.high - many.recall.low < (few.recall.high - few.recall.low) / 2
    assert "from 30 queries with" in str(few)
    assert isinstance(few, Cutoff)
    scores, _, groups = POPULATION.flat
    found = {n: fitted(n).interval(scores, groups=groups) for n in (30, 400)}
    width = {n: (each["high"] - each["low"]).mean() for n, each in found.items()}
    assert width[400] < width[30] / 2


def test_an_interval_counts_queries_not_candidates():
    each = ratio_interval(np.ones(40, dtype=int), np.full(40, 2), 0.9)
    rng = np.random.default_rng(0)
    independent = ratio_interval(rng.binomial(20, 0.5, 40), np.full(40, 20), 0.9)
    together = ratio_interval(20 * rng.binomial(1, 0.5, 40), np.full(40, 20), 0.9)
    assert together.high - together.low > 3 * (independent.high - independent.low)
    assert each.low < 0.5 < each.high
    assert ratio_interval(np.zeros(30, dtype=int), np.full(30, 5), 0.9).high > 0.05
    assert ratio_interval(np.full(30, 5), np.full(30, 5), 0.9).low < 0.95
    assert ratio_interval(np.zeros(3, dtype=int), np.zeros(3, dtype=int), 0.9).high == 1.0


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: sn.RetrievalCutoff().fit([1, 2], [0, 1], groups=[1, 2]), "at least 10 judged queries, got 2;"),
        (lambda: sn.RetrievalCutoff().cutoff(recall=0.5), "not fitted yet"),
        (lambda: sn.RetrievalCutoff(level=1.5).fit([1, 2], [0, 1], groups=[1, 2]), "level must lie strictly"),
        (lambda: fitted(calibrator="platt"), "calibrator must be ListCalibrator"),
        (lambda: fitted(calibrator=sn.calibration.HistogramCalibrator()).cutoff(recall=0.5), "has steps or may fall"),
        (lambda: sn.RetrievalCutoff().fit(*np.zeros((2, 40)), groups=np.arange(40) // 2), "positives and negatives"),
        (lambda: fitted().cutoff(), "either precision= or recall="),
        (lambda: fitted().cutoff(precision=0.5, recall=0.5), "either precision= or recall="),
        (lambda: fitted().cutoff(precision=1.0), "precision must lie strictly between 0 and 1"),
        (lambda: fitted().cutoff(precision=0.999), "no cut-off has precision 0.999: the precision is never as high"),
        (lambda: fitted(30).cutoff(precision=0.9, sure=True), "low end of the precision is never as high"),
    ],
)
def test_what_cannot_be_had_is_refused_in_a_sentence(ask, sentence):
    with pytest.raises((DataError, SettingError, NotFittedError), match=sentence):
        ask()
