"""A missing `seen` that leaves training pairs among the candidates is said once, by every door that takes it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from dataclasses import replace

import numpy as np
import pytest

import sureness as sn
from sureness.data.interactions import Interactions
from sureness.data.splitting import by_ratio, hold_out
from sureness.data.time_splitting import by_time
from sureness.errors import SettingError
from sureness.jobs.judging import judge
from sureness.jobs.listing import compare_with_baselines
from sureness.lists.policies import ExpectedUtility
from sureness.metrics import best_items, evaluate_ranking
from sureness.sources.adapters.implicit import from_implicit
from sureness.sources.aligned import Aligned
from sureness.sources.base import FactorSource

N_USERS, N_ITEMS = 60, 40
RNG = np.random.default_rng(0)
TASTES = RNG.normal(size=(N_USERS, 2)) @ RNG.normal(size=(2, N_ITEMS))
LOG = Interactions.from_matrix(RNG.random((N_USERS, N_ITEMS)) < 0.4 / (1 + np.exp(-2 * TASTES)))
SPLIT = by_ratio(LOG, seed=0)
TRAINED = sn.svd_source(SPLIT.train, n_factors=3)
UNKNOWN = replace(TRAINED, trained_pairs=None)
FOREIGN = replace(SPLIT.validation, part=None)  # pairs that come from no split of ours


def model_of(source):
    """A model that scores as the source does."""
    model = sn.BPR()
    model.source_, model.users, model.items = source, *sn.sources.id_maps(source)
    model.trained_pairs = source.trained_pairs
    return model


def recommender_of(source):
    return sn.ConfidentRecommender(source, sn.PlattCalibrator(), ExpectedUtility(max_size=5))


def fitted_of(source):
    return recommender_of(source).fit(SPLIT.train, SPLIT.validation)


# every door, called with (source, held-out pairs, seen)
WITH_LABELS = {
    "CalibrationSet.from_source": lambda s, log, seen: sn.CalibrationSet.from_source(s, log, seen=seen),
    "CalibrationSet.from_sampled_negatives": lambda s, log, seen: sn.CalibrationSet.from_sampled_negatives(
        s, log, seen=seen, negatives_per_positive=2
    ),
    "ConfidentRecommender.fit": lambda s, log, seen: recommender_of(s).fit(seen, log),
    "ConfidentRecommender.validation_lists": lambda s, log, seen: fitted_of(s).validation_lists(seen, log),
    "Aligned.of": lambda s, log, seen: Aligned.of(s, log, seen),
    "_PerUserMap.fit": lambda s, log, seen: sn.calibration.PerUserPlatt().fit(s, log, seen=seen),
    "ProbabilityMap.fit_source": lambda s, log, seen: sn.ListCalibrator().fit_source(s, log, seen=seen),
    "choose_list_sizes": lambda s, log, seen: sn.choose_list_sizes([recommender_of(s)], seen, log),
    "compare_with_baselines": lambda s, log, seen: compare_with_baselines(
        fitted_of(s), seen=seen, validation=log, test=replace(SPLIT.test, part=None)
    ),
    "evaluate_ranking": lambda s, log, seen: evaluate_ranking(s, log, seen=seen),
    "judge": lambda s, log, seen: judge(sn.recommender.Run(s, test=log), seen=seen),
}  # fmt: skip
WITHOUT_LABELS = {
    "Recommender.recommend": lambda s, log, seen: model_of(s).recommend([0, 1], seen=seen),
    "best_items": lambda s, log, seen: best_items(s, [0, 1], seen=seen),
}
DOORS = WITH_LABELS | WITHOUT_LABELS
EVERY = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)

NO_DOORS = {
    "arrays, where no source is known": {
        "exact_ranks", "top_k",
    },
    "called with what a door has found": {
        "Horizon.of_split", "Aligned", "Observed", "list_blocks", "top_blocks",
        "unseen",
    },
    "groups of users and items, which need no source": {"Fields.of"},
    "it cannot be left out": {"candidate_table"},
    "a table, whose rows are left out": {"cut_table"},
    "paths, read by a door": {"ApplyOptions", "CalibrationOptions", "EvaluateOptions", "FitOptions", "ReportOptions"},
}  # fmt: skip


def public():
    """Every public function, class and method, as (where it is defined, itself)."""
    packages = [each.name for each in pkgutil.iter_modules(sn.__path__) if each.ispkg and each.name != "spark"]
    for package in ("sureness", *(f"sureness.{name}" for name in packages)):
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            methods = inspect.getmembers(found, callable) if inspect.isclass(found) else []
            for each in (found, *(method for known, method in methods if not known.startswith("_"))):
                if callable(each):
                    yield getattr(each, "__qualname__", name), each


def having(*parameters):
    found = set()
    for name, each in public():
        try:
            known = inspect.signature(each).parameters
        except ValueError:  # builtins
            continue
        found |= {name} if any(parameter in known for parameter in parameters) else set()
    return found


def said(door, *arguments):
    """The sentences about a missing `seen`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        door(*arguments)
    return [str(each.message) for each in caught if "seen is missing" in str(each.message)]


def test_every_public_callable_with_seen_is_tested_here():
    others = set().union(*NO_DOORS.values())
    assert having("seen") - others == set(DOORS)
    assert not others - having("seen"), "no longer there"


