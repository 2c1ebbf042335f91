"""What is not a source of scores is refused where a source is expected, with what to do."""

from __future__ import annotations

import numpy as np
import pytest

import sureness as sn
from sureness.errors import DataError

DOORS = {
    "a recommender": lambda given, split: sn.ConfidentRecommender(given).fit(split.train, split.validation),
    "a calibration set": lambda given, split: sn.CalibrationSet.from_source(given, split.validation, seen=split.train),
    "a map for lists": lambda given, split: sn.ListCalibrator().fit_source(given, split.validation, seen=split.train),
    "a ranking": lambda given, split: sn.evaluate_ranking(given, split.test, seen=split.train),
}


@pytest.mark.parametrize("given", [np.eye(3), "scores.csv", None], ids=["matrix", "name", "none"])
@pytest.mark.parametrize("door", DOORS)
def test_what_cannot_score_is_refused_with_what_to_wrap_it_in(door, given):
    split = sn.by_ratio(sn.Interactions.of(np.repeat(np.arange(20), 6), np.tile(np.arange(30), 4)))
    with pytest.raises(DataError, match=r"MatrixSource\(\.\.\.\), or .* source_of\(model, log\)"):
        DOORS[door](given, split)
