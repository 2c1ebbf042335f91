"""The studies of chapter 3: who learns from whom, what each part does, and how differently two models rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sureness_reproduction.base_models import statistics
from sureness_reproduction.distillation.declared import DATA, MODELS, SIZES, Settings, alone, recommended, settings
from sureness_reproduction.distillation.measures import BETTER, DIFFERENCE, STAGES, compared, judged, sized
from sureness_reproduction.distillation.training import ROLES, split_options
from sureness_reproduction.results import Results
from sureness_reproduction.study import QUICK_AND_FULL, Axis, Claim, Scale, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PER = ("data", "start", "model")
_BOTH = ("hit@50", "ndcg@50")
_STARTS = ("strong", "published")
_CITEULIKE: dict[Scale, Any] = {"quick": DATA["quick"], "full": ["citeulike-bd"]}
_TWO_MODELS: dict[Scale, Any] = {"quick": ["bpr"], "full": ["bpr", "neumf"]}


def _groups(*methods: str) -> list[list[str]]:
    return [[method] for method in methods]


def _above(*sides: tuple[str, str, str], metrics: Sequence[str] = ("hit@50",), claimed: bool = True) -> list[Claim]:
    """For one of the two models, one method above another."""
    return [
        Claim(f"{role}: {first} above {second}", metric, {"role": role, "method": first},
              {"role": role, "method": second}, per=_PER, claimed=claimed)
        for role, first, second in sides for metric in metrics
    ]  # fmt: skip


# -- the main table, that on the data of CD, and the sampling schemes with controls -----------------------------------

_CLAIMS = _above(
    *(("student", "bd", other) for other in ("alone", "rd", "cd")), ("teacher", "bd", "alone"), metrics=_BOTH
)
_OURS = _above(
    *(("student", other, "alone") for other in ("cd", "rd", "svd", "combined", "bd-best")),
    ("student", "bd-best", "cd"), ("teacher", "bd-best", "alone"), ("teacher", "continued", "alone"),
    *((role, "bd", "continued") for role in ROLES), claimed=False,
)  # fmt: skip
_NOTE = (
    "H and N at 50 and 100 over all unseen items, mean over seeds ± deviation / the published number. Settings were "
    "chosen by H@50 on validation with seed 0: for RD and CD that of the student, for BD that of both models. "
)
SCHEMES = ("bd", "rank-aware", "top-n", "mutual", "swapped")
CONTROLS = ("calibrated", "constant-labels", "drawn-negatives", "one-way", "to-teacher")
_MAIN = (
    Study(
        name="distillation", number="table-3.5", title="Bidirectional distillation", measure=judged, settings=settings,
        published="distillation", rows=("role", "method"), claims=_CLAIMS + _OURS,
        grid={"data": DATA, "start": ["strong"], "model": MODELS, "seed": QUICK_AND_FULL,
              "methods": _groups("alone", "bd", "cd", "rd", "continued", "bd-best", "svd", "teacher-positives",
                                 "combined")},
        note=_NOTE + "Strong start: clean data, both models at their best alone; a model that does not get better on "
        "validation ends as it began. continued: each goes on alone, for as long as with BD.",
    ),
    Study(
        name="distillation-published", number="table-3.5", title="Bidirectional distillation from the published start",
        measure=judged, settings=settings, published="distillation", rows=("role", "method"), claims=_CLAIMS,
        grid={"data": _CITEULIKE, "start": ["published"], "model": MODELS, "seed": QUICK_AND_FULL,
              "methods": _groups("alone", "bd", "cd", "rd")},
        note=_NOTE + "Published start: cold, the dissertation's optimiser, with the counts that were read as items.",
    ),
    Study(
        name="sampling-schemes", number="table-3.3", title="Sampling schemes and controls", measure=judged,
        settings=recommended, published="sampling-schemes", rows=("method",), columns=("role",), metrics=("hit@50",),
        grid={"data": _CITEULIKE, "start": ["published"], "model": {"quick": ["bpr"], "full": MODELS},
              "seed": QUICK_AND_FULL, "methods": _groups("alone", *SCHEMES, *CONTROLS)},
        claims=_above(*((role, "bd", other) for role in ROLES for other in SCHEMES[1:]))
        + _above(*((role, "bd", other) for role in ROLES for other in ("alone", *CONTROLS[:3])), claimed=False),
        note="H@50, all with weight 0.5, 5 items, temperature 2 and smoothness 1e-4 (rank-aware: 1e-2). The last five "
        "are not in the dissertation: calibrated labels are its outlook, constant labels and drawn negatives without "
        "labels are controls, one-way and to-teacher have a fixed partner.",
    ),
    Study(
        name="distillation-versus-cd", number="table-3.4", title="BD against CD on the data of CD, CDAE",
        measure=judged, settings=settings, published="distillation-versus-cd", rows=("role", "method"), metrics=_BOTH,
        grid={"data": ["ml-100k", "amazon-music"], "start": ["strong"], "model": ["cdae"], "seed": QUICK_AND_FULL,
              "methods": _groups("alone", "bd", "cd")},
        claims=_above(("teacher", "bd", "alone"), ("student", "bd", "cd"), ("student", "bd", "alone"), metrics=_BOTH),
        note="The dissertation says neither how these data were filtered and split nor which sizes the models had "
        "(here 50 and 5), so the levels need not agree.",
    ),
)  # fmt: skip

# -- sizes and hyper-parameters ---------------------------------------------------------------------------------------

_PAIRS: dict[Scale, list[str]] = {
    "quick": ["50 and 5", "50 and 15", "50 and 25", "50 and 50", "25 and 5", "5 and 5"],
    "full": ["50 and 5", "50 and 10", "50 and 15", "50 and 25", "50 and 50", "25 and 5", "5 and 5"],
}


def _of_sizes(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """Two models of other sizes; fixed partners for the usual sizes only, models alone beside the usual teacher."""
    found, method = recommended(scale, point), point["methods"][0]
    pair = dict(zip(ROLES, map(int, point["sizes"].split(" and ")), strict=True))
    usual = {"alone": pair["teacher"] == SIZES["teacher"], "bd": True}.get(method, pair == SIZES)
    if found is None or not usual:
        return None
    tuned_as = {role: "student" if size == SIZES["student"] else "teacher" for role, size in pair.items()}
    start, model = point["start"], point["model"]
    return found | {"bases": {role: alone(scale, start, model, tuned_as[role], size) for role, size in pair.items()}}


def _partner(role: str, other: str) -> Claim:
    one, two = ({"role": role, "method": "bd", "sizes": sizes} for sizes in ("50 and 5", other))
    return Claim(f"the {role} gains most from the most different partner", "hit@50", one, two)


_WEIGHTS: Axis = {"quick": (0.1, 0.5, 1.0), "full": (0.1, 0.3, 0.5, 1.0)}
_SCALES: Axis = {"quick": (1e-5, 1e-4, 1e-3), "full": (1e-5, 1e-4, 1e-3, 1e-2)}


def _sweep(name: str, number: str, title: str, **axes: Axis) -> Study:
    keys = (*axes, "role")
    return Study(
        name=name, number=number, title=title, measure=judged, settings=recommended, metrics=("hit@50",),
        rows=keys[:1], columns=keys[1:2],
        grid={"data": _CITEULIKE, "start": ["published"], "model": _TWO_MODELS, **axes, "methods": [["bd"]],
              "seed": {"quick": range(1), "full": range(2)}},
        note="H@50 on the test, looked at after everything else was chosen; what does not vary is as the dissertation "
        "recommends it: weights 0.5, smoothness 1e-4, a refresh every 10 epochs. It prints no numbers.",
    )  # fmt: skip


_PARTS = (
    statistics("distillation-data", "table-3.1", DATA, lambda data: split_options(data, "published")),
    Study(
        name="distillation-size-time", number="table-3.6", title="Model size and time to rank", measure=sized,
        settings=settings, published="distillation-size-time", rows=("model", "role"), digits=3,
        grid={"data": _CITEULIKE, "start": ["published"], "model": MODELS, "methods": [["alone"]], "seed": [0]},
        note="Million parameters, and seconds to list 50 items for every user: ours on one thread of a processor, the "
        "dissertation's on a GPU.",
    ),
    Study(
        name="model-sizes", number="figure-3.4", title="Partners of other sizes", measure=judged, settings=_of_sizes,
        metrics=("hit@50",), rows=("sizes", "method"), columns=("role",),
        grid={"data": _CITEULIKE, "start": ["published"], "model": _TWO_MODELS, "sizes": _PAIRS,
              "methods": _groups("bd", "alone", "one-way", "to-teacher"),
              "seed": {"quick": range(1), "full": range(3)}},
        claims=(_partner("teacher", "50 and 25"), _partner("teacher", "50 and 50"), _partner("student", "25 and 5"),
                _partner("student", "5 and 5"),
                Claim("a student of 20 to 30% of the size reaches its teacher alone", "hit@50",
                      {"role": "student", "method": "bd", "sizes": "50 and 15"},
                      {"role": "teacher", "method": "alone", "sizes": "50 and 5"})),
        note="H@50 by the factors of teacher and student (figures 3.4 and 3.5), BD as the dissertation recommends it. "
        "one-way: a fixed teacher; to-teacher: a fixed student. The dissertation prints no numbers.",
    ),
    _sweep("distillation-weights", "figure-3.7", "Both weights of BD", to_student__weight=_WEIGHTS,
           to_teacher__weight=_WEIGHTS),
    _sweep("distillation-tanh", "figure-3.8", "Smoothness to the student", to_student__rank_gap_scale=_SCALES),
    _sweep("distillation-exp", "figure-3.8", "Smoothness to the teacher", to_teacher__rank_gap_scale=_SCALES),
    _sweep("distillation-period", "figure-3.9", "Epochs between two looks at the ranks",
           refresh_every={"quick": (2, 10), "full": (1, 5, 10, 20)}),
)  # fmt: skip

# -- ranks ------------------------------------------------------------------------------------------------------------


def _draw(results: Results) -> Axes:
    """Rank differences before and after BD, of the first model and start."""
    from sureness.evaluation import RankComparison
    from sureness.plots import draw_rank_differences, prepare_rank_differences

    found: dict[str, RankComparison] = {}
    for point, cell in results.finished:
        name = STAGES.get(point["methods"][0], point["methods"][0])
        if name not in found:
            ranks = results.store.find(cell).table("ranks")
            found[name] = RankComparison(ranks.drop("n_items"), n_items=ranks["n_items"][0])
    return draw_rank_differences(prepare_rank_differences(found))


_RANKS = (
    Study(
        name="teacher-student", number="figure-3.1", title="The teacher is not always superior", measure=compared,
        settings=settings, rows=("model", "start"), digits=3,
        grid={"data": DATA, "start": _STARTS, "model": MODELS, "methods": [["alone"]], "seed": QUICK_AND_FULL},
        claims=(Claim("the student ranks 36% of the test items of CiteULike higher, 42% of Foursquare's: at least 31%",
                      BETTER, {"stage": "before"}, 0.31, "+", _PER),
                Claim("and at most 47%", BETTER, {"stage": "before"}, 0.47, "-", _PER)),
        note="Shares of test interactions, and of items that one model ranks high (figure 3.2). Both models alone; the "
        "dissertation gives NeuMF only.",
    ),
    Study(
        name="rank-difference", number="table-3.2", title="Average rank difference before and after BD", draw=_draw,
        measure=compared, settings=settings, published="rank-difference", rows=("model",), columns=("stage",),
        metrics=(DIFFERENCE,),
        grid={"data": DATA, "start": _STARTS, "model": MODELS, "methods": _groups("alone", "bd"),
              "seed": QUICK_AND_FULL},
        claims=(Claim("BD lowers the average rank difference", DIFFERENCE, {"stage": "after"}, {"stage": "before"}, "-",
                      _PER),),
        note="As a share of the items; independent rankings have 0.3333. The figure (3.6) shows the first seed.",
    ),
)  # fmt: skip

STUDIES = (*_RANKS, *_MAIN, *_PARTS)
