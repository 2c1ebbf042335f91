"""Everything that has a name, and where it is: calibrators, maps, policies, utilities, models, methods, sources, data.

The table is text, so that listing names, showing help and opening a saved object import nothing but what is used.
Other packages add to it with `register`, or by an entry point in the group ``sureness.<family>``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Literal

from sureness.errors import MissingExtraError, SettingError

Family = Literal["calibrator", "map", "policy", "utility", "model", "method", "source", "adapter", "dataset", "saved"]

_DISTILLATION = "sureness.distillation.settings"
_CALIBRATION, _MODELS, _POLICIES = "sureness.calibration", "sureness.models", "sureness.lists.policies"

_MOVIELENS, _DATA_SETS = "sureness.data.movielens", "sureness_reproduction.data_sets"

_TABLE: dict[Family, dict[str, object]] = {
    "calibrator": {  # the methods of chapter 2, in the order of its tables
        "minmax": f"{_CALIBRATION}.nonparametric:MinMaxCalibrator",
        "sigmoid": f"{_CALIBRATION}.nonparametric:SigmoidCalibrator",
        "histogram": f"{_CALIBRATION}.nonparametric:HistogramCalibrator",
        "isotonic": f"{_CALIBRATION}.nonparametric:IsotonicCalibrator",
        "bbq": f"{_CALIBRATION}.nonparametric:BBQCalibrator",
        "temperature": f"{_CALIBRATION}.parametric:TemperatureCalibrator",
        "platt": f"{_CALIBRATION}.parametric:PlattCalibrator",
        "beta": f"{_CALIBRATION}.parametric:BetaCalibrator",
        "gaussian": f"{_CALIBRATION}.parametric:GaussianCalibrator",
        "gamma": f"{_CALIBRATION}.parametric:GammaCalibrator",
        "manmatha": f"{_CALIBRATION}.parametric:ManmathaCalibrator",
        "kanoulas": f"{_CALIBRATION}.parametric:KanoulasCalibrator",
        "shape": f"{_CALIBRATION}.shape:ShapeCalibrator",  # not of chapter 2
    },
    "map": {  # made of calibrators
        "top-n": f"{_CALIBRATION}.top_n:TopNCalibrator",
        "segment": f"{_CALIBRATION}.segments:SegmentCalibrator",
        "lists": f"{_CALIBRATION}.lists:ListCalibrator",
        "per-user-platt": f"{_CALIBRATION}.per_user:PerUserPlatt",
        "per-user-gaussian": f"{_CALIBRATION}.per_user:PerUserGaussian",
        "per-user-gamma": f"{_CALIBRATION}.per_user:PerUserGamma",
    },
    "policy": {
        "fixed": f"{_POLICIES}:FixedSize",
        "random": f"{_POLICIES}:RandomSize",
        "threshold": f"{_POLICIES}:Threshold",
        "best-fixed": f"{_POLICIES}:BestFixedSize",
        "validation-best": f"{_POLICIES}:ValidationBest",
        "oracle": f"{_POLICIES}:Oracle",
        "expected-utility": f"{_POLICIES}:ExpectedUtility",
    },
    "utility": {
        "ndcg": "sureness.metrics.utility:NDCG",
        "pdcg": "sureness.metrics.utility:PDCG",
        "f1": "sureness.metrics.utility:F1",
        "tp": "sureness.metrics.utility:TP",
        "dcg": "sureness.metrics.utility:DCG",
    },
    "model": {
        "bpr": f"{_MODELS}.bpr:BPR",
        "ubpr": f"{_MODELS}.bpr:UBPR",
        "neumf": f"{_MODELS}.neumf:NeuMF",
        "cml": f"{_MODELS}.cml:CML",
        "lightgcn": f"{_MODELS}.lightgcn:LightGCN",
        "cdae": f"{_MODELS}.cdae:CDAE",
    },
    "method": {  # of distillation: settings
        "bd": f"{_DISTILLATION}:BD",
        "bd-best": f"{_DISTILLATION}:BD_BEST",
        "one-way": f"{_DISTILLATION}:ONE_WAY",
        "rd": f"{_DISTILLATION}:RD",
        "cd": f"{_DISTILLATION}:CD",
        "teacher-positives": f"{_DISTILLATION}:TEACHER_POSITIVES",
        "combined": f"{_DISTILLATION}:COMBINED",
    },
    "source": {
        "factors": "sureness.sources.base:FactorSource",
        "matrix": "sureness.sources.base:MatrixSource",
        "candidates": "sureness.sources.candidates:CandidateSource",
    },
    "adapter": {  # by the library whose models they take
        "implicit": "sureness.sources.adapters.implicit:from_implicit",
        "lenskit": "sureness.sources.adapters.lenskit:from_lenskit",
        "cornac": "sureness.sources.adapters.cornac:from_cornac",
        "rectools": "sureness.sources.adapters.rectools:from_rectools",
        "recbole": "sureness.sources.adapters.recbole:from_recbole",
        "lightfm": "sureness.sources.adapters.lightfm:from_lightfm",
        "surprise": "sureness.sources.adapters.surprise:from_surprise",
        "pyspark": "sureness.spark.als:als_source",
    },
    "dataset": {  # public data sets; most recipes serve the reproduction alone and are in its package
        "coat": f"{_DATA_SETS}:COAT",
        "yahoo-r3": f"{_DATA_SETS}:YAHOO_R3",
        "ml-100k": f"{_MOVIELENS}:ML_100K",
        "ml-1m": f"{_MOVIELENS}:ML_1M",
        "ml-10m": f"{_DATA_SETS}:ML_10M",
        "ml-25m": f"{_DATA_SETS}:ML_25M",
        "citeulike-a": f"{_DATA_SETS}:CITEULIKE_A",
        "citeulike-t": f"{_DATA_SETS}:CITEULIKE_T",
        "citeulike-bd": f"{_DATA_SETS}:CITEULIKE_BD",
        "foursquare-tokyo": f"{_DATA_SETS}:FOURSQUARE_TOKYO",
        "foursquare-tky-filtered": f"{_DATA_SETS}:FOURSQUARE_TKY_FILTERED",
        "yelp": f"{_DATA_SETS}:YELP",
        "amazon-books": f"{_DATA_SETS}:AMAZON_BOOKS",
        "amazon-music": f"{_DATA_SETS}:AMAZON_MUSIC",
        "amazon-toys": f"{_DATA_SETS}:AMAZON_TOYS",
        "amazon-crossdomain": f"{_DATA_SETS}:AMAZON_CROSSDOMAIN",
        "amazon-book-kgat": f"{_DATA_SETS}:AMAZON_BOOK_KGAT",
        "gowalla": f"{_DATA_SETS}:GOWALLA",
        "ciao": f"{_DATA_SETS}:CIAO",
        "open-bandit-small": f"{_DATA_SETS}:OPEN_BANDIT_SMALL",
    },
    "saved": {  # what else can be saved and opened
        "ids": "sureness.data.ids:IdMap",
        "interactions": "sureness.data.interactions:Interactions",
        "segments": "sureness.calibration.maps:Segments",
        "fields": "sureness.calibration.fields:Fields",
        "activity": "sureness.activity:ActivityModel",
        "run": "sureness.recommender.run:Run",
        "distilled": "sureness.recommender.run:DistilledRuns",
        "recommender": "sureness.recommender.confident:ConfidentRecommender",
    },
}


def register(family: Family, name: str, target: object) -> None:
    """Give a class a name, under which it is made, listed and opened like those of the package.

    Parameters
    ----------
    family : str
        "calibrator", "map", "policy", "utility", "model", "method", "source", "adapter", "dataset" or "saved".
    name : str
    target : class or "module:Class"
        Text is imported when the name is first used.

    Examples
    --------
    >>> register("calibrator", "mine", "sureness.calibration.parametric:PlattCalibrator")
    >>> "mine" in names("calibrator")
    True
    >>> _ = _TABLE["calibrator"].pop("mine")
    """
    known = _all(family).get(name)
    if known is not None and known != target:
        raise SettingError(f"there is a {family} {name!r} already ({known}); take another name")
    _TABLE[family][name] = target


def names(family: Family) -> tuple[str, ...]:
    """All names of a family, ours first."""
    return tuple(_all(family))


def find(family: Family, name: str) -> Any:
    """The class behind a name; an unknown name is refused with those there are."""
    target = _all(family).get(name)
    if target is None:
        raise SettingError(f"there is no {family} {name!r}; there are {', '.join(names(family))}")
    if not isinstance(target, str):
        return target
    module, _, attribute = target.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except MissingExtraError:
        raise
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"the {family} {name!r} needs {error.name}, which is not installed") from error


def name_of(family: Family, target: type) -> str | None:
    """The name of a class, None if it has none."""
    text = f"{target.__module__}:{target.__qualname__}"
    return next((name for name, known in _all(family).items() if known is target or known == text), None)


def _all(family: Family) -> dict[str, object]:
    return {**_TABLE[family], **_from_entry_points(family)}


@cache
def _from_entry_points(family: Family) -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=f"sureness.{family}")}
