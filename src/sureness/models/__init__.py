"""Interactions become scores: six models, one file each, over networks that torch trains (extra `models`)."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "base": ["FactorRecommender", "Recommender", "checked_validation", "need_torch"],
        "bpr": ["BPR", "UBPR", "UBPRSettings"],
        "catalogue": ["make_recommender", "model_names", "model_type", "recommended"],
        "cdae": ["CDAE", "CDAESettings"],
        "checkpoints": ["HISTORY", "CheckpointFile", "TrainingState", "fingerprint", "run_identity"],
        "cml": ["CML", "CMLSettings"],
        "lightgcn": ["LightGCN", "LightGCNSettings"],
        "networks.batches": ["Batch", "SoftItems"],
        "networks.network": ["Network"],
        "networks.training": ["Trainer"],
        "neumf": ["NeuMF", "NeuMFSettings"],
        "settings": ["Setting", "Settings", "Space"],
        "tuning": ["Tuning", "tune"],
    },
)