def test_what_was_seen_has_one_name():
    assert not having("exclude", "excluded", "hidden", "filter_seen", "train_log", "filter_already_liked_items")
    training = {  # these learn from it, or are made of it
        "BidirectionalDistillation.check",
        "BidirectionalDistillation.fit",
        "ConfidentRecommender.forward",
        "Direction.learner",
        "Learner",
        "Network",
        "Network.batches",
        "Recommender.build",
        "Recommender.fit",
        "Recommender.fitted_with",
        "Run",
        "Split",
        "TrainedWindow.of",
        "Trainer",
        "UBPR.build",
        "UBPR.fit",
        "World",
        "backtest",
        "checked_validation",
        "parted",
        "run_identity",
        "trained_windows",
    }
    assert having("train") <= training


@EVERY
def test_a_source_that_knows_its_training_says_it_once(door):
    (sentence,) = said(door, TRAINED, FOREIGN, None)
    assert f"{len(SPLIT.train):,} pairs" in sentence


@pytest.mark.parametrize("door", WITH_LABELS.values(), ids=WITH_LABELS)
def test_held_out_pairs_that_know_their_split_say_it_once(door):
    (sentence,) = said(door, UNKNOWN, SPLIT.validation, None)
    assert f"{len(SPLIT.train):,} pairs" in sentence


@EVERY
@pytest.mark.parametrize("seen", [SPLIT.train, "nothing"], ids=["log", "nothing"])
def test_nothing_is_said_to_who_gives_it(door, seen):
    assert said(door, TRAINED, SPLIT.validation, seen) == []


@EVERY
def test_nothing_is_said_where_nothing_is_known(door):
    assert said(door, UNKNOWN, FOREIGN, None) == []


@EVERY
def test_any_other_word_is_refused(door):
    with pytest.raises(SettingError):
        door(TRAINED, FOREIGN, "none")


def test_nothing_means_that_every_pair_is_a_candidate():
    n_all = len(sn.CalibrationSet.from_source(TRAINED, SPLIT.validation, seen="nothing").gather())
    n_unseen = len(sn.CalibrationSet.from_source(TRAINED, SPLIT.validation, seen=SPLIT.train).gather())
    assert (n_all, n_unseen) == (N_USERS * N_ITEMS, N_USERS * N_ITEMS - len(SPLIT.train))


class TestWhoRemembers:
    def test_factors_also_after_saving_and_for_some_items(self, tmp_path):
        TRAINED.save(tmp_path / "source.sureness")
        opened = sn.load(tmp_path / "source.sureness")
        assert opened.trained_pairs == len(SPLIT.train)
        assert said(best_items, opened, [0])

    def test_a_source_that_does_not_know_stays_so(self, tmp_path):
        UNKNOWN.save(tmp_path / "source.sureness")
        assert sn.load(tmp_path / "source.sureness").trained_pairs is None

    def test_any_source_with_the_attribute(self):
        source = sn.sources.FunctionSource(TRAINED.score_block, N_USERS, N_ITEMS, trained_pairs=7)
        assert "the 7 pairs" in said(best_items, source, [0])[0]

    def test_our_models_also_after_saving(self, tmp_path):
        pytest.importorskip("torch")
        model = sn.BPR(epochs=1).fit(SPLIT.train)
        model.save(tmp_path / "model.sureness")
        for each in (model, sn.load(tmp_path / "model.sureness")):
            assert each.trained_pairs == len(SPLIT.train)
            assert len(said(lambda model: model.recommend([0]), each)) == 1
        assert sn.BPR().trained_pairs is None

    def test_a_model_of_implicit_that_came_with_its_log(self):
        implicit = pytest.importorskip("implicit")
        model = implicit.bpr.BayesianPersonalizedRanking(factors=2, iterations=1, random_state=0, num_threads=1)
        model.fit(SPLIT.train.matrix, show_progress=False)
        assert from_implicit(model, SPLIT.train).trained_pairs == len(SPLIT.train)
        assert from_implicit(model, SPLIT.train.matrix).trained_pairs == len(SPLIT.train)
        assert from_implicit(model, users=SPLIT.train.users).trained_pairs is None


class TestHeldOutParts:
    @pytest.mark.parametrize("parts", [
        SPLIT.parts,
        sn.leave_one_out(LOG).parts,
        by_time(replace(LOG, times=np.arange(len(LOG)))).parts,
        dict(zip(("train", "validation"), hold_out(LOG, 0.2), strict=True)),
    ], ids=["ratio", "leave-one-out", "time", "hold_out"])  # fmt: skip
    def test_know_their_share_and_the_training_part(self, parts):
        train = parts["train"]
        assert train.part is None
        for name in parts.keys() - {"train"}:
            assert parts[name].part == (len(parts[name]) / len(LOG), len(train))

    def test_also_after_saving_and_together(self, tmp_path):
        SPLIT.test.save(tmp_path / "test.sureness")
        assert sn.load(tmp_path / "test.sureness").part == SPLIT.test.part
        both = sn.data.union([SPLIT.validation, SPLIT.test]).part
        assert both.share == pytest.approx(SPLIT.validation.part.share + SPLIT.test.part.share)
        assert sn.data.union([SPLIT.train, SPLIT.validation]).part is None

    def test_a_training_part_that_is_split_again_is_a_whole(self):
        again = by_ratio(SPLIT.validation, seed=1)
        assert again.train.part is None
        assert again.test.part.n_training == len(again.train)


def test_a_plain_factor_source_takes_the_number():
    assert FactorSource(np.ones((2, 1)), np.ones((3, 1)), trained_pairs=4).trained_pairs == 4
