"""How a run is judged: full ranking, or within the shown items where all of them have a rating."""

from __future__ import annotations

from typing import Any

from sureness.data.filtering import rated_above
from sureness.errors import DataError
from sureness.evaluation.ranking import METRICS, RankingQuality, evaluate_ranking, evaluate_within
from sureness.models.runs import Run

WITHIN = ("ndcg@1", "ndcg@3", "ndcg@5", "recall@1", "recall@3", "recall@5")
LEAVE_ONE_OUT = ("hit@50", "ndcg@50", "hit@100", "ndcg@100")


def judged_run(run: Run, metrics: list[str] | None, progress: Any) -> RankingQuality:
    """The test of a run, by the protocol of its split."""
    if run.test is None:
        raise DataError("there is no test part to judge; give one with --test")
    if run.about.get("protocol") == "preference":
        threshold = run.about.get("positive_above")
        if threshold is None:
            raise DataError("the run does not say above which rating a pair is relevant; train it again")
        relevant = rated_above(run.test, threshold)
        return evaluate_within(run.source, run.test, relevant, metrics=metrics or WITHIN)
    usual = LEAVE_ONE_OUT if run.test.user_degree.max() == 1 else METRICS
    return evaluate_ranking(run.source, run.test, seen=run.seen(), metrics=metrics or usual, progress=progress)
