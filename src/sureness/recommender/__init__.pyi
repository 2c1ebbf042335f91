# Written by `make stubs` from the table in __init__.py.
from sureness.recommender.backtesting import Backtest as Backtest
from sureness.recommender.backtesting import JudgedWindow as JudgedWindow
from sureness.recommender.backtesting import backtest as backtest
from sureness.recommender.choosing import SIMPLE as SIMPLE
from sureness.recommender.choosing import choose_list_sizes as choose_list_sizes
from sureness.recommender.choosing import ways_to_decide as ways_to_decide
from sureness.recommender.confident import ConfidentRecommender as ConfidentRecommender
from sureness.recommender.expecting import Below as Below
from sureness.recommender.expecting import Target as Target
from sureness.recommender.forward import TrainedWindow as TrainedWindow
from sureness.recommender.forward import trained_windows as trained_windows
from sureness.recommender.mapped import MappedSource as MappedSource
from sureness.recommender.run import DistilledRuns as DistilledRuns
from sureness.recommender.run import Run as Run
from sureness.recommender.run import open_run as open_run
from sureness.recommender.run import pack_source as pack_source

__all__ = [
    "Backtest",
    "Below",
    "ConfidentRecommender",
    "DistilledRuns",
    "JudgedWindow",
    "MappedSource",
    "Run",
    "SIMPLE",
    "Target",
    "TrainedWindow",
    "backtest",
    "choose_list_sizes",
    "open_run",
    "pack_source",
    "trained_windows",
    "ways_to_decide",
]
