from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

import sureness as sn
from sureness.calibration.calibration_set import CalibrationSet
from tests.conftest import draw_pairs


@pytest.fixture(scope="module")
def small_world():
    world = sn.simulate(sn.SimulatorSettings(n_users=120, n_items=50, seed=4))
    return world, sn.svd_source(world.train, n_factors=5)


def dense_candidates(world, source):
    """Scores, labels and users of every pair outside the training log, by plain indexing."""
    users, items = np.nonzero(world.train.toarray() == 0)
    scores = source.score_block(np.arange(world.n_users))[users, items]
    return scores, world.held_out.toarray()[users, items] > 0, users, items


def test_all_candidates_of_a_source_are_streamed(small_world, monkeypatch):
    monkeypatch.setattr("sureness.calibration.calibration_set._BLOCK_SCORES", 700)  # several blocks
    world, source = small_world
    data = CalibrationSet.from_source(source, world.held_out, seen=world.train, propensity=world)
    found = data.gather()
    scores, labels, users, items = dense_candidates(world, source)
    assert_array_equal(found.scores, scores)
    assert_array_equal(found.labels, labels)
    assert_array_equal(found.users, users)
    assert_array_equal(found.items, items)
    assert_allclose(found.propensity[labels], world.propensity(users[labels], items[labels]))
    assert len(list(data.chunks())) > 3
    assert data.estimand == "preference"
    assert data.training_pairs == "left_out"


def test_pairs_are_held_in_memory_unless_they_are_many(small_world):
    world, source = small_world
    data = CalibrationSet.from_source(source, world.held_out, seen=world.train)
    held = data.in_memory()
    assert next(iter(held.chunks())) is next(iter(held.chunks()))
    assert_array_equal(held.gather().scores, data.gather().scores)
    assert data.in_memory(most=10) is data


def test_sampled_negatives_weigh_the_inverse_of_their_rate(small_world):
    world, source = small_world
    everything = CalibrationSet.from_source(source, world.held_out, seen=world.train).gather()
    sampled = CalibrationSet.from_source(source, world.held_out, seen=world.train, sampling_rate=0.25, seed=3)
    found = sampled.gather()
    assert found.n_positive == everything.n_positive
    assert_allclose(np.unique(found.weight), [1.0, 4.0])
    assert found.weight.sum() == pytest.approx(len(everything), rel=0.1)
    assert_array_equal(sampled.gather().scores, found.scores)  # the same sample in every pass


def test_a_fixed_number_of_negatives_either_knows_its_rate_or_is_taken_for_the_population():
    world = sn.simulate(sn.SimulatorSettings(n_users=1_000, n_items=80, exposure_rate=0.4))
    source = sn.svd_source(world.train)
    known = CalibrationSet.from_sampled_negatives(source, world.held_out, seen=world.train, negatives_per_positive=4)
    literal = CalibrationSet.from_sampled_negatives(
        source, world.held_out, seen=world.train, negatives_per_positive=4, as_population=True
    )
    everything = sn.PlattCalibrator().fit(CalibrationSet.from_source(source, world.held_out, seen=world.train))
    grid = np.linspace(0, 0.1, 5)
    close = sn.PlattCalibrator().fit(known).probability(grid)
    assert_allclose(close, everything.probability(grid), rtol=0.5)
    assert literal.gather().weight is None
    mean = sn.PlattCalibrator().fit(literal).probability(literal.gather().scores).mean()
    assert mean == pytest.approx(0.2, abs=0.03)


def test_unknown_sampling_rates_are_refused_without_a_base_rate():
    with pytest.raises(sn.errors.SettingError, match="negatives"):
        CalibrationSet.from_pairs([0.0, 1.0], [0, 1], sampling_rate=None)


@pytest.mark.parametrize("kind", [sn.PlattCalibrator, sn.GaussianCalibrator, sn.IsotonicCalibrator])
def test_a_base_rate_restores_negatives_of_unknown_rate(kind):
    scores, labels = draw_pairs(60_000, level=-3.0, bend=0.0)
    kept = (labels == 1) | (np.random.default_rng(0).random(60_000) < 0.1)
    data = CalibrationSet.from_pairs(scores[kept], labels[kept], sampling_rate=None, base_rate=labels.mean())
    whole, restored = kind().fit(scores, labels), kind().fit(data)
    grid = np.linspace(-2, 3, 20)
    assert_allclose(restored.probability(grid), whole.probability(grid), atol=0.1)
    assert np.average(restored.probability(scores)) == pytest.approx(labels.mean(), rel=0.05)


