"""What must hold for every recommender."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import polars as pl
import pytest
import sklearn.base
import torch
from numpy.testing import assert_allclose, assert_array_equal

from sureness._settings import clone
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions, union
from sureness.errors import (
    DamagedError,
    DataError,
    DivergedError,
    EmptyError,
    FileError,
    KindError,
    NotFittedError,
    SettingError,
)
from sureness.metrics.ranking import evaluate_ranking
from sureness.models.base import Recommender
from sureness.models.bpr import BPR
from sureness.models.catalogue import make_recommender, model_names, model_type
from sureness.models.networks import training
from sureness.saving.objects import load
from sureness.saving.packed import unpack
from sureness.sources.base import MatrixSource, ScoreSource
from tests.models.worlds import QUICK, everyone, fitted, grouped, learner, simulated

every = pytest.mark.parametrize("name", model_names())


def quick(name, **changes):
    return make_recommender(name, **(QUICK | changes))


def ndcg(source, split):
    seen = union([split.train, split.validation])
    return evaluate_ranking(source, split.test, seen=seen, metrics=["ndcg@10"])["ndcg@10"]


# --- learning ------------------------------------------------------------------------------------------------------


@every
def test_what_was_learned_ranks_far_better_than_chance(name):
    split = simulated()
    chance = np.mean([ndcg(MatrixSource(np.random.default_rng(s).random(split.test.shape)), split) for s in range(5)])
    assert ndcg(fitted(name), split) > 2 * chance


@every
def test_groups_that_popularity_does_not_show_are_found(name):
    split = grouped()
    popular = MatrixSource(np.tile(split.train.item_degree.astype(float), (split.train.n_users, 1)))
    model = learner(name).fit(split.train, split.validation)
    assert ndcg(model, split) > 3 * ndcg(popular, split)


@every
def test_the_loss_falls(name):
    history = fitted(name).history_
    assert history["epoch"].to_list() == list(range(1, history.height + 1))
    assert history["loss"][-1] < history["loss"][0]
    assert (history["seconds"] > 0).all()


@every
@pytest.mark.parametrize("changes", [{}, {"popularity": 0.75, "negatives": 3}], ids=["uniform", "popular"])
def test_a_seed_gives_the_same_scores_and_another_others(name, changes):
    split = simulated()
    first, again, other = (
        everyone(quick(name, seed=seed, **changes).fit(split.train, split.validation)) for seed in (1, 1, 2)
    )
    assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3


@every
def test_fitting_again_forgets_what_was_learned(name):
    split, other = simulated(), grouped()
    once = quick(name).fit(split.train, split.validation)
    twice = quick(name).fit(other.train).fit(split.train, split.validation)
    assert_array_equal(everyone(once), everyone(twice))
    assert once.history_.drop("seconds").equals(twice.history_.drop("seconds"))


@every
def test_the_best_epoch_is_kept(name):
    """It scores like a run that ends at that epoch, and its metric is the one reported."""
    split = simulated()
    settings = {"epochs": 25, "validate_every": 1, "patience": 2, "learning_rate": 0.05}
    model = quick(name, **settings).fit(split.train, split.validation)
    metrics = model.history_["metric"]
    assert model.best_epoch_ == metrics.arg_max() + 1
    assert model.best_metric_ == metrics.max()
    assert model.history_.height == min(model.best_epoch_ + 2, 25)
    judged = evaluate_ranking(model, split.validation, seen=split.train, metrics=["ndcg@10"])
    assert judged["ndcg@10"] == model.best_metric_
    assert_array_equal(
        everyone(model), everyone(quick(name, **settings | {"epochs": model.best_epoch_}).fit(split.train))
    )


@every
def test_validation_runs_every_few_epochs_and_at_the_end(name):
    split = simulated()
    history = quick(name, epochs=5, validate_every=2).fit(split.train, split.validation).history_
    assert history["metric"].is_not_null().to_list() == [False, True, False, True, True]


@every
def test_without_validation_all_epochs_are_run(name):
    model = quick(name, epochs=4, patience=1, validate_every=1).fit(simulated().train)
    assert model.history_.height == model.best_epoch_ == 4
    assert model.history_["metric"].null_count() == 4
    assert model.best_metric_ is None


def test_validation_uses_at_most_validation_users(monkeypatch):
    split, asked = simulated(), []

    def recorded(source, test, *, users, **more):
        asked.append(users.tolist())
        return evaluate_ranking(source, test, users=users, **more)

    monkeypatch.setattr(training, "evaluate_ranking", recorded)
    quick("bpr", validate_every=1, validation_users=20).fit(split.train, split.validation)
    assert asked[0] == asked[1] == asked[2]
    assert len(set(asked[0])) == 20
    assert split.validation.user_degree[asked[0]].min() > 0


def test_validation_in_other_rows_is_matched():
    split = simulated()
    rows = split.validation.table().with_columns(pl.col("user_id") + 0)
    other = Interactions.from_table(rows.sort("item_id"))  # only users and items that are in it
    assert other.shape != split.train.shape
    first, second = (quick("bpr").fit(split.train, validation).best_metric_ for validation in (split.validation, other))
    assert first == second


# --- scores --------------------------------------------------------------------------------------------------------


@every
def test_a_fitted_recommender_is_a_source_of_finite_scores(name):
    model, split = fitted(name), simulated()
    assert isinstance(model, ScoreSource)
    assert (model.n_users, model.n_items) == split.train.shape
    users = np.array([3, 0, 3])
    block = model.score_block(users)
    assert (block.shape, block.dtype) == ((3, split.train.n_items), np.float32)
    assert np.isfinite(everyone(model)).all()
    assert_allclose(block, everyone(model)[users], rtol=1e-5, atol=1e-6)
    assert model.n_parameters == sum(p.numel() for p in model.network_.parameters())


@every
def test_scores_of_all_items_are_those_of_the_pairs(name):
    model, rng = fitted(name), np.random.default_rng(0)
    users, items = rng.integers(0, model.n_users, 40), rng.integers(0, model.n_items, (40, 7))
    with torch.no_grad():
        pairs = model.network_.score(torch.from_numpy(users), torch.from_numpy(items)).numpy()
        block = model.network_.score_block(torch.from_numpy(users)).numpy()
    expected = model.score_block(users)
    assert_allclose(pairs, np.take_along_axis(expected, items, axis=1), rtol=1e-4, atol=1e-5)
    assert_allclose(block, expected, rtol=1e-4, atol=1e-5)


@every
def test_lists_hold_the_best_unseen_items(name):
    model, split = fitted(name), simulated()
    table = model.recommend([5, 2], 4, seen=split.train)
    scores = everyone(model)
    for user in (5, 2):
        scores[user, split.train.items_of(user)] = -np.inf
        best = np.argsort(-scores[user], kind="stable")[:4]
        assert table.filter(pl.col("user_id") == user)["item_id"].to_list() == best.tolist()


# --- settings ------------------------------------------------------------------------------------------------------


@every
def test_settings_are_read_changed_copied_and_shown(name):
    model = make_recommender(name, n_factors=3, seed=7)
    assert repr(model) == f"{type(model).__name__}(n_factors=3, seed=7)"
    assert model.get_params()["n_factors"] == 3
    assert model.set_params(n_factors=5) is model
    assert model.n_factors == model.settings.n_factors == 5
    for copy in (clone(model), sklearn.base.clone(model)):
        assert copy is not model
        assert copy.get_params() == model.get_params() == model.settings.plain() | copy.get_params()
        assert repr(copy) == repr(model)
    for frozen in (model, model.settings):
        with pytest.raises(FrozenInstanceError):
            frozen.seed = 9
    assert model.name == name


@every
def test_the_constructor_shows_every_setting_with_its_default(name):
    kind = model_type(name)
    shown = inspect.signature(kind).parameters
    assert {key: parameter.default for key, parameter in shown.items()} == kind().get_params()
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in shown.values())
    assert list(shown) == [field.name for field in fields(kind)]
    with pytest.raises(TypeError):
        kind(3)


@every
def test_models_with_equal_settings_are_still_two_models(name):
    first, second = make_recommender(name), make_recommender(name)
    assert first.settings == second.settings
    assert first != second
    assert len({first, second, first}) == 2


@every
def test_the_settings_are_those_that_the_network_was_made_with(name):
    model = fitted(name)
    assert model.network_.settings == model.settings == learner(name).settings


@every
def test_unknown_settings_are_refused_with_those_there_are(name):
    for attempt in (
        lambda: make_recommender(name, n_factor=3), lambda: model_type(name)(n_factor=3),
        lambda: make_recommender(name).set_params(n_factor=3),
    ):  # fmt: skip
        with pytest.raises(SettingError, match="'n_factor'.*n_factors"):
            attempt()


@every
@pytest.mark.parametrize(
    "settings",
    [
        {"n_factors": 0},
        {"epochs": 2.5},
        {"seed": -1},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"l2": -0.1},
        {"end_rate": 1.5},
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(name, settings):
    with pytest.raises(SettingError, match=next(iter(settings))):
        make_recommender(name, **settings)


@every
def test_an_unknown_metric_is_refused(name):
    with pytest.raises(DataError, match="auc"):
        make_recommender(name, metric="auc")


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("cdae", {"dropout": 1.0}),
        ("cdae", {"dropout": "x"}),
        ("cdae", {"history": "mean"}),
        ("cdae", {"deep": "yes"}),
        ("neumf", {"dense_l2": -1.0}),
        ("neumf", {"layer_widths": (8, 0)}),
        ("neumf", {"layer_widths": (8, "a")}),
        ("neumf", {"layer_widths": 8}),
        ("ubpr", {"propensity_clip": 0.0}),
        ("ubpr", {"propensity_clip": 2.0}),
        ("cml", {"radius": 0.0}),
        ("cml", {"margin": -1.0}),
        ("lightgcn", {"layers": 0}),
        ("lightgcn", {"divided_by": "log"}),
    ],
    ids=str,
)
def test_settings_of_one_model_that_make_no_sense_are_refused(name, settings):
    with pytest.raises(SettingError, match=next(iter(settings))):
        make_recommender(name, **settings)


@every
def test_settings_that_are_refused_leave_the_old_ones(name):
    model = make_recommender(name, seed=3)
    with pytest.raises(SettingError):
        model.set_params(seed=4, n_factors=-1)
    assert model.seed == 3


def test_recommenders_are_found_by_name():
    assert make_recommender("NCF", n_factors=4).name == "neumf"
    with pytest.raises(SettingError, match="'svd'.*bpr, ubpr, neumf, cml, lightgcn, cdae"):
        make_recommender("svd")


@every
def test_a_model_that_is_not_fitted_says_so(name, tmp_path):
    model = make_recommender(name)
    for ask in (
        lambda: model.score_block(np.array([0])), lambda: model.recommend([0]), lambda: model.n_users,
        lambda: model.n_parameters, lambda: model.network_, lambda: model.save(tmp_path / "model.sureness"),
    ):  # fmt: skip
        with pytest.raises(NotFittedError, match=type(model).__name__):
            ask()
    assert not model.is_fitted


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("device", ["cuda", "abacus"])
def test_a_device_that_is_not_there_is_refused(device):
    with pytest.raises(SettingError, match=device):
        quick("bpr", device=device).fit(simulated().train)
    model = quick("bpr").fit(simulated().train)
    with pytest.raises(SettingError, match=device):
        model.set_params(device=device)
    assert model.device == "cpu"


# --- odd logs ------------------------------------------------------------------------------------------------------


def odd_log(n_items=12):
    """A user with one interaction, one who has seen everything, one without any; an item never seen."""
    seen = np.random.default_rng(0).random((30, n_items)) < 0.4
    seen[:, n_items - 1] = seen[:, n_items - 2] = False
    seen[0] = np.arange(n_items) == 3
    seen[2] = False
    seen[4, n_items - 2] = True
    seen[1] = True
    seen[1, n_items - 1] = False
    full = seen.copy()
    full[1] = True
    return Interactions.from_matrix(seen), Interactions.from_matrix(full)


@every
def test_odd_users_and_items_do_not_break_it(name):
    never_seen, everything_seen = odd_log()
    assert never_seen.item_degree[-1] == 0
    assert everything_seen.user_degree[[0, 1, 2]].tolist() == [1, 12, 0]
    for train in (never_seen, everything_seen):
        model = quick(name, epochs=5, popularity=0.75, negatives=2).fit(train)
        assert np.isfinite(everyone(model)).all()
        assert model.recommend([0, 2], 20, seen=train).group_by("user_id").len().sort("user_id").rows() == [
            (0, 11), (2, 12),
        ]  # fmt: skip
    assert model.recommend([1], 5, seen=everything_seen).height == 0


@every
def test_a_log_of_one_pair_is_enough(name):
    train = Interactions.of(["ann"], ["a"]).aligned(IdMap.of(["ann"]), IdMap.of(["a", "b"]))
    scores = everyone(quick(name, epochs=60, learning_rate=0.05).fit(train))
    assert scores[0, 0] > scores[0, 1]


@every
def test_there_must_be_something_to_learn_from(name):
    with pytest.raises(EmptyError):
        quick(name).fit(simulated().train.keep(np.zeros(0, dtype=int)))
    with pytest.raises(EmptyError, match="unseen"):
        quick(name).fit(Interactions.from_matrix(np.ones((3, 4))))


@every
def test_there_must_be_something_to_validate(name):
    split = simulated()
    with pytest.raises(EmptyError, match="validation"):
        quick(name).fit(split.train, split.validation.keep(np.zeros(0, dtype=int)))


@every
def test_ids_may_be_any_text(name):
    users, items = ["zoë", "ann", "李", "", "😀", " ann"], ["φ", "b", "ж", "c d", "a"]
    rng = np.random.default_rng(0)
    seen = rng.random((6, 5)) < 0.5
    seen[:, 0] = True
    rows, columns = np.nonzero(seen)
    train = Interactions.of([users[row] for row in rows], [items[column] for column in columns])
    model = quick(name).fit(train)
    table = model.recommend(["😀", "zoë"], 5, seen=train)
    for user in ("😀", "zoë"):
        listed = set(table.filter(pl.col("user_id") == user)["item_id"])
        assert listed == {items[i] for i in range(5) if not seen[users.index(user), i]} & set(train.items.ids)


# --- manners -------------------------------------------------------------------------------------------------------


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@every
@pytest.mark.usefixtures("two_threads")
def test_fitting_restores_random_state_and_threads(name):
    split, scores = simulated(), []
    for seed in (1, 2):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        before, of_numpy = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        inside = set()
        model = quick(name).fit(
            split.train, split.validation, progress=lambda *_, s=inside: s.add(torch.get_num_threads())
        )
        scores.append(everyone(model))
        assert torch.equal(torch.get_rng_state(), before)
        assert_array_equal(np.random.get_state()[1], of_numpy)  # noqa: NPY002
        assert torch.get_num_threads() == 2
        assert 1 in inside
    assert_array_equal(*scores)


@pytest.mark.usefixtures("two_threads")
def test_an_interrupted_fit_restores_them_too():
    before = torch.get_rng_state()

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick("bpr").fit(simulated().train, progress=stop)
    assert torch.get_num_threads() == 2
    assert torch.equal(torch.get_rng_state(), before)


@every
@pytest.mark.parametrize("validated", [True, False])
def test_progress_reports_every_step_with_loss_and_metric(name, validated, monkeypatch):
    monkeypatch.setattr("sureness._progress.EVERY", -1.0)
    split, reports = simulated(), []
    model = quick(name, validate_every=1).fit(
        split.train, split.validation if validated else None, progress=lambda *said: reports.append(said)
    )
    texts, done, totals = zip(*reports, strict=True)
    assert len(set(totals)) == 1
    assert list(done) == [*range(1, totals[0] + 1), totals[0]]
    assert texts[0] == "training: steps"
    assert texts[-1].startswith(f"epoch 3 loss {model.history_['loss'][-1]:.4f}")
    metric = f" ndcg@10 {model.best_metric_:.4f} at {model.best_epoch_}" if validated else ""
    assert texts[-1] == f"epoch 3 loss {model.history_['loss'][-1]:.4f}{metric}"


def test_progress_reaches_the_end_when_training_stops_early():
    split, reports = simulated(), []
    model = quick("bpr", epochs=100, validate_every=1, patience=1, learning_rate=0.1).fit(
        split.train, split.validation, progress=lambda *said: reports.append(said)
    )
    assert model.history_.height < 100
    assert reports[-1][1] == reports[-1][2] == 100 * -(-len(split.train) // 512)


@every
@pytest.mark.parametrize("settings", [{"start_scale": 1e30}, {"learning_rate": 1e30}], ids=str)
def test_training_that_diverges_says_so(name, settings):
    try:
        scores = everyone(quick(name, **settings).fit(simulated().train))
    except DivergedError as error:
        assert error.code == "diverged"
    else:  # CML keeps its embeddings inside a ball, and layers of CDAE saturate
        assert name == "cml" or (name == "cdae" and "start_scale" in settings)
        assert np.isfinite(scores).all()


# --- saving --------------------------------------------------------------------------------------------------------


@every
def test_saving_and_loading_changes_nothing(name, tmp_path):
    model, split = fitted(name), simulated()
    model.save(tmp_path / "model.sureness")
    loaded = load(tmp_path / "model.sureness", Recommender)
    assert repr(loaded) == repr(model)
    assert_array_equal(everyone(loaded), everyone(model))
    assert loaded.history_.equals(model.history_)
    assert loaded.history_.schema == model.history_.schema
    assert (loaded.best_epoch_, loaded.best_metric_) == (model.best_epoch_, model.best_metric_)
    assert loaded.users.same_as(split.train.users)
    assert loaded.n_parameters == model.n_parameters
    users, items = torch.tensor([4, 9]), torch.tensor([[0, 1], [2, 3]])
    with torch.no_grad():
        assert torch.equal(loaded.network_.score(users, items), model.network_.score(users, items))


def test_without_validation_there_is_no_metric_to_save(tmp_path):
    model = quick("bpr").fit(simulated().train)
    model.save(tmp_path / "model.sureness")
    loaded = load(tmp_path / "model.sureness", Recommender)
    assert loaded.best_metric_ is None
    assert loaded.history_.schema == model.history_.schema


def test_another_process_without_the_log_gives_the_same_scores(tmp_path):
    for name in model_names():
        fitted(name).save(tmp_path / f"{name}.sureness")
    script = (
        "import sys, numpy as np; from sureness.saving.objects import load; "
        "np.savez(sys.argv[1], **{name: load(f'{sys.argv[2]}/{name}.sureness').score_block(np.arange(150)) "
        "for name in sys.argv[3:]})"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path / "scores.npz", tmp_path, *model_names()], check=True)
    with np.load(tmp_path / "scores.npz") as scores:
        for name in model_names():
            assert_array_equal(scores[name], everyone(fitted(name)), err_msg=name)


def test_ids_of_any_text_survive_saving(tmp_path):
    train = Interactions.of(["zoë", "李", "李", "😀"], ["φ", "φ", "ж", "c d"])
    model = quick("bpr").fit(train)
    model.save(tmp_path / "model.sureness")
    loaded = load(tmp_path / "model.sureness", Recommender)
    assert loaded.recommend(["李", "zoë"], 3, seen="nothing").equals(model.recommend(["李", "zoë"], 3, seen="nothing"))


@pytest.mark.parametrize("damage", ["cut", "flipped", "missing"])
def test_a_damaged_model_is_refused(damage, tmp_path):
    file = tmp_path / "model.sureness"
    fitted("bpr").save(file)
    content = bytearray(file.read_bytes())
    if damage == "missing":
        file.unlink()
    else:
        content[-1] ^= 1
        file.write_bytes(content if damage == "flipped" else content[:-7])
    with pytest.raises(FileError if damage == "missing" else DamagedError, match="model.sureness"):
        load(file)


def test_a_file_that_holds_something_else_is_refused(tmp_path):
    MatrixSource(np.zeros((1, 2))).save(tmp_path / "source.sureness")
    with pytest.raises(KindError, match="Recommender"):
        load(tmp_path / "source.sureness", Recommender)


@every
def test_arrays_that_do_not_fit_the_settings_are_refused(name):
    packed = fitted(name).pack()
    wrong = replace(packed, settings={**packed.settings, "n_factors": 5})
    with pytest.raises(DamagedError):
        _ = unpack(wrong).network_


@every
def test_an_opened_model_is_the_saved_one(name, tmp_path):
    """Its network, built from the file, is the one that was saved; saved again, it gives the same file."""
    model = fitted(name)
    first, second, third = (tmp_path / f"{number}.sureness" for number in range(3))
    model.save(first)
    opened = load(first, Recommender)
    opened.save(second)
    assert first.read_bytes() == second.read_bytes()
    for key, tensor in model.network_.state_dict().items():
        assert torch.equal(opened.network_.state_dict()[key], tensor), key
    opened.save(third)
    assert first.read_bytes() == third.read_bytes()
    assert_array_equal(everyone(opened.fit(simulated().train)), everyone(clone(model).fit(simulated().train)))


@every
def test_an_opened_model_is_on_the_cpu(name):
    packed = fitted(name).pack()
    opened = unpack(replace(packed, settings={**packed.settings, "device": "cuda"}))
    assert opened.device == "cpu"
    assert opened.set_params(device="cpu", threads=2) is opened
    assert_array_equal(everyone(opened), everyone(fitted(name)))


def test_settings_of_numpy_become_plain_ones():
    settings = BPR(n_factors=np.int64(3), learning_rate=np.float32(0.5)).settings
    assert json.dumps(settings.plain())
    assert type(settings.n_factors) is int


def test_widths_of_numpy_become_plain_ones():
    assert json.dumps(make_recommender("neumf", layer_widths=tuple(np.array([8, 4]))).settings.plain())


def test_a_matrix_instead_of_a_log_is_refused():
    log = Interactions.of([1, 1, 2], [1, 2, 3])
    with pytest.raises(DataError, match="train.*csr_matrix"):
        BPR(epochs=1).fit(log.matrix)
    with pytest.raises(DataError, match="validation.*csr_matrix"):
        BPR(epochs=1).fit(log, log.matrix)


def test_only_ubpr_takes_propensities():
    log = Interactions.of([1, 1, 2], [1, 2, 3])
    with pytest.raises(TypeError, match="propensity"):
        BPR(epochs=1).fit(log, propensity=np.ones(3))


def test_layer_widths_may_be_a_list():
    assert make_recommender("neumf", layer_widths=[8, 4]).layer_widths == (8, 4)
