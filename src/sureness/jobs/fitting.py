"""Fit a calibrator to a table of scores and labels, or to the candidates of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import polars as pl

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._registry import find, names
from sureness._settings import written
from sureness._types import Estimand, Risk, ScoresAre
from sureness.calibration.base import Calibrator, make_calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.choosing import Judgeable, choose_calibrator, cross_validate
from sureness.calibration.known_sampling import prior_correction
from sureness.calibration.list_terms import HISTORY
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.maps import ProbabilityMap
from sureness.calibration.segments import SegmentCalibrator
from sureness.calibration.top_n import TopNCalibrator
from sureness.data.interactions import Interactions
from sureness.data.scored_pairs import OF_PAIRS, ScoredPairs, pairs_of_table, stream_pairs
from sureness.errors import DataError, EmptyError, SettingError, warn
from sureness.jobs.inputs import counter, is_saved, labelled_run, n_candidates, not_usual, refuse_given
from sureness.jobs.options import OneOf, Usually, plain
from sureness.jobs.outputs import check_outputs
from sureness.metrics.intervals import Interval
from sureness.numerics.checks import check_probabilities
from sureness.propensity import PopularityPropensity
from sureness.saving.packed import JSON, Form
from sureness.tables.columns import Columns
from sureness.tables.frames import Place, Table, place_of
from sureness.tables.reading import NUMBERS, count_rows, read_table, readable, recognised, require_columns, scan_table

LISTS = "lists"
PER_USER = tuple(name for name in names("map") if name.startswith("per-user"))
OF_CANDIDATES = (LISTS, *PER_USER)
"""Methods that need the user, or another group, of each candidate."""
AUTO = ("platt", "beta", "gaussian", "gamma", "shape", "isotonic")
USUAL = "gaussian"
"""The method for pairs."""
_FAR = 3.0  # times that a share of positives may differ from the base rate
_JUDGED_PAIRS = 1_000_000  # up to this many pairs the fit is also judged by cross-fitting
_OF_LABELLED = ("sampling_rate", "relative_propensity", "training_pairs")
_OF_LOGS = ("seen", "popularity_propensity")


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """How a calibrator is fitted, and what is known about the pairs."""

    method: Annotated[
        str | None,
        "Calibration method; auto compares several for pairs by cross-fitting, lists compares a group's candidates.",
        OneOf(("calibrator",), others=("auto", *OF_CANDIDATES)),
        Usually(f"{LISTS} for a table whose groups are named, else {USUAL}"),
    ] = None
    risk: Annotated[Risk | None, "What to minimise; by default what the data allow."] = None
    scores_are: Annotated[
        ScoresAre | None, "What the scores are; by default what explains the labels better, for scores from 0 to 1."
    ] = None
    estimand: Annotated[Estimand | None, "What the probability is of; preference if there are propensities."] = None
    held_out_share: Annotated[float, "Share of the positives that is labelled 1."] = 1.0
    training_pairs: Annotated[
        Literal["kept", "left_out"], "Whether the table has the pairs of the training log, labelled 0."
    ] = "kept"
    sampling_rate: Annotated[float | None, "Share of the pairs labelled 0 that the table kept, or 'unknown'."] = (
        1.0  # None: unknown
    )
    base_rate: Annotated[float | None, "Known mean probability over all pairs."] = None
    anchor: Annotated[Table | None, "Table with uniformly exposed pairs: score and label."] = None
    relative_propensity: Annotated[bool, "Propensities are known up to a factor, as popularity is."] = False
    held_out: Annotated[
        Table | None,
        "Log of held-out pairs, such as clicks: labels a top-N table, or a run in place of its validation part.",
    ] = None
    seen: Annotated[
        tuple[Table, ...],
        "Log of pairs that are no candidates: the training log; a run has its own; or nothing; may repeat.",
    ] = ()
    popularity_propensity: Annotated[bool, "With a training log: estimate propensities from popularity."] = False
    top_n: Annotated[int | None, "Fit mostly on the top N items of each user."] = None
    segments: Annotated[
        tuple[str, ...], "For a table: column of a field or trait, such as market; repeat it for segments that overlap."
    ] = ()
    numeric_segments: Annotated[
        tuple[str, ...], "Such a column with numbers to group, such as popularity; may repeat."
    ] = ()
    by: Annotated[str, "What auto compares: nll, brier, ece, adaptive_ece or ece@N."] = "nll"

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns of all fields."""
        return tuple(dict.fromkeys((*self.segments, *self.numeric_segments)))

    def unfitted(self, method: str) -> Calibrator:
        """The calibrator of a method, with these settings."""
        calibrator = make_calibrator(method, risk=self.risk, scores_are=self.scores_are)
        return calibrator if self.top_n is None else TopNCalibrator(calibrator, n=self.top_n)


