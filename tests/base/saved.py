"""What the development environment saves for the environment without extras: `python -m tests.base.saved FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import sureness as sn

USERS = (3, 11, 42)  # whose lists are compared


def save_all(folder: Path) -> None:
    """Train a factor model and a neural one, and save each with its maps, the lists they give, and a run."""
    folder.mkdir(parents=True, exist_ok=True)
    world = sn.simulate(sn.SimulatorSettings(n_users=120, n_items=60, seed=0))
    log = sn.Interactions.from_matrix((world.train + world.held_out).tocsr())
    split = sn.by_ratio(log, seed=0)
    models = {
        "bpr": sn.BPR(n_factors=4, epochs=3, seed=0),
        "neumf": sn.models.NeuMF(n_factors=4, epochs=1, seed=0),
    }
    for name, model in models.items():
        model.fit(split.train)
        recommender = sn.ConfidentRecommender(model).fit(split.train, split.validation)
        recommender.save(folder / f"{name}.sureness")
        recommender.recommend(list(USERS)).write_parquet(folder / f"{name}-lists.parquet")
    sn.recommender.Run(models["bpr"], split.train, split.validation, split.test).save(folder / "run.sureness")


if __name__ == "__main__":
    save_all(Path(sys.argv[1]))
