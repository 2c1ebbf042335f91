"""A recommender that knows how sure it is: source, map and list-size policy as one object; and runs."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "backtesting": ["Backtest", "JudgedWindow", "backtest"],
        "choosing": ["SIMPLE", "choose_list_sizes", "ways_to_decide"],
        "mapped": ["MappedSource"],
        "confident": ["ConfidentRecommender"],
        "run": ["DistilledRuns", "Run", "open_run", "pack_source"],
        "expecting": ["Below", "Target"],
        "forward": ["TrainedWindow", "trained_windows"],
    },
)
