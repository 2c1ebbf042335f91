# Written by `make stubs` from the table in __init__.py.
from sureness.data.fetching import cache_folder as cache_folder
from sureness.data.fetching import fetch as fetch
from sureness.data.fetching import pins as pins
from sureness.data.filtering import at_least as at_least
from sureness.data.filtering import k_core as k_core
from sureness.data.filtering import rated_above as rated_above
from sureness.data.filtering import rating_above as rating_above
from sureness.data.ids import IdMap as IdMap
from sureness.data.interactions import Interactions as Interactions
from sureness.data.interactions import union as union
from sureness.data.recipes import RECIPES as RECIPES
from sureness.data.recipes import Address as Address
from sureness.data.recipes import Dataset as Dataset
from sureness.data.recipes import Recipe as Recipe
from sureness.data.recipes import common_pairs as common_pairs
from sureness.data.recipes import copy_dataset as copy_dataset
from sureness.data.recipes import fetch_dataset as fetch_dataset
from sureness.data.recipes import load_dataset as load_dataset
from sureness.data.recipes import pinned_checksums as pinned_checksums
from sureness.data.recipes import prepare as prepare
from sureness.data.recipes import recipe as recipe
from sureness.data.recipes import whereabouts as whereabouts
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
from sureness.data.time_splitting import by_time as by_time

__all__ = [
    "Address",
    "DOMAINS",
    "Dataset",
    "IdMap",
    "Interactions",
    "NegativeSampler",
    "RECIPES",
    "Recipe",
    "ScoredPairs",
    "SimulatorSettings",
    "Split",
    "TimeCuts",
    "World",
    "at_least",
    "by_ratio",
    "by_time",
    "cache_folder",
    "common_pairs",
    "concatenate",
    "copy_dataset",
    "fetch",
    "fetch_dataset",
    "hold_out",
    "k_core",
    "leave_one_out",
    "load_dataset",
    "pairs_of_table",
    "parted",
    "pinned_checksums",
    "pins",
    "prepare",
    "rated_above",
    "rating_above",
    "recipe",
    "simulate",
    "stream_pairs",
    "union",
    "whereabouts",
    "world_tables",
]
