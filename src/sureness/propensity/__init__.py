"""How likely a pair was to be seen."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "base": ["PropensityModel", "check_effective_sample_size", "effective_sample_size"],
        "models": [
            "GivenPropensity", "LogisticPropensity", "NaiveBayesPropensity", "PopularityPropensity",
            "RandomPropensity", "UniformPropensity",
        ],
    },
)  # fmt: skip
