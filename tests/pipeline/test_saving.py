"""A recommender as a folder: it comes back as it was, or not at all."""

from __future__ import annotations

import importlib.util
import json
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.metrics.utility import Utility
from sureness.pipeline import saving
from sureness.sources.function import FunctionSource
from tests.pipeline.worlds import shop

POLICIES = [
    sn.ExpectedUtility("ndcg", max_size=6), sn.ExpectedUtility("pdcg", min_size=0, max_size=6, unsure_below=-np.inf),
    sn.ExpectedUtility("f1", max_size=6, method="approximate"), sn.FixedSize(3), sn.RandomSize(max_size=6, seed=3),
    sn.BestFixedSize("tp", max_size=6), sn.ValidationBest(max_size=6), sn.Threshold(0.3, max_size=6),
    sn.ExpectedUtility(Utility("own", discount=lambda rank: 0.9**rank, gain=1.5, loss=0.4), max_size=6),
    sn.ExpectedUtility(Utility("listed", discount=[1.0, 0.5, 0.2, 0.1, 0.1, 0.1], normaliser="ideal"), max_size=6),
    sn.ExpectedUtility(max_size=np.int64(6), unsure_below=np.float32(0.25)),
]  # fmt: skip
CALIBRATORS = [
    sn.PerUserPlatt(), sn.PerUserGaussian(top=None, prior_width=np.inf), sn.PerUserGamma(top=10, hidden=False),
    sn.PlattCalibrator(), sn.IsotonicCalibrator(), sn.GlobalMap(sn.BetaCalibrator()),
]  # fmt: skip


@pytest.fixture(scope="module")
def named():
    return shop(names=True)


@pytest.fixture(scope="module")
def recommender(named):
    policy = sn.ValidationBest(max_size=6)
    return sn.ConfidentRecommender(named.source, sn.PerUserPlatt(top=10), policy).fit(named.train, named.validation)


@pytest.fixture(scope="module")
def folder(recommender, tmp_path_factory):
    place = tmp_path_factory.mktemp("saved") / "recommender"
    recommender.save(place)
    return place


def assert_same(loaded, saved):
    assert loaded.recommend().equals(saved.recommend())
    assert loaded.sizes().equals(saved.sizes())
    assert repr(loaded.policy_) == repr(saved.policy_) or "Utility(" in repr(saved.policy_)


