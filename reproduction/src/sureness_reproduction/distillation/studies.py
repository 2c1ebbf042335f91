"""What is measured of two models, and the studies of chapter 3: who learns from whom, what each part does, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from sureness import evaluation, plots
from sureness.data import union
from sureness_reproduction.base_models import statistics
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.distillation import declared
from sureness_reproduction.distillation.declared import LONGER, MODELS, PUBLIC_METHODS, PUBLIC_ROWS, settings
from sureness_reproduction.distillation.training import ROLES, models_needed, models_of, split_of, split_options
from sureness_reproduction.results import Results
from sureness_reproduction.study import QUICK_AND_FULL, Axis, Claim, Scale, Study
from sureness_reproduction.types import IntArray
from sureness_reproduction.workbench import Workbench

METRICS = ("hit@50", "hit@100", "ndcg@50", "ndcg@100")
PUBLIC, MASKED = "as the public code counts", "seen items masked"
DIFFERENCE, BETTER = "average rank difference", "student ranks higher"
STAGES = {"alone": "before", "bd": "after"}


def _keyed(table: pl.DataFrame, **keys: str) -> pl.DataFrame:
    """Metric, unit and value with the keys in front."""
    return table.select(**{name: pl.lit(value) for name, value in keys.items()}, **_REST)


_REST = {name: pl.col(name) for name in ("metric", "unit", "value")}


@work(needs=models_needed, judges=True, cost=2)
def judged(bench: Workbench, *, methods: list[str], **parameters: Any) -> Tables:
    """Every user's test numbers, all unseen items ranked."""
    split, parts = split_of(bench, **parameters), []
    seen = union([split.train, split.validation])
    for role, model in models_of(bench, **parameters).items():
        users = evaluation.evaluate_ranking(model, split.test, seen=seen, metrics=METRICS).per_user
        table = users.rename({"user_id": "unit"}).unpivot(METRICS, index="unit", variable_name="metric")
        parts.append(_keyed(table, role=role, method=methods[0]))
    return {"samples": pl.concat(parts)}


@work(needs=models_needed, judges=True, cost=5)
def counted(bench: Workbench, *, methods: list[str], **parameters: Any) -> Tables:
    """Hits and NDCG of every test item: counted as in the public code, and with seen items masked."""
    split, parts = split_of(bench, **parameters), []
    seen_score = 0.0 if parameters["model"] == "bpr" else -np.inf  # CDAE's are probabilities: 0 is below all others
    for role, model in models_of(bench, **parameters).items():
        public = evaluation.held_out_ranks(model, split.test, seen=split.train, seen_score=seen_score)
        masked = evaluation.held_out_ranks(model, split.test, seen=union([split.train, split.validation]))
        for counting, ranks in ((PUBLIC, public + 1), (MASKED, masked)):
            parts.append(_keyed(at_ranks(ranks), role=role, method=methods[0], counting=counting))
    return {"samples": pl.concat(parts)}


def at_ranks(ranks: IntArray) -> pl.DataFrame:
    """H and N at 50 and 100 of every test item; the public code counts from rank 1 and hits below 50."""
    hits = {f"hit@{k}": (ranks <= k).astype(float) for k in (50, 100)}
    gains = {f"ndcg@{k}": (ranks <= k) / np.log2(ranks + 1) for k in (50, 100)}
    return pl.DataFrame({"unit": np.arange(len(ranks)), **hits, **gains}).unpivot(index="unit", variable_name="metric")


@work(needs=models_needed, judges=True, cost=5)
def compared(bench: Workbench, *, methods: list[str], **parameters: Any) -> Tables:
    """The ranks of all test interactions by both models, and those of some items that either ranks high."""
    both, split = models_of(bench, **parameters), split_of(bench, **parameters)
    teacher, student, seen = both["teacher"], both["student"], union([split.train, split.validation])
    found = evaluation.compare_ranks(teacher, student, split.test, seen=seen)
    scatter = evaluation.rank_scatter(teacher, student, seen=seen, n_points=1_500, seed=parameters["seed"])
    numbers = {
        DIFFERENCE: found.average_difference, BETTER: found.student_better, "equal": found.equal,
        "teacher's first items in the student's first tenth": scatter.known_to_other("teacher"),
        "student's in the teacher's": scatter.known_to_other("student"),
    }  # fmt: skip
    table = pl.DataFrame({"metric": list(numbers), "value": list(numbers.values())})
    stage = pl.lit(STAGES.get(methods[0], methods[0]))
    ranks = found.ranks.with_columns(n_items=pl.lit(found.n_items))
    return {"numbers": table.with_columns(stage=stage), "ranks": ranks, "points": scatter.points}


@work(needs=models_needed, cost=20)
def sized(bench: Workbench, **parameters: Any) -> Tables:
    """How many million numbers each model has learned, and how many seconds the lists of all users take."""
    models, train = models_of(bench, **parameters), split_of(bench, **parameters).train
    sizes = evaluation.inference_table(models, length=50, seen=train, repeats=2)
    found = sizes.select(role="model", parameters=pl.col("parameters") / 1e6, time="seconds")
    return {"numbers": found.unpivot(index="role", variable_name="metric")}


