# Written by `make stubs` from the table in __init__.py.
from sureness.data.recipes.base import Address as Address
from sureness.data.recipes.base import Dataset as Dataset
from sureness.data.recipes.base import Recipe as Recipe
from sureness.data.recipes.base import common_pairs as common_pairs
from sureness.data.recipes.catalogue import RECIPES as RECIPES
from sureness.data.recipes.catalogue import recipe as recipe
from sureness.data.recipes.files import DataFiles as DataFiles
from sureness.data.recipes.loading import copy_dataset as copy_dataset
from sureness.data.recipes.loading import fetch_dataset as fetch_dataset
from sureness.data.recipes.loading import load_dataset as load_dataset
from sureness.data.recipes.loading import pinned_checksums as pinned_checksums
from sureness.data.recipes.loading import whereabouts as whereabouts
from sureness.data.recipes.preparing import prepare as prepare

__all__ = [
    "Address",
    "DataFiles",
    "Dataset",
    "RECIPES",
    "Recipe",
    "common_pairs",
    "copy_dataset",
    "fetch_dataset",
    "load_dataset",
    "pinned_checksums",
    "prepare",
    "recipe",
    "whereabouts",
]
