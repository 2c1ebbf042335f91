"""Distillation that is interrupted anywhere, killed, or out of disk space resumes and ends with the same models."""

from __future__ import annotations

import os
import re
import resource
import sys

import numpy as np
import pytest

from sureness.data.interactions import Interactions
from sureness.distillation import joint
from sureness.distillation.settings import Direction, DistillationSettings, distillation_method
from sureness.errors import ArtefactError, CheckpointError, DataError, FileError
from sureness.models import checkpoints
from sureness.sources.base import MatrixSource
from tests.disasters import full_disk_after, killed_again_and_again
from tests.distillation.training_process import start
from tests.distillation.worlds import elsewhere, fitted, joined, model, parts, same, unlabelled

EIGHT = {"warm_up": 2, "epochs": 6, "refresh_every": 2, "validate_every": 2}


def pair():
    return model(), model(n_factors=2)


def eight(**changes):
    return DistillationSettings(**EIGHT).changed(**changes)


def finished(path):
    """The number of finished epochs in a checkpoint, which must be whole."""
    return checkpoints.read_checkpoint(path).state["number"]


class Stop(Exception):  # noqa: N818
    """Raised by a progress callback to stop a run."""


def stopping_after(calls):
    """A progress callback that stops the run at the given call."""
    calls_made = []

    def report(*step):
        calls_made.append(step)
        if len(calls_made) >= calls:
            raise Stop

    report.calls = calls_made
    return report


@pytest.fixture
def reporting_every_step(monkeypatch):
    """Every step and every block of a refresh is reported, so that a run can be stopped in any of them."""
    monkeypatch.setattr("sureness._progress.EVERY", -1.0)
    monkeypatch.setattr("sureness.sources.blocks.BLOCK_SCORES", 40 * 100)


# --- stopped ---------------------------------------------------------------------------------------------------------


def early():
    """A run in which one model stops long before the other."""
    teacher = fitted(learning_rate=0.02, epochs=30)
    return teacher, model(n_factors=3, learning_rate=0.05), eight(patience=1, validate_every=1, epochs=8)


OFTEN = {"epochs": 7, "validate_every": 1, "refresh_every": 3}  # the best weights change between two refreshes
RUNS = {
    "bpr": lambda: (*pair(), eight()),
    "neumf and bpr": lambda: (model("neumf"), model(n_factors=2), eight(epochs=3)),
    "cdae": lambda: (fitted(), model("cdae", n_factors=2), eight(epochs=4)),
    "lightgcn and cml": lambda: (model("lightgcn"), model("cml", n_factors=2), eight(epochs=4)),
    "svd": lambda: (*pair(), eight(student_start="svd", to_student=Direction(positives=5))),
    "fixed": lambda: (fitted("lightgcn"), model(n_factors=2), distillation_method("rd", **EIGHT)),
    "source": lambda: (elsewhere(), model(n_factors=2), eight(teacher_learns=False, to_student__positives=4)),
    "calibrated": lambda: (*pair(), eight(to_student__labels="calibrated", to_teacher__labels="calibrated")),
    "warm": lambda: (fitted(), fitted(n_factors=2), eight()),
    "best guides": lambda: (*pair(), eight(guides="best", to_student__labels="calibrated", **OFTEN)),
    "best guides, svd": lambda: (*pair(), eight(guides="best", student_start="svd", **OFTEN)),
    "best guides, graphs": lambda: (fitted("lightgcn"), model("lightgcn", n_factors=2), eight(guides="best", **OFTEN)),
    "early": early,
    "unlabelled": lambda: (*pair(), unlabelled(**EIGHT)),
    "falling rates": lambda: (fitted(), model(n_factors=2), eight(end_rate=0.0)),
}


def erratic(path, rng):
    """A progress callback that stops at a random call, sooner once the run has written a checkpoint."""
    before = path.stat().st_mtime_ns if path.exists() else None

    def report(*step):
        written = path.exists() and path.stat().st_mtime_ns != before
        if rng.random() < (0.3 if written else 0.03):
            raise Stop

    return report


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_is_stopped_again_and_again_ends_like_an_uninterrupted_one(name, tmp_path, reporting_every_step):
    """Stopped within steps, between them and during a refresh; each time the same call resumes."""
    teacher, student, settings = RUNS[name]()
    whole = joined(teacher, student, settings).fit(*parts())
    path, rng = tmp_path / "run.ckpt", np.random.default_rng(3)
    stops = 0
    while stops < 100:
        both = joined(teacher, student, settings)
        try:
            both.fit(*parts(), checkpoint=path, checkpoint_seconds=0.0, progress=erratic(path, rng))
            break
        except Stop:
            stops += 1
    assert stops >= 3
    same(both, whole)


