"""Chapter 2: scores of five recommenders become probabilities, judged on uniformly exposed pairs."""

from sureness_reproduction.calibration.studies import STUDIES as STUDIES