@dataclass(frozen=True, eq=False, kw_only=True)
class FitResult:
    """A fitted calibrator, and how well it does on users it was not fitted on."""

    data: Place
    output: Path | None
    calibrator: ProbabilityMap
    n_pairs: int
    out_of_fold: Mapping[str, Interval] | None  # None: not judged
    chosen_because: str | None = None  # where methods were compared
    comparison: pl.DataFrame | None = None

    __repr__ = fields_repr

    @property
    def parameters(self) -> dict[str, float] | None:
        """The parameters under the names of the literature; None for a calibrator that has none."""
        return getattr(getattr(self.calibrator, "base_", self.calibrator), "natural_parameters_", None)

    @property
    def score_range(self) -> tuple[float, float] | None:
        """The lowest and the highest score of the pairs; None for maps of users."""
        return getattr(self.calibrator, "score_range_", None)

    @property
    def widths(self) -> dict[str, tuple[float, float]] | None:
        """How widely fields differ in level and slope; None where there are no fields."""
        return getattr(self.calibrator, "widths_", None)

    @property
    def n_groups(self) -> int | None:
        """The users, queries or sessions that a map for lists was fitted on; None for other maps."""
        return getattr(self.calibrator, "n_groups_", None)

    @property
    def n_positive(self) -> int | None:
        """The positives among the candidates that a map for lists was fitted on; None for other maps."""
        return None if self.n_groups is None else getattr(self.calibrator, "n_positive_", None)

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        found: dict[str, Any] = {"table": self.data, "output": self.output, "pairs": self.n_pairs}
        found |= {} if self.n_groups is None else {"n_groups": self.n_groups, "n_positive": self.n_positive}
        if self.comparison is not None:
            found |= {"chosen_because": self.chosen_because, "comparison": self.comparison}
        if self.out_of_fold is not None:
            found["out_of_fold"] = {
                name: {"value": each.value, "low": each.low, "high": each.high}
                for name, each in self.out_of_fold.items()
            }
        found |= {"calibrator": written(self.calibrator), "estimand": self.calibrator.estimand_,
                  "meaning": self.calibrator.meaning, "horizon": self.calibrator.horizon_.plain()}  # fmt: skip
        found |= {} if self.score_range is None else {"score_range": self.score_range}
        found |= {} if self.parameters is None else {"parameters": self.parameters}
        if self.widths is not None:
            found["fields"] = {
                name: {"level": level, "log_stretch": stretch} for name, (level, stretch) in self.widths.items()
            }
        return plain(found)  # type: ignore[no-any-return]


_Pairs: TypeAlias = tuple[CalibrationSet, int, "pl.Series | pl.DataFrame | None"]  # their number, and the segments


