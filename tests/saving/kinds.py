"""One small object of every kind that can be saved, made when it is asked for."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Callable
from functools import cache, partial

import numpy as np

import sureness as sn
from sureness._registry import find, names
from sureness.calibration import Fields, ProbabilityMap
from sureness.lists import Lists
from sureness.recommender.run import DistilledRuns, Run
from sureness.saving.packed import Savable, arrays_of, tree_of
from tests.conftest import draw_pairs
from tests.recommender.worlds import Shop, shop

POLICIES = [name for name in names("policy") if find("policy", name).__module__.startswith("sureness.")]
HAS_TORCH = importlib.util.find_spec("torch") is not None


@cache
def world() -> Shop:
    return shop(12, 8, names=True)


def calibrator(name: str) -> sn.calibration.Calibrator:
    return sn.calibration.make_calibrator(name).fit(*draw_pairs(300))


def top_n() -> sn.calibration.TopNCalibrator:
    return sn.calibration.TopNCalibrator(n=3).fit(*draw_pairs(300), users=np.arange(300) // 10)


def segments() -> sn.SegmentCalibrator:
    fields = {"domain": np.tile(["books", "films", None], 100), "popularity": np.linspace(0.5, 9.5, 300)}
    return sn.SegmentCalibrator(sn.PlattCalibrator()).fit(*draw_pairs(300), segments=fields)


def per_user(name: str) -> ProbabilityMap:
    return find("map", name)().fit_source(world().source, world().validation, seen=world().train)


def lists() -> sn.ListCalibrator:
    groups, traits = np.arange(300) // 10, {"domain": np.tile(["books", "films", None], 100), "age": groups_of(30)}
    return sn.ListCalibrator(best=20).fit(*draw_pairs(300), groups=groups, history=groups_of(30), traits=traits)


def groups_of(n_groups: int) -> np.ndarray:
    """A number of each of some groups with 10 candidates."""
    return np.repeat(np.arange(float(n_groups)) % 7, 10)


def policy(name: str) -> sn.lists.ListSizePolicy:
    rng = np.random.default_rng(0)
    chance = -np.sort(-rng.random((6, 5)), axis=1)
    lists = Lists.of(probabilities=chance, scores=chance, hits=rng.random(chance.shape) < chance)
    settings = {"fixed": {"size": 3}}.get(name, {"max_size": 4})
    return find("policy", name)(**settings).fit(lists)


def source(name: str) -> Savable:
    if name == "factors":
        users = sn.IdMap.of(["zoë", "ann", "Ødegård"])
        return sn.FactorSource(np.ones((3, 2)), np.ones((4, 2), np.float32), np.arange(3.0), None, users)
    if name == "matrix":
        return sn.MatrixSource(np.arange(6, dtype=np.int8).reshape(2, 3), items=sn.IdMap.of([7, 3, 2**40]))
    return sn.CandidateSource.of(["ann", "zoë", "ann"], [3, 7, 9], [1.0, 2.0, 3.0])


def model(name: str) -> Savable:
    return sn.models.make_recommender(name, n_factors=2, epochs=1).fit(world().train)


def run() -> Run:
    return Run(world().source, world().train, world().validation, world().test, about={"seed": 3})


def recommender() -> sn.ConfidentRecommender:
    small = world()
    policy = sn.ExpectedUtility(max_size=4)
    return sn.ConfidentRecommender(small.source, policy=policy).fit(small.train, small.validation)


def activity() -> sn.ActivityModel:
    users, days = np.arange(200) % 20, np.arange(200)
    return sn.ActivityModel(window=30).fit(sn.Interactions.of(users, days % 7, times=days % 97))


KINDS: dict[str, Callable[[], Savable]] = {
    **{f"calibrator/{name}": partial(calibrator, name) for name in names("calibrator")},
    "map/top-n": top_n,
    "map/segment": segments,
    **{f"map/{name}": partial(per_user, name) for name in names("map") if name.startswith("per-user")},
    "map/lists": lists,
    **{f"policy/{name}": partial(policy, name) for name in POLICIES},
    **{f"model/{name}": partial(model, name) for name in names("model") if HAS_TORCH},
    **{f"source/{name}": partial(source, name) for name in names("source")},
    "saved/ids": lambda: sn.IdMap.of(["zoë", "ann", ""]),
    "saved/interactions": lambda: world().train,
    "saved/segments": lambda: sn.calibration.Segments(np.array(["films", "songs", "films"])),
    "saved/fields": lambda: Fields({"market": ["dé", None], "age": [0.5, None]}, {"new": [True, False, True]}),
    "saved/activity": activity,
    "saved/run": run,
    "saved/distilled": lambda: DistilledRuns(run(), run()),
    "saved/recommender": recommender,
}
_AS_JSON = ("map/top-n", "map/segment", "map/lists", "saved/activity")
FILES = [kind for kind in KINDS if not kind.startswith("calibrator/") and kind not in _AS_JSON]
"""The kinds that are saved in the binary form."""


@cache
def made(kind: str) -> Savable:
    """The object of a kind; the same one at every call, so that nothing is fitted twice."""
    return KINDS[kind]()


def ending(saved: Savable) -> str:
    return ".json" if saved.saved_as == "json" else ".sureness"


def fingerprint(saved: Savable) -> str:
    """Equal for two objects that hold the same, down to the last bit."""
    packed = saved.pack()
    digest = hashlib.sha256(json.dumps(tree_of(packed), sort_keys=True).encode())
    for name, array in sorted(arrays_of(packed).items()):
        digest.update(f"{name}{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
