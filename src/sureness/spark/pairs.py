"""Scored, labelled pairs that lie in Spark: a calibration set whose passes are jobs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
import polars as pl

from sureness._types import Estimand, FloatArray, Risk
from sureness.calibration.calibration_set import CalibrationSet, SetSettings, with_weight
from sureness.calibration.chunks import HeldChunks
from sureness.data.columns import Columns
from sureness.data.id_values import segment_series
from sureness.data.scored_pairs import ScoredPairs
from sureness.data.tables import pairs_of_table
from sureness.errors import EmptyError, IdError, SettingError
from sureness.numerics.hashing import hash_ids
from sureness.numerics.histogram import ScoreHistogram, WeightedScores
from sureness.numerics.masking import bounds_of
from sureness.spark.frames import Kind, check_columns, check_frame, renamed
from sureness.spark.merging import summed
from sureness.spark.tasks import table_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_COLLECTED = 5_000_000
"""Pairs that the driver takes for calibrators that must see all of them at once."""

_KINDS: dict[str, Kind] = {
    "score": "number", "label": "label", "weight": "number", "propensity": "number", "user_id": "id", "segment": "id",
}  # fmt: skip
_OPTIONAL = ("weight", "propensity", "user_id")


@dataclass(frozen=True, eq=False)
class FrameChunks:
    """The pairs of a DataFrame on the driver, for fits that must see all of them at once."""

    frame: DataFrame

    def __call__(self) -> Iterator[ScoredPairs]:
        found = self.frame.limit(MOST_COLLECTED + 1).toArrow()
        if found.num_rows > MOST_COLLECTED:
            raise SettingError(
                f"this calibrator must see all pairs at once, and there are more than {MOST_COLLECTED:,}; take a "
                "sample of users, or another calibrator"
            )
        if found.num_rows:
            yield pairs_of_table(table_of(found.to_batches()).drop("segment", strict=False), part=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class SparkPairs(CalibrationSet):
    """A calibration set of pairs in Spark; calibrators are fitted to it as to any other. Build it with `of`.

    A fit makes one pass, in which tasks count pairs into histograms. Where there are so few pairs that the same fit
    would look at each of them, they are fetched and looked at here.
    """

    frame: DataFrame  # score, label and, where they are known, weight, propensity, user_id and segment
    rescaled: tuple[Callable[[FloatArray], FloatArray], ...] = ()  # what became of the scores

    @classmethod
    def of(
        cls,
        df: DataFrame,
        columns: Columns,
        *,
        estimand: Estimand | None = None,
        **settings: Unpack[SetSettings],
    ) -> Self:
        """Check the columns of a DataFrame; those for weight, propensity and user are taken where they are there."""
        known = check_frame(df)
        columns.refuse_shared("score", "label", "weight", "propensity")
        names = {"score": columns.score, "label": columns.label}
        renames = columns.renamed()
        for ours in _OPTIONAL:
            theirs = getattr(columns, ours)
            if ours in renames or theirs in known.columns:
                names[ours] = theirs
        if columns.segment is not None:
            names["segment"] = columns.segment
        check_columns(known, {theirs: _KINDS[ours] for ours, theirs in names.items()})
        frame = renamed(known, names, numbers=("score", "label", "weight", "propensity"))
        if estimand is None:
            estimand = "preference" if "propensity" in names else "interaction"
        return cls(chunks=FrameChunks(frame), estimand=estimand, frame=frame, **settings)

    def histograms(
        self, risk: Risk, *, by: str | None = None, negative: float | None = None, folds: int | None = None
    ) -> dict[Hashable, Any]:
        """The pairs as histograms in one pass, by the values of a column; without one, by None.

        With folds, keys are the values and the fold of the user.
        """
        self.say_relative(risk)
        factor = self.negative_factor(risk) if negative is None else negative
        wanted = ("score", "label", "weight", "propensity", by, None if folds is None else "user_id")
        needed = [name for name in self.frame.columns if name in wanted]
        rules = replace(self, frame=None, chunks=HeldChunks(()))
        found = summed(self.frame.select(*needed), _Count(rules, risk, factor, by, folds))
        if not found:
            raise EmptyError("expected at least one pair, got none; check the filter or the DataFrame")
        estimand: Estimand = "interaction" if risk == "naive" else self.estimand
        return {key: replace(each, estimand=estimand) for key, each in found.items()}

    def histogram(self, risk: Risk) -> ScoreHistogram:
        """All pairs as one histogram."""
        found: ScoreHistogram = self.histograms(risk)[None]
        return found

    def points(self, risk: Risk, *, exact_pairs: int) -> WeightedScores:
        found = self.histogram(risk)
        return found.points() if found.n_pairs > exact_pairs else self.fetched().points(risk, exact_pairs=exact_pairs)

    def fetched(self) -> CalibrationSet:
        """The same set with its pairs on the driver."""
        given = CalibrationSet.from_chunks(list(self.chunks()), estimand=self.estimand)
        kept = {name: getattr(self, name) for name in _SETTINGS}
        return replace(given, **kept)

    def map_scores(self, function: Callable[[FloatArray], FloatArray]) -> Self:
        return replace(super().map_scores(function), rescaled=(*self.rescaled, function))

    def sums_by_label(self, risk: Risk) -> FloatArray:
        by_label = replace(self, sampling_rate=1.0).histograms(risk, by="label", negative=1.0)
        positive, negative = (by_label.get(label) for label in (True, False))
        if positive is None or negative is None:
            return np.array([_mass(positive)[0], _mass(positive)[1], _mass(negative)[0]])
        low, high = bounds_of((positive + negative).points().masked)
        return np.array([*_mass(positive, low, high), _mass(negative, low, high)[0]])


_SETTINGS = (
    "held_out_share", "training_pairs", "sampling_rate", "base_rate", "anchor", "relative_propensity", "period",
    "log_share", "population",
)  # fmt: skip


@dataclass(frozen=True)
class _Count:
    """Counts blocks of pairs into histograms."""

    rules: SparkPairs  # without its pairs
    risk: Risk
    negative: float
    by: str | None
    folds: int | None = None

    def __call__(self, table: pl.DataFrame) -> dict[Hashable, ScoreHistogram]:
        pairs = pairs_of_table(table.drop("segment", strict=False), part=True)
        for function in self.rules.rescaled:
            pairs = replace(pairs, scores=function(pairs.scores))
        groups = self._groups(table, pairs)
        return {key: each for key, rows in groups.items() for each in self._of(pairs.take(rows))}

    def _groups(self, table: pl.DataFrame, pairs: ScoredPairs) -> dict[Hashable, Any]:
        """The rows of each value of the column."""
        if self.by is None:
            return {None: slice(None)}
        if self.by == "label":
            return {label: pairs.labels == label for label in (False, True)}
        names = segment_series(table["segment"])
        if names.null_count():
            raise IdError("segments must not be missing; drop the pairs without one, or give them one")
        keys = {"name": names} | ({} if self.folds is None else {"fold": hash_ids(table["user_id"]) % self.folds})
        found = pl.DataFrame(keys).with_row_index("row").group_by(*keys).agg("row").rows()
        return {key[0] if self.folds is None else tuple(key): np.asarray(rows) for *key, rows in found}

    def _of(self, pairs: ScoredPairs) -> list[ScoreHistogram]:
        """One histogram, or none where no pair has a weight."""
        held = with_weight(pairs)
        if not len(held):
            return []
        return [ScoreHistogram.of_checked(held.scores, *self.rules.weigh(held, self.risk, self.negative))]


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedPairs(CalibrationSet):
    """A calibration set of pairs that were counted already."""

    counted: ScoreHistogram

    @classmethod
    def of(cls, pairs: SparkPairs, counted: ScoreHistogram) -> Self:
        """The rules of other pairs, for a histogram of some of them."""
        known = {name: getattr(pairs, name) for name in _SETTINGS}
        return cls(chunks=HeldChunks(()), estimand=pairs.estimand, counted=counted, **known)

    def points(self, risk: Risk, *, exact_pairs: int) -> WeightedScores:
        return self.counted.points()


def _mass(histogram: ScoreHistogram | None, low: float = -np.inf, high: float = np.inf) -> tuple[float, float]:
    """Weight and target of the pairs between two scores."""
    if histogram is None:
        return 0.0, 0.0
    points = histogram.points()
    inside = (points.scores > low) & (points.scores < high)
    return float(points.weight[inside].sum()), float(points.target[inside].sum())
