# Written by `make stubs` from the table in __init__.py.
from sureness.propensity.base import PropensityModel as PropensityModel
from sureness.propensity.base import check_effective_sample_size as check_effective_sample_size
from sureness.propensity.base import effective_sample_size as effective_sample_size
from sureness.propensity.models import GivenPropensity as GivenPropensity
from sureness.propensity.models import LogisticPropensity as LogisticPropensity
from sureness.propensity.models import NaiveBayesPropensity as NaiveBayesPropensity
from sureness.propensity.models import PopularityPropensity as PopularityPropensity
from sureness.propensity.models import RandomPropensity as RandomPropensity
from sureness.propensity.models import UniformPropensity as UniformPropensity

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
