"""Two recommenders teach each other the items that one ranks high and the other low."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "bidirectional": ["BidirectionalDistillation"],
        "learner": ["Guide", "Learner", "SoftLabels", "soft_labels"],
        "refresh": ["DrawnItems", "Pool", "Refreshed"],
        "sampling": ["SCHEMES", "Scheme", "weight_table"],
        "settings": ["Direction", "DistillationSettings", "SettingValue", "distillation_method", "method_names"],
        "starts": ["truncated"],
    },
)
