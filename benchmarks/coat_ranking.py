"""The ranking table of chapter 2 on Coat, ours beside the published one: `python -m benchmarks.coat_ranking`.

Each user's uniformly drawn test items are ranked; a tenth of the training positives chooses settings and epoch by full
ranking, so the test decides nothing. Pairs that are also in training are left out of the test.
"""

from __future__ import annotations

from statistics import mean, stdev
from typing import Annotated

import typer

from benchmarks.logs import absent, split_of
from benchmarks.tables import Table
from sureness.data import rated_above
from sureness.evaluation import evaluate_within
from sureness.models import tune

METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "recall@1", "recall@3", "recall@5")
PUBLISHED = {
    "bpr": (0.3924, 0.3761, 0.4302, 0.1321, 0.2852, 0.4638),
    "neumf": (0.5341, 0.5129, 0.5452, 0.2132, 0.4166, 0.5146),
    "cml": (0.5865, 0.5020, 0.5142, 0.2334, 0.3847, 0.4847),
    "ubpr": (0.3982, 0.3962, 0.4418, 0.1354, 0.3181, 0.4757),
    "lightgcn": (0.4008, 0.3973, 0.4301, 0.1395, 0.3113, 0.4816),
}
_FIXED = {"n_factors": 64, "validate_every": 1, "patience": 30}


def compare(trials: int, seeds: int) -> Table:
    """Every model tuned with the same number of trials, then trained with several seeds."""
    split = split_of("coat")
    relevant = rated_above(split.test, 3)
    rows = []
    for name, published in PUBLISHED.items():
        found = tune(name, split, trials, **_FIXED)
        models = [found.recommender(seed=seed).fit(split.train, split.validation) for seed in range(seeds)]
        judged = [evaluate_within(model, split.test, relevant, metrics=METRICS) for model in models]
        values = [[quality[metric] for quality in judged] for metric in METRICS]
        better = sum(mean(ours) >= theirs for ours, theirs in zip(values, published, strict=True))
        chosen = {key: value for key, value in found.best.items() if key not in (*_FIXED, "seed")}
        rows += [
            (name, "ours", *(f"{mean(v):.4f} ± {stdev(v):.4f}" for v in values), f"{better} of {len(METRICS)}"),
            (name, "published", *(f"{value:.4f}" for value in published), ""),
        ]
        print(name, chosen, flush=True)
    header = ("model", "", *METRICS, "matched or better")
    return Table("Ranking on Coat", header, rows, notes=(f"{trials} settings each, mean of {seeds} seeds.",))


def main(
    trials: Annotated[int, typer.Option(help="Settings tried for each model.")] = 24,
    seeds: Annotated[int, typer.Option(help="Seeds of the best settings.")] = 5,
) -> None:
    """Tune, train and compare."""
    if reason := absent("coat"):
        print(reason)
        return
    print(compare(trials, seeds).markdown())


if __name__ == "__main__":
    typer.run(main)
