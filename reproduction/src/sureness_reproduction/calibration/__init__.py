"""Chapter 2: scores of five recommenders become probabilities, judged on uniformly exposed pairs."""

from __future__ import annotations

from sureness_reproduction.calibration import confidence, desiderata, diagrams, errors, propensities, ranking, scores
from sureness_reproduction.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    *desiderata.EXPERIMENTS,
    *ranking.EXPERIMENTS,
    *errors.EXPERIMENTS,
    *diagrams.EXPERIMENTS,
    *scores.EXPERIMENTS,
    *propensities.EXPERIMENTS,
    *confidence.EXPERIMENTS,
)
