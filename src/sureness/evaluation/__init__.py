"""How good a source's rankings are: full ranking in blocks of users, comparison of two models, cost of inference."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "common_ids": ["CommonIds"],
        "held_out": ["held_out_ranks"],
        "inference": ["inference_table", "n_parameters"],
        "rank_comparison": ["RankComparison", "RankScatter", "compare_ranks", "rank_scatter"],
        "ranking": [
            "BLOCK_SCORES", "METRICS", "RankingQuality", "best_items", "block_scores", "blocks_of", "evaluate_ranking",
            "evaluate_within", "list_blocks", "top_blocks",
        ],
    },
)  # fmt: skip
