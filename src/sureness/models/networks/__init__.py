"""The torch side of the models: networks, losses, the optimiser and the only training loop (extra `models`)."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "batches": ["Batch", "Batches", "PairBatches", "SoftItems", "UserBatches"],
        "bpr": ["BPRNetwork"],
        "cdae": ["CDAENetwork"],
        "cml": ["CMLNetwork"],
        "lightgcn": ["LightGCNNetwork"],
        "network": ["FactorNetwork", "Network", "as_numpy", "new_table", "products", "rows_of"],
        "neumf": ["NeuMFNetwork"],
        "optimiser": ["RowAdam"],
        "training": ["Trainer", "seeded", "train_network", "using_threads"],
        "ubpr": ["UBPRNetwork"],
    },
)
