"""What naive, unbiased and informed fits are worth, in a world whose truth is known."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import CalibrationSet, SourceSettings
from sureness.calibration.catalogue import make_calibrator
from sureness.data.scored_pairs import ScoredPairs
from sureness.data.simulator import World
from sureness.errors import NoMinimumError, SurenessWarning
from sureness.metrics.calibration import brier_score, expected_calibration_error, negative_log_likelihood
from sureness.propensity.models import PopularityPropensity
from sureness.sources.base import ScoreSource
from sureness.sources.svd import svd_source
from sureness.sources.tables import scores_of

ALL_METHODS = (
    "minmax", "sigmoid", "histogram", "isotonic", "bbq", "temperature", "platt", "beta", "gaussian", "gamma",
    "manmatha", "kanoulas",
)  # fmt: skip
KNOWLEDGE = (
    "naive", "unbiased", "weighted", "popularity", "popularity + base rate", "popularity + anchor", "uniform pairs",
    "true preference",
)  # fmt: skip
"""What a fit may know, from the log alone to the truth.

naive: the log as it is. unbiased, weighted: true propensities, with the two risks. popularity: propensities from item
popularity, alone, with the base rate, or with an anchor of uniformly exposed pairs. uniform pairs: no log, but many
uniformly exposed pairs. true preference: labels of every candidate drawn from the truth.
"""


@dataclass(frozen=True, eq=False)
class Study:
    """A world, a recommender trained on its log, and uniformly exposed pairs split into anchor, fit and test."""

    world: World
    source: ScoreSource
    anchor: ScoredPairs
    uniform: ScoredPairs  # many uniformly exposed pairs to fit on; holds the anchor
    test: ScoredPairs
    popularity: PopularityPropensity

    def calibration_set(self, knowledge: str) -> CalibrationSet:
        """The pairs a fit may see under the given knowledge."""
        world = self.world
        if knowledge == "uniform pairs":
            return CalibrationSet.from_chunks([self.uniform], estimand="preference", held_out_share=1.0)
        if knowledge == "true preference":
            return CalibrationSet.from_chunks([true_preference_pairs(self)], estimand="preference")
        popular = knowledge.startswith("popularity")
        settings: SourceSettings = {"held_out_share": world.settings.held_out_share}
        if knowledge.endswith("base rate"):
            settings["base_rate"] = float(self.uniform.labels.mean())
        if knowledge.endswith("anchor"):
            settings["anchor"] = self.anchor
        model = self.popularity if popular else world
        return CalibrationSet.from_source(self.source, world.held_out, train=world.train, propensity=model, **settings)


def prepare(
    world: World,
    *,
    source: ScoreSource | None = None,
    n_factors: int = 7,
    n_anchor: int = 1_000,
    n_uniform: int = 20_000,
    seed: int = 0,
) -> Study:
    """Split the uniformly exposed pairs, those of the training log left out, and score them.

    Parameters
    ----------
    world : World
    source : ScoreSource, optional
        A recommender that learned from the training log of the world; by default one with `n_factors` singular vectors.
    n_factors, n_anchor, n_uniform : int
    seed : int
    """
    if source is None:
        source = svd_source(world.train, n_factors=n_factors, seed=seed)
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
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[pl.DataFrame, dict[tuple[str, str], Calibrator]]:
    """Fit every method under every kind of knowledge and judge it on the uniformly exposed test.

    Returns
    -------
    table : polars.DataFrame
        method, knowledge, ece, nll, brier, problem (why a fit does not exist, else null).
    fitted : dict
        (method, knowledge) to calibrator.
    """
    rows: list[dict[str, Any]] = []
    fitted: dict[tuple[str, str], Calibrator] = {}
    total = len(methods) * len(knowledge)
    for known in knowledge:
        data = study.calibration_set(known)
        for method in methods:
            if progress is not None:
                progress(f"{method}, {known}", len(rows), total)
            risk = known if known in ("naive", "weighted") else None
            row: dict[str, Any] = {"method": method, "knowledge": known}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", SurenessWarning)  # the comparison is about exactly that
                    calibrator = make_calibrator(method, risk=risk).fit(data)
            except NoMinimumError as error:
                rows.append(row | {"ece": None, "nll": None, "brier": None, "problem": str(error)})
                continue
            fitted[method, known] = calibrator
            rows.append(row | judged(study.test, calibrator) | {"problem": None})
    return pl.DataFrame(rows, infer_schema_length=None), fitted


def judged(test: ScoredPairs, calibrator: Calibrator) -> dict[str, float]:
    """ECE, NLL and Brier score on labelled pairs."""
    probabilities = calibrator.probability(test.scores)
    return {
        "ece": expected_calibration_error(test.labels, probabilities),
        "nll": negative_log_likelihood(test.labels, probabilities),
        "brier": brier_score(test.labels, probabilities),
    }


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


def wide(table: pl.DataFrame, value: str = "ece") -> pl.DataFrame:
    """One row a method, one column a kind of knowledge."""
    return table.pivot("knowledge", index="method", values=value, aggregate_function="mean", maintain_order=True)


def _pairs(world: World, source: ScoreSource, chosen: IntArray) -> ScoredPairs:
    users, items = world.test_users[chosen], world.test_items[chosen]
    labels: BoolArray = world.test_labels[chosen]
    scores: FloatArray = scores_of(source, users, items)
    return ScoredPairs(scores=scores, labels=labels, users=users, items=items)
