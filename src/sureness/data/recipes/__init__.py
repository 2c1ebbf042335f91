"""Public data sets: where each is downloaded, how it is read and split, and what to watch out for."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "base": ["Address", "Dataset", "Recipe", "common_pairs"],
        "catalogue": ["RECIPES", "recipe"],
        "files": ["DataFiles"],
        "loading": ["copy_dataset", "fetch_dataset", "load_dataset", "pinned_checksums", "whereabouts"],
        "preparing": ["prepare"],
    },
)
