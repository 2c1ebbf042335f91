"""All chapters in seconds: one simulated log under every name, tiny models, one seed."""

from dataclasses import dataclass

import polars as pl

from sureness.data import Interactions, SimulatorSettings, by_ratio, simulate
from sureness_reproduction.calibration import maps
from sureness_reproduction.cells import work
from sureness_reproduction.distillation import settings as distilling
from sureness_reproduction.list_size import runs
from sureness_reproduction.study import Claim, Study
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
    short = {"epochs": 2, "validate_every": 1, "patience": 1}
    monkeypatch.setitem(maps._SETTINGS["search"], "quick", {"trials": 1, "epochs": 2, "patience": 2})
    tiny = {"n_factors": 4, "epochs": 2}
    monkeypatch.setitem(runs.SETTINGS, "quick", dict.fromkeys(runs.SETTINGS["quick"], tiny))
    monkeypatch.setitem(runs.SETTINGS["cuts"], "quick", {"trials": 1, "schedule": {"epochs": 1, "n_factors": 4}})
    monkeypatch.setitem(runs.SETTINGS["world"], "quick", {"n_users": 120, "n_items": 80})
    usual = distilling.rows_of
    monkeypatch.setattr(
        distilling, "rows_of", lambda table: [each | short if "epochs" in each else each for each in usual(table)]
    )
    monkeypatch.setitem(distilling.DECLARED["schedule"], "quick", short | {"warm_up": 1})


@work(judges=True)
def doubled(bench, *, data: str, model: str, methods: list[str], seed: int):
    """Known numbers for eight users: double for the model "two", a user's number for the method "good"."""
    size = 2.0 if model == "two" else 1.0
    values = [(name, user, user + seed if name == "good" else 0.1 * user) for name in methods for user in range(8)]
    rows = [{"method": name, "metric": "worth", "unit": user, "value": size * value} for name, user, value in values]
    return {"samples": pl.DataFrame(rows)}


KNOWN = Study(
    name="known", number="table-9.1", title="Known numbers", measure=doubled,
    grid={"data": {"quick": ["simulator"], "full": ["simulator", "yahoo-r3"]}, "model": ["one", "two"],
          "methods": [["good", "bad"]], "seed": {"quick": range(2), "full": range(3)}},
    claims=(Claim("good beats bad", "worth", {"method": "good"}, {"method": "bad"}),
            Claim("bad beats good", "worth", {"method": "bad"}, {"method": "good"}),
            Claim("good is above 4", "worth", {"method": "good"}, 4.0)),
    columns=("model",), note="How to read it.",
)  # fmt: skip
"""A study whose numbers can be computed by hand."""
