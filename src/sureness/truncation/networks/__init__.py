"""The torch side of AttnCut and MtCut: encoders, losses and training."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "attn_cut": ["AttnCutNetwork"],
        "inputs": ["Inputs", "Labels"],
        "mt_cut": ["MtCutNetwork", "PublicMtCutNetwork"],
        "network": ["CutNetwork"],
        "training": ["CutTraining", "Schedule"],
    },
)
