"""What `sureness demo` shows: calibration, list sizes, a shared page and distillation, in a world or on a log."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "distillation_study": ("distillation_world", "study_distillation", "study_log_distillation"),
        "knowledge": ("Study", "compare", "prepare"),
        "list_study": ("ListStudy", "lists_of", "study_lists"),
        "log": ("log_demo",),
        "log_study": ("LogStudy", "small_split", "study_log"),
        "result": ("DemoResult",),
        "simulated": ("simulated_demo",),
    },
)
