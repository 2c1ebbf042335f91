# Written by `make stubs` from the table in __init__.py.
from sureness.sources.adapters import from_cornac as from_cornac
from sureness.sources.adapters import from_implicit as from_implicit
from sureness.sources.adapters import from_lenskit as from_lenskit
from sureness.sources.adapters import from_lightfm as from_lightfm
from sureness.sources.adapters import from_recbole as from_recbole
from sureness.sources.adapters import from_rectools as from_rectools
from sureness.sources.adapters import from_surprise as from_surprise
from sureness.sources.adapters import source_of as source_of
from sureness.sources.aligned import Aligned as Aligned
from sureness.sources.aligned import Seen as Seen
from sureness.sources.aligned import among as among
from sureness.sources.aligned import fitted_to as fitted_to
from sureness.sources.aligned import unseen as unseen
from sureness.sources.base import FactorSource as FactorSource
from sureness.sources.base import KnownScores as KnownScores
from sureness.sources.base import MatrixSource as MatrixSource
from sureness.sources.base import PartialSource as PartialSource
from sureness.sources.base import SavableSource as SavableSource
from sureness.sources.base import ScoreSource as ScoreSource
from sureness.sources.base import check_users as check_users
from sureness.sources.base import checked_block as checked_block
from sureness.sources.base import id_maps as id_maps
from sureness.sources.base import n_parameters as n_parameters
from sureness.sources.base import named as named
from sureness.sources.blocks import BLOCK_SCORES as BLOCK_SCORES
from sureness.sources.blocks import Candidates as Candidates
from sureness.sources.blocks import block_scores as block_scores
from sureness.sources.blocks import blocks_of as blocks_of
from sureness.sources.blocks import candidate_table as candidate_table
from sureness.sources.blocks import list_blocks as list_blocks
from sureness.sources.blocks import list_table as list_table
from sureness.sources.blocks import score_pairs as score_pairs
from sureness.sources.blocks import scores_of as scores_of
from sureness.sources.blocks import top_blocks as top_blocks
from sureness.sources.blocks import user_blocks as user_blocks
from sureness.sources.candidates import CandidateSource as CandidateSource
from sureness.sources.function import AlignedSource as AlignedSource
from sureness.sources.function import FunctionSource as FunctionSource
from sureness.sources.function import PartialFunctionSource as PartialFunctionSource
from sureness.sources.function import TorchSource as TorchSource
from sureness.sources.svd import svd_source as svd_source

__all__ = [
    "Aligned",
    "AlignedSource",
    "BLOCK_SCORES",
    "CandidateSource",
    "Candidates",
    "FactorSource",
    "FunctionSource",
    "KnownScores",
    "MatrixSource",
    "PartialFunctionSource",
    "PartialSource",
    "SavableSource",
    "ScoreSource",
    "Seen",
    "TorchSource",
    "among",
    "block_scores",
    "blocks_of",
    "candidate_table",
    "check_users",
    "checked_block",
    "fitted_to",
    "from_cornac",
    "from_implicit",
    "from_lenskit",
    "from_lightfm",
    "from_recbole",
    "from_rectools",
    "from_surprise",
    "id_maps",
    "list_blocks",
    "list_table",
    "n_parameters",
    "named",
    "score_pairs",
    "scores_of",
    "source_of",
    "svd_source",
    "top_blocks",
    "unseen",
    "user_blocks",
]
