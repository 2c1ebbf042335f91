"""A page shared by domains against equal shares: `python -m benchmarks.shared_pages`.

Users of pairs of Amazon shops, and of a simulated world with four domains; total F1 over the domains on test items.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.base_models import SEEDS, _als
from benchmarks.logs import FOLDER, absent
from sureness.data.interactions import Interactions
from sureness.data.recipes import prepare
from sureness.data.simulator import SimulatorSettings, simulate
from sureness.data.splitting import Split, by_ratio
from sureness.experiments.shared_pages import share_page
from sureness.sources.base import ScoreSource
from sureness.sources.svd import svd_source

PAIRS = ("sport-phone", "electronic-phone", "sport-cloth", "electronic-cloth")
RESULTS = Path("build/list-size/pages.jsonl")
_SIMULATED = "simulator"
_SETTINGS = {"regularization": 0.1, "alpha": 10.0}  # of implicit's ALS, not tuned: both pages have the same lists


def main(
    pair: Annotated[list[str], typer.Option(help="Pair of shops, or simulator; may repeat.")] = [*PAIRS, _SIMULATED],  # noqa: B006
    slots: Annotated[int, typer.Option(help="Items on a page.")] = 40,
    results: Annotated[Path, typer.Option(help="Where results are kept.")] = RESULTS,
) -> None:
    """Run what is missing, and print the table."""
    results.parent.mkdir(parents=True, exist_ok=True)
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    done = [json.loads(line) for line in lines]
    for name in pair:
        for seed in SEEDS:
            if any((row["pair"], row["slots"], row["seed"]) == (name, slots, seed) for row in done):
                continue
            if name != _SIMULATED and (reason := absent("amazon-crossdomain")):
                print(reason)
                continue
            done.append(_run(name, slots, seed))
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(done[-1]) + "\n")
            print(done[-1], flush=True)
    _print(done)


def _run(name: str, slots: int, seed: int) -> dict[str, Any]:
    source, split, domains = _simulated(seed) if name == _SIMULATED else _shops(name, seed)
    row: dict[str, Any] = {"pair": name, "slots": slots, "seed": seed}
    for how, fill in (("free", False), ("filled", True)):
        page = share_page(source, split, domains, slots=slots, fill=fill)
        found = page.compared
        row |= {f"{how}_f1": found.value, f"{how}_p": found.p_value, "equal_f1": found.reference,
                f"{how}_shown": float(page.sizes.sum(axis=1).mean()), "users": found.n_users}  # fmt: skip
    return row


def _shops(pair: str, seed: int) -> tuple[ScoreSource, Split, np.ndarray]:
    split = prepare("amazon-crossdomain", "ratio", seed=seed, folder=FOLDER / "amazon-crossdomain", pair=pair)
    domains = split.train.item_domain
    assert domains is not None
    return _als(split, _SETTINGS, seed), split, domains.to_numpy()


def _simulated(seed: int) -> tuple[ScoreSource, Split, np.ndarray]:
    world = simulate(SimulatorSettings(n_users=2_000, n_items=1_200, seed=seed))
    split = by_ratio(Interactions.from_matrix((world.train + world.held_out).tocsr()), seed=seed)
    return svd_source(split.train, n_factors=7, seed=seed), split, np.array(world.domains)[world.item_domain]


def _print(rows: list[dict[str, Any]]) -> None:
    header = ("domains", "slots", "users", "equal shares", "shared, may stay free", "p", "items shown",
              "shared, all filled", "p")  # fmt: skip
    print("\n| " + " | ".join(header) + " |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, slots in dict.fromkeys((row["pair"], row["slots"]) for row in rows):
        some = [row for row in rows if (row["pair"], row["slots"]) == (name, slots)]
        cells = [f"{mean(row[key] for row in some):.4f}" for key in ("equal_f1", "free_f1", "filled_f1")]
        worst = [f"{max(row[key] for row in some):.1g}" for key in ("free_p", "filled_p")]
        shown = f"{mean(row['free_shown'] for row in some):.1f}"
        row = (name, str(slots), f"{some[0]['users']:,}", cells[0], cells[1], worst[0], shown, cells[2], worst[1])
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    typer.run(main)
