"""Chapter 4 on one trained recommender: every list-size policy, judged by the test items of every user."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from sureness import Progress, silent
from sureness.calibration import Calibrator, PerUserCalibrator, PerUserPlatt, PlattCalibrator, SigmoidCalibrator
from sureness.data import Interactions
from sureness.errors import DataError, SurenessWarning
from sureness.evaluation import block_scores
from sureness.list_size import ExpectedUtility, Lists, ListSizePolicy, compare_policies
from sureness.metrics import expected_calibration_error
from sureness.numerics import sigmoid
from sureness.pipeline import ConfidentRecommender, Run, Target
from sureness.sources import fitted_to
from sureness.workflows import PERSONAL, baselines
from sureness_reproduction.types import FloatArray

UTILITIES = ("ndcg", "pdcg", "f1", "tp")


@dataclass(frozen=True)
class Variant:
    """A way to get probabilities, and how the expected utility is computed from them."""

    name: str
    calibrator: Callable[[], PerUserCalibrator | Calibrator]
    expected_relevant: Target = "carried"
    method: Literal["exact", "approximate"] = "exact"


def published_map() -> PerUserPlatt:
    """A map for each user as the dissertation has it: over all candidates, without a prior."""
    return PerUserPlatt(top=None, unlabelled_positives=False, prior_width=np.inf)


VARIANTS = (
    Variant(PERSONAL, PerUserPlatt),
    Variant("PerK as published", published_map, "fitted", "approximate"),
    Variant("PerK, one map for all", PlattCalibrator, "fitted"),
    Variant("PerK, uncalibrated", SigmoidCalibrator, "fitted"),
)  # fmt: skip
"""A shrunk line for each user; the dissertation's map for each user on all its candidates; the two baselines of its
ablation, which are fitted on all candidates too. The package learns the shape of its maps by default since."""


def recommender_of(run: Run, variant: Variant, max_size: int) -> ConfidentRecommender:
    """The fitted recommender of a variant; a calibrator for all users is fitted on all candidates, as published."""
    calibrator, train, validation = variant.calibrator(), run.train, run.validation
    assert validation is not None
    for_all = isinstance(calibrator, Calibrator)
    if for_all:
        calibrator.fit_source(run.source, validation, seen=train)
    recommender = ConfidentRecommender(
        run.source, calibrator, ExpectedUtility(max_size=max_size), expected_relevant=variant.expected_relevant
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the kept", SurenessWarning)  # that is what the ablation is about
        return recommender.fit(train, validation, refit=not for_all)


def study(
    run: Run,
    *,
    max_size: int = 50,
    utilities: Sequence[str] = UTILITIES,
    variants: Sequence[Variant] = VARIANTS,
    learned: Callable[[str, Lists], Mapping[str, ListSizePolicy]] | None = None,
    with_errors: bool = True,
    progress: Progress = silent,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """All policies on the test items of a run.

    Parameters
    ----------
    run : Run
        With train, validation and test.
    max_size : int
    utilities : sequence of str
    variants : sequence of Variant
    learned : callable, optional
        Makes further fitted policies for a utility from the validation lists: the learned competitors.
    with_errors : bool
        Whether to measure calibration errors, which looks at every candidate of every user.

    Returns
    -------
    values : table
        utility, policy, user, value, size: one row for each judged user.
    errors : table
        variant, ece, ece_top: calibration error over all candidates, and over the longest lists.
    """
    if run.train is None or run.validation is None or run.test is None:
        raise DataError("the study needs a run with train, validation and test parts; train with a ratio split")
    rows: list[pl.DataFrame] = []
    errors: list[dict[str, Any]] = []
    for number, variant in enumerate(variants):
        progress(variant.name, number, len(variants))
        recommender = recommender_of(run, variant, max_size)
        lists = recommender.lists(labels=run.test)
        if with_errors:
            errors.append({"variant": variant.name, **calibration_of(recommender, run.test, lists)})
        for utility in utilities:
            policies: dict[str, ListSizePolicy] = {
                variant.name: ExpectedUtility(utility, max_size=max_size, method=variant.method)
            }
            if number == 0:
                before = recommender.validation_lists(run.train, run.validation)
                policies |= baselines(utility, max_size, before)
                policies |= {} if learned is None else learned(utility, before)
            rows.append(_long(compare_policies(policies, lists, utility)))
    return pl.concat(rows), pl.DataFrame(errors)


def calibration_of(recommender: ConfidentRecommender, test: Interactions, lists: Lists) -> dict[str, float]:
    """Calibration errors of a recommender's probabilities on test labels."""
    hits, probabilities = np.asarray(lists.hits), np.asarray(lists.probabilities)
    known = np.arange(lists.width) < lists.lengths[:, None]
    shown = expected_calibration_error(hits[known], probabilities[known])
    return {"ece": _error_of_all(recommender, fitted_to(recommender.source, test, "test")), "ece_top": float(shown)}


