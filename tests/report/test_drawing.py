"""Drawing works at the edges, and files come out whole, alike and by themselves."""

import re
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from sureness._registry import find, names
from sureness.errors import MissingExtraError, OutputError
from sureness.metrics import Interval, reliability_curve
from sureness.report import (
    draw_confidence_by_degree,
    draw_fitted_curves,
    draw_metric_comparison,
    draw_reliability,
    draw_score_distributions,
    figure_svg,
    prepare_confidence_by_degree,
    save_figure,
)


def of_users(probability, degree):
    users = range(len(degree))
    candidates = pl.DataFrame({"user_id": users, "score": 1.0, "probability": probability})
    return prepare_confidence_by_degree(candidates, pl.DataFrame({"user_id": users, "degree": degree}))


def curves_of(names):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=300)
    labels = rng.random(300) < 1 / (1 + np.exp(-scores))
    return draw_fitted_curves({name: find("calibrator", name)().fit(scores, labels) for name in names}, scores)


AXES = {
    "one bin filled": lambda: draw_reliability(reliability_curve([0, 1, 1], [0.55, 0.56, 0.57])),
    "accuracy": lambda: draw_reliability(reliability_curve([0, 1], [0.1, 0.9], reading="accuracy"), title="platt"),
    "compact": lambda: draw_reliability(reliability_curve([0, 1], [0.1, 0.9]), compact=True),
    "certain": lambda: draw_reliability(reliability_curve([0, 1], [0.0, 1.0])),
    "constant in one class": lambda: draw_score_distributions([1, 1, 2, 3], [0, 0, 1, 1]),
    "constant": lambda: draw_score_distributions([1.0, 1.0], [0, 1]),
    "one class": lambda: draw_score_distributions([1.0, 2.0], [1, 1]),
    "all calibrators": lambda: curves_of(names("calibrator")),
    "one calibrator": lambda: curves_of(["platt"]),
    "one user": lambda: draw_confidence_by_degree(of_users([0.5], [3])),
    "no correlation": lambda: draw_confidence_by_degree(of_users([0.5, 0.5], [3, 4])),
    "log degree": lambda: draw_confidence_by_degree(of_users([0.1, 0.2, 0.3, 0.9], [1, 2, 3, 400])),
    "certain users": lambda: draw_confidence_by_degree(of_users([0.0, 1.0], [1, 2])),
    "one method": lambda: draw_metric_comparison({"a": Interval(0.1, 0.05, 0.2)}),
    "zero error": lambda: draw_metric_comparison({"a": Interval(0.0, 0.0, 0.0)}),
    "far apart": lambda: draw_metric_comparison(
        {"a": Interval(0.01, 0.0, 0.009), "b": Interval(0.4, 0.3, 0.5)}, groups={"a": "naive", "b": "unbiased"}
    ),
    "strange names": lambda: draw_reliability(reliability_curve([0, 1], [0.1, 0.9]), title="$a_1$ <b> & 確率 \\frac"),
}


@pytest.mark.parametrize("kind", AXES)
def test_every_edge_is_drawn_as_valid_svg(kind):
    figure = AXES[kind]().figure
    root = ElementTree.fromstring(figure_svg(figure).replace("xlink:href", "href"))
    assert root.tag == "svg"


def test_given_axes_are_used():
    ax = Figure().add_subplot()
    assert draw_reliability(reliability_curve([0, 1], [0.1, 0.9]), ax=ax) is ax


def test_the_title_shows_the_error_of_the_curve_or_the_given_one():
    curve = reliability_curve([0, 1], [0.1, 0.8])
    assert draw_reliability(curve, title="platt").get_title(loc="left") == "platt · ECE 0.1500"
    assert draw_reliability(curve, error=0.25).get_title(loc="left") == "ECE 0.2500"


def test_bars_end_where_the_observed_frequency_is():
    curve = reliability_curve([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], n_bins=2)
    ax = draw_reliability(curve)
    assert [bar.get_height() for bar in ax.containers[0]] == [0.5, 1.0]
    assert [bar.get_height() for bar in ax.containers[1]] == [-0.25, -0.25]


@pytest.mark.parametrize("ending", ["png", "svg", "SVG"])
def test_figures_are_written_alike_every_time(tmp_path, ending):
    written = [save_figure(AXES["accuracy"]().figure, tmp_path / str(run) / f"a.{ending}") for run in range(2)]
    first, second = (path.read_bytes() for path in written)
    assert first == second
    assert first.startswith(b"\x89PNG" if ending == "png" else b"<?xml")
    assert [path.name for path in written[0].parent.iterdir()] == [f"a.{ending}"]


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(OutputError, match="a.pdf"):
        save_figure(Figure(), tmp_path / "a.pdf")


def test_inline_svg_has_no_header_no_size_no_address_and_text_stays_text():
    text = figure_svg(AXES["accuracy"]().figure, label='a "quoted" <label>')
    opening = text.split(">", 1)[0]
    assert text.startswith("<svg ")
    assert "&lt;label" in opening
    assert "width=" not in opening
    assert "http" not in text
    assert "<style" not in text
    assert ">accuracy</text>" in text
    assert "DejaVu" not in text


def test_identifiers_of_different_figures_do_not_clash_and_references_are_kept():
    found = [set(re.findall(r' id="([^"]+)"', figure_svg(AXES[kind]().figure))) for kind in ("accuracy", "compact")]
    assert found[0]
    assert not found[0] & found[1]
    text = figure_svg(AXES["accuracy"]().figure)
    assert set(re.findall(r'(?:url\(#|href="#)([^)"]+)', text)) == set(re.findall(r' id="([^"]+)"', text))


def test_a_missing_matplotlib_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match="matplotlib"):
        draw_reliability(reliability_curve([0, 1], [0.1, 0.9]))
