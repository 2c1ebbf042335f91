"""Recommenders and runs in one file: they come back as they were, or not at all."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import sureness as sn
from sureness.calibration import Segments
from sureness.errors import DamagedError, IdError, KindError, VersionError
from sureness.lists import RandomSize
from sureness.metrics import Utility
from sureness.recommender.run import DistilledRuns
from tests.recommender.worlds import shop

POLICIES = [
    sn.ExpectedUtility("ndcg", max_size=6), sn.ExpectedUtility("pdcg", min_size=0, max_size=6, unsure_below=-np.inf),
    sn.ExpectedUtility("f1", max_size=6, unsure_below=0.1), sn.FixedSize(3), RandomSize(max_size=6, seed=3),
    sn.lists.BestFixedSize("tp", max_size=6), sn.lists.ValidationBest(max_size=6), sn.Threshold(0.3, max_size=6),
    sn.ExpectedUtility(Utility("own", discount=lambda rank: 0.9**rank, gain=1.5, loss=0.4), max_size=6),
    sn.ExpectedUtility(Utility("listed", discount=[1.0, 0.5, 0.2, 0.1, 0.1, 0.1], normaliser="ideal"), max_size=6),
    sn.ExpectedUtility(max_size=np.int64(6), unsure_below=np.float32(0.25)),
]  # fmt: skip
MAPS = [
    sn.calibration.PerUserPlatt(),
    sn.calibration.PerUserGaussian(prior_width=np.inf),
    sn.calibration.PerUserGamma(top=10),
    sn.PlattCalibrator(),
    sn.IsotonicCalibrator(),
    sn.calibration.TopNCalibrator(sn.calibration.BetaCalibrator(), n=5),
    sn.SegmentCalibrator(),
    sn.ListCalibrator(best=20),
]
LOOKING_AT_SEGMENTS = MAPS[-2:]


@pytest.fixture(scope="module")
def named():
    return shop(names=True)


@pytest.fixture(scope="module")
def recommender(named):
    policy = sn.lists.ValidationBest(max_size=6)
    return sn.ConfidentRecommender(named.source, sn.calibration.PerUserPlatt(top=10), policy).fit(
        named.train, named.validation
    )


@pytest.fixture(scope="module")
def file(recommender, tmp_path_factory):
    place = tmp_path_factory.mktemp("saved") / "recommender.sureness"
    recommender.save(place)
    return place


def reopened(saved, folder):
    saved.save(folder / "it.sureness")
    return sn.load(folder / "it.sureness", type(saved))


def assert_same(opened, saved):
    assert opened.recommend().equals(saved.recommend())
    assert opened.sizes().equals(saved.sizes())
    assert type(opened.policy_) is type(saved.policy_)
    assert type(opened.map_) is type(saved.map_)


class TestRecommender:
    @pytest.mark.parametrize("policy", POLICIES, ids=repr)
    def test_every_policy_comes_back(self, named, policy, tmp_path):
        saved = sn.ConfidentRecommender(named.source, sn.PlattCalibrator(), policy).fit(named.train, named.validation)
        opened = reopened(saved, tmp_path)
        assert_same(opened, saved)
        assert repr(opened.policy_) == repr(saved.policy_) or "Utility(" in repr(saved.policy_)
        labelled = saved.lists(labels=named.test)
        assert opened.policy_.sizes(labelled).tolist() == saved.policy_.sizes(labelled).tolist()

    @pytest.mark.parametrize("of", ["users", "items"])
    @pytest.mark.parametrize("calibrator", MAPS, ids=repr)
    def test_every_kind_of_map_comes_back(self, named, calibrator, of, tmp_path):
        if of == "users" and calibrator not in LOOKING_AT_SEGMENTS:
            pytest.skip("it does not look at segments")
        segments = Segments(np.array(["film", "söng"] * (20 if of == "items" else 30)), of)
        policy = sn.ExpectedUtility(max_size=6)
        saved = sn.ConfidentRecommender(named.source, calibrator, policy, segments=segments)
        saved.fit(named.train, named.validation)
        opened = reopened(saved, tmp_path)
        assert_same(opened, saved)
        assert repr(opened.map_) == repr(saved.map_)
        assert (opened.map_.estimand_, opened.map_.horizon_) == (saved.map_.estimand_, saved.map_.horizon_)
        assert opened.horizon_ == saved.horizon_
        assert (opened.chances_.best, opened.chances_.level) == (saved.chances_.best, saved.chances_.level)
        assert opened.below_.plain() == saved.below_.plain()
        for part in ("seen_", "trained_", "held_out_"):
            assert getattr(opened, part).table().equals(getattr(saved, part).table())

    def test_without_a_training_log_there_is_none_in_the_file(self, named, tmp_path):
        saved = sn.ConfidentRecommender(named.source).fit("nothing", named.validation)
        opened = reopened(saved, tmp_path)
        assert opened.trained_ is None
        assert_same(opened, saved)

    def test_live_scores_of_unknown_users_are_decided_alike(self, named, tmp_path):
        saved = sn.ConfidentRecommender(named.source).fit(named.train, named.validation)
        opened = reopened(saved, tmp_path)
        scores = np.random.default_rng(0).normal(size=(3, 40))
        for history in (None, [0, 5, 50]):
            found, again = (
                each.decide(["a", "user 003", "b"], scores=scores, history=history) for each in (saved, opened)
            )
            assert_array_equal(found.probabilities, again.probabilities)
            assert_array_equal(found.sizes, again.sizes)

    @pytest.mark.parametrize("target", ["carried", "fitted", 2.5, np.linspace(0.5, 3, 60)], ids=str)
    def test_the_number_of_relevant_items_comes_back(self, named, target, tmp_path):
        saved = sn.ConfidentRecommender(named.source, sn.calibration.PerUserPlatt(top=10), expected_relevant=target)
        opened = reopened(saved.fit(named.train, named.validation), tmp_path)
        assert_same(opened, saved)
        assert np.array_equal(opened.expected_relevant, target)

    def test_what_was_seen_stays_hidden_also_where_items_have_domains(self, named, tmp_path):
        domain = pl.Series(["film", None] * 20)
        logs = [replace(log, item_domain=domain, times=np.arange(len(log))) for log in (named.train, named.validation)]
        saved = sn.ConfidentRecommender(named.source, sn.PlattCalibrator()).fit(*logs)
        opened = reopened(saved, tmp_path)
        assert opened.seen_.table().equals(saved.seen_.table())
        assert opened.seen_.item_domain.equals(domain)
        assert_same(opened, saved)

    def test_an_opened_one_can_be_saved_evaluated_and_fitted_again(self, named, recommender, file, tmp_path):
        again = reopened(sn.load(file), tmp_path)
        assert_same(again, recommender)
        assert again.evaluate(named.test).table.equals(recommender.evaluate(named.test).table)
        assert_same(again.fit(named.train, named.validation), recommender)

    def test_it_can_be_saved_over_an_older_one(self, named, recommender, tmp_path):
        older = sn.ConfidentRecommender(named.source, sn.PlattCalibrator()).fit(named.train, named.validation)
        for saved in (older, recommender, older):
            assert_same(reopened(saved, tmp_path), saved)
            assert os.listdir(tmp_path) == ["it.sureness"]

    def test_one_that_is_mapped_serves_while_it_is_replaced(self, named, recommender, tmp_path):
        recommender.save(tmp_path / "it.sureness")
        opened = sn.load(tmp_path / "it.sureness", mapped=True)
        sn.ConfidentRecommender(named.source, sn.PlattCalibrator()).fit(named.train, named.validation).save(
            tmp_path / "it.sureness"
        )
        assert_same(opened, recommender)

    def test_a_table_of_the_best_items_comes_back_too(self, tmp_path):
        world = shop(40, 30, names=True)
        best = np.argsort(-world.source.matrix, axis=1)[:, :20]
        source = sn.CandidateSource.of(
            np.repeat(world.source.users.ids.to_numpy(), 20), world.source.items.ids.to_numpy()[best].ravel(),
            np.take_along_axis(world.source.matrix, best, 1).ravel(),
        )  # fmt: skip
        saved = sn.ConfidentRecommender(source, sn.PlattCalibrator()).fit(world.train, world.validation)
        opened = reopened(saved, tmp_path)
        assert_same(opened, saved)
        assert_array_equal(opened.lists().tail, saved.lists().tail)
        assert saved.lists().tail.sum() > 0


class TestGivenSources:
    def test_a_source_that_cannot_be_saved_must_be_given_again(self, tmp_path):
        world = shop()
        source = sn.sources.FunctionSource(lambda users: world.source.matrix[users], 60, 40)
        saved = sn.ConfidentRecommender(source, sn.calibration.PerUserPlatt(top=10)).fit(world.train, world.validation)
        saved.save(tmp_path / "it.sureness")
        with pytest.raises(sn.errors.DataError, match="source"):
            sn.load(tmp_path / "it.sureness")
        assert_same(sn.load(tmp_path / "it.sureness", parts={"source": source}), saved)
        with pytest.raises(IdError):
            sn.load(tmp_path / "it.sureness", parts={"source": shop(names=True).source})

    @pytest.mark.parametrize("name", ["sorce", "seen"])
    def test_what_takes_the_place_of_nothing_is_refused(self, named, file, name):
        with pytest.raises(sn.errors.SettingError, match=name):
            sn.load(file, parts={name: named.train})

    def test_another_source_may_take_its_place_if_it_has_the_same_users_and_items(self, named, recommender, file):
        higher = sn.MatrixSource(named.source.matrix + 1.0, named.source.users, named.source.items)
        opened = sn.load(file, parts={"source": higher})
        assert opened.source is higher
        assert opened.recommend()["item_id"].equals(recommender.recommend()["item_id"])

    def test_a_source_of_another_shape_is_refused(self, file):
        for other in (shop(30, 40), shop(60, 30)):
            with pytest.raises(IdError, match="60, 40"):
                sn.load(file, parts={"source": other.source})

    @pytest.mark.parametrize("side", ["users", "items"])
    def test_a_source_with_other_names_is_refused(self, named, file, side):
        ids = {"users": named.source.users, "items": named.source.items}
        renamed = sn.IdMap.of([f"other {number:03d}" for number in range(len(ids[side]))])
        for given in (renamed, None):
            source = sn.MatrixSource(named.source.matrix, **(ids | {side: given}))
            with pytest.raises(IdError, match=side):
                sn.load(file, parts={"source": source})

    def test_a_source_with_its_users_in_another_order_is_refused(self, named, file):
        turned = sn.IdMap(named.source.users.ids.reverse())
        source = sn.MatrixSource(named.source.matrix[::-1].copy(), turned, named.source.items)
        with pytest.raises(IdError, match="order"):
            sn.load(file, parts={"source": source})


class TestRefusals:
    def test_a_policy_without_a_name_is_refused_before_anything_is_written(self, named, tmp_path):
        class Mine(sn.lists.ListSizePolicy):
            def _sizes(self, lists):
                return np.full(lists.n_users, 2)

        class Derived(sn.ExpectedUtility):
            pass

        for policy in (Mine(), Derived(max_size=6)):
            mine = sn.ConfidentRecommender(named.source, sn.PlattCalibrator(), policy)
            mine.fit(named.train, named.validation)
            assert mine.sizes()["list_size"].max() <= 6
            with pytest.raises(sn.errors.DataError, match=type(policy).__name__):
                mine.save(tmp_path / "it.sureness")
        assert not os.listdir(tmp_path)

    def test_what_is_no_recommender_is_refused(self, file, tmp_path):
        with pytest.raises(KindError):
            sn.load(file, sn.recommender.Run)
        with pytest.raises(KindError):
            sn.recommender.open_run(file)
        with pytest.raises(sn.errors.FileError):
            sn.load(tmp_path / "nothing.sureness")
        with pytest.raises(VersionError):
            sn.load(tmp_path)

    def test_a_file_without_one_of_its_arrays_is_refused(self, recommender, tmp_path):
        from sureness.saving.objects import write_packed

        packed = recommender.pack()
        for name in packed.arrays:
            left = {key: value for key, value in packed.arrays.items() if key != name}
            write_packed(replace(packed, arrays=left), tmp_path / "it.sureness", "file")
            with pytest.raises(DamagedError):
                sn.load(tmp_path / "it.sureness")

    @pytest.mark.parametrize("name", ["map", "policy", "source"])
    def test_a_part_of_another_kind_is_refused(self, recommender, name, tmp_path):
        recommender.save(tmp_path / "it.sureness")
        with pytest.raises(KindError, match=name):
            sn.load(tmp_path / "it.sureness", parts={name: "x"})


class TestRuns:
    def test_a_run_comes_back_with_its_split(self, named, tmp_path):
        about = {"data": "a shop", "seed": 3, "positive_above": None, "limit": np.inf}
        saved = sn.recommender.Run(named.source, named.train, named.validation, named.test, about)
        opened = reopened(saved, tmp_path)
        for part in ("train", "validation", "test"):
            assert getattr(opened, part).table().equals(getattr(saved, part).table())
        assert opened.seen().table().equals(saved.seen().table())
        assert opened.about == about
        everyone = np.arange(60)
        assert_array_equal(opened.source.score_block(everyone), saved.source.score_block(everyone))

    @pytest.mark.parametrize("parts", [(), ("train",), ("test",), ("train", "test")], ids=str)
    def test_parts_of_the_split_may_be_unknown(self, named, parts, tmp_path):
        opened = reopened(sn.recommender.Run(named.source, **{part: getattr(named, part) for part in parts}), tmp_path)
        for part in ("train", "validation", "test"):
            assert (getattr(opened, part) is not None) == (part in parts)
        assert (opened.seen() is None) == ("train" not in parts)

    def test_logs_take_the_rows_of_the_source(self, named, tmp_path):
        """The split of a log may name its users in another order than the source, and hold others."""
        log = sn.Interactions.of(["user 007", "user 001", "stranger"], ["item 003", "item 002", "item 002"])
        opened = reopened(sn.recommender.Run(named.source, train=log), tmp_path)
        assert opened.train.users.same_as(named.source.users)
        found = opened.train.table().select("user_id", "item_id").rows()
        assert sorted(found) == [("user 001", "item 002"), ("user 007", "item 003")]

    def test_a_run_without_names_goes_by_rows(self, tmp_path):
        world = shop()
        opened = reopened(sn.recommender.Run(world.source, world.train), tmp_path)
        assert opened.train.table().equals(world.train.table())

    def test_a_source_that_cannot_be_saved_is_refused_before_anything_is_written(self, tmp_path):
        world = shop()
        source = sn.sources.FunctionSource(lambda users: world.source.matrix[users], 60, 40)
        with pytest.raises(sn.errors.DataError, match="FunctionSource"):
            sn.recommender.Run(source, world.train).save(tmp_path / "it.sureness")
        assert not os.listdir(tmp_path)

    def test_a_source_with_other_ids_cannot_take_the_place_of_the_saved_one(self, named, tmp_path):
        sn.recommender.Run(named.source, named.train).save(tmp_path / "it.sureness")
        turned = sn.IdMap(named.source.users.ids.reverse())
        others = [shop(30, 40).source, sn.MatrixSource(named.source.matrix),
                  sn.MatrixSource(named.source.matrix[::-1].copy(), turned, named.source.items)]  # fmt: skip
        for other in others:
            with pytest.raises(IdError):
                sn.load(tmp_path / "it.sureness", parts={"source": other})
        same = sn.MatrixSource(named.source.matrix * 2, named.source.users, named.source.items)
        assert sn.load(tmp_path / "it.sureness", parts={"source": same}).source is same

    def test_a_source_is_opened_as_a_run_without_a_split(self, named, tmp_path):
        named.source.save(tmp_path / "source.sureness")
        opened = sn.recommender.open_run(tmp_path / "source.sureness")
        assert (opened.train, opened.validation, opened.test, opened.seen()) == (None, None, None, None)
        assert opened.source.n_users == 60

    def test_teacher_and_student_are_opened_by_their_names(self, named, tmp_path):
        other = shop(30, 40, names=True, seed=1)
        DistilledRuns(sn.recommender.Run(named.source, named.train), sn.recommender.Run(other.source)).save(
            tmp_path / "pair.sureness"
        )
        assert sn.recommender.open_run(tmp_path / "pair.sureness/teacher").source.n_users == 60
        assert sn.recommender.open_run(f"{tmp_path}/pair.sureness/student").source.n_users == 30
        with pytest.raises(KindError, match="student"):
            sn.recommender.open_run(tmp_path / "pair.sureness")
        with pytest.raises(KindError, match="nobody"):
            sn.recommender.open_run(tmp_path / "pair.sureness/nobody")

    def test_a_calibrator_is_no_run(self, tmp_path):
        sn.PlattCalibrator().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1]).save(tmp_path / "it.json")
        with pytest.raises(KindError):
            sn.recommender.open_run(tmp_path / "it.json")