def fit(
    data: Table,
    options: FitOptions | None = None,
    *,
    columns: Columns | None = None,
    output: str | PathLike[str] | None = None,
    progress: Progress = silent,
) -> FitResult:
    r"""Fit a calibrator to a table of scores and labels, or to all candidates of a run.

    A table of probabilities without labels is corrected by what is known: a base rate, or a sampling rate, which is the
    share of negatives that the model was trained on.

    A file is read in batches, so it may be larger than memory. Up to a million pairs the fit is also judged on users
    it was not fitted on. The method ``lists`` holds the pairs in memory; it needs the column user_id, which may hold
    queries or sessions, and reads the column ``history`` if there is one, the number of the user's items in the
    training data. For this method the segments are traits, categories and numbers.

    Parameters
    ----------
    data : table of any kind, or path
        A table with score and label: of pandas, polars, PyArrow, DuckDB or anything with the Arrow C stream, or a file
        (.parquet, .csv or .tsv). Without labels, a table of the best items of each user (user_id, item_id, score)
        beside ``options.held_out``, a log of what happened later. Or a saved run, model or source.
    options : FitOptions, optional
    columns : Columns, optional
        With a segment column, one map is fitted for each of its values; several fields are options.
    output : path, optional
        Where the calibrator is saved.
    progress : Progress

    Examples
    --------
    >>> import tempfile; table = Path(tempfile.mkdtemp()) / "pairs.csv"
    >>> _ = table.write_text("score,label\n" + "0.1,0\n0.4,1\n0.5,0\n0.9,1\n" * 20)
    >>> fit(table, FitOptions(method="platt", scores_are="scores")).n_pairs
    80
    """
    place, target = place_of(data), None if output is None else Path(output)
    options, columns = options or FitOptions(), columns or Columns()
    method = options.method or (USUAL if columns.group is None or options.top_n else LISTS)
    options = replace(options, method=method)
    _check_segments(options, columns)
    form: Form = find("map", method).saved_as if method in OF_CANDIDATES else "json"
    check_outputs([(target, form)], [place, options.anchor, options.held_out, *options.seen])
    by_log = is_saved(place) or options.held_out is not None
    if not by_log and _is_known(options) and "label" not in scan_table(place, columns).collect_schema().names():
        return _fit_without_labels(place, options, columns, target)
    if options.method in PER_USER or (options.method == LISTS and by_log):
        return _fit_candidates(place, options, columns, target, progress)
    if options.method == LISTS:
        return _fit_lists(place, options, columns, target, progress)
    pairs, n_pairs, segments = (_pairs_of_run if by_log else _pairs_of_table)(place, options, columns, progress)
    chosen_because = comparison = None
    calibrator: ProbabilityMap
    judged = None
    if segments is not None:
        segmented = SegmentCalibrator(options.unfitted(method), numeric=options.numeric_segments)
        calibrator = segmented.fit(pairs, segments=segments)
    elif options.method == "auto":
        candidates = [options.unfitted(name) for name in AUTO]
        choice = choose_calibrator(candidates, pairs, by=options.by, progress=progress)
        calibrator, chosen_because, comparison = choice.best, choice.reason, choice.table
        judged = _out_of_fold(choice.best, pairs, n_pairs, options.top_n)
    else:
        calibrator = fitted = options.unfitted(method).fit(pairs)
        judged = _out_of_fold(fitted, pairs, n_pairs, options.top_n)
    if target is not None:
        calibrator.save(target)
    return FitResult(
        data=place, output=target, calibrator=calibrator, n_pairs=n_pairs, out_of_fold=judged,
        chosen_because=chosen_because, comparison=comparison,
    )  # fmt: skip


def _check_segments(options: FitOptions, columns: Columns) -> None:
    if columns.segment is not None and options.fields:
        raise SettingError(
            f"segments are one column or several fields, got the column {columns.segment!r} and the fields "
            f"{', '.join(options.fields)}; give all of them as fields"
        )
    if options.method == LISTS and columns.segment is not None:
        raise SettingError(
            f"{LISTS} is one map for all segments; give the column {columns.segment!r} as a trait, with segments"
        )
    if (columns.segment is not None or options.fields) and options.method in ("auto", *PER_USER):
        raise SettingError(f"segments are fitted by one method for all pairs, got {options.method}; name another")


def _is_known(options: FitOptions) -> bool:
    """Whether the level of probabilities is known without labels."""
    return options.base_rate is not None or (options.sampling_rate or 1.0) < 1.0


