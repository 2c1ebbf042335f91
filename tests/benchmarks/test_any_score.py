"""Scores of other libraries on queries that nobody has seen: what is promised comes, and no usual way is as good."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sureness as sn
from benchmarks.any_score import RANKERS, ranker_run

_MODULES = dict(zip(RANKERS, ("lightgbm", "xgboost", "catboost"), strict=True))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", RANKERS)
def test_rankers_keep_their_promise_for_queries_never_seen(name):
    pytest.importorskip(_MODULES[name], reason="rankers are tested by make test-adapters")
    run = ranker_run(name)
    assert 0.9 < run.ratio < 1.1
    assert all(0.85 < ratio < 1.15 for ratio in run.bands)
    for mean, error in run.behind.values():
        assert mean > 3 * error


def collection(seed: int = 0):
    """Documents about subjects, queries about one each, and which documents are about the same."""
    rng = np.random.default_rng(seed)
    subjects = [[f"{word}{subject}" for word in "abcdefgh"] for subject in range(60)]
    common = [f"word{number}" for number in range(300)]

    def text(subject, own, other):
        return [*rng.choice(subjects[subject], own), *rng.choice(common, other)]

    about, asked = rng.integers(0, 60, 1_500), rng.integers(0, 60, 400)
    documents = [text(subject, rng.integers(0, 5), 20) for subject in about]
    return documents, [text(subject, rng.integers(1, 4), 3) for subject in asked], asked[:, None] == about


def by_bm25s(documents, queries):
    bm25s = pytest.importorskip("bm25s", reason="BM25 is tested by make test-adapters")
    index = bm25s.BM25()
    index.index(documents, show_progress=False)
    return np.stack([index.get_scores(query) for query in queries])


def by_rank_bm25(documents, queries):
    rank_bm25 = pytest.importorskip("rank_bm25", reason="BM25 is tested by make test-adapters")
    index = rank_bm25.BM25Okapi(documents)
    return np.stack([index.get_scores(query) for query in queries])


def reranked(documents, queries):
    """A small reranker: logistic regression on what a query and a document share, learned from 200 of the queries."""
    from sklearn.linear_model import LogisticRegression

    words = [set(document) for document in documents]
    _, _, same = collection()
    shared = np.array([[len(own & set(query)) for own in words] for query in queries])
    special = np.array(
        [[len({w for w in own & set(query) if not w.startswith("word")}) for own in words] for query in queries]
    )
    x = np.stack([shared, special, np.random.default_rng(1).normal(size=shared.shape)], axis=2)
    rows = slice(200, None)
    model = LogisticRegression().fit(x[rows].reshape(-1, 3), same[rows].ravel())
    return model.decision_function(x.reshape(-1, 3)).reshape(shared.shape)


@pytest.mark.parametrize("score", [by_bm25s, by_rank_bm25, reranked], ids=lambda each: each.__name__)
def test_fifty_judged_queries_give_the_precision_that_they_state(score):
    documents, queries, same = collection()
    scores = score(documents, queries)
    best = np.argsort(-scores, axis=1)[:, :30]
    table = pl.DataFrame({
        "query_id": np.repeat(np.arange(400), 30), "score": np.take_along_axis(scores, best, axis=1).ravel(),
        "label": np.take_along_axis(same, best, axis=1).ravel().astype(int),
    })  # fmt: skip
    judged = table.filter(pl.col("query_id") < 50)
    new = table.filter(pl.col("query_id").is_between(50, 199))  # never seen, by the reranker neither
    found = sn.RetrievalCutoff(level=0.95).fit(judged["score"], judged["label"], groups=judged["query_id"])
    cutoff = found.cutoff(precision=0.6)
    came = new.filter(found.keep(new["score"], groups=new["query_id"], cutoff=cutoff))
    assert cutoff.precision.low - 0.05 < came["label"].mean() < cutoff.precision.high + 0.05
    probability = found.probability(new["score"], groups=new["query_id"])
    assert 0.85 < new["label"].sum() / probability.sum() < 1.15
