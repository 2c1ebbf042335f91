# Written by `make stubs` from the table in __init__.py.
from sureness.pipeline.candidates import Candidates as Candidates
from sureness.pipeline.choosing import SIMPLE as SIMPLE
from sureness.pipeline.choosing import choose_list_sizes as choose_list_sizes
from sureness.pipeline.choosing import ways_to_decide as ways_to_decide
from sureness.pipeline.deciding import Decisions as Decisions
from sureness.pipeline.expecting import Below as Below
from sureness.pipeline.expecting import Target as Target
from sureness.pipeline.mapped import MappedSource as MappedSource
from sureness.pipeline.recommender import ConfidentRecommender as ConfidentRecommender
from sureness.pipeline.runs import DistilledRuns as DistilledRuns
from sureness.pipeline.runs import Run as Run
from sureness.pipeline.runs import open_run as open_run
from sureness.pipeline.runs import pack_source as pack_source

__all__ = [
    "Below",
    "Candidates",
    "ConfidentRecommender",
    "Decisions",
    "DistilledRuns",
    "MappedSource",
    "Run",
    "SIMPLE",
    "Target",
    "choose_list_sizes",
    "open_run",
    "pack_source",
    "ways_to_decide",
]
