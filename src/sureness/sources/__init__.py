"""Where scores come from: anything that scores a block of users against all items."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "adapters": [
            "from_cornac",
            "from_implicit",
            "from_lenskit",
            "from_lightfm",
            "from_recbole",
            "from_rectools",
            "from_surprise",
            "source_of",
        ],
        "base": [
            "FactorSource",
            "KnownScores",
            "MatrixSource",
            "PartialSource",
            "SavableSource",
            "ScoreSource",
            "check_users",
            "checked_block",
            "id_maps",
            "n_parameters",
            "named",
        ],
        "candidates": ["CandidateSource"],
        "blocks": [
            "BLOCK_SCORES",
            "Candidates",
            "block_scores",
            "blocks_of",
            "candidate_table",
            "list_blocks",
            "list_table",
            "score_pairs",
            "scores_of",
            "top_blocks",
            "user_blocks",
        ],
        "function": ["AlignedSource", "FunctionSource", "PartialFunctionSource", "TorchSource"],
        "aligned": ["Aligned", "Seen", "among", "fitted_to", "unseen"],
        "svd": ["svd_source"],
    },
)
