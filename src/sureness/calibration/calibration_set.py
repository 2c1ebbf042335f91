"""Scored, labelled pairs that know how they were drawn: what a probability means is decided here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import Estimand, FloatArray, Risk, Seed
from sureness._wording import counted
from sureness.calibration.horizon import Horizon, Population, period_of, share_of_log
from sureness.calibration.late import late_labels
from sureness.calibration.maps import Observed
from sureness.data.interactions import Interactions
from sureness.data.scored_pairs import OF_PAIRS, ScoredPairs, concatenate, pairs_of_table
from sureness.errors import DataError, EmptyError, SettingError, warn
from sureness.numerics.checks import check_choice, check_probabilities, check_rate, check_scores, check_share
from sureness.numerics.histogram import ScoreHistogram, WeightedScores
from sureness.numerics.logistic import logit
from sureness.numerics.masking import bounds_of, core_of, sampled
from sureness.propensity import PropensityModel
from sureness.sources.aligned import Aligned
from sureness.sources.base import ScoreSource
from sureness.sources.blocks import user_blocks
from sureness.tables.columns import Columns
from sureness.tables.frames import Table
from sureness.tables.reading import read_table

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from sureness.sources.aligned import Log

Chunks = Callable[[], Iterable[ScoredPairs]]
"""Pairs in chunks; called anew for every pass."""

_BLOCK_SCORES = 2_000_000  # scores held at a time while a source is streamed

CERTAIN = 1e-15
"""Probabilities closer to 0 and 1 are taken for this, whose log-odds are finite."""

ESTIMANDS: tuple[Estimand, ...] = ("interaction", "preference")
RISKS: tuple[Risk, ...] = ("naive", "unbiased", "weighted")


class SourceSettings(TypedDict, total=False):
    """What the builders of a calibration set pass on; explained there."""

    held_out_share: float
    training_pairs: Literal["kept", "left_out"]
    base_rate: float | None
    anchor: ScoredPairs | None
    relative_propensity: bool
    period: float | None
    log_share: float | None
    population: Population | None
    score_column: str | None


class SetSettings(SourceSettings, total=False):
    """The same for pairs that were drawn elsewhere."""

    sampling_rate: float | None


@dataclass(frozen=True, kw_only=True, eq=False)
class CalibrationSet:
    """Pairs to calibrate on, with everything a probability depends on.

    Use one of the builders: `from_pairs`, `from_chunks`, `from_table`, `from_source`, `from_sampled_negatives`,
    `from_ratings`. Every calibrator's ``fit`` accepts the result.

    Parameters
    ----------
    chunks : callable returning an iterable of ScoredPairs
        Called anew for every pass, so the pairs need not fit in memory.
    estimand : {"interaction", "preference"}
        What the probability says: that the user interacts in a period like the held-out one, or that the user would
        like the item if it were seen.
    held_out_share : float
        Which share of the positives is labelled 1 here; the others are in the training log. Only preference needs it.
    training_pairs : {"kept", "left_out"}
        Whether the pairs of the training log are among the pairs (labelled 0) or left out. Leaving them out makes the
        set the *candidates* a recommender chooses from, and changes the chance that a preferred pair is seen here.
    sampling_rate : float or None
        Share of the pairs labelled 0 that was kept. None: unknown, then `base_rate` is needed.
    base_rate : float, optional
        The mean probability over the population, where it is known from elsewhere.
    anchor : ScoredPairs, optional
        A few hundred or thousand uniformly exposed pairs that fix level and slope.
    relative_propensity : bool
        Whether propensities are known up to a common factor only, as those from popularity are. The level of the
        probabilities then comes from the base rate or the anchor alone, and the held-out share, one more common
        factor, drops out. Without either the propensities are taken at their word, with a warning.
    period : float, optional
        How long the held-out period is, in the unit of the log's times; known of a log that was split by time.
    log_share : float, optional
        Which share of a log was held out; known of a log that one of our splits cut.
    population : {"unseen", "all"}, optional
        Which pairs these are, as far as it is known: those that nobody has seen yet, or all.
    score_column : str, optional
        The column that the scores come from, if it is not called score.

    Examples
    --------
    >>> data = CalibrationSet.from_pairs([2.0, 1.0, 0.0, -1.0], [1, 1, 0, 0], propensity=[0.5, 0.2, 1, 1])
    >>> data
    CalibrationSet(estimand='preference', held_out_share=1.0, training_pairs='kept', sampling_rate=1.0)
    >>> data.targets(ScoredPairs.of([2.0, 0.0], [1, 0], propensity=[0.5, 1.0]), "unbiased")[0]
    array([2., 0.])
    """

    chunks: Chunks
    estimand: Estimand = "interaction"
    held_out_share: float = 1.0
    training_pairs: Literal["kept", "left_out"] = "kept"
    sampling_rate: float | None = 1.0
    base_rate: float | None = None
    anchor: ScoredPairs | None = None
    relative_propensity: bool = False
    period: float | None = None
    log_share: float | None = None
    population: Population | None = None
    score_column: str | None = None

    def __post_init__(self) -> None:
        check_choice(self.estimand, "estimand", ESTIMANDS)
        check_choice(self.training_pairs, "training_pairs", ("kept", "left_out"))
        check_share(self.held_out_share, "held_out_share")
        if self.base_rate is not None:
            check_rate(self.base_rate, "base_rate")
        if self.sampling_rate is not None:
            check_share(self.sampling_rate, "sampling_rate")
        elif self.base_rate is None and self.anchor is None:
            raise SettingError(
                "the share of negatives that was kept must be known, got sampling_rate=None; "
                "give sampling_rate=, or base_rate= (the share of positives among all pairs), or an anchor"
            )
        if self.anchor is not None and not isinstance(self.anchor, ScoredPairs):
            raise SettingError(
                f"an anchor must be ScoredPairs, got {type(self.anchor).__name__}; use ScoredPairs.of(...)"
            )
        if self.anchor is not None and not 0 < self.anchor.n_positive < len(self.anchor):
            raise EmptyError(
                f"an anchor needs both classes, got {counted(self.anchor.n_positive, 'positive')} in "
                f"{counted(len(self.anchor), 'pair')}; take a larger sample"
            )

    def __repr__(self) -> str:
        shown = ["estimand", "held_out_share", "training_pairs", "sampling_rate"]
        shown += ["base_rate"] if self.base_rate is not None else []
        parts = [f"{name}={getattr(self, name)!r}" for name in shown]
        parts += ["relative_propensity=True"] if self.relative_propensity else []
        parts += [f"anchor={counted(len(self.anchor), 'pair')}"] if self.anchor is not None else []
        return f"CalibrationSet({', '.join(parts)})"

    # --- builders ---------------------------------------------------------------------------------------------------

    @classmethod
    def given(
        cls,
        scores: ArrayLike | CalibrationSet,
        labels: ArrayLike | None,
        *,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        users: ArrayLike | None = None,
        shown_at: ArrayLike | None = None,
        taken_at: ArrayLike | None = None,
        as_of: object = None,
    ) -> CalibrationSet:
        """What was given to `fit`: a calibration set, or plain scores with labels."""
        if isinstance(scores, CalibrationSet):
            return scores
        return cls.from_pairs(
            scores, labels, sample_weight=sample_weight, propensity=propensity, users=users, shown_at=shown_at,
            taken_at=taken_at, as_of=as_of,
        )  # fmt: skip

    @classmethod
    def from_pairs(
        cls,
        scores: ArrayLike,
        labels: ArrayLike | None = None,
        *,
        users: ArrayLike | None = None,
        items: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        shown_at: ArrayLike | None = None,
        taken_at: ArrayLike | None = None,
        as_of: object = None,
        estimand: Estimand | None = None,
        **settings: Unpack[SetSettings],
    ) -> Self:
        """From arrays of one length; with propensities the estimand is preference unless said otherwise.

        Parameters
        ----------
        shown_at, taken_at, as_of
            In place of labels, where these come late: when each pair was shown, when it was taken (missing: it was
            not), and when the log was read. A pair too young for all labels to have come counts as the share of a pair
            that is usually there at its age. The period is the longest delay that enough pairs are old enough to show.
        """
        late = None
        if shown_at is not None or taken_at is not None or as_of is not None:
            if labels is not None:
                raise SettingError("labels follow from taken_at and as_of; leave labels out")
            checked = check_scores(scores)
            late = late_labels(shown_at, taken_at, as_of, len(checked))
            labels = late.labels
        if labels is None:
            raise SettingError("fit needs labels beside the scores, got none; give labels of 0 and 1")
        pairs = ScoredPairs.of(
            scores, labels, users=users, items=items, sample_weight=sample_weight, propensity=propensity
        )
        if late is not None:
            settings.setdefault("period", late.window)
            pairs = replace(pairs, observed=late.observed, weight=pairs.weights * late.observed)
        return cls.from_chunks([pairs], estimand=estimand, **settings)

    @classmethod
    def from_chunks(
        cls,
        chunks: Iterable[ScoredPairs] | Chunks,
        *,
        estimand: Estimand | None = None,
        **settings: Unpack[SetSettings],
    ) -> Self:
        """From chunks in any order.

        A list is read again for every pass; for chunks that are made on the way give a function that starts anew.
        """
        if "segments" in settings:
            raise SettingError("segments belong to the fit; give SegmentCalibrator().fit(data, segments=...)")
        if not callable(chunks):
            if isinstance(chunks, Iterator):
                raise SettingError(
                    "chunks must be readable more than once, got an iterator; give a list, or a function that "
                    "returns a new iterator"
                )
            chunks = partial(tuple, tuple(chunks))
        if estimand is None:
            first = next(iter(chunks()), None)
            estimand = "preference" if first is not None and first.propensity is not None else "interaction"
        return cls(chunks=chunks, estimand=estimand, **settings)

    @classmethod
    def from_table(
        cls,
        table: Table,
        columns: Columns | None = None,
        *,
        estimand: Estimand | None = None,
        **settings: Unpack[SetSettings],
    ) -> Self:
        """From a table with score and label, and user_id, item_id, weight, propensity where they exist.

        Parameters
        ----------
        table : table of any kind, or path
            Of pandas, polars, PyArrow, DuckDB or anything with the Arrow C stream; or a .parquet, .csv or .tsv file.
        columns : Columns, optional
            Names of these columns in the table, where they differ.

        Examples
        --------
        >>> import polars as pl
        >>> table = pl.DataFrame({"user_id": ["a", "a", "b"], "score": [1.0, 0.2, -0.4], "label": [1, 0, 0]})
        >>> CalibrationSet.from_table(table).gather().n_positive
        1
        """
        rows = read_table(table, columns, OF_PAIRS[:2], OF_PAIRS[2:])
        return cls.from_chunks([pairs_of_table(rows)], estimand=estimand, **settings)

    @classmethod
    def from_source(
        cls,
        source: ScoreSource,
        held_out: Interactions | csr_matrix,
        *,
        seen: Log | Literal["nothing"] | None = None,
        propensity: PropensityModel | None = None,
        sampling_rate: float = 1.0,
        seed: Seed = 0,
        estimand: Estimand | None = None,
        **settings: Unpack[SourceSettings],
    ) -> Self:
        """All candidates of a recommender, streamed in blocks of users, or a known share of them.

        Of a source that knows some scores only, such as a table of the best items of each user, those pairs are the
        candidates: the probability is that of a pair with this score *in such a table*.

        Parameters
        ----------
        source : ScoreSource
        held_out : Interactions, or sparse matrix of shape (n_users, n_items)
            The held-out positives. Interactions are found by the ids of the source, and pairs that it does not know are
            left out with a warning; a matrix is not zero where a pair is a positive.
        seen : Interactions, sparse matrix of shape (n_users, n_items), or "nothing", optional
            Pairs of the training log, which are no candidates; "nothing": every pair is one.
        propensity : PropensityModel, optional
            Asked for the held-out positives only: where nothing was observed, the propensity does not enter. It is
            asked by user_id and item_id where `held_out` is Interactions, by row and column otherwise.
        sampling_rate : float
            Keep every pair labelled 0 with this chance, and weigh it by the inverse.
        seed : int or Generator
        """
        aligned = Aligned.of(source, held_out, seen)
        _know_horizon(settings, held_out)
        return cls._from_aligned(aligned, propensity, sampling_rate, seed, estimand, settings)

    @classmethod
    def of_observed(cls, observed: Observed, *, sampling_rate: float = 1.0) -> Self:
        """The candidates of a recommender, labelled by what was held out; see `from_source`."""
        aligned = Aligned(observed.source, observed.held_out, observed.seen)
        settings = SourceSettings(held_out_share=observed.horizon.held_out_share or 1.0)
        _know_horizon(settings, observed.held_out)
        return cls._from_aligned(aligned, None, sampling_rate, 0, None, settings)

    @classmethod
    def _from_aligned(
        cls,
        aligned: Aligned,
        propensity: PropensityModel | None,
        sampling_rate: float,
        seed: Seed,
        estimand: Estimand | None,
        settings: SourceSettings,
    ) -> Self:
        if not len(aligned.held_out):
            raise EmptyError("held_out must hold at least one positive, got none; hold out a share of the log")
        check_share(sampling_rate, "sampling_rate")
        seed = int(np.random.default_rng(seed).integers(2**63))
        blocks = partial(_of_source, aligned, propensity, sampling_rate, seed)
        if estimand is None:
            estimand = "preference" if propensity is not None else "interaction"
        settings.setdefault("relative_propensity", getattr(propensity, "relative", False))
        settings.setdefault("training_pairs", "kept" if aligned.seen is None else "left_out")
        settings.setdefault("population", "all" if aligned.seen is None else "unseen")
        return cls(chunks=blocks, estimand=estimand, sampling_rate=sampling_rate, **settings)

    @classmethod
    def from_sampled_negatives(
        cls,
        source: ScoreSource,
        held_out: Interactions | csr_matrix,
        *,
        negatives_per_positive: int,
        seen: Log | Literal["nothing"] | None = None,
        propensity: PropensityModel | None = None,
        as_population: bool = False,
        seed: Seed = 0,
        **settings: Unpack[SourceSettings],
    ) -> Self:
        """A fixed number of negatives for each positive, as in the dissertation.

        Parameters
        ----------
        negatives_per_positive : int
        as_population : bool
            The dissertation's literal form: take the sample for the population, so that the ratio of negatives
            decides the level of the probabilities. By default the sampling rate is known and corrected for.
        """
        aligned = Aligned.of(source, held_out, seen)
        _know_horizon(settings, held_out)
        n_positive, n_negative = aligned.counts()
        rate = min(1.0, negatives_per_positive * max(n_positive, 1) / max(n_negative, 1))
        built = cls._from_aligned(aligned, propensity, rate, seed, None, settings)
        return replace(built, sampling_rate=1.0) if as_population else built

    @classmethod
    def from_ratings(
        cls,
        scores: ArrayLike,
        ratings: ArrayLike,
        *,
        threshold: float = 3.0,
        propensity: ArrayLike | None = None,
        users: ArrayLike | None = None,
        items: ArrayLike | None = None,
        **settings: Unpack[SetSettings],
    ) -> Self:
        """Held-out ratings as they are: above the threshold positive, the others negative (chapter 2, literally)."""
        labels = check_scores(ratings, "ratings") > threshold
        return cls.from_pairs(scores, labels, users=users, items=items, propensity=propensity, **settings)

    # --- what the fits ask for --------------------------------------------------------------------------------------

    @property
    def horizon(self) -> Horizon:
        """Which period and pairs an interaction is about; preference has no period."""
        if self.estimand == "preference":
            return Horizon(population=self.population, scores=self.score_column)
        share = self.held_out_share
        return Horizon(share, self.period, self.log_share, self.population, scores=self.score_column)

    def resolve_risk(self, risk: Risk | None) -> Risk:
        """The risk a fit uses on this set: the asked one, or the one that estimates the set's estimand."""
        if risk is None:
            return "unbiased" if self.estimand == "preference" else "naive"
        check_choice(risk, "risk", RISKS)
        if risk != "naive" and self.estimand == "interaction":
            raise SettingError(
                f"risk={risk!r} estimates preference, but the calibration set estimates interaction; "
                "give propensities, or estimand='preference' with a held-out share"
            )
        return risk

    def targets(self, pairs: ScoredPairs, risk: Risk) -> tuple[FloatArray, FloatArray | None]:
        """Targets and weights of pairs, so that the risk is the sum of ``weight * (softplus(z) - target * z)``."""
        weight = self._sampling_weight(pairs)
        labels: FloatArray = pairs.labels.astype(np.float64)
        if pairs.observed is not None:
            labels = np.divide(labels, pairs.observed, out=np.zeros(len(pairs)), where=pairs.observed > 0)
        if risk == "naive":
            return labels, weight
        inverse = 1.0 / self.observation_chance(pairs)
        if risk == "unbiased":
            return labels * inverse, weight
        up = np.where(pairs.labels, inverse, 1.0)
        return labels, up if weight is None else weight * up

    def observation_chance(self, pairs: ScoredPairs) -> FloatArray:
        """Chance that a preferred pair is labelled 1 here.

        With omega the propensity and h the held-out share, ``h * omega`` among all pairs. Among the candidates alone,
        given that the pair is not in the training log, ``h * omega / (1 - (1 - h) * omega)``. Relative propensities
        whose level is fixed from outside stay as they are: small targets, fitted where a map is nearly exponential,
        and only then shifted, were better in every simulated world than targets scaled up to the base rate.
        """
        omega = np.ones(len(pairs)) if pairs.propensity is None else pairs.propensity.astype(np.float64)
        share = self.held_out_share
        if self.relative_propensity:
            return np.asarray(omega if self.level_is_known else share * omega)
        if self.training_pairs == "kept":
            return np.asarray(share * omega)
        return np.asarray(share * omega / (1.0 - (1.0 - share) * omega))

    def weighted(self, risk: Risk) -> Iterator[tuple[ScoredPairs, FloatArray, FloatArray | None]]:
        """Pairs, targets and weights of every chunk, negatives of unknown rate weighted to meet the base rate."""
        self.say_relative(risk)
        negative = self.negative_factor(risk)
        for pairs in _agreeing(self.chunks()):
            if len(held := with_weight(pairs)):
                yield held, *self.weigh(held, risk, negative)

    def weigh(self, pairs: ScoredPairs, risk: Risk, negative: float) -> tuple[FloatArray, FloatArray | None]:
        """Targets and weights of pairs, with another weight of the negatives (`negative_factor`)."""
        targets, weight = self.targets(pairs, risk)
        return targets, _scaled(weight, pairs, negative)

    def say_relative(self, risk: Risk) -> None:
        """Say that relative propensities alone leave the level of the probabilities open."""
        if self.relative_propensity and risk != "naive" and not self.level_is_known:
            warn(
                "the propensities are relative (popularity), so the level of the probabilities is not identified; "
                "give base_rate= or an anchor of uniformly exposed pairs"
            )

    @property
    def level_is_known(self) -> bool:
        """Whether a base rate or an anchor fixes the level of the probabilities."""
        return self.base_rate is not None or self.anchor is not None

    def points(self, risk: Risk, *, exact_pairs: int) -> WeightedScores:
        """The pairs as a fit sees them: each by itself when they are few, as a histogram when they are many."""
        held: list[tuple[FloatArray, FloatArray, FloatArray | None]] = []
        histogram: ScoreHistogram | None = None
        n_held = 0
        for pairs, targets, weight in self.weighted(risk):
            n_held += len(pairs)
            held.append((pairs.scores, targets, weight))
            if n_held > exact_pairs:
                for part in held:
                    added = ScoreHistogram.of_checked(*part)
                    histogram = added if histogram is None else histogram + added
                held.clear()
        if histogram is not None:
            for part in held:
                histogram = histogram + ScoreHistogram.of_checked(*part)
            return histogram.points()
        if not held:
            raise EmptyError("expected at least one pair, got none; check the filter or the file")
        scores, targets_, weights = zip(*held, strict=True)
        lengths = [len(part) for part in scores]
        filled = [np.ones(n) if w is None else w for n, w in zip(lengths, weights, strict=True)]
        return WeightedScores.of(np.concatenate(scores), np.concatenate(targets_), np.concatenate(filled))

    def gather(self, risk: Risk = "naive") -> ScoredPairs:
        """All pairs in memory; their weights hold the sampling rate, known or implied by the base rate."""
        negative = self.negative_factor(risk)

        def weighted(pairs: ScoredPairs) -> ScoredPairs:
            return replace(pairs, weight=_scaled(self._sampling_weight(pairs), pairs, negative))

        return concatenate([weighted(pairs) for pairs in self.chunks()])

    def with_pairs(self, pairs: ScoredPairs) -> Self:
        """The same rules for other pairs, whose weights already hold the sampling rate (see `gather`)."""
        return replace(self, chunks=partial(tuple, (pairs,)), sampling_rate=1.0)

    def in_memory(self, most: int = 2_000_000) -> Self:
        """The same set with its pairs in memory, so that several fits score them once; as it is if they are more.

        Parameters
        ----------
        most : int
            Number of pairs that may be held.
        """
        held: list[ScoredPairs] = []
        for pairs in self.chunks():
            held.append(pairs)
            if sum(map(len, held)) > most:
                return self
        return replace(self, chunks=partial(tuple, tuple(held)))

    def as_log_odds(self) -> Self:
        """The same pairs, whose scores are probabilities, with their log-odds as scores."""
        return self.map_scores(log_odds_of)

    def map_scores(self, function: Callable[[FloatArray], FloatArray]) -> Self:
        """The same pairs with other scores."""
        anchor = None if self.anchor is None else replace(self.anchor, scores=function(self.anchor.scores))
        return replace(self, chunks=partial(_with_scores, self.chunks, function), anchor=anchor)

    def _sampling_weight(self, pairs: ScoredPairs) -> FloatArray | None:
        if self.sampling_rate is None or self.sampling_rate == 1.0:
            return pairs.weight
        by_label = np.where(pairs.labels, 1.0, 1.0 / self.sampling_rate)
        return by_label if pairs.weight is None else by_label * pairs.weight

    def negative_factor(self, risk: Risk) -> float:
        """How much each negative of unknown sampling rate must weigh for the mean target to be the base rate."""
        if self.sampling_rate is not None or self.base_rate is None:
            return 1.0
        return factor_for(self.sums_by_label(risk), self.base_rate)

    def sums_by_label(self, risk: Risk) -> FloatArray:
        """Weights and targets of the positives and weights of the negatives; masked pairs do not count."""
        sums = np.zeros(3)
        looked_at: list[FloatArray] = [np.empty(0)]
        for pairs in self.chunks():
            sums += _sums(pairs, *self.targets(pairs, risk))
            if len(pairs):
                looked_at.append(sampled(pairs.scores, float(pairs.scores.min()), float(pairs.scores.max())))
        if core_of(np.unique(np.concatenate(looked_at))) is None:
            return sums
        low, high = bounds_of(replace(self, sampling_rate=1.0).points(risk, exact_pairs=0).masked)
        real = (pairs.take((pairs.scores > low) & (pairs.scores < high)) for pairs in self.chunks())
        return sum((_sums(pairs, *self.targets(pairs, risk)) for pairs in real), np.zeros(3))


