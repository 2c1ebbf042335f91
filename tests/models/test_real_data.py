"""Recommenders on real logs reach what they should."""

from __future__ import annotations

import pytest

from sureness.data.interactions import union
from sureness.data.preparing import prepare
from sureness.metrics.ranking import evaluate_ranking
from sureness.models.bpr import BPR


@pytest.mark.parametrize(
    ("data", "metric", "least", "settings"),
    [
        (
            "citeulike-bd", "hit@50", 0.15,  # the published teacher has 0.1224, a tuned one 0.19
            {"n_factors": 50, "batch_size": 256, "l2": 0.05, "popularity": 0.75, "learning_rate": 0.005, "epochs": 12},
        ),
        (
            "ml-100k", "ndcg@50", 0.38,
            {"n_factors": 64, "batch_size": 256, "l2": 0.03, "learning_rate": 0.002, "epochs": 30},
        ),
    ],
    ids=["citeulike-bd", "ml-100k"],
)  # fmt: skip
def test_a_short_run_of_bpr_is_already_good(data_folder, data, metric, least, settings):
    split = prepare(data, folder=data_folder / data)
    model = BPR(**settings, validate_every=6, metric=metric).fit(split.train, split.validation)
    seen = union([split.train, split.validation])
    quality = evaluate_ranking(model, split.test, seen=seen, metrics=[metric])
    assert quality[metric] > least
