"""Files with valid checksums whose content nobody saved: only our own errors, and never a probability that is none.

A checksum protects against accidents, not against people. Each file is a small object of one kind, with something in
its tree or its arrays changed before the checksums are made. It is opened and used in a process of its own, because a
row beyond the end of an array could end the process.
"""

from __future__ import annotations

import copy
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sureness as sn
from sureness.errors import SurenessError
from sureness.expressions import DIALECTS
from sureness.saving import _container, inspect
from sureness.saving.packed import arrays_of, tree_of
from sureness.saving.records import heading, write_record
from tests.attacks.outcome import Outcome, joined
from tests.saving.kinds import FILES, HAS_TORCH, KINDS, made

ROOT = Path(__file__).parents[2]  # where `tests` is found, whatever the working folder is
FAILURE = "another error than ours, a probability that is none, or a dead process"
JSON_KINDS = tuple(kind for kind in KINDS if kind not in FILES)
BINARY_KINDS = tuple(kind for kind in FILES if not kind.startswith("model/")) + (("model/bpr",) if HAS_TORCH else ())

VALUES: tuple[Any, ...] = (
    None, True, 0, 1, 3, -1, -7, 0.5, 1e308, -1e308, 5e-324, 2**63, 10**30, "", "x", "1", "pkg.x", "\x1b[31m", [], [[]],
    [None], [1, "a"], {}, {"number": "nan"}, {"number": "inf"}, {"number": "-inf"}, {"number": "x"}, {"packed": {}},
    {"packed": {"kind": "adapter/implicit"}}, {"mapping": 3}, "adapter/implicit", "saved/ids", "calibrator/platt",
    "map/lists", "interaction", "preference",
)  # fmt: skip
"""What takes the place of a value of the tree."""