def _error_of_all(recommender: ConfidentRecommender, test: Interactions, n_bins: int = 15) -> float:
    """ECE over every candidate of every user, block by block; a map for the top is asked about all of them here."""
    sums = np.zeros((n_bins, 3))
    seen = recommender.seen_
    for block, scores in block_scores(recommender.source, np.arange(recommender.source.n_users)):
        z = recommender.mapped_.log_odds(scores, block) + recommender.summaries_.shift[block][:, None]
        p = sigmoid(z)
        candidate = np.ones(p.shape, dtype=bool)
        labels = np.zeros(p.shape, dtype=bool)
        for row, user in enumerate(block):
            candidate[row, seen.items_of(user)] = False
            labels[row, test.items_of(user)] = True
        bins = np.minimum((p[candidate] * n_bins).astype(np.int64), n_bins - 1)
        for column, weights in enumerate((None, p[candidate], labels[candidate])):
            sums[:, column] += np.bincount(bins, weights, n_bins)
    return float(np.abs(sums[:, 1] - sums[:, 2]).sum() / sums[:, 0].sum())


def truncation_study(
    run: Run, terms: Sequence[int] = (5, 10, 20, 50, 100, 500, 2_000), *, utilities: Sequence[str] = ("ndcg", "f1"),
    max_size: int = 50,
) -> pl.DataFrame:  # fmt: skip
    """The dissertation's study of M: the utility reached when the sum stops at M relevant items."""
    recommender = ConfidentRecommender(
        run.source, published_map(), ExpectedUtility(max_size=max_size),
        expected_relevant="fitted",
    ).fit(run.train, run.validation)  # type: ignore[arg-type]  # fmt: skip
    lists = recommender.lists(labels=run.test)
    policies: dict[str, ListSizePolicy] = {}
    rows = []
    for utility in utilities:
        policies = {f"M = {m:,}": _Truncated(utility, max_size=max_size, terms=m) for m in terms}
        policies["exact"] = ExpectedUtility(utility, max_size=max_size)
        table = compare_policies(policies, lists, utility, reference="exact").table
        rows.append(table.rename({utility: "value"}).with_columns(utility=pl.lit(utility)))
    return pl.concat(rows)


class _Truncated(ExpectedUtility):
    """The approximate form with a number of terms."""

    def __init__(self, utility: str, *, min_size: int = 1, max_size: int = 50, terms: int = 2_000) -> None:
        super().__init__(utility, min_size=min_size, max_size=max_size, method="approximate")
        self.terms = terms

    def expected(self, lists: Lists) -> FloatArray:
        from sureness.list_size import expected_utility

        return expected_utility(
            np.asarray(lists.probabilities), self.utility, max_size=self.max_size, lengths=lists.lengths,
            tail=lists.tail, method="approximate", terms=self.terms,
        )  # fmt: skip


def _long(compared: Any) -> pl.DataFrame:
    parts = [
        pl.DataFrame({"user": compared.users, "value": compared.values[name], "size": compared.sizes[name]}).select(
            utility=pl.lit(compared.utility), policy=pl.lit(name), user="user", value="value", size="size"
        )
        for name in compared.values
    ]
    return pl.concat(parts)
