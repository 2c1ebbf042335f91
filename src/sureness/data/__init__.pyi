# Written by `make stubs` from the table in __init__.py.
from sureness.data.columns import Columns as Columns
from sureness.data.fetching import cache_folder as cache_folder
from sureness.data.fetching import fetch as fetch
from sureness.data.fetching import pins as pins
from sureness.data.filtering import at_least as at_least
from sureness.data.filtering import k_core as k_core
from sureness.data.filtering import rated_above as rated_above
from sureness.data.filtering import rating_above as rating_above
from sureness.data.frames import Frame as Frame
from sureness.data.frames import Table as Table
from sureness.data.frames import as_frame as as_frame
from sureness.data.frames import in_kind_of as in_kind_of
from sureness.data.id_values import id_series as id_series
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
from sureness.data.tables import BATCH_ROWS as BATCH_ROWS
from sureness.data.tables import add_column as add_column
from sureness.data.tables import column_names as column_names
from sureness.data.tables import count_rows as count_rows
from sureness.data.tables import names_aside as names_aside
from sureness.data.tables import pairs_of_table as pairs_of_table
from sureness.data.tables import read_table as read_table
from sureness.data.tables import readable as readable
from sureness.data.tables import require_columns as require_columns
from sureness.data.tables import scan_table as scan_table
from sureness.data.tables import stream_pairs as stream_pairs
from sureness.data.tables import write_table as write_table
from sureness.data.time_splitting import TimeCuts as TimeCuts
from sureness.data.time_splitting import by_time as by_time

__all__ = [
    "Address",
    "BATCH_ROWS",
    "Columns",
    "DOMAINS",
    "Dataset",
    "Frame",
    "IdMap",
    "Interactions",
    "NegativeSampler",
    "RECIPES",
    "Recipe",
    "ScoredPairs",
    "SimulatorSettings",
    "Split",
    "Table",
    "TimeCuts",
    "World",
    "add_column",
    "as_frame",
    "at_least",
    "by_ratio",
    "by_time",
    "cache_folder",
    "column_names",
    "common_pairs",
    "concatenate",
    "copy_dataset",
    "count_rows",
    "fetch",
    "fetch_dataset",
    "hold_out",
    "id_series",
    "in_kind_of",
    "k_core",
    "leave_one_out",
    "load_dataset",
    "names_aside",
    "pairs_of_table",
    "parted",
    "pinned_checksums",
    "pins",
    "prepare",
    "rated_above",
    "rating_above",
    "read_table",
    "readable",
    "recipe",
    "require_columns",
    "scan_table",
    "simulate",
    "stream_pairs",
    "union",
    "whereabouts",
    "world_tables",
    "write_table",
]
