"""The torch side of the models: networks, losses, the optimiser and the only training loop (extra `models`)."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "batches": ["Batch", "Batches", "PairBatches", "SoftItems", "UserBatches"],
        "cdae": ["CDAENetwork"],
        "factors": ["BPRNetwork", "CMLNetwork", "FactorNetwork", "UBPRNetwork"],
        "lightgcn": ["LightGCNNetwork"],
        "network": ["Network", "as_numpy", "new_table", "products", "rows_of"],
        "neumf": ["NeuMFNetwork"],
        "optimiser": ["DenseAdam", "RowAdam"],
        "training": ["Trainer", "seeded", "train_network", "using_threads"],
    },
)