def _fit_without_labels(path: Place, options: FitOptions, columns: Columns, output: Path | None) -> FitResult:
    """A correction of probabilities by a known base rate, or by the share of negatives that a model was trained on."""
    columns = recognised(path, columns, "score")
    with readable(path):
        frame = scan_table(path, columns.only("score"), numbers=NUMBERS)
        require_columns(frame, ["score"], path)
        given = check_probabilities(
            frame.select("score").collect()["score"].to_numpy(), "scores of a table without labels"
        )
    fitted: Calibrator
    if options.base_rate is not None:
        fitted = prior_correction(given, base_rate=options.base_rate)
    else:
        fitted = prior_correction(kept=options.sampling_rate or 1.0)
    if output is not None:
        fitted.save(output)
    return FitResult(data=path, output=output, calibrator=fitted, n_pairs=len(given), out_of_fold=None)


def _fit_candidates(
    path: Place, options: FitOptions, columns: Columns, output: Path | None, progress: Progress
) -> FitResult:
    """A map for lists, or one map per user, fitted to the candidates of a run or of a top-N table."""
    if not is_saved(path) and options.held_out is None:
        raise SettingError(
            f"{options.method} is fitted to a run, or to a table beside a log of held-out pairs, got the table {path} "
            "alone; give held_out, or another method"
        )
    usual = FitOptions(method=options.method, held_out=options.held_out, seen=options.seen)
    if given := not_usual(options, usual):
        raise SettingError(f"{given[0]} has no meaning for {options.method} of a run; leave it out")
    run, held_out, seen = labelled_run(path, options.held_out, options.seen, columns)
    fitted: ProbabilityMap = find("map", str(options.method))()
    fitted.fit_source(run.source, held_out, seen=seen, progress=progress)
    if output is not None:
        fitted.save(output)
    n_pairs = n_candidates(run.source, seen)
    return FitResult(data=path, output=output, calibrator=fitted, n_pairs=n_pairs, out_of_fold=None)


def _fit_lists(
    path: Place, options: FitOptions, columns: Columns, output: Path | None, progress: Progress
) -> FitResult:
    """A map for lists, fitted to a table with the labelled candidates of each user."""
    refuse_given(options, ("top_n",), f"has no meaning for {LISTS}, which looks at each user's best candidates anyway")
    refuse_given(options, ("scores_are",), f"has no meaning for {LISTS}, which compares scores of any kind")
    pairs, n_pairs, segments = _pairs_of_table(path, options, columns, progress)
    known = segments if isinstance(segments, pl.DataFrame) else pl.DataFrame()
    history = known[HISTORY].fill_null(float("nan")).to_numpy() if HISTORY in known.columns else None
    traits = known.select(pl.col(options.segments).cast(pl.String), pl.col(options.numeric_segments))
    fitted = ListCalibrator(risk=options.risk).fit(pairs, history=history, traits=traits if traits.width else None)
    judged = None if known.width else _out_of_fold(fitted, pairs, n_pairs, None)  # folds have pairs, no traits
    if output is not None:
        fitted.save(output)
    return FitResult(data=path, output=output, calibrator=fitted, n_pairs=n_pairs, out_of_fold=judged)


def _warn_level(share: float, options: FitOptions) -> None:
    """A table with far more positives than there are was sampled, and its sampling rate may have been forgotten."""
    known = options.base_rate
    if known is not None and options.sampling_rate == 1.0 and not known / _FAR < share < known * _FAR:
        warn(
            f"{share:.1%} of the pairs are labelled 1, and base_rate is {known:.1%}; if the table kept only some of "
            "the pairs labelled 0, give their share as sampling_rate=..."
        )