def _draw(results: Results) -> Any:
    """Rank differences before and after BD, of the first model and start."""
    found: dict[str, evaluation.RankComparison] = {}
    for point, cell in results.finished:
        name = STAGES.get(point["methods"][0], point["methods"][0])
        if name not in found:
            ranks = results.store.find(cell).table("ranks")
            found[name] = evaluation.RankComparison(ranks.drop("n_items"), n_items=ranks["n_items"][0])
    return plots.draw_rank_differences(plots.prepare_rank_differences(found))


# -- what the studies share -------------------------------------------------------------------------------------------

DATA: dict[Scale, Sequence[str]] = {
    "quick": ("amazon-music",),
    "full": ("citeulike-bd", "foursquare-tky-filtered", "amazon-music", "yelp"),
}
_CITEULIKE: Axis = {"quick": DATA["quick"], "full": ["citeulike-bd"]}
_TWO_MODELS: Axis = {"quick": ["bpr"], "full": ["bpr", "neumf"]}
_PER = ("data", "start", "model")
_BOTH = ("hit@50", "ndcg@50")


def _grid(*methods: str, seeds: Axis = QUICK_AND_FULL, **axes: Axis) -> dict[str, Axis]:
    """The published start of all models on CiteULike, unless axes say otherwise; a cell for each method."""
    usual: dict[str, Axis] = {"data": _CITEULIKE, "start": ["published"], "model": MODELS}
    return usual | axes | {"seed": seeds, "methods": [[method] for method in methods]}


def _above(*sides: tuple[str, str, str], metrics: Sequence[str] = ("hit@50",), claimed: bool = True) -> list[Claim]:
    """For one of the two models, one method above another."""
    return [
        Claim(f"{role}: {first} above {second}", metric, {"role": role, "method": first},
              {"role": role, "method": second}, per=_PER, claimed=claimed)
        for role, first, second in sides for metric in metrics
    ]  # fmt: skip


def _partner(role: str, other: str) -> Claim:
    one, two = ({"role": role, "method": "bd", "sizes": sizes} for sizes in ("50 and 5", other))
    return Claim(f"the {role} gains most from the most different partner", "hit@50", one, two)


def _sweep(name: str, number: str, title: str, **axes: Axis) -> Study:
    keys, grid = (*axes, "role"), _grid("bd", model=_TWO_MODELS, seeds={"quick": range(1), "full": range(2)}, **axes)
    return Study(
        name, number, title, grid, judged, declared.recommended, metrics=("hit@50",), rows=keys[:1], columns=keys[1:2],
        note="H@50 on the test, looked at after everything else was chosen; what does not vary is as the dissertation "
        "recommends it: weights 0.5, smoothness 1e-4, a refresh every 10 epochs. It prints no numbers.",
    )  # fmt: skip


def _public(role: str, first: str, *second: str, claimed: bool = False) -> Claim:
    """One row of the public code above another, or above the better one of two."""
    sides = [{"role": role, "counting": PUBLIC, "method": name} for name in (first, *second)]
    name = "weight 0" if second == _WEIGHT_0 else second[0]
    return Claim(f"{role}: {first} above {name}", "hit@50", sides[0], tuple(sides[1:]), claimed=claimed)


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
_SCHEMES = ("bd", "rank-aware", "top-n", "mutual", "swapped")
_CONTROLS = ("calibrated", "constant-labels", "drawn-negatives", "one-way", "to-teacher")
_PAIRS = ["50 and 5", "50 and 10", "50 and 15", "50 and 25", "50 and 50", "25 and 5", "5 and 5"]
_WEIGHTS: Axis = {"quick": (0.1, 0.5, 1.0), "full": (0.1, 0.3, 0.5, 1.0)}
_SCALES: Axis = {"quick": (1e-5, 1e-4, 1e-3), "full": (1e-5, 1e-4, 1e-3, 1e-2)}
_WEIGHT_0 = ("weight 0, uniform negatives", "weight 0, drawn negatives")

