"""How differently the two models rank: apart, where the dissertation begins, and after bidirectional distillation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from sureness_reproduction.cells import Tables, work
from sureness_reproduction.distillation.comparison import models_needed, models_of
from sureness_reproduction.distillation.declared import DATA, MODELS, STARTS, settings
from sureness_reproduction.distillation.training import split_of
from sureness_reproduction.results import Results
from sureness_reproduction.study import QUICK_AND_FULL, Claim, Study
from sureness_reproduction.workbench import Workbench

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_POINTS = 1_500  # of a scatter, from each model's ranking
DIFFERENCE, BETTER = "average rank difference", "student ranks higher"
_STAGES = {"alone": "before", "bd": "after"}


@work(needs=models_needed, judges=True, cost=5)
def compared(bench: Workbench, **parameters: Any) -> Tables:
    """The ranks of all test interactions by both models, and those of some items that either ranks high."""
    from sureness.data import union
    from sureness.evaluation import compare_ranks, rank_scatter

    both = models_of(bench, **parameters)
    split = split_of(bench, parameters["data"], parameters["start"])
    seen = union([split.train, split.validation])
    found = compare_ranks(both["teacher"], both["student"], split.test, seen=seen)
    scatter = rank_scatter(both["teacher"], both["student"], seen=seen, n_points=N_POINTS, seed=parameters["seed"])
    numbers = {
        DIFFERENCE: found.average_difference, BETTER: found.student_better, "equal": found.equal,
        "teacher's first items in the student's first tenth": scatter.known_to_other("teacher"),
        "student's in the teacher's": scatter.known_to_other("student"),
    }  # fmt: skip
    method = parameters["methods"][0]
    rows = [
        {"stage": _STAGES.get(method, method), "metric": metric, "value": value} for metric, value in numbers.items()
    ]
    ranks = found.ranks.with_columns(n_items=pl.lit(found.n_items))
    return {"numbers": pl.DataFrame(rows), "ranks": ranks, "points": scatter.points}


def draw(results: Results) -> Axes:
    """Rank differences before and after BD, of the first model and start."""
    from sureness.evaluation import RankComparison
    from sureness.plots import draw_rank_differences, prepare_rank_differences

    found = {}
    for point, cell in results.finished:
        name = _STAGES.get(point["methods"][0], point["methods"][0])
        if name not in found:
            ranks = results.store.find(cell).table("ranks")
            found[name] = RankComparison(ranks.drop("n_items"), n_items=ranks["n_items"][0])
    return draw_rank_differences(prepare_rank_differences(found))


_NEUMF = {"stage": "before"}

STUDIES = (
    Study(
        name="teacher-student", number="figure-3.1", title="The teacher is not always superior", measure=compared,
        settings=settings, rows=("model", "start"), digits=3,
        grid={"data": DATA, "start": STARTS, "model": MODELS, "methods": [["alone"]],
              "seed": {"quick": range(2), "full": range(2)}},
        claims=(Claim("the student ranks 36% of the test items of CiteULike higher, 42% of Foursquare's: at least 31%",
                      BETTER, _NEUMF, 0.31, "+", ("data", "start", "model")),
                Claim("and at most 47%", BETTER, _NEUMF, 0.47, "-", ("data", "start", "model"))),
        note="Shares of test interactions, and of items that one model ranks high (figure 3.2). Both models alone; the "
        "dissertation gives NeuMF only.",
    ),
    Study(
        name="rank-difference", number="table-3.2", title="Average rank difference before and after BD", draw=draw,
        measure=compared, settings=settings, published="rank-difference", rows=("model",), columns=("stage",),
        metrics=(DIFFERENCE,),
        grid={"data": DATA, "start": STARTS, "model": MODELS, "methods": [["alone"], ["bd"]], "seed": QUICK_AND_FULL},
        claims=(Claim("BD lowers the average rank difference", DIFFERENCE, {"stage": "after"}, {"stage": "before"}, "-",
                      ("data", "start", "model")),),
        note="As a share of the items; independent rankings have 0.3333. The figure (3.6) shows the first seed.",
    ),
)  # fmt: skip
