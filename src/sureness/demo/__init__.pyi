# Written by `make stubs` from the table in __init__.py.
from sureness.demo.distillation_study import distillation_world as distillation_world
from sureness.demo.distillation_study import study_distillation as study_distillation
from sureness.demo.distillation_study import study_log_distillation as study_log_distillation
from sureness.demo.knowledge import Study as Study
from sureness.demo.knowledge import compare as compare
from sureness.demo.knowledge import prepare as prepare
from sureness.demo.list_study import ListStudy as ListStudy
from sureness.demo.list_study import lists_of as lists_of
from sureness.demo.list_study import study_lists as study_lists
from sureness.demo.log import log_demo as log_demo
from sureness.demo.log_study import LogStudy as LogStudy
from sureness.demo.log_study import small_split as small_split
from sureness.demo.log_study import study_log as study_log
from sureness.demo.result import DemoResult as DemoResult
from sureness.demo.simulated import simulated_demo as simulated_demo

__all__ = [
    "DemoResult",
    "ListStudy",
    "LogStudy",
    "Study",
    "compare",
    "distillation_world",
    "lists_of",
    "log_demo",
    "prepare",
    "simulated_demo",
    "small_split",
    "study_distillation",
    "study_lists",
    "study_log",
    "study_log_distillation",
]
