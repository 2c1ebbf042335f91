# Written by `make stubs` from the table in __init__.py.
from sureness.jobs.allocating import AllocateOptions as AllocateOptions
from sureness.jobs.allocating import AllocateResult as AllocateResult
from sureness.jobs.allocating import allocate as allocate
from sureness.jobs.applying import ApplyOptions as ApplyOptions
from sureness.jobs.applying import ApplyResult as ApplyResult
from sureness.jobs.applying import apply as apply
from sureness.jobs.backtesting import BacktestOptions as BacktestOptions
from sureness.jobs.backtesting import BacktestResult as BacktestResult
from sureness.jobs.backtesting import run_backtest as run_backtest
from sureness.jobs.cutting import CutResult as CutResult
from sureness.jobs.cutting import PageOptions as PageOptions
from sureness.jobs.cutting import cut_run as cut_run
from sureness.jobs.cutting import cut_table as cut_table
from sureness.jobs.datasets import Description as Description
from sureness.jobs.datasets import WorldOptions as WorldOptions
from sureness.jobs.datasets import describe as describe
from sureness.jobs.datasets import fetch as fetch
from sureness.jobs.datasets import list_datasets as list_datasets
from sureness.jobs.datasets import write_world as write_world
from sureness.jobs.distilling import DistillOptions as DistillOptions
from sureness.jobs.distilling import DistillResult as DistillResult
from sureness.jobs.distilling import distill as distill
from sureness.jobs.exporting import export as export
from sureness.jobs.exporting import translate as translate
from sureness.jobs.fitting import FitOptions as FitOptions
from sureness.jobs.fitting import FitResult as FitResult
from sureness.jobs.fitting import fit as fit
from sureness.jobs.judging import EvaluateOptions as EvaluateOptions
from sureness.jobs.judging import EvaluateResult as EvaluateResult
from sureness.jobs.judging import evaluate as evaluate
from sureness.jobs.judging import judge as judge
from sureness.jobs.judging import usual_metrics as usual_metrics
from sureness.jobs.listing import CalibrationOptions as CalibrationOptions
from sureness.jobs.listing import ListOptions as ListOptions
from sureness.jobs.listing import Listing as Listing
from sureness.jobs.listing import PERSONAL as PERSONAL
from sureness.jobs.listing import REFERENCE as REFERENCE
from sureness.jobs.listing import baselines as baselines
from sureness.jobs.listing import compare_with_baselines as compare_with_baselines
from sureness.jobs.listing import open_listing as open_listing
from sureness.jobs.logs import LogOptions as LogOptions
from sureness.jobs.logs import SplitLog as SplitLog
from sureness.jobs.logs import read_log as read_log
from sureness.jobs.logs import split_log as split_log
from sureness.jobs.options import OneOf as OneOf
from sureness.jobs.options import Result as Result
from sureness.jobs.options import Usually as Usually
from sureness.jobs.options import plain as plain
from sureness.jobs.outputs import check_outputs as check_outputs
from sureness.jobs.probabilities import ProbabilityQuality as ProbabilityQuality
from sureness.jobs.probabilities import evaluate_table as evaluate_table
from sureness.jobs.reporting import ReportOptions as ReportOptions
from sureness.jobs.reporting import report as report
from sureness.jobs.training import TrainOptions as TrainOptions
from sureness.jobs.training import TrainResult as TrainResult
from sureness.jobs.training import train as train
from sureness.jobs.warming import warm as warm

__all__ = [
    "AllocateOptions",
    "AllocateResult",
    "ApplyOptions",
    "ApplyResult",
    "BacktestOptions",
    "BacktestResult",
    "CalibrationOptions",
    "CutResult",
    "Description",
    "DistillOptions",
    "DistillResult",
    "EvaluateOptions",
    "EvaluateResult",
    "FitOptions",
    "FitResult",
    "ListOptions",
    "Listing",
    "LogOptions",
    "OneOf",
    "PERSONAL",
    "PageOptions",
    "ProbabilityQuality",
    "REFERENCE",
    "ReportOptions",
    "Result",
    "SplitLog",
    "TrainOptions",
    "TrainResult",
    "Usually",
    "WorldOptions",
    "allocate",
    "apply",
    "baselines",
    "check_outputs",
    "compare_with_baselines",
    "cut_run",
    "cut_table",
    "describe",
    "distill",
    "evaluate",
    "evaluate_table",
    "export",
    "fetch",
    "fit",
    "judge",
    "list_datasets",
    "open_listing",
    "plain",
    "read_log",
    "report",
    "run_backtest",
    "split_log",
    "train",
    "translate",
    "usual_metrics",
    "warm",
    "write_world",
]
