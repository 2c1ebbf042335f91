"""What was observed: interaction logs, scored pairs, splits, data sets, and a simulator with known truth."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "events": ["Events", "Older"],
        "filtering": ["at_least", "k_core", "rated_above", "rating_above"],
        "ids": ["IdMap"],
        "interactions": ["Interactions", "union"],
        "datasets": ["cache_folder", "copy_dataset", "fetch_dataset", "load_dataset", "whereabouts"],
        "data_files": [
            "RATED",
            "RATED_UNTIMED",
            "TABLE",
            "DataFiles",
            "as_text",
            "optional",
            "parts_of",
            "rows_of",
            "separated",
        ],
        "movielens": ["ml_dat"],
        "preparing": ["prepare"],
        "recipes": ["Address", "Dataset", "LogTables", "Recipe", "Size", "common_pairs", "recipe", "recipe_names"],
        "sampling": ["NegativeSampler"],
        "scored_pairs": ["ScoredPairs", "concatenate", "pairs_of_table", "stream_pairs"],
        "simulator": ["DOMAINS", "SimulatorSettings", "World", "simulate", "world_tables"],
        "splitting": ["Split", "by_ratio", "hold_out", "leave_one_out", "parted"],
        "time_splitting": ["TimeCuts", "PastWindow", "by_time", "past_windows", "repeats_of", "window_of"],
        "times": ["Clock", "Length", "Time"],
        "visits": ["VisitSettings", "VisitWorld", "simulate_visits"],
    },
)  # fmt: skip
