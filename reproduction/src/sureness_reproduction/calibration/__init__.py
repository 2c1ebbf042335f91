"""Chapter 2: scores of five recommenders become probabilities, judged on uniformly exposed pairs."""

from __future__ import annotations

from sureness_reproduction.calibration import confidence, desiderata, errors, propensities, ranking, reliability, scores
from sureness_reproduction.study import Study

STUDIES: tuple[Study, ...] = (
    *desiderata.STUDIES, *ranking.STUDIES, *errors.STUDIES, *reliability.STUDIES, *scores.STUDIES,
    *propensities.STUDIES, *confidence.STUDIES,
)  # fmt: skip
