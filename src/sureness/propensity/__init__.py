"""How likely a pair was to be seen."""

from sureness.propensity.base import PropensityModel, check_effective_sample_size, effective_sample_size
from sureness.propensity.models import (
    GivenPropensity,
    LogisticPropensity,
    NaiveBayesPropensity,
    PopularityPropensity,
    RandomPropensity,
    UniformPropensity,
)

__all__ = [
    "GivenPropensity",
    "LogisticPropensity",
    "NaiveBayesPropensity",
    "PopularityPropensity",
    "PropensityModel",
    "RandomPropensity",
    "UniformPropensity",
    "check_effective_sample_size",
    "effective_sample_size",
]
