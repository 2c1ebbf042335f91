# Written by `make stubs` from the table in __init__.py.
from sureness.demo.running import DemoResult as DemoResult
from sureness.demo.running import RecommenderName as RecommenderName
from sureness.demo.running import run_demo as run_demo

__all__ = [
    "DemoResult",
    "RecommenderName",
    "run_demo",
]
