"""Scores become list sizes by learning where to cut: AttnCut and MtCut, baselines of chapter 4.

Importing it registers both, and so does installing the distribution: `sureness list-size --policy attn-cut`.
"""

from sureness import register
from sureness_reproduction.truncation.policies import AttnCut, CutPolicy, MtCut
from sureness_reproduction.truncation.tuning import GRID, CutTuning, cut_type, tune_cut

__all__ = ["GRID", "AttnCut", "CutPolicy", "CutTuning", "MtCut", "cut_type", "tune_cut"]

register("policy", "attn-cut", "sureness_reproduction.truncation.policies:AttnCut")
register("policy", "mt-cut", "sureness_reproduction.truncation.policies:MtCut")
