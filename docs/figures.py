"""Draw the figures of the documents: `python docs/figures.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

import sureness as sn
from sureness.experiments.simulated import prepare
from sureness.plots import draw_reliability, save_figure
from sureness.plots._style import SETTINGS

FOLDER = Path(__file__).parent / "figures"


def before_and_after() -> None:
    """The same recommender before and after calibration, judged on uniformly exposed pairs."""
    study = prepare(sn.simulate(sn.SimulatorSettings(n_users=6_000)))
    test = study.test
    calibrated = sn.IsotonicCalibrator(strict=True).fit(study.calibration_set("unbiased"))
    stretched = sn.MinMaxCalibrator().fit(test.scores, test.labels)
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(11, 4.6), layout="constrained")
        axes = figure.subplots(1, 2)
    for ax, title, calibrator in zip(
        axes, ("scores stretched over 0 to 100%", "after calibration"), (stretched, calibrated), strict=True
    ):
        probabilities = calibrator.probability(test.scores)
        draw_reliability(sn.reliability_curve(test.labels, probabilities), ax=ax, title=title)
    save_figure(figure, FOLDER / "before-after.png")


if __name__ == "__main__":
    before_and_after()
