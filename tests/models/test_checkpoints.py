"""Training that is killed, or whose disk is full, resumes and ends the same."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sureness.errors import ArtefactError, CheckpointError, FileError, KindError, OutputError, VersionError
from sureness.models import checkpoints
from sureness.models.catalogue import make_recommender, model_names
from sureness.models.networks import training
from sureness.saving import records
from tests.disasters import full_disk_after, killed_again_and_again
from tests.models.training_process import start
from tests.models.worlds import QUICK, everyone, simulated

every = pytest.mark.parametrize("name", model_names())
LONG = QUICK | {"epochs": 40, "validate_every": 3, "patience": 100, "popularity": 0.75}


def quick(name="bpr", **changes):
    return make_recommender(name, **(QUICK | {"validate_every": 2} | changes))


def parts():
    return simulated().train, simulated().validation


def finished(path):
    """How many epochs a checkpoint holds; it must be whole."""
    return checkpoints.read_checkpoint(path).state["training"]["epoch"]


def same_model(first, second):
    assert_array_equal(everyone(first), everyone(second))
    assert first.history_.drop("seconds").equals(second.history_.drop("seconds"))
    assert (first.best_epoch_, first.best_metric_) == (second.best_epoch_, second.best_metric_)


@pytest.fixture
def checkpoint(tmp_path):
    """The checkpoint of a quick run of BPR that is over."""
    quick().fit(*parts(), checkpoint=tmp_path / "run.ckpt")
    return tmp_path / "run.ckpt"


# --- killed --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bpr", "cdae"])
def test_killed_again_and_again_training_ends_like_an_undisturbed_run(name, tmp_path):
    path, rng = tmp_path / "run.ckpt", np.random.default_rng(len(name))
    killed_again_and_again(lambda: start(name, LONG, parts(), path), path, finished, rng)
    resumed = make_recommender(name, **LONG).fit(*parts(), checkpoint=path)
    same_model(resumed, make_recommender(name, **LONG).fit(*parts()))


@every
@pytest.mark.parametrize("stop", [3])
def test_stopped_at_any_epoch_training_resumes_and_ends_the_same(name, stop, tmp_path, monkeypatch):
    """The optimiser's moments, the best epoch so far and the count of failures are all in the file."""
    settings = {"epochs": 4, "patience": 2}
    whole = quick(name, **settings).fit(*parts())
    epoch = training.Trainer.epoch

    def interrupted(trainer, number, on_batch=None):
        if number == stop + 1:
            raise KeyboardInterrupt
        return epoch(trainer, number, on_batch)

    with monkeypatch.context() as patch:
        patch.setattr(training.Trainer, "epoch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            quick(name, **settings).fit(*parts(), checkpoint=tmp_path / "run.ckpt", checkpoint_seconds=0.0)
    assert finished(tmp_path / "run.ckpt") == stop
    same_model(quick(name, **settings).fit(*parts(), checkpoint=tmp_path / "run.ckpt"), whole)


def test_a_run_that_is_over_is_not_run_again(checkpoint, monkeypatch):
    whole = quick().fit(*parts())
    monkeypatch.setattr(training.Trainer, "epoch", None)  # a call would fail
    same_model(quick().fit(*parts(), checkpoint=checkpoint), whole)


def test_progress_resumes_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr("sureness._progress.EVERY", -1.0)
    quick(epochs=2).fit(*parts(), checkpoint=tmp_path / "run.ckpt")
    reports = []
    quick(epochs=4).fit(*parts(), checkpoint=tmp_path / "run.ckpt", progress=lambda *said: reports.append(said))
    texts, done, totals = zip(*reports, strict=True)
    assert texts[0].startswith("epoch 2 loss")
    assert list(done) == [*range(totals[0] // 2 + 1, totals[0] + 1), totals[0]]


def test_fewer_epochs_than_are_done_are_refused(tmp_path):
    quick(epochs=4).fit(*parts(), checkpoint=tmp_path / "run.ckpt")
    before = (tmp_path / "run.ckpt").read_bytes()
    with pytest.raises(CheckpointError, match="4"):
        quick(epochs=2).fit(*parts(), checkpoint=tmp_path / "run.ckpt")
    assert (tmp_path / "run.ckpt").read_bytes() == before


def test_more_epochs_continue_from_the_end(checkpoint):
    longer = quick(epochs=8).fit(*parts(), checkpoint=checkpoint)
    assert longer.history_.height == 8
    everything = quick(epochs=8).fit(parts()[0])
    quick(epochs=3).fit(parts()[0], checkpoint=checkpoint.with_name("unvalidated"))
    resumed = quick(epochs=8).fit(parts()[0], checkpoint=checkpoint.with_name("unvalidated"))
    same_model(resumed, everything)


def test_a_rate_that_falls_with_the_epochs_refuses_other_epochs(tmp_path):
    falling, path = {"end_rate": 0.0, "epochs": 4}, tmp_path / "run.ckpt"
    whole = quick(**falling).fit(parts()[0], checkpoint=path)
    same_model(quick(**falling).fit(parts()[0], checkpoint=path), whole)
    with pytest.raises(CheckpointError, match=r"settings \(epochs\)"):
        quick(**falling | {"epochs": 8}).fit(parts()[0], checkpoint=path)


def test_more_patience_continues_after_an_early_stop(tmp_path):
    settings = {"epochs": 12, "validate_every": 1, "learning_rate": 0.2}
    path = tmp_path / "run.ckpt"
    short = quick(**settings, patience=1).fit(*parts(), checkpoint=path)
    assert short.history_.height < 12
    same_model(
        quick(**settings, patience=12).fit(*parts(), checkpoint=path), quick(**settings, patience=12).fit(*parts())
    )


def test_checkpoints_are_written_at_intervals_and_at_the_end(tmp_path, monkeypatch):
    written = []
    write = checkpoints.write_packed
    monkeypatch.setattr(checkpoints, "write_packed", lambda *content: written.append(content) or write(*content))
    quick(epochs=5).fit(*parts(), checkpoint=tmp_path / "a.ckpt", checkpoint_seconds=1_000.0)
    assert len(written) == 1
    quick(epochs=5).fit(*parts(), checkpoint=tmp_path / "b.ckpt", checkpoint_seconds=0.0)
    assert len(written) == 1 + 5 + 1
    assert sorted(os.listdir(tmp_path)) == ["a.ckpt", "b.ckpt"]


# --- other runs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "changes", "which"),
    [
        ("bpr", {"learning_rate": 0.5}, r"settings \(learning_rate\)"),
        ("bpr", {"l2": 0.5, "seed": 3}, r"settings \(l2, seed\)"),
        ("bpr", {"n_factors": 9}, r"settings \(n_factors\)"),
        ("ubpr", {}, "model"),
        ("lightgcn", {}, "model"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(checkpoint, name, changes, which):
    before = checkpoint.read_bytes()
    with pytest.raises(CheckpointError, match=which):
        quick(name, **changes).fit(*parts(), checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before


def test_a_checkpoint_of_other_data_is_refused(checkpoint):
    train, validation = parts()
    fewer = train.keep(np.arange(len(train) - 1))
    for given, which in (
        ((fewer, validation), "train"), ((train, simulated().test), "validation"), ((train, None), "validation"),
    ):  # fmt: skip
        with pytest.raises(CheckpointError, match=which):
            quick().fit(*given, checkpoint=checkpoint)


def test_a_checkpoint_of_other_propensities_is_refused(tmp_path):
    train, path = parts()[0], tmp_path / "run.ckpt"
    known = {"propensity": np.linspace(0.1, 1.0, len(train))}
    quick("ubpr").fit(train, checkpoint=path, **known)
    quick("ubpr").fit(train, checkpoint=path, propensity=known["propensity"].tolist())
    for other in ({"propensity": np.ones(len(train))}, {}):
        with pytest.raises(CheckpointError, match="propensity"):
            quick("ubpr").fit(train, checkpoint=path, **other)


def test_device_and_threads_may_differ(checkpoint):
    same_model(quick(threads=2).fit(*parts(), checkpoint=checkpoint), quick().fit(*parts()))


# --- damage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 10, 32, 200, -1])
def test_a_cut_checkpoint_is_refused(checkpoint, size):
    checkpoint.write_bytes(checkpoint.read_bytes()[:size])
    with pytest.raises(ArtefactError, match="remove it"):
        quick().fit(*parts(), checkpoint=checkpoint)


def test_a_flipped_bit_anywhere_is_found(checkpoint):
    whole = checkpoint.read_bytes()
    for place in [0, 31, 32, 40, len(whole) - 1, *np.random.default_rng(0).integers(0, len(whole), 25).tolist()]:
        content = bytearray(whole)
        content[place] ^= 4
        checkpoint.write_bytes(content)
        with pytest.raises(ArtefactError, match="remove it"):
            checkpoints.read_checkpoint(checkpoint)


def test_a_checkpoint_of_another_version_is_refused(checkpoint, monkeypatch):
    monkeypatch.setattr(records, "SCHEMA", 3)
    with pytest.raises(VersionError, match="remove it"):
        quick().fit(*parts(), checkpoint=checkpoint)


def test_a_folder_is_no_checkpoint(tmp_path):
    with pytest.raises(FileError, match="folder"):
        quick().fit(*parts(), checkpoint=tmp_path)


def test_a_saved_model_is_no_checkpoint(tmp_path):
    quick().fit(*parts()).save(tmp_path / "model.sureness")
    with pytest.raises(KindError, match="model/bpr"):
        quick().fit(*parts(), checkpoint=tmp_path / "model.sureness")


# --- a full disk ---------------------------------------------------------------------------------------------------


def test_a_failed_write_keeps_the_last_checkpoint_and_says_so(tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    whole = quick(epochs=6).fit(*parts())
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk_after(3))
        with pytest.raises(OutputError, match="last checkpoint is complete"):
            quick(epochs=6).fit(*parts(), checkpoint=path, checkpoint_seconds=0.0)
    assert finished(path) == 3
    assert os.listdir(tmp_path) == ["run.ckpt"]
    same_model(quick(epochs=6).fit(*parts(), checkpoint=path), whole)


def test_a_failed_first_write_leaves_nothing(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"No space left on device$"):
        quick().fit(*parts(), checkpoint=tmp_path / "run.ckpt", checkpoint_seconds=0.0)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs to mount a small disk")
def test_a_full_disk_keeps_the_last_checkpoint(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False
    )  # fmt: skip
    if mounted.returncode:
        pytest.skip("may not mount a small disk here")
    try:
        path, settings = disk / "run.ckpt", {"epochs": 4, "n_factors": 32}
        quick(**settings | {"epochs": 2}).fit(*parts(), checkpoint=path)
        size = path.stat().st_size
        (disk / "others").write_bytes(bytes(1_000_000 - size - size // 2))  # room for half of another one
        with pytest.raises(OutputError, match="last checkpoint is complete"):
            quick(**settings).fit(*parts(), checkpoint=path)
        assert sorted(os.listdir(disk)) == ["others", "run.ckpt"]
        assert finished(path) == 2
        (disk / "others").unlink()
        same_model(quick(**settings).fit(*parts(), checkpoint=path), quick(**settings).fit(*parts()))
    finally:
        subprocess.run(["umount", disk], check=True)
