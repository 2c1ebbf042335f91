"""What `sureness demo` does: one recommender, in a simulated world or on a log, and a page about its lists."""

from sureness._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {"running": ["DemoResult", "RecommenderName", "run_demo"]})
