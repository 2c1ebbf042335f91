"""How much propensities, anchors and base rates improve a fit, in a world whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._types import BoolArray, FloatArray, IntArray
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import CalibrationSet, SourceSettings
from sureness.data.scored_pairs import ScoredPairs
from sureness.data.simulator import World
from sureness.demo.judging import ALL_METHODS, judge, try_fit
from sureness.propensity import PopularityPropensity
from sureness.sources.base import ScoreSource
from sureness.sources.blocks import scores_of
from sureness.sources.svd import svd_source

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

    __repr__ = fields_repr

    def calibration_set(self, knowledge: str) -> CalibrationSet:
        """The calibration set of a fit with this knowledge."""
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
        return CalibrationSet.from_source(self.source, world.held_out, seen=world.train, propensity=model, **settings)


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
    progress: Progress = silent,
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
    total = len(methods) * len(knowledge)
    for known in knowledge:
        data = study.calibration_set(known)
        for method in methods:
            progress(f"{method}, {known}", len(rows), total)
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


def wide(table: pl.DataFrame, value: str = "ece") -> pl.DataFrame:
    """One row per method, one column per kind of knowledge."""
    return table.pivot("knowledge", index="method", values=value, aggregate_function="mean", maintain_order=True)


def _pairs(world: World, source: ScoreSource, chosen: IntArray) -> ScoredPairs:
    users, items = world.test_users[chosen], world.test_items[chosen]
    labels: BoolArray = world.test_labels[chosen]
    scores: FloatArray = scores_of(source, users, items)
    return ScoredPairs(scores=scores, labels=labels, users=users, items=items)