def test_a_run_stopped_at_any_report_resumes_to_the_same_end(tmp_path, reporting_every_step):
    counted = stopping_after(10**9)
    whole = joined(*pair(), eight(epochs=4)).fit(*parts(), progress=counted)
    assert len(counted.calls) > 40
    places = set()
    for calls in range(1, len(counted.calls) + 1, 4):
        path = tmp_path / f"{calls}.ckpt"
        stop = stopping_after(calls)
        with pytest.raises(Stop):
            joined(*pair(), eight(epochs=4)).fit(*parts(), checkpoint=path, checkpoint_seconds=0.0, progress=stop)
        places.add(" ".join(re.split("[ ,:]", stop.calls[-1][0])[:2]))
        same(joined(*pair(), eight(epochs=4)).fit(*parts(), checkpoint=path), whole)
    assert {"ranking for", "epoch 1", "epoch 3", "epoch 6"} <= places


def test_a_finished_run_is_not_run_again(tmp_path, monkeypatch):
    whole = joined(*pair(), eight()).fit(*parts(), checkpoint=tmp_path / "run.ckpt")
    monkeypatch.setattr(joint, "joint_epoch", None)  # a call would fail
    same(joined(*pair(), eight()).fit(*parts(), checkpoint=tmp_path / "run.ckpt"), whole)


def test_more_epochs_continue_from_the_end(tmp_path):
    train = parts()[0]
    whole = joined(*pair(), eight(epochs=9)).fit(train)
    joined(*pair(), eight(epochs=4)).fit(train, checkpoint=tmp_path / "run.ckpt")
    same(joined(*pair(), eight(epochs=9)).fit(train, checkpoint=tmp_path / "run.ckpt"), whole)


def test_more_patience_resumes_after_an_early_stop_or_is_refused(tmp_path):
    path, (teacher, student, settings) = tmp_path / "run.ckpt", early()
    joined(teacher, student, settings).fit(*parts(), checkpoint=path)
    patient = settings.changed(patience=20)
    try:
        resumed = joined(teacher, student, patient).fit(*parts(), checkpoint=path)
    except DataError:
        return
    same(resumed, joined(teacher, student, patient).fit(*parts()))


def test_checkpoints_are_written_every_few_seconds_and_at_the_end(tmp_path, monkeypatch):
    written = []
    write = checkpoints.write_packed
    monkeypatch.setattr(checkpoints, "write_packed", lambda *content: written.append(content) or write(*content))
    joined(*pair(), eight()).fit(*parts(), checkpoint=tmp_path / "a.ckpt", checkpoint_seconds=1_000.0)
    assert len(written) == 1
    joined(*pair(), eight()).fit(*parts(), checkpoint=tmp_path / "b.ckpt", checkpoint_seconds=0.0)
    assert len(written) == 1 + 8 + 1
    assert sorted(os.listdir(tmp_path)) == ["a.ckpt", "b.ckpt"]


# --- killed ----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_run_that_is_killed_again_and_again_ends_like_an_uninterrupted_one(tmp_path):
    path, settings = tmp_path / "run.ckpt", eight(epochs=25, refresh_every=3, patience=100)
    killed_again_and_again(lambda: start(pair(), settings, parts(), path), path, finished, np.random.default_rng(1))
    same(joined(*pair(), settings).fit(*parts(), checkpoint=path), joined(*pair(), settings).fit(*parts()))


# --- other runs ------------------------------------------------------------------------------------------------------


@pytest.fixture
def checkpoint(tmp_path):
    """The checkpoint of a quick run that has finished."""
    joined(*pair(), eight()).fit(*parts(), checkpoint=tmp_path / "run.ckpt")
    return tmp_path / "run.ckpt"


