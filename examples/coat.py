"""Chapter 2's question on real data: do propensities and an anchor help on Coat?

Run with the folder that holds coat/, or set SURENESS_DATA:

    python examples/coat.py path/to/data --seeds 5
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import polars as pl

from sureness.experiments.coat import KNOWLEDGE, compare, read_coat


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default=os.environ.get("SURENESS_DATA", "../shared/data"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--factors", type=int, default=4)
    arguments = parser.parse_args()
    folder = Path(arguments.data) / "coat"
    results = pl.concat(
        compare(read_coat(folder, seed=seed), seed=seed, n_factors=arguments.factors).with_columns(seed=pl.lit(seed))
        for seed in range(arguments.seeds)
    )
    print_markdown(results, "ece", arguments.seeds)
    print_markdown(results, "nll", arguments.seeds)


def print_markdown(results: pl.DataFrame, value: str, n_seeds: int) -> None:
    """One row a method; for the ECE also the interval, averaged over the seeds."""
    print(f"\n{value.upper()} on randomly drawn coats, mean over {n_seeds} seeds\n")
    print("| method | " + " | ".join(KNOWLEDGE) + " |")
    print("|---" * (len(KNOWLEDGE) + 1) + "|")
    for method in results["method"].unique(maintain_order=True):
        cells = []
        for known in KNOWLEDGE:
            rows = results.filter(method=method, knowledge=known)
            cell = f"{rows[value].mean():.4f}"
            if value == "ece":
                cell += f" [{rows['low'].mean():.3f}, {rows['high'].mean():.3f}]"
            cells.append(cell)
        print(f"| {method} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