def crafted(kind: str, rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The tree and the arrays of an object, changed in one to three places."""
    packed = made(kind).pack()
    tree, arrays = copy.deepcopy(tree_of(packed)), {name: np.array(each) for name, each in arrays_of(packed).items()}
    for _ in range(rng.integers(1, 4)):
        if arrays and rng.random() < 0.6:
            _change_array(arrays, rng)
        else:
            _change_tree(tree, rng)
    return tree, arrays


def _change_tree(tree: dict[str, Any], rng: np.random.Generator) -> None:
    places = list(_places(tree))
    if not places:
        return
    holder, key = places[rng.integers(len(places))]
    held = holder[key]
    match rng.integers(6):
        case 0 if isinstance(held, list) and held:
            holder[key] = held[::-1] if rng.random() < 0.5 else held[:-1]
        case 1 if isinstance(held, list) and held:
            holder[key] = held * 2
        case 2 if isinstance(held, int | float) and not isinstance(held, bool):
            holder[key] = [-held, held * 1e6, held + 1, held * 1e300][rng.integers(4)]
        case 3 if isinstance(holder, dict):
            del holder[key]
        case 4 if isinstance(holder, dict):
            holder[["needs", "parts", "state", "more", "kind"][rng.integers(5)]] = held
        case _:
            holder[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a tree: what holds it, and its key or number."""
    for key, held in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield tree, key
        if isinstance(held, dict | list):
            yield from _places(held)


def _change_array(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    name = sorted(arrays)[rng.integers(len(arrays))]
    array = arrays[name]
    match rng.integers(8):
        case 0:
            del arrays[name]
        case 1:
            arrays[name] = array[:0] if rng.random() < 0.5 else array[: len(array) // 2]
        case 2:
            arrays[name] = np.concatenate([array, array])
        case 3:
            arrays[name] = array[::-1].copy()
        case 4:
            arrays[name] = array.astype([np.float64, np.int8, np.uint64, bool][rng.integers(4)])
        case 5:
            arrays[name] = array.reshape(-1, 1) if rng.random() < 0.5 else array.reshape(-1)
        case _ if array.size:
            values = [-1, 10**6, 2**62] if array.dtype.kind in "iu" else [np.nan, np.inf, -np.inf, 1e300, -1e300]
            with np.errstate(all="ignore"):
                value = np.array(values[rng.integers(len(values))]).astype(array.dtype)
            array.reshape(-1)[rng.integers(array.size, size=1 + array.size // 4)] = value


def use(found: Any) -> None:
    """Do with an opened object what people do with it; an answer that cannot be right is an AssertionError."""
    repr(found)
    rows = np.arange(3)
    match found:
        case sn.calibration.ProbabilityMap():
            found._repr_html_()
            _use_map(found)
        case sn.ConfidentRecommender():
            lists = found.recommend(found.source.users.ids if found.source.users is not None else rows)
            assert lists["probability"].is_between(0, 1).all()
        case sn.recommender.Run():
            use(found.source)
            for log in (found.train, found.validation, found.test):
                if log is not None:
                    use(log)
        case sn.Interactions():
            found.table()
            assert found.matrix.sum() == len(found)
        case sn.IdMap():
            assert len(found.rows(found.ids)) == len(found)
        case sn.lists.ListSizePolicy():
            chances = np.array([[0.9, 0.5, 0.1, 0.1, 0.0]] * 6)
            sizes = found.sizes(sn.lists.Lists.of(probabilities=chances, scores=chances))
            assert sizes.min() >= 0
        case _ if hasattr(found, "score_block"):
            assert found.score_block(rows[: found.n_users]).shape == (min(3, found.n_users), found.n_items)


def _use_map(found: Any) -> None:
    scores = np.concatenate([np.linspace(-30, 30, 41), [-1e300, 1e300]])
    n = len(scores)
    given: dict[str, Any] = {}
    if isinstance(found, sn.SegmentCalibrator):
        known = {"domain": np.resize(["books", None, "x"], n), "popularity": np.linspace(-9, 99, n)}
        given["segments"] = {name: known.get(name, np.resize(["books", "x"], n)) for name in found.fields_}
    elif isinstance(found, sn.ListCalibrator):
        given |= {"groups": np.arange(n) // 5, "history": np.arange(n) // 5}
        given["traits"] = {"domain": np.resize(["books", None, "x"], n), "age": np.arange(n) // 5}
    elif hasattr(found, "users_"):
        given["users"] = np.resize(found.users_.ids.to_list(), n) if len(found.users_) else np.zeros(n, np.int64)
    chance = np.asarray(found.probability(scores, **given))
    assert chance.shape == scores.shape
    assert np.all((chance >= 0) & (chance <= 1)), "a probability that is none"
    for dialect in DIALECTS:
        found.query(dialect)


def attack(kinds: tuple[str, ...], seeds: range, folder: Path) -> Outcome:
    """Open and use one crafted file for each seed; the kinds take turns."""
    path = folder / "seed"
    failures, left = [], seeds
    while left:  # a process that dies is followed by another one, after the seed that ended it
        code = [sys.executable, "-m", "tests.attacks.crafted", str(folder), str(left.start), str(left.stop), *kinds]
        done = subprocess.run(code, capture_output=True, text=True, check=False, cwd=ROOT)
        failures += done.stdout.splitlines()
        if done.returncode == 0:
            break
        if not path.exists():
            raise RuntimeError(f"it did not reach its first file: {done.stderr}")
        reached = int(path.read_text())
        failures.append(f"seed {reached}: the process ended with {done.returncode}: {done.stderr[-300:]}")
        left = range(reached + 1, left.stop)
    return Outcome.of(f"crafted files: {len(seeds):,} of {len(kinds)} kinds", FAILURE, len(seeds), failures)


def attack_all(folder: Path) -> Outcome:
    """Ten thousand readable files, and two thousand with arrays."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = [attack(JSON_KINDS, range(10_000), folder), attack(BINARY_KINDS, range(2_000), folder)]
    return joined("crafted files with valid checksums", parts)


def _main(folder: Path, first: int, stop: int, kinds: list[str]) -> None:
    warnings.simplefilter("ignore")
    for seed in range(first, stop):
        (folder / "seed").write_text(str(seed))
        kind = kinds[seed % len(kinds)]
        if problem := _tried(kind, folder, seed):
            sys.stdout.write(f"seed {seed}, {kind}: {problem:.200}\n".replace("\n", " ").strip() + "\n")


def _tried(kind: str, folder: Path, seed: int) -> str | None:
    tree, arrays = crafted(kind, np.random.default_rng(seed))
    path = folder / ("it.sureness" if kind in FILES else "it.json")
    try:
        if kind in FILES:
            _container.write(path, {**heading(), **tree}, arrays)
        else:
            given = {name: value for name, value in tree.items() if name != "kind"}
            write_record(path, tree.get("kind", "nothing"), given)
    except (SurenessError, ValueError):  # what JSON or the container cannot hold at all
        return None
    expected = [None, sn.calibration.Calibrator, sn.Interactions][seed % 3]
    for open_it in (inspect, lambda path: sn.load(path, expected), lambda path: use(sn.load(path))):
        try:
            open_it(path)
        except SurenessError:
            continue
        except BaseException as error:  # a panic of polars is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            return repr(error)
    return None


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
