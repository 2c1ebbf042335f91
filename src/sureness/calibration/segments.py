"""One map for segments: a market, or market, device, activity and popularity at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._settings import clone
from sureness._types import AnyArray, FloatArray, IntArray
from sureness._wording import agreeing, counted
from sureness.calibration._plain import level_of
from sureness.calibration.base import Calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.expressing import Conditional, Join, tame
from sureness.calibration.families import TREE, sigmoid_of
from sureness.calibration.field_effects import CodedPairs, Coding, FieldEffects
from sureness.calibration.field_trees import column_of, effects_tree, some_field_known
from sureness.calibration.fields import SIDES, Field, Fields, FieldTable, PairNumbers, columns_of, full_column
from sureness.calibration.inverse import scores_for
from sureness.calibration.level import UNCHANGED, Level, level_for_base_rate
from sureness.calibration.maps import Observed, ProbabilityMap, Segments, Who, wide
from sureness.calibration.shape import ShapeCalibrator
from sureness.calibration.usable import Reach, usable
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import SettingError, warn
from sureness.expressions.columns import ColumnNames
from sureness.expressions.nodes import Case, Compare, Is, Named, Node, Number
from sureness.numerics.checks import check_whole
from sureness.numerics.logistic import sigmoid
from sureness.saving.packed import Form, Packed, Parts, kind_of
from sureness.sources.base import id_maps
from sureness.tables.id_values import as_series

if TYPE_CHECKING:
    from sureness.calibration.list_sample import ListSample

_ROUGHLY = 5  # steps of each field before the shape is learned again
_LARGEST_LOGIT = 30.0  # of the global map while effects are fitted
_MOST_PAIRS = 5_000_000  # of a recommender's candidates that are held in memory
_MOST_CASES = 5_000  # values of a field in one expression
_MOST_ROWS = 1_000_000  # of the table of combinations
_NEEDS_SEGMENTS = "a map of segments needs to know them; give segments=Segments(names), or Fields(users=, items=)"

Columns = Mapping[str, ArrayLike | pl.Series]


class SegmentCalibrator(ProbabilityMap):
    """One map for each value of a field, or combination of several, such as market, device and popularity.

    ``logit p = level + stretch * g(score)``, where g is the log-odds of one map for all, whose shape is learned with
    the fields. Level and log(stretch) are sums of what each value of a field adds, and of what two or three values
    together add, so that fields may overlap in any way. What the values of a field add is shrunk as far as they do not
    differ: how far is estimated from the labels. Values and combinations that were never seen add nothing, and a
    missing value is a value. The stretch is positive, so the ranking within a combination stays; between combinations
    it may change.

    Weights count pairs: a weight of 2 is the pair twice.

    Parameters
    ----------
    base : Calibrator, optional
        The global map; `ShapeCalibrator` by default.
    numeric : sequence of str
        Fields to split into groups of equally many pairs, such as a popularity. Fields with fractions always are.
    interactions : int
        Up to how many fields may act together: 1 each by itself, 2 also pairs, 3 also triples.

    Attributes
    ----------
    global_ : Calibrator
        Answers where no field is known.
    fields_ : tuple of str
        The names of the fields.
    effects_ : FieldEffects
        Values and groups of the fields, and what those that make a difference add.
    level_ : Level
        What a base rate or an anchor changed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=6_000)
    >>> fields = {"market": rng.choice(["de", "fr"], 6_000), "device": rng.choice(["phone", "desk"], 6_000)}
    >>> level = np.where(fields["market"] == "de", 1.0, -1.0) - np.where(fields["device"] == "phone", 1.0, 0.0)
    >>> labels = rng.random(6_000) < 1 / (1 + np.exp(-level - scores))
    >>> calibrator = SegmentCalibrator().fit(scores, labels, segments=fields)
    >>> calibrator.probability([0.0, 0.0], segments={"market": ["de", "fr"], "device": "phone"}).round(1)
    array([0.5, 0.1])
    """

    saved_as: ClassVar[Form] = "json"

    global_: Calibrator
    effects_: FieldEffects
    level_: Level
    _base: Calibrator  # g: the global map before a base rate or an anchor corrected it, its shape refined

    def __init__(self, base: Calibrator | None = None, *, numeric: Sequence[str] = (), interactions: int = 3) -> None:
        self.base = base
        self.numeric = numeric
        self.interactions = interactions

    def fit(
        self,
        scores: ArrayLike | CalibrationSet,
        labels: ArrayLike | None = None,
        *,
        segments: FieldTable | ArrayLike,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        users: ArrayLike | None = None,
    ) -> Self:
        """Learn the global map, what each field adds, and how far to trust it.

        Parameters
        ----------
        scores : array-like of shape (n_pairs,) or CalibrationSet
        labels : array-like of shape (n_pairs,), optional
            Needed with plain scores.
        segments : array-like of shape (n_pairs,), table, or mapping of names to columns
            The segment of each pair, or its fields, in the order of the pairs: whole numbers, text, true and false, or
            numbers to be grouped. Any of them may be missing.
        """
        data = CalibrationSet.given(scores, labels, sample_weight=sample_weight, propensity=propensity, users=users)
        columns = columns_of(segments)
        return self._fit_pairs(data, lambda pairs: columns)

    def _fit_observed(self, observed: Observed) -> Self:
        """Learn from the candidates of a recommender, or from a known share of them where they are many."""
        segments, source = observed.segments, observed.source
        if segments is None:
            raise SettingError(_NEEDS_SEGMENTS)
        segments.check(source)

        def columns_for(pairs: ScoredPairs) -> Columns:
            users, items = id_maps(source)
            assert pairs.users is not None  # pairs of a source have both
            assert pairs.items is not None
            return columns_of(segments.of_pairs(users.rows(pairs.users), items.rows(pairs.items)))

        return self._fit_pairs(_candidates(observed), columns_for)

    def fit_sample(self, observed: Observed, sample: ListSample) -> Self:
        if observed.segments is None:
            raise SettingError(_NEEDS_SEGMENTS)
        return self.fit(sample.pairs(observed), segments=sample.fields(observed))

    def _fit_pairs(self, given: CalibrationSet, columns_for: Callable[[ScoredPairs], Columns]) -> Self:
        """Learn from pairs and the columns of their fields."""
        risk = given.resolve_risk(None if self.base is None else self.base.risk)
        pairs = given.gather(risk)
        kept = usable(pairs)
        coding, codes = self._coded(columns_for(pairs), pairs, kept)
        pairs = pairs if kept is None else pairs.take(kept)
        data = given.with_pairs(pairs)
        targets, weight = data.targets(pairs, risk)
        weight = np.ones(len(pairs)) if weight is None else weight
        total = float(weight @ targets)  # 0: no positives, which the global map refuses
        noise = float(weight @ targets**2) / total if total else 1.0  # more than 1 for labels over propensities
        return self.fit_codes(data, coding, codes, pairs.scores.astype(np.float64, copy=False), targets, weight, noise)

    def fit_codes(
        self,
        data: CalibrationSet,
        coding: Coding,
        codes: Sequence[IntArray],
        scores: FloatArray,
        targets: FloatArray,
        weight: FloatArray,
        noise: float,
    ) -> Self:
        """Learn from the codes, scores and targets of the pairs of a set, or of bins of pairs."""
        base = clone(self.base) if self.base is not None else ShapeCalibrator()
        unchanged = base.fit_set(data, level=UNCHANGED)
        self.global_ = clone(base).fit_set(data) if data.level_is_known else unchanged
        pairs = CodedPairs.of(coding, codes, scores, targets, weight / noise)
        self._base, overall = _refined(unchanged, pairs, scores)
        self.effects_ = FieldEffects.learned(pairs, overall, interactions=self.interactions)
        log_odds = self.effects_.log_odds(overall, coding.numbers(codes))
        self.level_ = _level(data, self.global_, scores, weight, log_odds)
        return self._learned()

    @classmethod
    def of_effects(cls, base: Calibrator, effects: FieldEffects) -> Self:
        """A map with known effects of fields beside a global map."""
        calibrator = cls(clone(base))
        calibrator.global_ = calibrator._base = base
        calibrator.effects_, calibrator.level_ = effects, UNCHANGED
        return calibrator._learned()

    def _coded(self, columns: Columns, pairs: ScoredPairs, kept: IntArray | None) -> tuple[Coding, list[IntArray]]:
        """The fields of pairs, and the codes of those that are kept."""
        self._check_settings(columns)
        counted = pairs.weight if kept is None else np.zeros(len(pairs))
        if kept is not None and counted is not None:
            counted[kept] = 1.0 if pairs.weight is None else pairs.weight[kept]
        full = {name: full_column(name, column, len(pairs)) for name, column in columns.items()}
        fields = tuple(
            Field.learned(name, column, counted, numeric=name in self.numeric) for name, column in full.items()
        )
        codes = [field.codes(column) for field, column in zip(fields, full.values(), strict=True)]
        return Coding(fields), codes if kept is None else [code[kept] for code in codes]

    def _check_settings(self, columns: Columns) -> None:
        check_whole(self.interactions, "interactions", 1)
        unknown = [name for name in self.numeric if name not in columns]
        if isinstance(self.numeric, str) or unknown:
            raise SettingError(
                f"numeric must name some of the fields {', '.join(columns)}, got {self.numeric!r}; give a list of names"
            )

    def _learned(self) -> Self:
        """Take over what the global map knows about itself."""
        self.estimand_, self.horizon_ = self.global_.estimand_, self.global_.horizon_
        self.n_pairs_, self.score_range_ = self.global_.n_pairs_, self.global_.score_range_
        return self

    @property
    def fields_(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(field.name for field in self.effects_.coding.fields)

    # --- using ------------------------------------------------------------------------------------------------------

    def who(self, n: int, users: ArrayLike | None = None, segments: FieldTable | ArrayLike | None = None) -> Who:
        columns = columns_of(segments, self.fields_)
        return Who(n, segments=self._numbers({name: full_column(name, each, n) for name, each in columns.items()}))

    def _numbers(self, columns: Columns, *, of_text: bool = False) -> IntArray:
        coding = self.effects_.coding
        numbers = coding.numbers([field.codes(columns[field.name], of_text=of_text) for field in coding.fields])
        return np.where(numbers == 0, -1, numbers)

    def pair_numbers(self, groups: Segments | Fields) -> PairNumbers:
        """The numbers of the segments of users and items."""
        if isinstance(groups, Segments):
            numbers = np.maximum(self._numbers(columns_of(groups.names, self.fields_)), 0)
            return PairNumbers(users=numbers) if groups.of == "users" else PairNumbers(items=numbers)
        columns_of(dict.fromkeys(groups.names, ""), self.fields_)  # refuses if one is absent
        users, items = (None if table is None else self._part(table) for table in map(groups.tables.get, SIDES))
        return PairNumbers(users, items)

    def _part(self, table: pl.DataFrame) -> IntArray:
        """What the fields that a table has add to the numbers of combinations."""
        coding, found = self.effects_.coding, np.zeros(table.height, dtype=np.int64)
        for field, stride in zip(coding.fields, coding.strides, strict=True):
            if field.name in table.columns:
                found += field.codes(table[field.name]) * stride
        return found

    def unknown_of(self, groups: pl.DataFrame | AnyArray) -> dict[str, pl.Series]:
        """The values that the map never saw, of those of its fields that a table has, or of segments without a name."""
        columns = columns_of(groups) if isinstance(groups, pl.DataFrame) else columns_of(groups, self.fields_)
        unknown: dict[str, pl.Series] = {}
        for field in self.effects_.coding.fields:
            if field.name in columns and not (codes := field.codes(columns[field.name])).all():
                unknown[field.name] = as_series(columns[field.name]).filter(pl.Series(codes == 0))
        return unknown

    def numbers_of_file(self, table: pl.DataFrame) -> IntArray:
        """The numbers of combinations in columns of a file, where "7" and 7 are the same."""
        return self._numbers(columns_of(table, self.fields_), of_text=True)

    def unknown_values(self, table: FieldTable | ArrayLike, numbers: IntArray) -> dict[str, pl.Series]:
        """The values of each field that the map never saw, given the numbers of their combinations."""
        columns, coding = columns_of(table, self.fields_), self.effects_.coding
        unknown: dict[str, pl.Series] = {}
        for field, codes in zip(coding.fields, coding.codes(np.maximum(numbers, 0)), strict=True):
            if len(codes) and codes.min() == 0:
                column = as_series(full_column(field.name, columns[field.name], len(numbers)))
                unknown[field.name] = column.filter(pl.Series(codes == 0))
        return unknown

    @property
    def widths_(self) -> dict[str, tuple[float, float]]:
        """How widely the values of each field, and of fields together, differ in level and log(stretch).

        Standard deviations; a field that is not there makes no difference.
        """
        found: dict[str, tuple[float, float]] = {}
        for term in self.effects_.terms:
            name = " x ".join(self.fields_[place] for place in term.places)
            level, stretch = np.hypot(found.get(name, (0.0, 0.0)), term.width)  # of both sizes of groups
            found[name] = (float(level), float(stretch))
        return found

    def score_for(self, probability: float, *, segments: FieldTable | ArrayLike) -> FloatArray:
        """The score with a probability for each row of segments, shape (n,); see `Calibrator.score_for`."""
        self.check_fitted()
        n = pl.DataFrame(columns_of(segments, self.fields_)).height
        who = self.who(n, segments=segments)
        bounded = self._base.scores_are_ == "probabilities"
        low, high = (0.0, 1.0) if bounded else self.score_range_
        if not (self._base.rises and self.global_.rises):
            raise SettingError(f"{self._base!r} has steps or may fall, so a probability has no score of its own")
        return scores_for(
            probability, lambda scores: self.log_odds_of(scores, who), np.full(n, low), np.full(n, high),
            "the map of a segment", bounded=bounded,
        )  # fmt: skip

    def reach(self) -> Reach | None:
        return self.global_.reach()

    def probability_of(self, scores: FloatArray, who: Who) -> FloatArray:
        return sigmoid(self.log_odds_of(scores, who))

    def log_odds_of(self, scores: FloatArray, who: Who) -> FloatArray:
        result = self.global_.log_odds_of(scores, who)
        if who.segments is None:
            return result
        numbers = np.broadcast_to(wide(who.segments, scores), scores.shape)
        known = numbers >= 0
        overall = result[known] if self.global_ is self._base else self._base.log_odds_of(scores[known], Who(0))
        found = self.effects_.log_odds(overall, numbers[known])
        result[known] = self.level_.intercept + self.level_.slope * found
        return result

    def log_odds_tree(self, score: Node, names: ColumnNames) -> Node:
        own = (self._known(names), self._of_fields(score, names))
        return Case((own,), self.global_.log_odds_tree(score, names))

    def _known(self, names: ColumnNames) -> Compare:
        return some_field_known(self.effects_.coding.fields, names)

    def _of_fields(self, score: Node, names: ColumnNames) -> Node:
        """The log-odds where at least one field is known."""
        for field in self.effects_.coding.fields:
            if field.values is not None and len(field.values) > _MOST_CASES:
                join = "in Python, load table() into the database and give query() its name as maps="
                instead = join if len(self.fields_) == 1 else "use probability(), or sureness apply"
                raise SettingError(
                    f"the field {field.name!r} has {counted(len(field.values), 'value')}, more than the "
                    f"{_MOST_CASES:,} that an expression takes; {instead}"
                )
        found = effects_tree(self.effects_, self._base.log_odds_tree(score, names), names)
        return found * self.level_.slope + self.level_.intercept

    def _for_all(self, names: ColumnNames) -> Node:
        return self.global_._for_all(names)

    def _for_some(self, names: ColumnNames) -> list[Conditional]:
        if names.maps is not None:
            return self._for_joined(names)
        score = names.reference_to("score")
        own = sigmoid_of(self._of_fields(Named("tamed", tame(score)), names), TREE)
        return [(self._known(names), self.global_.where_taken(score, own))]

    def _for_joined(self, names: ColumnNames) -> list[Conditional]:
        """With level and stretch of the joined table; a missing segment is never equal, so its own are written out."""
        field, score = self._joined_field(), names.reference_to("score")
        level, stretch = self._level_and_stretch([np.array([field.n_codes - 1])])
        absent = Is(column_of(field, names, "ids"), "missing")

        def found(column: str, missing: FloatArray) -> Node:
            known = names.learned(column)
            return Case(((absent, Number(float(missing[0]))),), known) if field.has_missing else known

        overall = self._base.log_odds_tree(Named("tamed", tame(score)), names)
        own = sigmoid_of(found("level", level) + found("stretch", stretch) * overall, TREE)
        return [(Compare(">", found("stretch", stretch), Number(0.0)), self.global_.where_taken(score, own))]

    def _join(self, names: ColumnNames) -> Join:
        field = self._joined_field()
        kind: Literal["text", "numbers"] = "text" if self._values(field).dtype == pl.String else "numbers"
        return Join(column_of(field, names, "ids"), replace(names.learned(field.name), holds="ids"), kind)

    def _joined_field(self) -> Field:
        self.check_fitted()
        field, *others = self.effects_.coding.fields
        if others or field.values is None:
            raise SettingError(
                "a query joins the table of one field of text or whole numbers, and this map has "
                f"{', '.join(self.fields_)}; leave maps= out"
            )
        return field

    def table(self) -> pl.DataFrame:
        """Level and stretch of each value of a field, or of each combination of the values of several.

        There ``logit p = level + stretch * g(score)``, where g is the log-odds of one map for all. The columns are the
        fields, level and stretch. `query` joins the table of one field, which may have too many values for a `CASE`.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> market = np.array(["de", "fr"])[np.arange(2_000) % 2]
        >>> labels = rng.random(2_000) < np.where(market == "de", 0.6, 0.2)
        >>> calibrator = SegmentCalibrator().fit(rng.normal(size=2_000), labels, segments={"market": market})
        >>> table = calibrator.table()
        >>> table.columns, table.height, bool(table["level"][0] > table["level"][1])
        (['market', 'level', 'stretch'], 2, True)
        """
        self.check_fitted()
        fields = self.effects_.coding.fields
        for field in fields:
            if field.values is None:
                raise SettingError(f"the table has a row for each value, but {field.name!r} is numeric; leave it out")
            if field.name.lower() in ("level", "stretch"):
                raise SettingError(f"the table has a column {field.name!r} of its own; rename the field")
        if (n_rows := prod(field.n_codes - 1 for field in fields)) > _MOST_ROWS:
            raise SettingError(
                f"the fields have {counted(n_rows, 'combination')}, more than the {_MOST_ROWS:,} that "
                "the table takes; use probability(), or sureness apply"
            )
        grid = np.meshgrid(*(np.arange(1, field.n_codes) for field in fields), indexing="ij")
        codes = [codes.ravel() for codes in grid]
        level, stretch = self._level_and_stretch(codes)
        columns = {field.name: self._values(field)[code - 1] for field, code in zip(fields, codes, strict=True)}
        return pl.DataFrame({**columns, "level": level, "stretch": stretch})

    def _level_and_stretch(self, codes: Sequence[IntArray]) -> tuple[FloatArray, FloatArray]:
        """Of combinations, for the log-odds of the global map, with what a base rate or an anchor changed."""
        level, stretch = self.effects_.level_and_stretch(codes)
        return self.level_.intercept + self.level_.slope * level, self.level_.slope * stretch

    def _values(self, field: Field) -> pl.Series:
        """The values of a field in the order of their codes, a missing one last if the fit had some."""
        assert field.values is not None
        ids = field.values.ids
        return ids.extend_constant(None, 1) if field.has_missing else ids

    def reads(self) -> tuple[str, ...]:
        return ("score", *self.fields_)

    def asked(
        self, scores: ArrayLike, users: ArrayLike | None, segments: FieldTable | ArrayLike | None
    ) -> tuple[FloatArray, Who]:
        checked, who = super().asked(scores, users, segments)
        assert segments is not None  # refused otherwise
        assert who.segments is not None
        for name, unknown in self.unknown_values(segments, who.segments).items():
            values = unknown.value_counts(sort=True)[:, 0].to_list()
            warn(unknown_values_sentence(name, values, len(unknown), who.n))
        return checked, who

    # --- saving -----------------------------------------------------------------------------------------------------

    def pack(self) -> Packed:
        kind, settings = kind_of("map", type(self)), {**self.get_params(deep=False), "numeric": list(self.numeric)}
        if not hasattr(self, "estimand_"):
            return Packed(kind=kind, settings=settings)
        level = [self.level_.intercept, self.level_.slope]
        state = {"global": self.global_, "effects": self.effects_.plain(), "level": level}
        state |= {} if self.global_ is self._base else {"base": self._base}
        about = {"estimand": self.estimand_, "horizon": self.horizon_.plain(), "pairs": self.n_pairs_}
        return Packed(kind=kind, settings=settings, state=state, about=about)

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        settings: dict[str, Any] = {**packed.settings}
        calibrator = cls(**settings | {"numeric": settings["numeric"] or ()})
        if packed.state:
            state: Mapping[str, Any] = packed.state
            calibrator.global_, calibrator._base = state["global"], state.get("base", state["global"])
            if not (isinstance(calibrator.global_, Calibrator) and isinstance(calibrator._base, Calibrator)):
                raise packed.damaged("its global map is none")
            calibrator.effects_, calibrator.level_ = FieldEffects.of(state["effects"]), level_of(state["level"])
            calibrator._learned()
        return calibrator


def unknown_values_sentence(
    field: str, values: Sequence[object], n_unknown: int, n_pairs: int, of: str = "pair"
) -> str:
    """The warning of values of a field that a map never saw.

    Examples
    --------
    >>> unknown_values_sentence("market", ["it"], 3, 10)
    "3 of 10 pairs have a 'market' that the map does not know, such as 'it'; this field adds nothing there"
    """
    shown = ", ".join("none at all" if value is None else repr(value) for value in values[:3])
    return (
        f"{n_unknown:,} of {counted(n_pairs, of)} {agreeing(n_unknown, 'has', 'have')} a {field!r} that the map "
        f"does not know, such as {shown}; this field adds nothing there"
    )


def _refined(base: Calibrator, pairs: CodedPairs, scores: FloatArray) -> tuple[Calibrator, FloatArray]:
    """The global map as it is where fields are equal, and its log-odds of the pairs.

    Over all pairs, a field that goes with both scores and labels bends the shape: popular items score high *and* are
    taken more often. So a learned shape is learned again, with what each field adds.
    """
    effects = FieldEffects.learned(pairs, _overall(base, scores), interactions=1, sweeps=_ROUGHLY)
    refined = base.refined(pairs.cells(scores), *effects.level_and_stretch(pairs.codes))
    return refined, _overall(refined, scores)


def _overall(base: Calibrator, scores: FloatArray) -> FloatArray:
    return np.clip(base.log_odds_of(scores, Who(len(scores))), -_LARGEST_LOGIT, _LARGEST_LOGIT)


def _level(
    data: CalibrationSet, overall: Calibrator, scores: FloatArray, weight: FloatArray, log_odds: FloatArray
) -> Level:
    """What a base rate or an anchor changes: the slope of the global map, and a shift to its mean over the pairs.

    An anchor's pairs have no fields, so they show what is right on average, not in each combination.
    """
    if not data.level_is_known:
        return UNCHANGED
    slope = overall.applied_level_.slope
    wanted = float(np.average(overall.probability_of(scores, Who(len(scores))), weights=weight))
    return Level(level_for_base_rate(sigmoid(slope * log_odds), weight, wanted).intercept, slope)


def _candidates(observed: Observed) -> CalibrationSet:
    """The candidates of a recommender, or a known share of them where they are many."""
    n_pairs = observed.source.n_users * observed.source.n_items
    return CalibrationSet.of_observed(observed, sampling_rate=min(1.0, _MOST_PAIRS / n_pairs))