def test_an_impossible_base_rate_is_refused():
    data = CalibrationSet.from_pairs([0.0, 1.0, 2.0], [1, 1, 1], sampling_rate=None, base_rate=0.5)
    with pytest.raises(sn.errors.SettingError, match="base_rate"):
        sn.PlattCalibrator().fit(data)


def test_ratings_above_the_threshold_are_positive():
    data = CalibrationSet.from_ratings([0.1, 0.2, 0.3], [3, 4, 5])
    assert_array_equal(data.gather().labels, [False, True, True])


def test_tables_bring_their_own_users_weights_and_propensities():
    table = pl.DataFrame(
        {"user_id": ["a", "b"], "item_id": [7, 8], "score": [0.5, 1.5], "label": [0, 1], "weight": [1.0, 2.0],
         "propensity": [1.0, 0.4]}
    )  # fmt: skip
    found = CalibrationSet.from_table(table)
    assert found.estimand == "preference"
    assert_array_equal(found.gather().users, ["a", "b"])
    with pytest.raises(sn.errors.ColumnError, match="user_id"):
        CalibrationSet.from_table(table.drop("label"))
    with pytest.raises(sn.errors.ColumnError, match="column"):
        CalibrationSet.from_table(table.with_columns(score=pl.Series([None, 1.0])))


def test_iterators_that_end_after_one_pass_are_refused():
    with pytest.raises(sn.errors.SettingError, match="readable"):
        CalibrationSet.from_chunks(iter([sn.data.ScoredPairs.of([0.0, 1.0], [0, 1])]))


def test_segments_belong_to_the_fit():
    with pytest.raises(sn.errors.SettingError, match=r"SegmentCalibrator\(\)\.fit\(data, segments"):
        CalibrationSet.from_pairs([0.0, 1.0], [0, 1], segments=["a", "b"])


