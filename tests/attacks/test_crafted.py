"""Some crafted files of every kind; `make attack` opens twelve thousand."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import sureness as sn
from sureness.errors import DamagedError, KindError, MissingExtraError
from sureness.saving.objects import read_packed, write_packed
from sureness.saving.packed import Packed
from tests.attacks.crafted import BINARY_KINDS, JSON_KINDS, attack
from tests.saving.kinds import made


@pytest.mark.parametrize(("kinds", "n"), [(JSON_KINDS, 200), (BINARY_KINDS, 120)], ids=["readable", "binary"])
def test_crafted_files_are_refused_or_give_probabilities(kinds, n, tmp_path):
    found = attack(kinds, range(10_000, 10_000 + n), tmp_path)
    assert found.tried == n
    assert found.failed == 0, found.notes


@pytest.mark.parametrize("name", ["{package}.inner", "{package}"])
def test_nothing_is_imported_by_a_name_in_a_file(name, tmp_path, monkeypatch):
    """Looking for a dotted name would import the package around it."""
    package = "imported_by_a_file"
    (tmp_path / f"{package}.py").write_text("raise SystemExit('it was imported')")
    monkeypatch.syspath_prepend(tmp_path)
    needs = (name.format(package=package), "nothing_like_it")
    write_packed(replace(made("saved/ids").pack(), needs=needs), tmp_path / "it.sureness", "file")
    with pytest.raises(MissingExtraError):
        sn.load(tmp_path / "it.sureness")
    assert package not in sys.modules


@pytest.mark.parametrize("kind", ["adapter/implicit", "adapter/pyspark", "utility/ndcg"])
def test_what_is_registered_and_cannot_be_saved_is_no_kind(kind, tmp_path):
    write_packed(Packed(kind=kind), tmp_path / "it.json", "json")
    for expected in (None, sn.calibration.Calibrator):
        with pytest.raises(KindError, match=kind):
            sn.load(tmp_path / "it.json", expected)


WRONG = {
    "seen item beyond the last": ("trained/item_rows", lambda rows: np.where(np.arange(len(rows)) == 3, 10**6, rows)),
    "negative seen item": ("trained/item_rows", lambda rows: np.where(np.arange(len(rows)) == 0, -1, rows)),
    "seen items out of order": ("trained/item_rows", lambda rows: rows[::-1]),
    "no starts": ("trained/row_starts", lambda starts: starts[:0]),
    "starts that fall": ("trained/row_starts", lambda starts: np.concatenate([[0], starts[-2:0:-1], starts[-1:]])),
    "users of others": ("held_out/user_rows", lambda rows: rows[::-1]),
    "ids out of order": ("source/users/offsets", lambda offsets: np.concatenate([[0], offsets[2:], offsets[-1:]])),
}


@pytest.mark.parametrize("what", WRONG)
def test_arrays_that_do_not_fit_each_other_are_refused_at_load(what, tmp_path):
    """Row numbers that nobody checked ended the process in compiled code."""
    path, change = WRONG[what]

    def changed(packed, path):
        name, _, rest = path.partition("/")
        if not rest:
            return replace(packed, arrays={**packed.arrays, name: change(packed.arrays[name])})
        return replace(packed, parts={**packed.parts, name: changed(packed.parts[name], rest)})

    made("saved/recommender").save(tmp_path / "it.sureness")
    sn.load(tmp_path / "it.sureness")
    write_packed(changed(read_packed(tmp_path / "it.sureness"), path), tmp_path / "it.sureness", "file")
    with pytest.raises(DamagedError, match="cannot be understood"):
        sn.load(tmp_path / "it.sureness")


@pytest.mark.parametrize(
    "change",
    [
        lambda curve: {**curve, "knots": curve["knots"] * 2},
        lambda curve: {**curve, "knots": curve["knots"][::-1]},
        lambda curve: {**curve, "slopes": curve["slopes"] * 2},
        lambda curve: {**curve, "knots": [], "slopes": []},
        lambda curve: {**curve, "log_mean": "1"},
        lambda curve: {"log_mean": 0.0},
    ],
    ids=["knots twice", "knots that fall", "slopes twice", "no knots", "text", "no curve"],
)
def test_what_is_expected_below_the_best_candidates_is_checked_at_load(change, tmp_path):
    packed = made("saved/recommender").pack()
    state = {**packed.state, "below": change(packed.state["below"])}
    write_packed(replace(packed, state=state), tmp_path / "it.sureness", "file")
    with pytest.raises(DamagedError, match="cannot be understood"):
        sn.load(tmp_path / "it.sureness")