def refused(checkpoint, which, teacher, student, settings, given=None):
    before = checkpoint.read_bytes()
    with pytest.raises(CheckpointError, match=rf"{checkpoint.name} .*{which}") as caught:
        joined(teacher, student, settings).fit(*(parts() if given is None else given), checkpoint=checkpoint)
    assert "\n" not in str(caught.value)
    assert checkpoint.read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "which"),
    [
        ({"seed": 3}, r"settings \(seed\)"),
        ({"to_student__weight": 0.1}, r"settings \(to_student\)"),
        ({"warm_up": 1, "patience": 9}, r"settings \(warm_up, patience\)"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(checkpoint, changes, which):
    refused(checkpoint, which, *pair(), eight(**changes))


@pytest.mark.parametrize(
    ("teacher", "student", "which"),
    [
        ({}, {"n_factors": 3}, r"(start|settings) of the student.*"),
        ({"learning_rate": 0.5}, {"n_factors": 2}, r"settings of the teacher \(learning_rate\)"),
    ],
)
def test_a_checkpoint_of_other_models_is_refused(checkpoint, teacher, student, which):
    refused(checkpoint, which, model(**teacher), model(**student), eight())


def test_a_checkpoint_of_another_kind_is_refused(checkpoint):
    refused(checkpoint, r"(start|settings) of the teacher.*", model("ubpr"), model(n_factors=2), eight())


def test_a_checkpoint_of_other_data_is_refused(checkpoint):
    train, validation = parts()
    fewer = train.keep(np.arange(len(train) - 1))
    for given, which in (
        ((fewer, validation), "train"),
        ((train, validation.keep(np.arange(len(validation) - 1))), "validation"),
        ((train, None), "validation"),
    ):
        refused(checkpoint, which, *pair(), eight(), given)


def test_a_checkpoint_of_plain_training_is_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    model().fit(*parts(), checkpoint=path)
    refused(path, "model", *pair(), eight())


def test_plain_training_refuses_a_checkpoint_of_two(checkpoint):
    with pytest.raises(CheckpointError, match="model"):
        model().fit(*parts(), checkpoint=checkpoint)


def others():
    """Pairs of runs with the same settings and logs but other models."""
    train = parts()[0]
    fixed = eight(teacher_learns=False)
    longer = model(n_factors=8, epochs=9).fit(train)
    other = MatrixSource(np.random.default_rng(9).normal(size=(150, 100)).astype(np.float32))
    return {
        "another fixed teacher": ((fitted(), model(), fixed), (longer, model(), fixed)),
        "another fixed source": ((elsewhere(), model(), fixed), (other, model(), fixed)),
        "fitted ones instead of new ones": ((model(n_factors=8), model(), eight()), (fitted(), model(), eight())),
        "fitted ones that learned longer": ((fitted(), model(), eight()), (longer, model(), eight())),
    }


@pytest.mark.parametrize("name", others())
def test_a_checkpoint_of_other_given_models_is_refused(name, tmp_path):
    path, (one, other) = tmp_path / "run.ckpt", others()[name]
    joined(*one).fit(*parts(), checkpoint=path)
    refused(path, "", *other)


def test_device_and_threads_of_the_models_may_differ(checkpoint):
    whole = joined(*pair(), eight()).fit(*parts())
    same(joined(model(threads=2), model(n_factors=2, threads=2), eight()).fit(*parts(), checkpoint=checkpoint), whole)


# --- damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 10, 32, 400, -1])
def test_a_cut_checkpoint_is_refused(checkpoint, size):
    checkpoint.write_bytes(checkpoint.read_bytes()[:size])
    with pytest.raises(ArtefactError, match="run.ckpt"):
        joined(*pair(), eight()).fit(*parts(), checkpoint=checkpoint)


def test_a_folder_is_refused_as_a_checkpoint(tmp_path):
    with pytest.raises(FileError, match="cannot read"):
        joined(*pair(), eight()).fit(*parts(), checkpoint=tmp_path)


# --- a full disk -----------------------------------------------------------------------------------------------------


def test_a_write_that_fails_leaves_the_checkpoint_before_and_says_so(tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    whole = joined(*pair(), eight()).fit(*parts())
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk_after(4))
        with pytest.raises(FileError, match="No space left"):
            joined(*pair(), eight()).fit(*parts(), checkpoint=path, checkpoint_seconds=0.0)
    assert finished(path) == 4
    assert os.listdir(tmp_path) == ["run.ckpt"]
    same(joined(*pair(), eight()).fit(*parts(), checkpoint=path), whole)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the size of files")
def test_a_file_size_limit_leaves_the_checkpoint_before(tmp_path):
    """Files are limited to a thousand bytes, which Python reports as an error, not a signal."""
    path = tmp_path / "run.ckpt"
    whole = joined(*pair(), eight()).fit(*parts())
    with pytest.raises(Stop):
        joined(*pair(), eight()).fit(*parts(), checkpoint=path, checkpoint_seconds=0.0, progress=stopping_after(2))
    before, (soft, hard) = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(FileError, match="File too large"):
            joined(*pair(), eight()).fit(*parts(), checkpoint=path, checkpoint_seconds=0.0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.ckpt"]
    same(joined(*pair(), eight()).fit(*parts(), checkpoint=path), whole)


def test_a_checkpoint_that_cannot_be_written_is_refused_at_the_first_write(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot write"):
        joined(*pair(), eight()).fit(*parts(), checkpoint=tmp_path / "file" / "run.ckpt", checkpoint_seconds=0.0)


def test_a_log_read_again_from_its_table_resumes(tmp_path):
    train, validation = parts()
    path = tmp_path / "run.ckpt"
    whole = joined(*pair(), eight()).fit(train, validation, checkpoint=path)
    read_again = Interactions.from_table(train.table(), users=train.users, items=train.items)
    same(joined(*pair(), eight()).fit(read_again, validation, checkpoint=path), whole)


def test_fewer_epochs_than_are_done_are_refused(tmp_path):
    joined(*pair(), eight(epochs=4)).fit(*parts(), checkpoint=tmp_path / "run.ckpt")
    with pytest.raises(CheckpointError):
        joined(*pair(), eight(epochs=1)).fit(*parts(), checkpoint=tmp_path / "run.ckpt")
