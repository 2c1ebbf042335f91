"""The figures of all chapters, each from the results of its study."""

from __future__ import annotations

from functools import partial
from typing import Any

import sureness as sn
from sureness import metrics, report
from sureness_reproduction.calibration.maps import WITH_ANCHOR
from sureness_reproduction.calibration.measures import TOP
from sureness_reproduction.distillation.measures import STAGES
from sureness_reproduction.list_size.perk import OURS, PUBLISHED
from sureness_reproduction.results import Results

_PARAMETRIC = ("platt", "gaussian", "gamma")
_DRAWN = ["sigmoid", "histogram", *(f"{name} naive" for name in _PARAMETRIC), "isotonic", "bbq",
          *(f"{name} unbiased" for name in _PARAMETRIC)]  # fmt: skip


def reliability(results: Results) -> Any:
    """A diagram for each method, over the pairs of all seeds."""
    pairs = results.table("pairs").filter(pairs=WITH_ANCHOR, test="left_out")

    def diagram(name: str, ax: Any) -> Any:
        known = pairs.drop_nulls(name)
        curve = sn.metrics.reliability_curve(known["label"].to_numpy(), known[name].to_numpy(), n_bins=10)
        return report.draw_reliability(curve, ax=ax, title=name, compact=True)

    panels = [partial(diagram, name) for name in _DRAWN if name in pairs.columns]
    return report.draw_side_by_side(panels, panel=(2.9, 3.0), n_rows=2)


def score_distributions(results: Results) -> Any:
    """The distributions of every model, first seed."""
    first = results.table("pairs").filter(seed=0, test="left_out")

    def diagram(model: str, ax: Any) -> Any:
        scores, labels = (first.filter(model=model)[name].to_numpy() for name in ("score", "label"))
        ax.set_title(model)
        return report.draw_score_distributions(scores, labels, n_bins=40, ax=ax)

    return report.draw_side_by_side([partial(diagram, name) for name in first["model"].unique().sort()])


def confidence_by_degree(results: Results) -> Any:
    """Degree and confidence of every user, first seed, with the anchor."""
    first = [results.table(name).filter(seed=0, pairs=WITH_ANCHOR) for name in ("top", "degrees")]
    return report.draw_confidence_by_degree(report.prepare_confidence_by_degree(*first, n=TOP))


def rank_differences(results: Results) -> Any:
    """Rank differences before and after BD, of the first model and start."""
    found: dict[str, metrics.RankComparison] = {}
    for point, cell in results.finished:
        name = STAGES.get(point["methods"][0], point["methods"][0])
        if name not in found:
            ranks = results.store.find(cell).table("ranks")
            found[name] = metrics.RankComparison(ranks.drop("n_items"), n_items=ranks["n_items"][0])
    return report.draw_rank_differences(found)


def size_distributions(results: Results) -> Any:
    """The distributions of the first data set, for F1."""
    sizes = results.table("sizes")
    first = sizes.filter(data=sizes["data"][0])
    drawn = {name: first.filter(method=name)["size"].to_numpy() for name in (OURS, "Oracle", "MtCut", PUBLISHED)}
    there = {name: some for name, some in drawn.items() if len(some)}
    return report.draw_size_distributions(there)


def size_by_degree(results: Results) -> Any:
    """Degree and size of the first data set and split, for F1."""
    sizes = results.table("sizes")
    first = sizes.filter(data=sizes["data"][0], seed=0, method=PUBLISHED)
    sizes_by_degree = report.prepare_size_by_degree(first["size"].to_numpy(), first["degree"].to_numpy())
    return report.draw_size_by_degree(sizes_by_degree)
