"""Different scores of a user stay different as float32, or the source is refused."""

from __future__ import annotations

import numpy as np
import pytest

import sureness as sn
from sureness.errors import DataError
from sureness.metrics.ranking import best_items
from sureness.sources.base import FactorSource, MatrixSource
from sureness.sources.candidates import CandidateSource
from sureness.sources.function import FunctionSource, PartialFunctionSource

FAR = 1e9 + np.arange(10.0)
EVERY = np.zeros(1, dtype=np.int64)


class Plain:
    """Somebody's own source, which forgets the promise."""

    n_users, n_items = 1, 10

    def score_block(self, users):
        return np.tile(FAR, (len(users), 1))


BUILDS = {
    "matrix": lambda scores: MatrixSource(scores[None]),
    "factors": lambda scores: FactorSource(np.ones((1, 1)), scores[:, None]),
    "bias": lambda scores: FactorSource(
        np.ones((1, 1)), (scores - scores.mean())[:, None], user_bias=np.array([scores.mean()])
    ),
    "candidates": lambda scores: CandidateSource.of(np.zeros(len(scores), dtype=int), np.arange(len(scores)), scores),
    "function": lambda scores: FunctionSource(lambda users: scores[None], 1, len(scores)).score_block(EVERY),
    "partial": lambda scores: PartialFunctionSource(
        lambda users: np.r_[scores, np.nan][None], 1, len(scores) + 1
    ).score_block(EVERY),
}
every_way = pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS.keys())


@every_way
@pytest.mark.parametrize("scores", [FAR, -FAR, 1e5 + np.linspace(0, 1, 500)])
def test_scores_that_float32_would_merge_are_refused_with_the_remedy(build, scores):
    with pytest.raises(DataError, match="subtract each user's mean"):
        build(scores)
    build(scores - scores.mean())


def test_somebody_elses_source_is_looked_at_when_it_is_ranked():
    with pytest.raises(DataError, match="float32"):
        best_items(Plain(), [0], 1)


def test_torch_models_in_double_precision_are_looked_at():
    torch = pytest.importorskip("torch")
    source = sn.sources.TorchSource(lambda users: torch.as_tensor(FAR)[None], 1, 10)
    with pytest.raises(DataError, match="float32"):
        source.score_block(EVERY)


@every_way
@pytest.mark.parametrize(
    "scores",
    [
        np.random.default_rng(0).normal(size=20_000),  # some agree to seven digits, which is no harm
        np.random.default_rng(0).standard_cauchy(size=500),
        np.full(10, 1e9),
        np.r_[np.full(5, -1e30), np.random.default_rng(0).normal(size=50)],
        1e6 + np.arange(50.0),  # float32 knows these
    ],
    ids=["normal", "cauchy", "constant", "masked", "whole"],
)
def test_ordinary_scores_pass(build, scores):
    build(scores)
