# Written by `make stubs` from the table in __init__.py.
from sureness.distillation.bidirectional import BidirectionalDistillation as BidirectionalDistillation
from sureness.distillation.learner import Guide as Guide
from sureness.distillation.learner import Learner as Learner
from sureness.distillation.learner import SoftLabels as SoftLabels
from sureness.distillation.learner import soft_labels as soft_labels
from sureness.distillation.refresh import DrawnItems as DrawnItems
from sureness.distillation.refresh import Pool as Pool
from sureness.distillation.refresh import Refreshed as Refreshed
from sureness.distillation.sampling import SCHEMES as SCHEMES
from sureness.distillation.sampling import Scheme as Scheme
from sureness.distillation.sampling import weight_table as weight_table
from sureness.distillation.settings import Direction as Direction
from sureness.distillation.settings import DistillationSettings as DistillationSettings
from sureness.distillation.settings import SettingValue as SettingValue
from sureness.distillation.settings import distillation_method as distillation_method
from sureness.distillation.settings import method_names as method_names
from sureness.distillation.starts import truncated as truncated

__all__ = [
    "BidirectionalDistillation",
    "Direction",
    "DistillationSettings",
    "DrawnItems",
    "Guide",
    "Learner",
    "Pool",
    "Refreshed",
    "SCHEMES",
    "Scheme",
    "SettingValue",
    "SoftLabels",
    "distillation_method",
    "method_names",
    "soft_labels",
    "truncated",
    "weight_table",
]
