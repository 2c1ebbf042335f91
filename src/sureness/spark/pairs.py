"""Scored, labelled pairs that lie in Spark: a calibration set whose passes are jobs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

import numpy as np

from sureness._types import Estimand, Risk
from sureness._wording import counted
from sureness.calibration.calibration_set import CERTAIN, CalibrationSet, SetSettings, factor_for, log_odds_of
from sureness.data.scored_pairs import ScoredPairs, pairs_of_table
from sureness.errors import DataError, EmptyError, IdError, SettingError
from sureness.numerics.checks import LARGEST
from sureness.numerics.conversion import LABEL_WORDS
from sureness.numerics.histogram import ScoreHistogram, WeightedScores
from sureness.numerics.masking import bounds_of
from sureness.spark.cells import BAD, ScoreCells, ScoreSpread, Summed, count_cells, survey
from sureness.spark.frames import Kind, check_columns, check_frame, column, fetched, renamed
from sureness.tables.columns import Columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_COLLECTED = 5_000_000
"""Pairs that the driver takes for calibrators that must see all of them at once."""

_EXAMPLES = 1_000  # pairs among which the message about a bad value looks for it

KINDS: dict[str, Kind] = {
    "score": "number",
    "label": "label",
    "weight": "number",
    "propensity": "number",
    "user_id": "id",
    "segment": "id",
}
"""What the agreed columns of pairs must hold."""

_OPTIONAL = ("weight", "propensity", "user_id")


def pairs_on_driver(frame: DataFrame) -> Iterator[ScoredPairs]:
    """The pairs of a DataFrame in one piece, for fits that must see all of them at once."""
    found = fetched(frame.drop("segment").limit(MOST_COLLECTED + 1))
    if found.height > MOST_COLLECTED:
        raise SettingError(
            f"this calibrator must see all pairs at once, and there are more than {MOST_COLLECTED:,}; take a sample "
            "of users, or another calibrator"
        )
    if found.height:
        yield pairs_of_table(found, part=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class SparkPairs(CalibrationSet):
    """A calibration set of pairs in Spark; calibrators are fitted to it as to any other. Build it with `of`.

    A fit is two passes of Spark's own sums (`cells`). Where there are so few pairs that the same fit would look at each
    of them, they are fetched and looked at here.
    """

    frame: DataFrame  # score, label and, where they are known, weight, propensity, user_id and segment

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
        names = pair_columns(known, columns)
        if columns.segment is not None:
            names["segment"] = columns.segment
        check_columns(known, {theirs: KINDS[ours] for ours, theirs in names.items()})
        frame = renamed(known, names, numbers=("score", "label", "weight", "propensity"))
        if estimand is None:
            estimand = "preference" if "propensity" in names else "interaction"
        return cls(chunks=partial(pairs_on_driver, frame), estimand=estimand, frame=frame, **settings)

    def histograms(
        self, risk: Risk, *, by: str | None = None, folds: Callable[[Column], Column] | None = None
    ) -> dict[Hashable, Any]:
        """The pairs as histograms, by the values of a column; without one, by None.

        With folds of users, keys are the values and the fold.
        """
        self.say_relative(risk)
        return self._histograms(risk, self._survey(risk, by), by, folds)

    def _survey(self, risk: Risk, by: str | None = None) -> dict[Hashable, ScoreSpread]:
        """Where the scores lie; values that no fit can use are refused here, with the words of one machine."""
        pairs = self.summed(risk)
        found = survey(pairs, by)
        if not found or BAD in found:
            self._refuse(pairs, found)
        if None in found and by is not None:
            raise IdError("segments must not be missing; drop the pairs without one, or give them one")
        return found

    def _refuse(self, pairs: Summed, found: dict[Hashable, ScoreSpread]) -> NoReturn:
        """Say what is wrong with the pairs: with some of them, or that there are none."""
        from pyspark.sql import functions as sf

        some = pairs.rows
        if found:
            finite = (sf.abs(pairs.score) <= LARGEST) & sf.col("label").isNotNull()
            usable = finite if pairs.usable is None else finite & pairs.usable
            some = some.filter(~sf.coalesce(usable, sf.lit(False)))
        table = fetched(some.limit(_EXAMPLES))
        if table.height:
            pairs_of_table(table.drop("segment", "user_id", strict=False))
            raise DataError(f"{counted(table.height, 'pair')} cannot be used; the first is {table.row(0, named=True)}")
        raise EmptyError("expected at least one pair, got none; check the filter or the DataFrame")

    def _histograms(
        self,
        risk: Risk,
        found: dict[Hashable, ScoreSpread],
        by: str | None = None,
        folds: Callable[[Column], Column] | None = None,
    ) -> dict[Hashable, Any]:
        fold = None if folds is None else folds(column("user_id"))
        cells = count_cells(self.summed(risk), found, by, fold)
        negative = self._weight_of_negatives(list(cells.values()))
        estimand: Estimand = "interaction" if risk == "naive" else self.estimand
        return {key: replace(each.histogram(negative), estimand=estimand) for key, each in cells.items()}

    def _weight_of_negatives(self, cells: list[ScoreCells]) -> float:
        """How much each negative weighs: known of the sampling rate, or implied by the base rate."""
        if self.sampling_rate is not None:
            return 1.0 / self.sampling_rate
        if self.base_rate is None:
            return 1.0
        whole, *others = (each.histogram(1.0) for each in cells)
        low, high = bounds_of(sum(others, whole).points().masked)
        sums = sum((each.sums_by_label(low, high) for each in cells), np.zeros(3))
        return factor_for(sums, self.base_rate)

    def histogram(self, risk: Risk) -> ScoreHistogram:
        """All pairs as one histogram."""
        found: ScoreHistogram = self.histograms(risk)[None]
        return found

    def points(self, risk: Risk, *, exact_pairs: int) -> WeightedScores:
        self.say_relative(risk)
        found = self._survey(risk)
        if found[None].n_pairs <= exact_pairs:
            return self.fetched().points(risk, exact_pairs=exact_pairs)
        points: WeightedScores = self._histograms(risk, found)[None].points()
        return points

    def fetched(self) -> CalibrationSet:
        """The same set with its pairs, but not their users, on the driver."""
        pairs = list(pairs_on_driver(self.frame.drop("user_id")))
        given = CalibrationSet.from_chunks(pairs, estimand=self.estimand)
        kept = {name: getattr(self, name) for name in _SETTINGS}
        return replace(given, **kept)

    def as_log_odds(self) -> Self:
        from pyspark.sql import functions as sf

        score = sf.col("score").cast("double")
        inside = sf.least(sf.greatest(score, sf.lit(CERTAIN)), sf.lit(1 - CERTAIN))
        refused = score * sf.lit(np.nan)  # as everywhere where scores must be finite; missing ones stay missing
        log_odds = sf.when(score.between(0.0, 1.0), sf.log(inside) - sf.log1p(-inside)).otherwise(refused)
        frame = self.frame.withColumn("score", log_odds)
        anchor = None if self.anchor is None else replace(self.anchor, scores=log_odds_of(self.anchor.scores))
        return replace(self, frame=frame, chunks=partial(pairs_on_driver, frame), anchor=anchor)

    def summed(self, risk: Risk) -> Summed:
        """The columns as Spark sums them: `targets`, for columns."""
        from pyspark.sql import functions as sf

        types = dict(self.frame.dtypes)
        label, usable = boolean_label(types["label"])
        weight = target = None
        if "weight" in types:
            weight = sf.col("weight").cast("double")
            usable &= weight.between(0.0, LARGEST)
        if "propensity" in types:
            usable &= sf.col("propensity").cast("double").between(1 / LARGEST, 1.0)
        if risk != "naive":
            inverse = 1.0 / self._observed("propensity" in types)
            if risk == "unbiased":
                target = inverse
            else:
                raised = sf.when(label, inverse).otherwise(1.0)
                weight = raised if weight is None else weight * raised
        plain = types["label"] == "boolean" and not {"weight", "propensity"} & types.keys()
        return Summed(self.frame, sf.col("score").cast("double"), label, weight, target, None if plain else usable)

    def _observed(self, with_propensity: bool) -> Column:
        """`observation_chance`, for columns."""
        from pyspark.sql import functions as sf

        omega = sf.col("propensity").cast("double") if with_propensity else sf.lit(1.0)
        share = self.held_out_share
        if self.relative_propensity:
            return omega if self.level_is_known else share * omega
        return share * omega if self.training_pairs == "kept" else share * omega / (1.0 - (1.0 - share) * omega)


def pair_columns(frame: DataFrame, columns: Columns) -> dict[str, str]:
    """The columns of pairs by agreed name: those for weight, propensity and user where they are there or named."""
    columns.refuse_shared("score", "label", "weight", "propensity")
    names, renames = {"score": columns.score, "label": columns.label}, columns.renamed()
    for ours in _OPTIONAL:
        theirs = getattr(columns, ours)
        if ours in renames or theirs in frame.columns:
            names[ours] = theirs
    return names


def boolean_label(kind: str) -> tuple[Column, Column]:
    """A label as a boolean, and whether it is one."""
    from pyspark.sql import functions as sf

    label = sf.col("label")
    if kind == "boolean":
        return label, label.isNotNull()
    if kind != "string":
        return label == 1, label.isin(0, 1)
    word = sf.lower(sf.btrim(label, sf.lit(" \t\n\r\f\v")))
    return word.isin([each for each, meaning in LABEL_WORDS.items() if meaning]), word.isin(list(LABEL_WORDS))


_SETTINGS = (
    "held_out_share",
    "training_pairs",
    "sampling_rate",
    "base_rate",
    "anchor",
    "relative_propensity",
    "period",
    "log_share",
    "population",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedPairs(CalibrationSet):
    """A calibration set of pairs that were counted already."""

    counted: ScoreHistogram

    @classmethod
    def of(cls, pairs: SparkPairs, counted: ScoreHistogram) -> Self:
        """The rules of other pairs, for a histogram of some of them."""
        known = {name: getattr(pairs, name) for name in _SETTINGS}
        return cls(chunks=tuple, estimand=pairs.estimand, counted=counted, **known)

    def points(self, risk: Risk, *, exact_pairs: int) -> WeightedScores:
        return self.counted.points()