def _pairs_of_table(path: Place, options: FitOptions, columns: Columns, progress: Progress) -> _Pairs:
    refuse_given(options, _OF_LOGS, f"belongs to a run, or to a table beside held_out, got the table {path} alone")
    of_lists = options.method == LISTS
    numeric = [*options.numeric_segments, *([HISTORY] if of_lists else [])]
    names = list(options.fields) if columns.segment is None else [columns.segment]
    columns = recognised(path, columns, "user_id", "score", but=names)
    frame = scan_table(path, columns.only(*OF_PAIRS), numbers=(*NUMBERS, *numeric), segment=columns.segment)
    require_columns(frame, ["score", "label", *(["user_id"] if of_lists else []), *names], path)
    names += [HISTORY] if of_lists and HISTORY in frame.collect_schema().names() else []
    n_rows = count_rows(frame, path)
    estimand = options.estimand
    if estimand is None:
        estimand = "preference" if "propensity" in frame.collect_schema().names() else "interaction"

    def chunks() -> Iterator[ScoredPairs]:
        n_positive = 0
        for pairs in stream_pairs(frame, path, counter(progress, "reading pairs", n_rows)):
            n_positive += pairs.n_positive
            yield pairs
        _warn_level(n_positive / n_rows, options)

    data = CalibrationSet.from_chunks(
        chunks, estimand=estimand, held_out_share=options.held_out_share, training_pairs=options.training_pairs,
        sampling_rate=options.sampling_rate, base_rate=options.base_rate, anchor=_anchor(options.anchor, columns),
        relative_propensity=options.relative_propensity,
        score_column=None if columns.score == "score" else columns.score,
    )  # fmt: skip
    if not names:
        return data, n_rows, None
    with readable(path):
        numbers = pl.col([name for name in names if name in numeric]).cast(pl.Float64)
        table = frame.select(names).with_columns(numbers).collect()
    return data, n_rows, table if columns.segment is None else table[names[0]]


def _pairs_of_run(path: Place, options: FitOptions, columns: Columns, progress: Progress) -> _Pairs:
    """All candidates of a run or of a top-N table, labelled by a held-out log."""
    refuse_given(options, _OF_LABELLED, f"belongs to a table with labels, got {path}")
    if columns.segment is not None or options.fields:
        raise SettingError("segments are a column of a table with labels; write one with `sureness apply` first")
    run, held_out, seen = labelled_run(path, options.held_out, options.seen, columns)
    propensity = None
    if options.popularity_propensity:
        if not isinstance(seen, Interactions):
            raise EmptyError(f"{path} has no training log to count popularity in; give one as seen=...")
        propensity = PopularityPropensity().fit(items=seen.items.at(seen.item_rows).to_numpy())
    data = CalibrationSet.from_source(
        run.source, held_out, seen=seen, propensity=propensity, held_out_share=options.held_out_share,
        estimand=options.estimand or ("interaction" if propensity is None else "preference"),
        base_rate=options.base_rate, anchor=_anchor(options.anchor, columns),
        relative_propensity=propensity is not None,
    )  # fmt: skip
    n_pairs = n_candidates(run.source, seen)
    return _counted(data, n_pairs, progress), n_pairs, None


def _counted(data: CalibrationSet, n_pairs: int, progress: Progress) -> CalibrationSet:
    """The same set, which reports every pass."""

    def chunks() -> Iterator[ScoredPairs]:
        count = counter(progress, "scoring candidates", n_pairs)
        for pairs in data.chunks():
            count(len(pairs))
            yield pairs

    return replace(data, chunks=chunks)


def _anchor(table: Table | None, columns: Columns) -> ScoredPairs | None:
    if table is None:
        return None
    return pairs_of_table(read_table(table, columns.only("score", "label"), ["score", "label"]))


def _out_of_fold(
    calibrator: Judgeable, pairs: CalibrationSet, n_pairs: int, top_n: int | None
) -> dict[str, Interval] | None:
    """Out-of-fold metrics, of the top items where the fit looks there; empty, with a warning, for too few pairs."""
    if pairs.relative_propensity or n_pairs > _JUDGED_PAIRS:
        return None  # with relative propensities, the level is not that of the labels
    metrics = [name if top_n is None else f"{name}@{top_n}" for name in ("ece", "nll", "brier")]
    try:
        return dict(cross_validate(calibrator, pairs, metrics=metrics))
    except DataError as error:
        warn(f"the fit cannot be judged on users it has not seen: {error}")
        return {}
