# Written by `make stubs` from the table in __init__.py.
from sureness.pipeline.choosing import SIMPLE as SIMPLE
from sureness.pipeline.choosing import choose_list_sizes as choose_list_sizes
from sureness.pipeline.choosing import ways_to_decide as ways_to_decide
from sureness.pipeline.deciding import Decisions as Decisions
from sureness.pipeline.mapped import MappedSource as MappedSource
from sureness.pipeline.recommender import ConfidentRecommender as ConfidentRecommender
from sureness.pipeline.runs import DistilledRuns as DistilledRuns
from sureness.pipeline.runs import Run as Run
from sureness.pipeline.runs import open_run as open_run
from sureness.pipeline.runs import pack_source as pack_source
from sureness.pipeline.summaries import N_POWERS as N_POWERS
from sureness.pipeline.summaries import Summaries as Summaries
from sureness.pipeline.summaries import Target as Target
from sureness.pipeline.summaries import by_activity as by_activity
from sureness.pipeline.summaries import expectations as expectations
from sureness.pipeline.summaries import summarise as summarise

__all__ = [
    "ConfidentRecommender",
    "Decisions",
    "DistilledRuns",
    "MappedSource",
    "N_POWERS",
    "Run",
    "SIMPLE",
    "Summaries",
    "Target",
    "by_activity",
    "choose_list_sizes",
    "expectations",
    "open_run",
    "pack_source",
    "summarise",
    "ways_to_decide",
]