class TestRoundTrip:
    @pytest.mark.parametrize("policy", POLICIES, ids=repr)
    def test_every_policy_comes_back(self, named, policy, tmp_path):
        saved = sn.ConfidentRecommender(named.source, sn.PlattCalibrator(), policy).fit(named.train, named.validation)
        saved.save(tmp_path / "it")
        loaded = sn.ConfidentRecommender.load(tmp_path / "it")
        assert_same(loaded, saved)
        assert type(loaded.policy_) is type(policy)
        labelled = saved.lists(labels=named.test)
        assert loaded.policy_.sizes(labelled).tolist() == policy.sizes(labelled).tolist()

    @pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="learned cuts need torch")
    def test_learned_cuts_come_back(self, named, tmp_path):
        policy = sn.AttnCut(max_size=6, n_factors=4, epochs=1)
        saved = sn.ConfidentRecommender(named.source, sn.PlattCalibrator(), policy).fit(named.train, named.validation)
        saved.save(tmp_path / "it")
        assert_same(sn.ConfidentRecommender.load(tmp_path / "it"), saved)

    @pytest.mark.parametrize("calibrator", CALIBRATORS, ids=repr)
    def test_every_kind_of_map_comes_back(self, named, calibrator, tmp_path):
        policy = sn.ExpectedUtility(max_size=6)
        saved = sn.ConfidentRecommender(named.source, calibrator, policy).fit(named.train, named.validation)
        saved.save(tmp_path / "it")
        loaded = sn.ConfidentRecommender.load(tmp_path / "it")
        assert_same(loaded, saved)
        assert repr(loaded.maps_) == repr(saved.maps_)
        assert loaded.maps_.expected_relevant_.tolist() == saved.maps_.expected_relevant_.tolist()
        assert loaded.maps_.beyond_.tolist() == saved.maps_.beyond_.tolist()

    @pytest.mark.parametrize("target", ["carried", "fitted", 2.5, np.linspace(0.5, 3, 60)], ids=str)
    def test_the_number_of_relevant_items_comes_back(self, named, target, tmp_path):
        saved = sn.ConfidentRecommender(named.source, sn.PerUserPlatt(top=10), expected_relevant=target)
        saved.fit(named.train, named.validation).save(tmp_path / "it")
        loaded = sn.ConfidentRecommender.load(tmp_path / "it")
        assert_same(loaded, saved)
        assert np.array_equal(loaded.expected_relevant, target)

    def test_what_is_hidden_stays_hidden_also_where_items_have_domains(self, named, tmp_path):
        domain = pl.Series(["film", "song"] * 20)
        logs = [replace(log, item_domain=domain, times=np.arange(len(log))) for log in (named.train, named.validation)]
        saved = sn.ConfidentRecommender(named.source, sn.PlattCalibrator()).fit(*logs)
        saved.save(tmp_path / "it")
        loaded = sn.ConfidentRecommender.load(tmp_path / "it")
        assert len(loaded.seen_) == len(saved.seen_) > 0
        assert_same(loaded, saved)

    def test_a_loaded_one_can_be_saved_evaluated_and_fitted_again(self, named, recommender, folder, tmp_path):
        loaded = sn.ConfidentRecommender.load(folder)
        loaded.save(tmp_path / "again")
        again = sn.ConfidentRecommender.load(tmp_path / "again")
        assert_same(again, recommender)
        assert again.evaluate(named.test).table.equals(recommender.evaluate(named.test).table)
        assert_same(again.fit(named.train, named.validation), recommender)

    def test_it_can_be_saved_over_an_older_one(self, named, recommender, tmp_path):
        older = sn.ConfidentRecommender(named.source, sn.PlattCalibrator()).fit(named.train, named.validation)
        for saved in (older, recommender, older):
            saved.save(tmp_path / "it")
            assert_same(sn.ConfidentRecommender.load(tmp_path / "it"), saved)

    def test_a_table_of_the_best_items_comes_back_too(self, tmp_path):
        world = shop(40, 30, names=True)
        best = np.argsort(-world.source.matrix, axis=1)[:, :20]
        source = sn.CandidateSource.of(
            np.repeat(world.source.users.ids.to_numpy(), 20), world.source.items.ids.to_numpy()[best].ravel(),
            np.take_along_axis(world.source.matrix, best, 1).ravel(),
        )  # fmt: skip
        saved = sn.ConfidentRecommender(source, sn.PlattCalibrator()).fit(world.train, world.validation)
        saved.save(tmp_path / "it")
        loaded = sn.ConfidentRecommender.load(tmp_path / "it")
        assert_same(loaded, saved)
        assert loaded.maps_.beyond_.tolist() == saved.maps_.beyond_.tolist()
        assert saved.maps_.beyond_.sum() > 0


class TestSources:
    def test_a_source_that_cannot_be_saved_must_be_given_again(self, tmp_path):
        world = shop()
        source = FunctionSource(lambda users: world.source.matrix[users], 60, 40)
        saved = sn.ConfidentRecommender(source, sn.PerUserPlatt(top=10)).fit(world.train, world.validation)
        saved.save(tmp_path / "it")
        assert not (tmp_path / "it" / "source").exists()
        with pytest.raises(sn.DataError, match=r"was saved without its source.*give load\(folder, source\)"):
            sn.ConfidentRecommender.load(tmp_path / "it")
        loaded = sn.ConfidentRecommender.load(tmp_path / "it", source)
        assert_same(loaded, saved)

    def test_another_source_may_take_its_place_if_it_has_the_same_users_and_items(self, named, recommender, folder):
        higher = sn.MatrixSource(named.source.matrix + 1.0, named.source.users, named.source.items)
        loaded = sn.ConfidentRecommender.load(folder, higher)
        assert loaded.recommend()["item_id"].equals(recommender.recommend()["item_id"])

    def test_a_source_of_another_shape_is_refused(self, folder):
        with pytest.raises(sn.DataError, match=r"must have the shape \[60, 40\] .* got \[30, 40\]; give the same"):
            sn.ConfidentRecommender.load(folder, shop(30, 40).source)

    @pytest.mark.parametrize("side", ["users", "items"])
    def test_a_source_with_other_names_is_refused(self, named, folder, side):
        ids = {"users": named.source.users, "items": named.source.items}
        renamed = sn.IdMap.of([f"other {number:03d}" for number in range(len(ids[side]))])
        source = sn.MatrixSource(named.source.matrix, **(ids | {side: renamed}))
        with pytest.raises(sn.DataError, match="the source must have the users and items that .* was fitted with"):
            sn.ConfidentRecommender.load(folder, source)

    def test_a_source_with_its_users_in_another_order_is_refused(self, named, folder):
        turned = sn.IdMap(named.source.users.ids.reverse())
        source = sn.MatrixSource(named.source.matrix[::-1].copy(), turned, named.source.items)
        with pytest.raises(sn.DataError, match="in the same order of users"):
            sn.ConfidentRecommender.load(folder, source)