def _of_source(
    aligned: Aligned, propensity: PropensityModel | None, sampling_rate: float, seed: int
) -> Iterator[ScoredPairs]:
    """The candidates of a source in blocks of users, or a random share of those labelled 0."""
    rng = np.random.default_rng(seed) if sampling_rate < 1.0 else None  # the same sample in every pass
    for users in user_blocks(aligned.source, _BLOCK_SCORES):
        yield aligned.pairs(users, propensity, sampling_rate, rng)


def _with_scores(chunks: Chunks, function: Callable[[FloatArray], FloatArray]) -> Iterator[ScoredPairs]:
    return (replace(pairs, scores=function(pairs.scores)) for pairs in chunks())


def _agreeing(chunks: Iterable[ScoredPairs]) -> Iterator[ScoredPairs]:
    """The chunks, refused as soon as one has weights or propensities and another has not."""
    first: ScoredPairs | None = None
    for number, pairs in enumerate(chunks, start=1):
        first = pairs if first is None else first
        for name in ("weight", "propensity", "observed"):
            if (getattr(pairs, name) is None) != (getattr(first, name) is None):
                there, missing = (1, number) if getattr(pairs, name) is None else (number, 1)
                raise DataError(
                    f"{name} must be given for all chunks or for none, got it for chunk {there:,} and not for chunk "
                    f"{missing:,}; give 1 where nothing else is known"
                )
        yield pairs


