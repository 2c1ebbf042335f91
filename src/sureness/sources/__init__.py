"""Where scores come from: anything that scores a block of users against all items."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "adapters": [
            "from_cornac", "from_implicit", "from_lenskit", "from_lightfm", "from_recbole", "from_rectools",
            "from_surprise", "source_of",
        ],
        "base": [
            "BLOCK_SCORES", "FactorSource", "KnownScores", "MatrixSource", "PartialSource", "SavableSource",
            "ScoreSource", "check_users", "checked_block", "id_maps", "named", "user_blocks",
        ],
        "candidates": ["CandidateSource"],
        "function": ["FunctionSource", "PartialFunctionSource"],
        "aligned": ["Aligned", "Seen", "among", "fitted_to", "unseen"],
        "subset": ["subset_of"],
        "svd": ["svd_source"],
        "tables": ["candidate_table", "score_pairs", "scores_of"],
        "torch_model": ["TorchSource"],
    },
)  # fmt: skip
