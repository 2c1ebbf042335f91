"""All chapters in seconds: one simulated log under every name, tiny models, one seed."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sureness.data import Interactions, SimulatorSettings, by_ratio, simulate
from sureness_reproduction.calibration import maps
from sureness_reproduction.cells import work
from sureness_reproduction.declarations import declared_studies
from sureness_reproduction.distillation import settings as distilling
from sureness_reproduction.list_size import runs
from sureness_reproduction.workbench import DataShelf


def small_log(**settings):
    world = simulate(SimulatorSettings(**{"n_users": 90, "n_items": 70, "preference_rate": 0.2} | settings))
    return Interactions.from_matrix((world.train + world.held_out).tocsr())


@dataclass
class SmallShelf(DataShelf):
    """Every data set but Coat is there and is the same; none has to be on disk. Coat is read, for its ratings."""

    absent: tuple[str, ...] = ()

    def has(self, data):
        return data not in self.absent

    def fingerprint(self, data):
        return ""

    def split(self, data, protocol=None, *, seed=0, **options):
        if data == "coat" or data.endswith(".csv"):
            return super().split(data, protocol, seed=seed, **options)
        return by_ratio(small_log(exposure_rate=0.4), seed=seed)


def make_small(monkeypatch):
    """Shrink what the quick scale trains; the grids stay as declared."""
    tiny, short = {"n_factors": 4, "epochs": 2}, {"epochs": 2, "validate_every": 1, "patience": 1}
    models = dict.fromkeys(("bpr", "neumf", "cdae"), short | {"learning_rate": 0.01})
    for settings, name, smaller in (
        (maps.SETTINGS["search"], "quick", {"trials": 1, "epochs": 2, "patience": 2}),
        (runs.SETTINGS, "quick", dict.fromkeys(runs.SETTINGS["quick"], tiny)),
        (runs.SETTINGS["cuts"], "quick", {"trials": 1, "schedule": {"epochs": 1, "n_factors": 4}}),
        (runs.SETTINGS["world"], "quick", {"n_users": 120, "n_items": 80}),
        (distilling.DECLARED["alone"], "quick", models),
        (distilling.DECLARED["schedule"], "quick", short | {"warm_up": 1}),
    ):
        monkeypatch.setitem(settings, name, smaller)


@work(judges=True)
def doubled(bench, *, data: str, model: str, methods: list[str], seed: int):
    """Known numbers for eight users: double for the model "two", a user's number for the method "good"."""
    size = 2.0 if model == "two" else 1.0
    values = [(name, user, user + seed if name == "good" else 0.1 * user) for name in methods for user in range(8)]
    rows = [{"method": name, "metric": "worth", "unit": user, "value": size * value} for name, user, value in values]
    return {"samples": pl.DataFrame(rows)}


DECLARED = Path(__file__).with_name("known.toml").read_text(encoding="utf-8")
(KNOWN,) = declared_studies(tomllib.loads(DECLARED), __package__)
