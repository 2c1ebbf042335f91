# Written by `make stubs` from the table in __init__.py.
from sureness.data.data_files import RATED as RATED
from sureness.data.data_files import RATED_UNTIMED as RATED_UNTIMED
from sureness.data.data_files import TABLE as TABLE
from sureness.data.data_files import DataFiles as DataFiles
from sureness.data.data_files import as_text as as_text
from sureness.data.data_files import optional as optional
from sureness.data.data_files import parts_of as parts_of
from sureness.data.data_files import rows_of as rows_of
from sureness.data.data_files import separated as separated
from sureness.data.datasets import cache_folder as cache_folder
from sureness.data.datasets import copy_dataset as copy_dataset
from sureness.data.datasets import fetch_dataset as fetch_dataset
from sureness.data.datasets import load_dataset as load_dataset
from sureness.data.datasets import whereabouts as whereabouts
from sureness.data.events import Events as Events
from sureness.data.events import Older as Older
from sureness.data.filtering import at_least as at_least
from sureness.data.filtering import k_core as k_core
from sureness.data.filtering import rated_above as rated_above
from sureness.data.filtering import rating_above as rating_above
from sureness.data.ids import IdMap as IdMap
from sureness.data.interactions import Interactions as Interactions
from sureness.data.interactions import union as union
from sureness.data.movielens import ml_dat as ml_dat
from sureness.data.preparing import prepare as prepare
from sureness.data.recipes import Address as Address
from sureness.data.recipes import Dataset as Dataset
from sureness.data.recipes import LogTables as LogTables
from sureness.data.recipes import Recipe as Recipe
from sureness.data.recipes import Size as Size
from sureness.data.recipes import common_pairs as common_pairs
from sureness.data.recipes import recipe as recipe
from sureness.data.recipes import recipe_names as recipe_names
from sureness.data.sampling import NegativeSampler as NegativeSampler
from sureness.data.scored_pairs import ScoredPairs as ScoredPairs
from sureness.data.scored_pairs import concatenate as concatenate
from sureness.data.scored_pairs import pairs_of_table as pairs_of_table
from sureness.data.scored_pairs import stream_pairs as stream_pairs
from sureness.data.simulator import DOMAINS as DOMAINS
from sureness.data.simulator import SimulatorSettings as SimulatorSettings
from sureness.data.simulator import World as World
from sureness.data.simulator import simulate as simulate
from sureness.data.simulator import world_tables as world_tables
from sureness.data.splitting import Split as Split
from sureness.data.splitting import by_ratio as by_ratio
from sureness.data.splitting import hold_out as hold_out
from sureness.data.splitting import leave_one_out as leave_one_out
from sureness.data.splitting import parted as parted
from sureness.data.time_splitting import TimeCuts as TimeCuts
from sureness.data.time_splitting import PastWindow as PastWindow
from sureness.data.time_splitting import by_time as by_time
from sureness.data.time_splitting import past_windows as past_windows
from sureness.data.time_splitting import repeats_of as repeats_of
from sureness.data.time_splitting import window_of as window_of
from sureness.data.times import Clock as Clock
from sureness.data.times import Length as Length
from sureness.data.times import Time as Time
from sureness.data.visits import VisitSettings as VisitSettings
from sureness.data.visits import VisitWorld as VisitWorld
from sureness.data.visits import simulate_visits as simulate_visits

__all__ = [
    "Address",
    "Clock",
    "DOMAINS",
    "DataFiles",
    "Dataset",
    "Events",
    "IdMap",
    "Interactions",
    "Length",
    "LogTables",
    "NegativeSampler",
    "Older",
    "PastWindow",
    "RATED",
    "RATED_UNTIMED",
    "Recipe",
    "ScoredPairs",
    "SimulatorSettings",
    "Size",
    "Split",
    "TABLE",
    "Time",
    "TimeCuts",
    "VisitSettings",
    "VisitWorld",
    "World",
    "as_text",
    "at_least",
    "by_ratio",
    "by_time",
    "cache_folder",
    "common_pairs",
    "concatenate",
    "copy_dataset",
    "fetch_dataset",
    "hold_out",
    "k_core",
    "leave_one_out",
    "load_dataset",
    "ml_dat",
    "optional",
    "pairs_of_table",
    "parted",
    "parts_of",
    "past_windows",
    "prepare",
    "rated_above",
    "rating_above",
    "recipe",
    "recipe_names",
    "repeats_of",
    "rows_of",
    "separated",
    "simulate",
    "simulate_visits",
    "stream_pairs",
    "union",
    "whereabouts",
    "window_of",
    "world_tables",
]
