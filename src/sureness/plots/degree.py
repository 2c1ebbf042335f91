"""Is the recommender more confident about users it knows better? Confidence against number of interactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._types import FloatArray
from sureness.errors import IdError
from sureness.plots.degrees import correlation, is_skewed, log_axis, sample_of_users, written_correlation
from sureness.plots.style import BLUE, ORANGE, drawing
from sureness.plots.tables import given_table, with_ids_of
from sureness.tables.frames import Frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_N_TREND = 10  # groups of users in the line of means


@dataclass(frozen=True, eq=False)
class ConfidenceByDegree:
    """Mean probability of each user's top items, and the user's number of training interactions."""

    degree: FloatArray  # (n_drawn,) of all users, or of a sample if there are many
    confidence: FloatArray  # (n_drawn,)
    trend_degree: FloatArray  # (n_groups,) mean degree of groups of users with similar degrees
    trend_confidence: FloatArray  # (n_groups,) and their mean confidence
    n: int  # number of top items
    n_users: int
    correlation: float  # Pearson, over all users; NaN if degree or confidence does not vary
    log_degree: bool  # whether a logarithmic axis shows the degrees better

    __repr__ = fields_repr


def prepare_confidence_by_degree(
    candidates: Frame, user_degree: Frame, *, n: int = 10, seed: int = 0
) -> ConfidenceByDegree:
    """Mean top-n probability of every user, and its correlation with the user's degree.

    Parameters
    ----------
    candidates : table of any kind with user_id, score, probability
    user_degree : table of any kind with user_id, degree
        Users that are missing from either table are left out.
    n : int
    seed : int
        Seed of the sample of users, if there are too many to draw all.

    Examples
    --------
    >>> candidates = pl.DataFrame({"user_id": [1, 1, 2], "score": [2.0, 1.0, 1.5], "probability": [0.6, 0.2, 0.3]})
    >>> found = prepare_confidence_by_degree(candidates, pl.DataFrame({"user_id": [1, 2], "degree": [30, 5]}))
    >>> found.confidence, round(found.correlation, 6)
    (array([0.4, 0.3]), 1.0)
    """
    scored = given_table(candidates, ("user_id", "score", "probability"), "the candidates")
    degrees = given_table(user_degree, ("user_id", "degree"), "the degree table")
    if degrees["user_id"].is_duplicated().any():
        raise IdError("the degree table must have one row per user, got users with several; sum them first")
    degrees = with_ids_of(degrees, scored, ["user_id"], "the degree table")
    users = _mean_top(scored, n).join(degrees, on="user_id", how="inner").sort("user_id")
    if users.is_empty():
        raise IdError("no user of the degree table is among the candidates; check that both use the same user_id")
    degree, confidence = users["degree"].cast(pl.Float64).to_numpy(), users["confidence"].to_numpy()
    drawn = sample_of_users(len(users), seed)
    groups = np.array_split(np.argsort(degree, kind="stable"), min(_N_TREND, len(users)))
    return ConfidenceByDegree(
        degree=degree[drawn],
        confidence=confidence[drawn],
        trend_degree=np.array([degree[group].mean() for group in groups]),
        trend_confidence=np.array([confidence[group].mean() for group in groups]),
        n=n,
        n_users=len(users),
        correlation=correlation(degree, confidence),
        log_degree=is_skewed(degree),
    )


def draw_confidence_by_degree(data: ConfidenceByDegree, *, ax: Axes | None = None) -> Axes:
    """Draw every user as a point, and the means of groups with similar degrees as a line.

    Examples
    --------
    >>> candidates = pl.DataFrame({"user_id": [1, 2], "score": [2.0, 1.5], "probability": [0.6, 0.3]})
    >>> data = prepare_confidence_by_degree(candidates, pl.DataFrame({"user_id": [1, 2], "degree": [5, 5]}))
    >>> draw_confidence_by_degree(data).get_title(loc="left")
    'Confidence by interactions · no correlation to measure'
    """
    with drawing(ax, (4.6, 3.6)) as drawn:
        drawn.scatter(data.degree, data.confidence, s=11, color=BLUE, alpha=0.28, linewidths=0, label="one user")
        drawn.plot(
            data.trend_degree, data.trend_confidence, color=ORANGE, linewidth=1.8, marker="o", markersize=4.5,
            markeredgecolor="white", label="mean of similar users",
        )  # fmt: skip
        if data.log_degree:
            log_axis(drawn, data.degree)
        drawn.set(xlabel="interactions of the user in training", ylabel=f"mean probability of the top {data.n}")
        drawn.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        drawn.set_ylim(0, min(1.0, 1.25 * float(data.confidence.max()) + 0.02))
        drawn.legend(loc="upper left", ncols=2, handlelength=1.4)
        drawn.set_title(f"Confidence by interactions · {written_correlation(data.correlation)}")
    return drawn


def _mean_top(candidates: pl.DataFrame, n: int) -> pl.DataFrame:
    rank = pl.col("score").rank("ordinal", descending=True).over("user_id")
    return candidates.filter(rank <= n).group_by("user_id").agg(confidence=pl.col("probability").mean())
