"""Scores become list sizes by learning where to cut: AttnCut and MtCut, baselines of `list_size` (extra `models`)."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "attn_cut": ["AttnCut"],
        "base": ["CutPolicy"],
        "mt_cut": ["MtCut"],
        "scaling": ["ScoreScale"],
        "tuning": ["CutTuning", "GRID", "cut_type", "tune_cut"],
    },
)
