from __future__ import annotations

import numpy as np

from sureness_reproduction.plots.levels import draw_error_by_share


def test_every_risk_is_a_line_and_the_truth_is_marked():
    shares = np.array([0.02, 0.1, 0.5])
    errors = {"naive": np.array([0.1, 0.05, 0.3]), "unbiased": np.array([0.02, np.nan, 0.4])}
    ax = draw_error_by_share(shares, errors, truth=0.18)
    assert [line.get_label() for line in ax.get_lines()] == ["naive", "unbiased", "true share"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["2%", "5%", "10%", "20%", "50%"]
    assert ax.get_lines()[-1].get_xdata()[0] == 0.18
