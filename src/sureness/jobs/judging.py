"""Judge how well a run ranks: one rule for the metrics, wherever a run is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Annotated

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness.data.filtering import rated_above
from sureness.data.interactions import union
from sureness.errors import EmptyError, SettingError
from sureness.jobs.inputs import is_nothing, known_log, refuse_given
from sureness.jobs.options import plain
from sureness.jobs.outputs import check_outputs
from sureness.metrics.ranking import DEFAULT_METRICS, RankingQuality, evaluate_ranking, evaluate_within
from sureness.recommender.confident import ConfidentRecommender
from sureness.recommender.promises import KeptPromise, kept_promise
from sureness.recommender.run import Run, open_run
from sureness.saving.objects import inspect, load
from sureness.saving.packed import JSON
from sureness.sources.aligned import Seen
from sureness.tables.columns import Columns
from sureness.tables.frames import Table, name_of
from sureness.tables.writing import write_table

WITHIN = ("ndcg@1", "ndcg@3", "ndcg@5", "recall@1", "recall@3", "recall@5")
LEAVE_ONE_OUT = ("hit@50", "ndcg@50", "hit@100", "ndcg@100")


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """What a run is judged by."""

    test: Annotated[Table | None, "Log to judge by, in place of the run's own test."] = None
    seen: Annotated[
        tuple[Table, ...], "Log of items not shown again, in place of the run's, or nothing; may repeat."
    ] = ()
    metric: Annotated[tuple[str, ...], "Such as ndcg@20, hit@10, recall@50; may repeat."] = ()
    per_user: Annotated[Path | None, "Write the metrics of every user to this table."] = None
    field: Annotated[tuple[str, ...], "For a table with probabilities: column such as the advertiser; may repeat."] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class EvaluateResult:
    """How high the test items of each user are ranked."""

    run: Path
    quality: RankingQuality
    notes: tuple[str, ...]
    promise: KeptPromise | None = None  # of a recommender

    __repr__ = fields_repr

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        found: dict[str, object] = {
            "run": self.run,
            "users": self.quality.n_users,
            "notes": self.notes,
            **self.quality.means,
        }
        found |= {} if self.promise is None else {"promise": self.promise.plain()}
        return plain(found)  # type: ignore[no-any-return]


def usual_metrics(run: Run) -> tuple[str, ...]:
    """The metrics that fit the split of a run.

    Within the shown items where each has a rating; hits and NDCG at 50 and 100 where each user has one test item;
    otherwise those of `evaluate_ranking`.
    """
    if run.about.get("protocol") == "preference":
        return WITHIN
    return LEAVE_ONE_OUT if run.test is not None and run.test.user_degree.max() == 1 else DEFAULT_METRICS


def judge(run: Run, metrics: Sequence[str] = (), *, seen: Seen = None, progress: Progress = silent) -> RankingQuality:
    """Judge a run by its test part: full ranking, or within the shown items where each of them has a rating.

    Parameters
    ----------
    run : Run
    metrics : sequence of str
        By default those of `usual_metrics`.
    seen : Interactions or "nothing", optional
        Items that are not shown again; by default what the run has seen.
    progress : Progress
    """
    if run.test is None:
        raise EmptyError("there is no test part to judge by; give a log as test=...")
    chosen = tuple(metrics) or usual_metrics(run)
    if run.about.get("protocol") != "preference":
        left_out = run.seen() if seen is None else seen
        return evaluate_ranking(run.source, run.test, seen=left_out, metrics=chosen, progress=progress)
    threshold = run.about.get("positive_above")
    if not isinstance(threshold, int | float):
        raise SettingError("the run does not say above which rating a pair is relevant; train it again")
    return evaluate_within(run.source, run.test, rated_above(run.test, threshold), metrics=chosen)


def evaluate(
    run: str | PathLike[str],
    options: EvaluateOptions | None = None,
    *,
    columns: Columns | None = None,
    progress: Progress = silent,
) -> EvaluateResult:
    """Rank all unseen items for every user of the test of a saved run, and see how high the right ones come.

    Parameters
    ----------
    run : path
        A run; or a saved model, source or recommender with a test log in the options. The lists of a recommender are
        also judged by the hits that they promised.
    options : EvaluateOptions, optional
    columns : Columns, optional
        Of the logs.
    progress : Progress
    """
    options, columns = options or EvaluateOptions(), columns or Columns()
    refuse_given(options, ("field",), f"belongs to a table with probabilities, got {run}")
    check_outputs([(options.per_user, "table")], [run, options.test, *options.seen])
    recommender = _recommender(run, options)
    opened = open_run(run) if recommender is None else Run(recommender.source, recommender.seen_)
    notes = list[str]()
    seen: Seen = None
    if options.test is not None:
        test = known_log(opened, options.test, columns)
        opened = replace(opened, test=test, about={})
        notes += test.notes
    if options.seen:
        if opened.about.get("protocol") == "preference":
            raise SettingError(f"{run} is judged within the shown items, so seen has no meaning; leave it out")
        given = () if is_nothing(options.seen) else options.seen
        logs = [known_log(opened, log, columns) for log in given]
        seen = union(logs) if logs else "nothing"
        names = [name_of(log, "seen") for log in given]
        notes += [f"{name}: {note}" for name, log in zip(names, logs, strict=True) for note in log.notes]
    quality = judge(opened, options.metric, seen=seen, progress=progress)
    if options.per_user is not None:
        write_table(quality.per_user, options.per_user, text=columns.text)
    promise = None if recommender is None or opened.test is None else kept_promise(recommender, opened.test)
    return EvaluateResult(run=Path(run), quality=quality, notes=tuple(notes), promise=promise)


def _recommender(path: str | PathLike[str], options: EvaluateOptions) -> ConfidentRecommender | None:
    """The recommender in a file; None if there is something else in it."""
    if not Path(path).is_file() or inspect(path).kind != "saved/recommender":
        return None
    if options.seen:
        raise SettingError(f"{path} was saved with what was seen, so seen has no meaning; leave it out")
    return load(path, ConfidentRecommender)
