"""Fit MCGrad to pairs and judge maps by its own metric; runs in its environment (`make mcgrad`), without sureness.

    python mcgrad_fit.py FOLDER

FOLDER holds fit.parquet and test.parquet, both with label, fields and one column of probabilities per method, and
fields.json, which names them and says which one MCGrad starts from. Written are mcgrad.npy, its probabilities of the
test pairs, and mcgrad.json: seconds of the processor, and the errors of all methods.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mcgrad.methods import MCGrad
from mcgrad.metrics import MulticalibrationError

_ROWS = 50  # single rows that are timed


def main(folder: Path) -> None:
    """Fit, predict, judge all methods, time single rows."""
    fields = json.loads((folder / "fields.json").read_text())
    start = {"prediction_column_name": fields["start"]}
    names = {
        "categorical_feature_column_names": fields["categories"],
        "numerical_feature_column_names": fields["numbers"],
    }
    pairs, test = (pd.read_parquet(folder / f"{part}.parquet") for part in ("fit", "test"))
    model = MCGrad()
    started = time.process_time()
    model.fit(pairs, **start, label_column_name="label", **names)
    seconds = time.process_time() - started
    test["mcgrad"] = model.predict(test, **start, **names)
    np.save(folder / "mcgrad.npy", test["mcgrad"].to_numpy())
    rows = [test.iloc[[row]] for row in range(_ROWS)]
    started = time.process_time()
    for row in rows:
        model.predict(row, **start, **names)
    one_row = (time.process_time() - started) / _ROWS
    errors = {method: judged(test, method, fields) for method in [*fields["methods"], "mcgrad"]}
    errors["MCGrad"] = errors.pop("mcgrad")
    told = {"fit_seconds": seconds, "row_seconds": one_row, "errors": errors}
    (folder / "mcgrad.json").write_text(json.dumps(told))


def judged(test: pd.DataFrame, method: str, fields: dict[str, Any]) -> dict[str, float]:
    """Its multicalibration error of a column of probabilities, with its default settings."""
    error = MulticalibrationError(
        test, "label", method, categorical_segment_columns=fields["categories"],
        numerical_segment_columns=fields["numbers"],
    )  # fmt: skip
    return {"mce_sigma": float(error.mce_sigma), "mce_relative": float(error.mce_relative)}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
