"""The search tries what its seed says, keeps the best, and does nothing twice."""

from __future__ import annotations

import json

import pytest

from sureness.errors import ArtefactError, FileError, SettingError
from sureness.models.base import Recommender
from sureness.models.bpr import BPR
from sureness.models.catalogue import model_names, model_type
from sureness.models.tuning import tune
from sureness.saving.records import read_record, write_record
from tests.models.worlds import grouped, simulated
from tests.searches import assert_same_search, tried

FIXED = {"n_factors": 4, "epochs": 4, "validate_every": 2, "metric": "ndcg@10"}
SPACE = {"learning_rate": (0.001, 0.01, 0.05), "l2": (0.0, 0.01), "negatives": (1, 2)}


@pytest.fixture
def fits(monkeypatch):
    """The settings of every fit that is run."""
    run, fit = [], Recommender.fit

    def counted(model, *args, **more):
        run.append(model.get_params())
        return fit(model, *args, **more)

    monkeypatch.setattr(Recommender, "fit", counted)
    return run


def search(trials=4, **changes):
    return tune("bpr", simulated(), trials, **({"space": SPACE} | FIXED | changes))


def test_a_seed_tries_the_same_settings_and_another_others():
    first, again, other = search(seed=1), search(seed=1), search(seed=2)
    assert_same_search(first, again)
    assert first.best == again.best
    drawn = [[settings | {"seed": None} for settings in tried(found)[1:]] for found in (first, other)]
    assert drawn[0] != drawn[1]


def test_the_defaults_come_first_and_nothing_comes_twice(fits):
    found = search(trials=20)
    assert tried(found)[0] == FIXED | {"seed": 0}
    assert fits[0] == BPR(**FIXED).get_params()
    assert found.trials.height == len(fits) == 1 + 12  # all that there is
    assert len({json.dumps(settings) for settings in tried(found)}) == 13
    for settings in tried(found)[1:]:
        assert all(settings[key] in values for key, values in SPACE.items())


def test_settings_that_are_given_are_not_searched():
    found = search(trials=5, learning_rate=0.02)
    assert {settings["learning_rate"] for settings in tried(found)} == {0.02}
    assert search(trials=5, space={}).trials.height == 1


def test_the_best_is_what_ranks_the_validation_set_best():
    found = search(trials=6, seed=3)
    assert found.trials["metric"].is_sorted(descending=True)
    assert found.metric == "ndcg@10"
    best = found.trials.row(0, named=True)
    assert found.best == json.loads(best["settings"])
    assert found.trials["metric"].n_unique() > 1
    model = found.recommender().fit(simulated().train, simulated().validation)
    assert (model.best_metric_, model.best_epoch_) == (best["metric"], best["epoch"])
    assert found.recommender(seed=9).settings.seed == 9


def test_the_test_set_is_not_used():
    split = simulated()
    other = type(split)(split.train, split.validation, split.validation)
    first, second = search(), tune("bpr", other, 4, space=SPACE, **FIXED)
    assert first.trials.drop("seconds").equals(second.trials.drop("seconds"))


# --- the record ----------------------------------------------------------------------------------------------------


def test_a_recorded_search_runs_nothing(fits, tmp_path):
    record = tmp_path / "trials.json"
    first = search(record=record)
    assert len(fits) == 4
    again = search(record=record)
    assert len(fits) == 4
    assert again.trials.equals(first.trials)
    longer = search(trials=6, record=record)
    assert len(fits) == 6
    assert tried(longer)[:4] == tried(first)


def test_an_interrupted_search_resumes(fits, tmp_path, monkeypatch):
    record, counted = tmp_path / "trials.json", Recommender.fit

    def stopped(model, *args, **more):
        if len(fits) == 2:
            raise KeyboardInterrupt
        return counted(model, *args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Recommender, "fit", stopped)
        with pytest.raises(KeyboardInterrupt):
            search(record=record)
    assert len(read_record(record, "trials")["trials"]) == 2
    found = search(record=record)
    assert len(fits) == 4
    assert found.trials.drop("seconds").equals(search().trials.drop("seconds"))


def test_a_record_is_of_its_data_its_model_and_its_settings(fits, tmp_path):
    record = tmp_path / "trials.json"
    search(2, record=record)
    tune("bpr", grouped(), 2, space=SPACE, record=record, **FIXED)
    tune("cml", simulated(), 2, space=SPACE, record=record, **FIXED)
    search(2, record=record, n_factors=5)
    assert len(fits) == 8
    search(2, record=record)
    assert len(fits) == 8


def test_a_trial_that_diverges_does_not_end_the_search():
    found = search(trials=6, space={"start_scale": (1e30, 0.1), "l2": (0.0, 0.01)})
    diverged = [json.loads(s)["start_scale"] == 1e30 for s in found.trials["settings"] if "start_scale" in s]
    assert found.trials.height == 5
    assert sum(diverged) == 2
    assert found.trials["metric"].to_list()[-2:] == [-1.0, -1.0]
    assert found.best.get("start_scale") != 1e30


def test_other_errors_end_the_search():
    with pytest.raises(SettingError, match="batch_size"):
        search(space={"batch_size": (0, -1)})


@pytest.mark.parametrize("content", ["", "{", "[1, 2", '{"a": 1}', "[1]", '["x"]', '[{"model": "bpr"}]', "\ud83d"])
def test_a_damaged_record_is_refused(content, fits, tmp_path):
    record = tmp_path / "trials.json"
    record.write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(ArtefactError, match="remove it"):
        search(record=record)
    assert fits == []
    assert record.read_bytes() == content.encode("utf-8", "surrogatepass")


def test_a_record_of_something_else_is_refused(tmp_path):
    write_record(tmp_path / "trials.json", "greeting", {"to": "you"})
    with pytest.raises(ArtefactError, match="remove it"):
        search(record=tmp_path / "trials.json")


def test_a_record_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(FileError, match="folder"):
        search(record=tmp_path)


# --- the rest ------------------------------------------------------------------------------------------------------


def test_progress_names_the_trial_and_rises():
    reports = []
    search(3, progress=lambda *said: reports.append(said))
    texts, done, totals = zip(*reports, strict=True)
    assert texts[0].startswith("trial 1 of 3: ")
    assert texts[-1].startswith("trial 3 of 3: epoch 4 loss ")
    shares = [part / total for part, total in zip(done, totals, strict=True)]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize("name", model_names())
def test_search_spaces_hold_settings_that_exist(name):
    kind = model_type(name)
    assert kind.search_space
    for key, values in kind.search_space.items():
        for value in values:
            assert kind(**{key: value}).get_params()[key] == value


def test_the_search_begins_with_the_given_settings():
    found = search(3, start={"learning_rate": 0.05, "l2": 0.01})
    first = tried(found)[0]
    assert (first["learning_rate"], first["l2"]) == (0.05, 0.01)
    assert "negatives" not in first
    assert tried(found)[1:] == tried(search(3))[1:]


def test_bad_requests_are_refused():
    with pytest.raises(SettingError, match="trials"):
        search(0)
    with pytest.raises(SettingError, match="svd"):
        tune("svd", simulated())
    with pytest.raises(SettingError, match="speed"):
        search(2, space={"speed": (1, 2)})