def log_odds_of(probabilities: ArrayLike) -> FloatArray:
    """Finite log-odds of probabilities."""
    return logit(np.clip(check_probabilities(probabilities, "scores"), CERTAIN, 1 - CERTAIN))


def factor_for(sums: FloatArray, base_rate: float) -> float:
    """How much each negative must weigh for a base rate, from the sums of `sums_by_label`."""
    positive_weight, positive_target, negative_weight = sums.tolist()
    needed = positive_target / base_rate - positive_weight
    if needed <= 0 or negative_weight == 0:
        raise SettingError(
            f"base_rate={base_rate} cannot be met: the targets of the positives alone have the mean "
            f"{positive_target / max(positive_weight, 1e-300):.3g}; give a smaller base rate or add negatives"
        )
    return float(needed / negative_weight)


def _know_horizon(settings: SourceSettings, held_out: object) -> None:
    """Take what held-out pairs know of their split, where nothing else was said."""
    settings.setdefault("period", period_of(held_out))
    settings.setdefault("log_share", share_of_log(held_out))


def with_weight(pairs: ScoredPairs) -> ScoredPairs:
    """The pairs that have a weight; the others must not count for anything."""
    if pairs.weight is None or not len(pairs) or pairs.weight.min() > 0:
        return pairs
    return pairs.take(pairs.weight > 0)


def _sums(pairs: ScoredPairs, targets: FloatArray, weight: FloatArray | None) -> FloatArray:
    weight = np.ones(len(pairs)) if weight is None else weight
    positive = pairs.labels
    return np.array([weight[positive].sum(), (weight * targets)[positive].sum(), weight[~positive].sum()])


def _scaled(weight: FloatArray | None, pairs: ScoredPairs, negative: float) -> FloatArray | None:
    if negative == 1.0:
        return weight
    return np.where(pairs.labels, 1.0, negative) * (1.0 if weight is None else weight)
