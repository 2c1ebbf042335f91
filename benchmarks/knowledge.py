"""How much propensities, anchors and base rates improve a fit, in worlds whose truth is known.

    python -m benchmarks.knowledge

Fits every method with every kind of knowledge in five worlds, and prints the tables of docs/results.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sureness as sn
from sureness.calibration import Calibrator, make_calibrator
from sureness.data import ScoredPairs, World
from sureness.errors import NoMinimumError, SurenessWarning
from sureness.metrics import brier_score, expected_calibration_error, negative_log_likelihood
from sureness.propensity import PopularityPropensity
from sureness.sources import ScoreSource, scores_of

ALL_METHODS = (
    "minmax", "sigmoid", "histogram", "isotonic", "bbq", "temperature", "platt", "beta", "gaussian", "gamma",
    "manmatha", "kanoulas", "shape",
)  # fmt: skip


class Fit(NamedTuple):
    """A fitted calibrator, or the reason why there is none."""

    calibrator: Calibrator | None
    problem: str | None


def try_fit(method: str, data: sn.CalibrationSet, *, risk: str | None = None) -> Fit:
    """Fit a method by name; warnings are dropped, since the table shows what came of the fit."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SurenessWarning)
            return Fit(make_calibrator(method, risk=risk).fit(data), None)
    except NoMinimumError as error:
        return Fit(None, str(error))


def judge(calibrator: Calibrator | None, test: ScoredPairs) -> dict[str, float | None]:
    """ECE, NLL and Brier score on labelled pairs; None for a fit that does not exist."""
    if calibrator is None:
        return {"ece": None, "nll": None, "brier": None}
    probabilities = calibrator.probability(test.scores)
    return {
        "ece": expected_calibration_error(test.labels, probabilities),
        "nll": negative_log_likelihood(test.labels, probabilities),
        "brier": brier_score(test.labels, probabilities),
    }


KNOWLEDGE = (
    "naive", "unbiased", "weighted", "popularity", "popularity + base rate", "popularity + anchor", "uniform pairs",
    "true preference",
)  # fmt: skip
"""What a fit may use, from the log alone to the truth.

naive: the log as it is. unbiased and weighted: true propensities, with either risk. popularity: propensities estimated
from item popularity, alone, with the base rate, or with an anchor of uniformly exposed pairs. uniform pairs: no log,
but many uniformly exposed pairs. true preference: labels of every candidate, drawn from the truth.
"""

MethodAndKnowledge = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Study:
    """A world, a recommender trained on its log, and uniformly exposed pairs split into anchor, fit and test."""

    world: World
    source: ScoreSource
    anchor: ScoredPairs
    uniform: ScoredPairs  # many uniformly exposed pairs to fit on; they include the anchor
    test: ScoredPairs
    popularity: PopularityPropensity

    def calibration_set(self, knowledge: str) -> sn.CalibrationSet:
        """The calibration set of a fit with this knowledge."""
        world = self.world
        if knowledge == "uniform pairs":
            return sn.CalibrationSet.from_chunks([self.uniform], estimand="preference", held_out_share=1.0)
        if knowledge == "true preference":
            return sn.CalibrationSet.from_chunks([true_preference_pairs(self)], estimand="preference")
        popular = knowledge.startswith("popularity")
        settings: dict[str, Any] = {"held_out_share": world.settings.held_out_share}
        if knowledge.endswith("base rate"):
            settings["base_rate"] = float(self.uniform.labels.mean())
        if knowledge.endswith("anchor"):
            settings["anchor"] = self.anchor
        model = self.popularity if popular else world
        return sn.CalibrationSet.from_source(
            self.source, world.held_out, seen=world.train, propensity=model, **settings
        )


