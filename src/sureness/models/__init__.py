"""Interactions become scores: six models, one file each, over networks that torch trains (extra `models`)."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "base": ["Recommender", "checked_validation"],
        "bpr": ["BPR", "BPRSettings"],
        "catalogue": ["make_recommender", "model_names", "model_type"],
        "cdae": ["CDAE", "CDAESettings"],
        "checkpoints": ["Checkpoint", "CheckpointFile", "fingerprint", "run_identity"],
        "cml": ["CML", "CMLSettings"],
        "factors": ["FactorRecommender"],
        "lightgcn": ["LightGCN", "LightGCNSettings"],
        "needs": ["need_torch"],
        "networks.training": ["Trainer"],
        "neumf": ["NeuMF", "NeuMFSettings"],
        "known_settings": ["recommended"],
        "settings": ["Setting", "Settings", "Space"],
        "state": ["HISTORY", "TrainingState"],
        "tuning": ["Tuning", "tune"],
        "ubpr": ["UBPR", "UBPRSettings"],
    },
)
