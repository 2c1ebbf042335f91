# Written by `make stubs` from the table in __init__.py.
from sureness.truncation.attn_cut import AttnCut as AttnCut
from sureness.truncation.base import CutPolicy as CutPolicy
from sureness.truncation.mt_cut import MtCut as MtCut
from sureness.truncation.scaling import ScoreScale as ScoreScale
from sureness.truncation.tuning import CutTuning as CutTuning
from sureness.truncation.tuning import GRID as GRID
from sureness.truncation.tuning import cut_type as cut_type
from sureness.truncation.tuning import tune_cut as tune_cut

__all__ = [
    "AttnCut",
    "CutPolicy",
    "CutTuning",
    "GRID",
    "MtCut",
    "ScoreScale",
    "cut_type",
    "tune_cut",
]
