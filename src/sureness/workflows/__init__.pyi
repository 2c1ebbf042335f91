# Written by `make stubs` from the table in __init__.py.
from sureness.workflows.allocating import AllocateOptions as AllocateOptions
from sureness.workflows.allocating import AllocateResult as AllocateResult
from sureness.workflows.allocating import allocate as allocate
from sureness.workflows.applying import ApplyOptions as ApplyOptions
from sureness.workflows.applying import ApplyResult as ApplyResult
from sureness.workflows.applying import apply as apply
from sureness.workflows.comparing import PERSONAL as PERSONAL
from sureness.workflows.comparing import REFERENCE as REFERENCE
from sureness.workflows.comparing import baselines as baselines
from sureness.workflows.comparing import compare_with_baselines as compare_with_baselines
from sureness.workflows.cutting import CutResult as CutResult
from sureness.workflows.cutting import PageOptions as PageOptions
from sureness.workflows.cutting import cut_run as cut_run
from sureness.workflows.cutting import cut_table as cut_table
from sureness.workflows.datasets import DatasetList as DatasetList
from sureness.workflows.datasets import Description as Description
from sureness.workflows.datasets import FetchResult as FetchResult
from sureness.workflows.datasets import Found as Found
from sureness.workflows.datasets import describe as describe
from sureness.workflows.datasets import fetch as fetch
from sureness.workflows.datasets import list_datasets as list_datasets
from sureness.workflows.distilling import DistillOptions as DistillOptions
from sureness.workflows.distilling import DistillResult as DistillResult
from sureness.workflows.distilling import JudgedModel as JudgedModel
from sureness.workflows.distilling import distill as distill
from sureness.workflows.exporting import ExportResult as ExportResult
from sureness.workflows.exporting import export as export
from sureness.workflows.fitting import FitOptions as FitOptions
from sureness.workflows.fitting import FitResult as FitResult
from sureness.workflows.fitting import fit as fit
from sureness.workflows.judging import EvaluateOptions as EvaluateOptions
from sureness.workflows.judging import EvaluateResult as EvaluateResult
from sureness.workflows.judging import evaluate as evaluate
from sureness.workflows.judging import judge as judge
from sureness.workflows.judging import usual_metrics as usual_metrics
from sureness.workflows.listing import CalibrationOptions as CalibrationOptions
from sureness.workflows.listing import ListOptions as ListOptions
from sureness.workflows.listing import Listing as Listing
from sureness.workflows.listing import open_listing as open_listing
from sureness.workflows.logs import LogOptions as LogOptions
from sureness.workflows.logs import SplitLog as SplitLog
from sureness.workflows.logs import read_log as read_log
from sureness.workflows.logs import split_log as split_log
from sureness.workflows.options import OneOf as OneOf
from sureness.workflows.options import Usually as Usually
from sureness.workflows.outputs import check_outputs as check_outputs
from sureness.workflows.reporting import ReportOptions as ReportOptions
from sureness.workflows.reporting import ReportResult as ReportResult
from sureness.workflows.reporting import report as report
from sureness.workflows.results import Result as Result
from sureness.workflows.results import plain as plain
from sureness.workflows.shared_pages import DomainLists as DomainLists
from sureness.workflows.shared_pages import DomainPage as DomainPage
from sureness.workflows.shared_pages import domain_lists as domain_lists
from sureness.workflows.shared_pages import share_page as share_page
from sureness.workflows.simulating import WorldOptions as WorldOptions
from sureness.workflows.simulating import WorldResult as WorldResult
from sureness.workflows.simulating import write_world as write_world
from sureness.workflows.training import TrainOptions as TrainOptions
from sureness.workflows.training import TrainResult as TrainResult
from sureness.workflows.training import train as train
from sureness.workflows.translating import SqlOptions as SqlOptions
from sureness.workflows.translating import SqlResult as SqlResult
from sureness.workflows.translating import translate as translate
from sureness.workflows.warming import WarmResult as WarmResult
from sureness.workflows.warming import warm as warm

__all__ = [
    "AllocateOptions",
    "AllocateResult",
    "ApplyOptions",
    "ApplyResult",
    "CalibrationOptions",
    "CutResult",
    "DatasetList",
    "Description",
    "DistillOptions",
    "DistillResult",
    "DomainLists",
    "DomainPage",
    "EvaluateOptions",
    "EvaluateResult",
    "ExportResult",
    "FetchResult",
    "FitOptions",
    "FitResult",
    "Found",
    "JudgedModel",
    "ListOptions",
    "Listing",
    "LogOptions",
    "OneOf",
    "PERSONAL",
    "PageOptions",
    "REFERENCE",
    "ReportOptions",
    "ReportResult",
    "Result",
    "SplitLog",
    "SqlOptions",
    "SqlResult",
    "TrainOptions",
    "TrainResult",
    "Usually",
    "WarmResult",
    "WorldOptions",
    "WorldResult",
    "allocate",
    "apply",
    "baselines",
    "check_outputs",
    "compare_with_baselines",
    "cut_run",
    "cut_table",
    "describe",
    "distill",
    "domain_lists",
    "evaluate",
    "export",
    "fetch",
    "fit",
    "judge",
    "list_datasets",
    "open_listing",
    "plain",
    "read_log",
    "report",
    "share_page",
    "split_log",
    "train",
    "translate",
    "usual_metrics",
    "warm",
    "write_world",
]
