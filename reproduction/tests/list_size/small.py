"""Chapter 4 in seconds: one small simulated log under every name, and small networks."""

from __future__ import annotations

from sureness.data import Interactions, SimulatorSettings, by_ratio, simulate
from sureness_reproduction.list_size import domains, grid, runs
from sureness_reproduction.workbench import DataShelf

CUTS = {"trials": 1, "schedule": {"epochs": 1, "n_factors": 4}, "chosen_on": {}}


class SmallShelf(DataShelf):
    """Every data set is there, and they are all the same; none has to be on disk."""

    def __init__(self, folder="nowhere", absent=()):
        super().__init__(folder)
        self.absent = absent

    def has(self, data):
        return data not in self.absent

    def fingerprint(self, data):
        return ""

    def split(self, data, protocol=None, *, seed=0, **options):
        world = simulate(SimulatorSettings(n_users=90, n_items=70, preference_rate=0.2, exposure_rate=0.4))
        return by_ratio(Interactions.from_matrix((world.train + world.held_out).tocsr()), seed=seed)


def make_small(monkeypatch):
    """Shrink what the quick scale trains; the grids stay as declared."""
    for model, settings in runs._QUICK.items():
        monkeypatch.setitem(runs._QUICK, model, settings | {"n_factors": 4, "epochs": 2})
    monkeypatch.setattr(grid, "cuts_of", lambda plan: CUTS)
    monkeypatch.setitem(domains._WORLD, "quick", {"n_users": 120, "n_items": 80})
