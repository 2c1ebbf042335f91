# Written by `make stubs` from the table in __init__.py.
from sureness.evaluation.common_ids import CommonIds as CommonIds
from sureness.evaluation.held_out import held_out_ranks as held_out_ranks
from sureness.evaluation.inference import inference_table as inference_table
from sureness.evaluation.inference import n_parameters as n_parameters
from sureness.evaluation.rank_comparison import RankComparison as RankComparison
from sureness.evaluation.rank_comparison import RankScatter as RankScatter
from sureness.evaluation.rank_comparison import compare_ranks as compare_ranks
from sureness.evaluation.rank_comparison import rank_scatter as rank_scatter
from sureness.evaluation.ranking import BLOCK_SCORES as BLOCK_SCORES
from sureness.evaluation.ranking import METRICS as METRICS
from sureness.evaluation.ranking import RankingQuality as RankingQuality
from sureness.evaluation.ranking import best_items as best_items
from sureness.evaluation.ranking import block_scores as block_scores
from sureness.evaluation.ranking import blocks_of as blocks_of
from sureness.evaluation.ranking import evaluate_ranking as evaluate_ranking
from sureness.evaluation.ranking import evaluate_within as evaluate_within
from sureness.evaluation.ranking import list_blocks as list_blocks
from sureness.evaluation.ranking import top_blocks as top_blocks

__all__ = [
    "BLOCK_SCORES",
    "CommonIds",
    "METRICS",
    "RankComparison",
    "RankScatter",
    "RankingQuality",
    "best_items",
    "block_scores",
    "blocks_of",
    "compare_ranks",
    "evaluate_ranking",
    "evaluate_within",
    "held_out_ranks",
    "inference_table",
    "list_blocks",
    "n_parameters",
    "rank_scatter",
    "top_blocks",
]
