"""Public data sets: where each comes from, how it is read, what to mind, and how it is split."""

from sureness.data.recipes.base import Address, Dataset, Recipe
from sureness.data.recipes.catalogue import RECIPES, recipe
from sureness.data.recipes.loading import copy_dataset, fetch_dataset, load_dataset, pinned_checksums, whereabouts
from sureness.data.recipes.preparing import prepare

__all__ = [
    "RECIPES", "Address", "Dataset", "Recipe", "copy_dataset", "fetch_dataset", "load_dataset", "pinned_checksums",
    "prepare", "recipe", "whereabouts",
]  # fmt: skip