def prepare(
    world: World,
    *,
    source: ScoreSource | None = None,
    n_factors: int = 7,
    n_anchor: int = 1_000,
    n_uniform: int = 20_000,
    seed: int = 0,
) -> Study:
    """Split and score the uniformly exposed pairs that are not in the training log.

    Parameters
    ----------
    world : World
    source : ScoreSource, optional
        A recommender trained on the world's training log; by default a singular value decomposition.
    n_factors : int
        Factors of that decomposition.
    n_anchor, n_uniform : int
        Pairs of the anchor, and of the larger set that includes it; the rest is the test.
    seed : int
    """
    if source is None:
        source = sn.svd_source(world.train, n_factors=n_factors, seed=seed)
    outside = np.flatnonzero(~world.in_training)
    order = np.random.default_rng(seed).permutation(outside)
    n_uniform = min(n_uniform, len(order) // 2)
    anchor, uniform, test = (
        _pairs(world, source, chosen)
        for chosen in (order[: min(n_anchor, n_uniform)], order[:n_uniform], order[n_uniform:])
    )
    popularity = PopularityPropensity().fit(items=world.train.nonzero()[1])
    return Study(world, source, anchor, uniform, test, popularity)


def compare(
    study: Study,
    methods: Sequence[str] = ALL_METHODS,
    knowledge: Sequence[str] = KNOWLEDGE,
) -> tuple[pl.DataFrame, dict[MethodAndKnowledge, Calibrator]]:
    """Fit every method with every kind of knowledge and judge it on the uniformly exposed test pairs.

    Returns
    -------
    table : polars.DataFrame
        method, knowledge, ece, nll, brier, problem (why there is no fit, else null).
    fitted : dict
        (method, knowledge) to calibrator.
    """
    rows: list[dict[str, object]] = []
    fitted: dict[MethodAndKnowledge, Calibrator] = {}
    for known in knowledge:
        data = study.calibration_set(known)
        for method in methods:
            fit = try_fit(method, data, risk=known if known in ("naive", "weighted") else None)
            if fit.calibrator is not None:
                fitted[method, known] = fit.calibrator
            row: dict[str, object] = {
                "method": method,
                "knowledge": known,
                **judge(fit.calibrator, study.test),
                "problem": fit.problem,
            }
            rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None), fitted


def true_preference_pairs(study: Study, seed: int = 0) -> ScoredPairs:
    """Every candidate with a label drawn from its true preference, given that it is not in the training log."""
    world, rng = study.world, np.random.default_rng(seed)
    users = np.arange(world.n_users)
    candidate = world.train.toarray() == 0
    liked = world.preference_block(users)
    in_training = (1 - world.settings.held_out_share) * world.exposure_block(users)
    chance = liked * (1 - in_training) / (1 - in_training * liked)
    labels = rng.random(chance.shape) < chance
    return ScoredPairs(scores=study.source.score_block(users)[candidate], labels=labels[candidate])


def _pairs(world: World, source: ScoreSource, chosen: NDArray[np.int64]) -> ScoredPairs:
    users, items = world.test_users[chosen], world.test_items[chosen]
    labels = world.test_labels[chosen]
    scores = scores_of(source, users, items)
    return ScoredPairs(scores=scores, labels=labels, users=users, items=items)


def table(results: pl.DataFrame, value: str) -> pl.DataFrame:
    """One row per method, one column per kind of knowledge: mean and standard deviation over the worlds."""
    found = results.group_by("method", "knowledge", maintain_order=True).agg(
        text=pl.format("{} ± {}", pl.col(value).mean().round(4), pl.col(value).std().round(4))
    )
    return found.pivot("knowledge", index="method", values="text")


def main() -> None:
    """Print the tables."""
    tables = []
    for seed in range(5):
        study = prepare(sn.simulate(sn.SimulatorSettings(n_users=3_000, seed=seed)), seed=seed)
        tables.append(compare(study)[0].with_columns(seed=pl.lit(seed)))
    with pl.Config(tbl_formatting="ASCII_MARKDOWN", tbl_hide_column_data_types=True, tbl_rows=-1, tbl_cols=-1):
        for value in ("ece", "nll"):
            print(table(pl.concat(tables), value))


if __name__ == "__main__":
    main()
