"""Chapter 2: scores of five recommenders become probabilities, judged on uniformly exposed pairs."""

from __future__ import annotations

from sureness_reproduction.calibration import errors, properties, recommenders

STUDIES = (*recommenders.STUDIES, *errors.STUDIES, *properties.STUDIES)