def test_chunks_must_agree_on_their_columns():
    parts = [sn.data.ScoredPairs.of([0.0], [0], users=["a"]), sn.data.ScoredPairs.of([1.0], [1])]
    with pytest.raises(sn.errors.DataError, match="chunks"):
        CalibrationSet.from_chunks(parts).gather()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"held_out_share": 0.0}, r"held_out_share must lie"),
        ({"held_out_share": 1.5}, "held_out_share must lie"),
        ({"sampling_rate": -0.1}, "sampling_rate must lie"),
        ({"base_rate": 1.0}, "base_rate must lie strictly between 0 and 1, got 1"),
        ({"estimand": "love"}, "estimand must be one of interaction, preference, got 'love'"),
        ({"training_pairs": "maybe"}, "training_pairs must be one of kept, left_out"),
        ({"anchor": sn.data.ScoredPairs.of([0.0, 1.0], [1, 1])}, "an anchor needs both classes, got 2 positives in 2"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(sn.errors.DataError, match=message):
        CalibrationSet.from_pairs([0.0, 1.0], [0, 1], **settings)


def test_a_risk_that_needs_propensities_says_so():
    with pytest.raises(sn.errors.SettingError, match="unbiased"):
        sn.PlattCalibrator(risk="unbiased").fit([0.0, 1.0, 0.5, 0.7], [0, 1, 1, 0])
    with pytest.raises(sn.errors.SettingError, match="fair"):
        sn.PlattCalibrator(risk="fair").fit([0.0, 1.0, 0.5, 0.7], [0, 1, 1, 0])


def test_an_object_that_holds_labels_takes_no_others():
    data = CalibrationSet.from_pairs([0.0, 1.0], [0, 1])
    with pytest.raises(sn.errors.DataError, match="labels"):
        sn.PlattCalibrator().fit(data, [0, 1])


def test_matrices_of_the_wrong_shape_are_refused(small_world):
    _world, source = small_world
    with pytest.raises(sn.errors.IdError, match="held_out"):
        CalibrationSet.from_source(source, csr_matrix((3, 4)))


def test_an_empty_hold_out_is_refused(small_world):
    _, source = small_world
    for builder, more in (("from_source", {}), ("from_sampled_negatives", {"negatives_per_positive": 3})):
        with pytest.raises(sn.errors.EmptyError, match="held_out"):
            getattr(CalibrationSet, builder)(source, csr_matrix((120, 50)), seen="nothing", **more)


def test_scores_that_are_not_finite_are_named(small_world):
    world, _ = small_world
    matrix = np.zeros((120, 50))
    matrix[3, 4] = np.nan
    data = CalibrationSet.from_source(sn.MatrixSource(matrix), world.held_out)
    with pytest.raises(sn.errors.DataError, match="numbers"):
        data.gather()


def test_relative_propensities_without_a_level_get_a_warning():
    world = sn.simulate(sn.SimulatorSettings(n_users=400, n_items=60, exposure_rate=0.4))
    source = sn.svd_source(world.train)
    popularity = sn.propensity.PopularityPropensity().fit(items=world.train.nonzero()[1])
    data = CalibrationSet.from_source(source, world.held_out, seen=world.train, propensity=popularity)
    assert data.relative_propensity
    with pytest.warns(sn.errors.SurenessWarning, match="propensities are relative"):
        sn.PlattCalibrator().fit(data)


def test_what_the_probability_means_is_written_on_the_calibrator(pairs):
    scores, labels = pairs
    assert sn.PlattCalibrator().fit(scores, labels).estimand_ == "interaction"
    omega = np.full(len(scores), 0.9)
    assert sn.PlattCalibrator().fit(scores, labels, propensity=omega).estimand_ == "preference"
    assert sn.PlattCalibrator(risk="naive").fit(scores, labels, propensity=omega).estimand_ == "interaction"


def test_the_fit_does_not_depend_on_how_a_large_set_is_cut():
    scores, labels = draw_pairs(250_000)
    whole = sn.GaussianCalibrator().fit(scores, labels)
    cuts = np.split(np.arange(250_000), [1_000, 120_000])
    chunks = [sn.data.ScoredPairs.of(scores[cut], labels[cut]) for cut in reversed(cuts)]
    parts = sn.GaussianCalibrator().fit(CalibrationSet.from_chunks(chunks))
    assert_allclose(parts.probability(scores), whole.probability(scores), atol=1e-5)


def test_masked_training_pairs_and_dense_matrices_are_welcome(small_world):
    world, source = small_world
    scores = source.score_block(np.arange(120))
    masked = np.where(world.train.toarray() > 0, -np.inf, scores)
    dense = CalibrationSet.from_source(
        sn.MatrixSource(masked), world.held_out.toarray(), seen=world.train.toarray()
    ).gather()  # fmt: skip
    assert_array_equal(
        dense.scores, CalibrationSet.from_source(source, world.held_out, seen=world.train).gather().scores
    )


def test_a_source_of_the_wrong_width_is_named(small_world):
    world, _ = small_world

    class Narrow:
        n_users, n_items = 120, 50

        def score_block(self, users):
            return np.zeros((len(users), 3))

    with pytest.raises(sn.errors.DataError, match="score_block"):
        CalibrationSet.from_source(Narrow(), world.held_out).gather()


def test_no_scores_give_no_probabilities(pairs):
    assert sn.PlattCalibrator().fit(*pairs).probability([]).shape == (0,)


@pytest.mark.parametrize("column", ["propensity", "sample_weight"])
def test_every_chunk_has_a_column_or_none_has(column):
    parts = [
        sn.data.ScoredPairs.of([0.0, 1.0], [0, 1], **{column: [0.5, 0.5]}),
        sn.data.ScoredPairs.of([1.0, 0.5], [1, 0]),
    ]
    for order in (parts, parts[::-1]):
        data = CalibrationSet.from_chunks(order, estimand="preference")
        with pytest.raises(
            sn.errors.DataError, match=f"{'weight' if column == 'sample_weight' else column} must be given"
        ):
            sn.PlattCalibrator().fit(data)


def built_in_every_way():
    scores, labels = draw_pairs(500)
    world = sn.simulate(sn.SimulatorSettings(n_users=60, n_items=30, seed=4))
    source = sn.svd_source(world.train, n_factors=3)
    pairs = CalibrationSet.from_pairs(scores, labels, users=np.arange(500) % 9)
    yield "pairs", pairs
    yield "source", CalibrationSet.from_source(source, world.held_out, seen=world.train, propensity=world)
    yield (
        "sampled",
        CalibrationSet.from_sampled_negatives(source, world.held_out, seen="nothing", negatives_per_positive=3),
    )
    yield "replaced", pairs.with_pairs(pairs.gather())
    yield "mapped", pairs.map_scores(np.abs)


@pytest.mark.parametrize(("name", "data"), list(built_in_every_way()), ids=lambda value: str(value)[:20])
def test_a_calibration_set_can_be_sent_to_another_process(name, data):
    again = pickle.loads(pickle.dumps(data))
    assert repr(again) == repr(data)
    assert_array_equal(again.gather().scores, data.gather().scores)