class TestDamage:
    def test_every_file_is_watched(self, folder, tmp_path):
        files = [file.relative_to(folder) for file in sorted(folder.rglob("*")) if file.is_file()]
        assert len(files) >= 10
        for file in files:
            whole = (folder / file).read_bytes()
            middle = len(whole) // 2
            flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
            for name, content in (("cut", whole[:middle]), ("flipped", flipped), ("empty", b""), ("other", b"[1]")):
                copy = tmp_path / "copy"
                shutil.copytree(folder, copy)
                (copy / file).write_bytes(content)
                with pytest.raises(sn.ArtefactError):
                    sn.ConfidentRecommender.load(copy)
                    pytest.fail(f"{file}, {name}, was not noticed")
                shutil.rmtree(copy)

    def test_a_file_that_is_gone_is_missed(self, folder, tmp_path):
        for file in [file.relative_to(folder) for file in folder.rglob("*") if file.is_file()]:
            copy = tmp_path / "copy"
            shutil.copytree(folder, copy)
            (copy / file).unlink()
            with pytest.raises((sn.ArtefactError, sn.FileError)):
                sn.ConfidentRecommender.load(copy)
            shutil.rmtree(copy)

    def test_a_folder_of_the_future_is_refused(self, folder, tmp_path):
        copy = tmp_path / "copy"
        shutil.copytree(folder, copy)
        manifest = copy / "recommender" / "manifest.json"
        manifest.write_text(manifest.read_text().replace('"schema": 1', '"schema": 2'))
        with pytest.raises(sn.ArtefactError, match="has schema 2 .* update sureness"):
            sn.ConfidentRecommender.load(copy)

    def test_nothing_is_pickled(self, folder):
        assert {file.suffix for file in folder.rglob("*") if file.is_file()} == {".json", ".parquet", ".safetensors"}
        described = json.loads((folder / "recommender" / "manifest.json").read_text())
        assert described["policy"]["kind"] == "validation-best"

    @pytest.mark.parametrize("killed_at", ["source", "maps", "recommender"])
    def test_a_save_that_was_interrupted_leaves_the_old_one(self, named, folder, tmp_path, monkeypatch, killed_at):
        place = tmp_path / "it"
        shutil.copytree(folder, place)
        newer = sn.ConfidentRecommender(
            sn.MatrixSource(named.source.matrix * 2, named.source.users, named.source.items), sn.PerUserPlatt(top=8)
        ).fit(named.train, named.validation)

        def killed(*_):
            raise KeyboardInterrupt

        step = {"source": "_save_source", "maps": "save_per_user", "recommender": "write_folder"}[killed_at]
        monkeypatch.setattr(saving, step, killed)
        with pytest.raises(KeyboardInterrupt):
            newer.save(place)
        monkeypatch.undo()
        assert_same(sn.ConfidentRecommender.load(place), sn.ConfidentRecommender.load(folder))
        newer.save(place)
        shutil.rmtree(place / "maps")
        shutil.copytree(folder / "maps", place / "maps")
        with pytest.raises(sn.ArtefactError, match="do not belong together, saving was interrupted; save it again"):
            sn.ConfidentRecommender.load(place)
        newer.save(place)
        assert_same(sn.ConfidentRecommender.load(place), newer)

    def test_a_first_save_that_was_interrupted_leaves_nothing_that_loads(self, recommender, tmp_path, monkeypatch):
        def killed(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(saving, "write_folder", killed)
        with pytest.raises(KeyboardInterrupt):
            recommender.save(tmp_path / "it")
        with pytest.raises(sn.FileError, match="there is no such folder"):
            sn.ConfidentRecommender.load(tmp_path / "it")

    def test_a_policy_of_ones_own_is_refused_before_anything_is_written(self, named, tmp_path):
        class Mine(sn.ListSizePolicy):
            def _sizes(self, lists):
                return np.full(lists.n_users, 2)

        class Derived(sn.ExpectedUtility):
            pass

        for policy in (Mine(), Derived(max_size=6)):
            mine = sn.ConfidentRecommender(named.source, sn.PlattCalibrator(), policy)
            mine.fit(named.train, named.validation)
            assert mine.sizes()["list_size"].max() <= 6
            with pytest.raises(sn.DataError, match="only the policies of sureness can be saved"):
                mine.save(tmp_path / "it")
        assert not (tmp_path / "it").exists()

    def test_what_is_no_recommender_is_refused(self, folder, tmp_path):
        with pytest.raises(sn.FileError, match="there is no such folder"):
            sn.ConfidentRecommender.load(tmp_path / "nothing")
        with pytest.raises(sn.FileError, match="no manifest"):
            sn.load(folder)