STUDIES = (
    Study(
        "teacher-student", "figure-3.1", "The teacher is not always superior",
        _grid("alone", data=DATA, start=("strong", "published")), compared, settings, rows=("model", "start"), digits=3,
        claims=(Claim("the student ranks 36% of the test items of CiteULike higher, 42% of Foursquare's: at least 31%",
                      BETTER, {"stage": "before"}, 0.31, "+", _PER),
                Claim("and at most 47%", BETTER, {"stage": "before"}, 0.47, "-", _PER)),
        note="Shares of test interactions, and of items that one model ranks high (figure 3.2). Both models alone; the "
        "dissertation gives NeuMF only.",
    ),
    Study(
        "rank-difference", "table-3.2", "Average rank difference before and after BD",
        _grid("alone", "bd", data=DATA, start=("strong", "published")), compared, settings, "rank-difference",
        rows=("model",), columns=("stage",), metrics=(DIFFERENCE,), draw=_draw,
        claims=(Claim("BD lowers the average rank difference", DIFFERENCE, {"stage": "after"}, {"stage": "before"}, "-",
                      _PER),),
        note="As a share of the items; independent rankings have 0.3333. The figure (3.6) shows the first seed.",
    ),
    Study(
        "distillation", "table-3.5", "Bidirectional distillation",
        _grid("alone", "bd", "cd", "rd", "continued", "bd-best", "svd", "teacher-positives", "combined", data=DATA,
              start=["strong"]), judged, settings, "distillation", rows=("role", "method"), claims=_CLAIMS + _OURS,
        note=_NOTE + "Strong start: clean data, both models at their best alone; a model that does not get better on "
        "validation ends as it began. continued: each goes on alone, for as long as with BD.",
    ),
    Study(
        "distillation-published", "table-3.5", "Bidirectional distillation from the published start",
        _grid("alone", "bd", "cd", "rd"), judged, settings, "distillation", rows=("role", "method"), claims=_CLAIMS,
        note=_NOTE + "Published start: cold, the dissertation's optimiser, with the counts that were read as items.",
    ),
    Study(
        "sampling-schemes", "table-3.3", "Sampling schemes and controls",
        _grid("alone", *_SCHEMES, *_CONTROLS, model={"quick": ["bpr"], "full": MODELS}), judged, declared.recommended,
        "sampling-schemes", rows=("method",), columns=("role",), metrics=("hit@50",),
        claims=_above(*((role, "bd", other) for role in ROLES for other in _SCHEMES[1:]))
        + _above(*((role, "bd", other) for role in ROLES for other in ("alone", *_CONTROLS[:3])), claimed=False),
        note="H@50, all with weight 0.5, 5 items, temperature 2 and smoothness 1e-4 (rank-aware: 1e-2). The last five "
        "are not in the dissertation: calibrated labels are its outlook, constant labels and drawn negatives without "
        "labels are controls, one-way and to-teacher have a fixed partner.",
    ),
    Study(
        "distillation-versus-cd", "table-3.4", "BD against CD on the data of CD, CDAE",
        _grid("alone", "bd", "cd", data=["ml-100k", "amazon-music"], start=["strong"], model=["cdae"]), judged,
        settings, "distillation-versus-cd", rows=("role", "method"), metrics=_BOTH,
        claims=_above(("teacher", "bd", "alone"), ("student", "bd", "cd"), ("student", "bd", "alone"), metrics=_BOTH),
        note="The dissertation says neither how these data were filtered and split nor which sizes the models had "
        "(here 50 and 5), so the levels need not agree.",
    ),
    statistics("distillation-data", "table-3.1", DATA, lambda data: split_options(data, "published")),
    Study(
        "distillation-size-time", "table-3.6", "Model size and time to rank", _grid("alone", seeds=[0]), sized,
        settings, "distillation-size-time", rows=("model", "role"), digits=3,
        note="Million parameters, and seconds to list 50 items for every user: ours on one thread of a processor, the "
        "dissertation's on a GPU.",
    ),
    Study(
        "model-sizes", "figure-3.4", "Partners of other sizes",
        _grid("bd", "alone", "one-way", "to-teacher", model=_TWO_MODELS, seeds={"quick": range(1), "full": range(3)},
              sizes={"quick": [_PAIRS[0], *_PAIRS[2:]], "full": _PAIRS}),
        judged, declared.of_sizes, metrics=("hit@50",), rows=("sizes", "method"), columns=("role",),
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
    Study(
        "authors-code", "", "BD as the authors' public code computes it",
        {"data": _CITEULIKE, "model": list(PUBLIC_METHODS), "seed": {"quick": range(1), "full": range(5)},
         "methods": [[row] for row in ("alone", *PUBLIC_ROWS, LONGER)]},
        counted, declared.public_settings, "authors-code", {"counting": PUBLIC}, rows=("role", "method"),
        claims=(_public("student", "bd-public", "alone", claimed=True),
                _public("teacher", "bd-public", "alone", claimed=True),
                _public("student", "bd-public", *_WEIGHT_0), _public("teacher", "bd-public", *_WEIGHT_0),
                _public("student", "bd-public", "printed sign"), _public("student", "printed sign", *_WEIGHT_0),
                _public("student", "printed sign, uniform negatives", "weight 0, uniform negatives"),
                _public("student", "weight 0, drawn negatives", "weight 0, uniform negatives"),
                _public("student", "weight decay kept", *_WEIGHT_0), _public("teacher", "weight decay kept", "alone"),
                _public("student", "bd-public", LONGER)),
        note="H and N at 50 and 100, mean over seeds ± deviation / the published number, with 50 and 5 factors. Weight "
        "0 has no soft labels; weight decay kept trains both models together as alone. In the public code rank 49 or "
        "better is a hit at 50, and seen items have the score 0.",
    ),
)  # fmt: skip
