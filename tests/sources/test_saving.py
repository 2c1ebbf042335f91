"""Saved sources score as before; what is damaged, foreign or newer is refused."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sureness as sn
from sureness.data.ids import IdMap
from sureness.sources import load_source, save_source

RNG = np.random.default_rng(0)
USERS, ITEMS = IdMap.of(["ann", "bob", "zoë", "Ødegård"]), IdMap.of([3, 7, 9])
FACTORS = RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2)).astype(np.float32)
SOURCES = {
    "factors": sn.FactorSource(*FACTORS),
    "factors with everything": sn.FactorSource(*FACTORS, np.arange(4.0), np.arange(3.0), USERS, ITEMS),
    "biases alone": sn.FactorSource(np.zeros((4, 0)), np.zeros((3, 0)), np.arange(4.0), np.arange(3.0)),
    "matrix": sn.MatrixSource(RNG.normal(size=(4, 3)), items=ITEMS),
    "transposed matrix": sn.MatrixSource(RNG.normal(size=(3, 4)).T, users=USERS),
    "matrix of small numbers": sn.MatrixSource(np.arange(12, dtype=np.int8).reshape(4, 3)),
    "matrix of truths": sn.MatrixSource(np.eye(4, 3, dtype=bool)),
    "candidates": sn.CandidateSource.of(["ann", "zoë", "ann"], [3, 7, 9], [1.0, 2.0, 3.0]),
}
every_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())


@pytest.fixture
def saved(tmp_path):
    save_source(SOURCES["factors with everything"], tmp_path / "source")
    return tmp_path / "source"


def same_ids(first, second):
    return first is second is None or first.same_as(second)


@every_source
def test_a_source_comes_back_as_it_was(source, tmp_path):
    save_source(source, tmp_path / "source")
    found = load_source(tmp_path / "source")
    assert type(found) is type(source)
    everyone = np.arange(source.n_users)
    assert_array_equal(found.score_block(everyone), source.score_block(everyone))
    assert type(found.score_block(everyone)) is np.ndarray
    assert same_ids(found.users, source.users)
    assert same_ids(found.items, source.items)


def test_arrays_stay_on_disk(saved):
    source = load_source(saved)
    assert isinstance(source.user_factors, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        source.user_factors[0, 0] = 1.0


def test_nothing_in_the_folder_can_be_executed(saved):
    assert sorted(file.name for file in saved.iterdir()) == [
        "arrays.safetensors", "items.parquet", "manifest.json", "users.parquet",
    ]  # fmt: skip
    manifest = json.loads((saved / "manifest.json").read_text())
    assert manifest["format"] == "sureness-source"
    assert (manifest["schema"], manifest["kind"], manifest["shape"]) == (1, "factors", [4, 3])
    assert manifest["arrays"]["user_factors"] == [4, 2]
    from safetensors.numpy import load_file

    assert_array_equal(load_file(saved / "arrays.safetensors")["user_factors"], FACTORS[0])


def test_a_source_may_be_saved_over_itself(saved):
    before = load_source(saved)
    save_source(before, saved)
    assert_array_equal(load_source(saved).user_factors, before.user_factors)


@pytest.mark.parametrize("name", ["arrays.safetensors", "users.parquet", "items.parquet", "manifest.json"])
@pytest.mark.parametrize("damage", ["flipped", "cut", "empty"])
def test_damage_anywhere_is_noticed(saved, name, damage):
    content = bytearray((saved / name).read_bytes())
    if damage == "flipped":
        content[len(content) // 2] ^= 0x10
    (saved / name).write_bytes({"flipped": content, "cut": content[:-1], "empty": b""}[damage])
    if (name, damage) == ("manifest.json", "cut"):  # the last byte is the end of the line
        (saved / name).write_bytes(content[:-2])
    with pytest.raises(sn.errors.ArtefactError, match=f"{name} is damaged"):
        load_source(saved)


def rewrite_manifest(folder, **change):
    from sureness._artefacts import _checksum

    manifest = json.loads((folder / "manifest.json").read_text()) | change
    (folder / "manifest.json").write_text(json.dumps(manifest | {"checksum": _checksum(manifest)}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"schema": 2, "package": "9.0"},
            r"has schema 2 \(written by sureness 9.0\).* reads schema 1; update sureness",
        ),
        ({"format": "sureness-model"}, r"is not a sureness-source \(format 'sureness-model'\)"),
        ({"kind": "os.system"}, "a source of the kind 'os.system', expected one of factors, matrix, candidates"),
        ({"kind": "matrix"}, "cannot be understood"),
        ({"shape": [4, 4]}, r"it should have the shape \[4, 4\], got \[4, 3\]"),
    ],
)
def test_other_kinds_and_newer_versions_are_refused(saved, change, message):
    rewrite_manifest(saved, **change)
    with pytest.raises(sn.errors.ArtefactError, match=message):
        load_source(saved)


def test_sources_that_compute_cannot_be_saved(tmp_path):
    source = sn.FunctionSource(lambda users: np.zeros((len(users), 2)), 3, 2)
    with pytest.raises(
        sn.DataError, match="only factors, matrices and candidate tables can be saved, got FunctionSour"
    ):
        save_source(source, tmp_path / "source")


@pytest.mark.parametrize("moment", ["_write_arrays", "write_ids"])
def test_a_kill_while_writing_leaves_the_old_source_readable(saved, moment):
    script = f"""
import os, signal, sys, numpy as np, sureness as sn
from sureness.sources import saving
plain = saving.{moment}
def killing(*arguments):
    plain(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
saving.{moment} = killing
save_source(sn.MatrixSource(np.ones((4, 3)), users=sn.IdMap.of(list("abcd"))), sys.argv[1])
"""
    done = subprocess.run([sys.executable, "-c", script, str(saved)], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert_array_equal(load_source(saved).user_factors, FACTORS[0])


@pytest.mark.parametrize("limit", [100, 20_000], ids=["no room for arrays", "no room for ids"])
def test_a_full_disk_leaves_the_old_source_readable(saved, limit):
    script = f"""
import resource, signal, sys, numpy as np, sureness as sn
from safetensors.numpy import save_file
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
source = sn.MatrixSource(np.ones((100_000, 0)), users=sn.IdMap.counting(100_000))
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
if {limit} < 1_000:
    source = sn.MatrixSource(np.ones((100, 100)))
try:
    save_source(source, sys.argv[1])
except sn.FileError as error:
    sys.exit(f"refused: {{error}}")
"""
    done = subprocess.run([sys.executable, "-c", script, str(saved)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stderr
    assert f"refused: cannot write {saved}: " in done.stderr
    assert "File too large" in done.stderr
    assert_array_equal(load_source(saved).user_factors, FACTORS[0])
    assert [file.name for file in saved.parent.iterdir()] == ["source"]
