"""Where data enters: every public function and class that takes data, with good values for all but one argument."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

import sureness as sn
from sureness._registry import find, names
from sureness.lists import Lists
from tests.attacks.hostile_values import N
from tests.recommender.worlds import Shop, shop

Takes = Literal["values", "rows", "table", "log", "path"]


class Door(NamedTuple):
    """One argument of one public name."""

    name: str  # such as brier_score(labels)
    takes: Takes
    call: Callable[[Any], Any]
    good: Any = None  # a value that is accepted
    keeps_nan: bool = (
        False  # NaN stands for a missing time or rating or an empty bin; scores are checked by their users
    )


SCORES = np.linspace(-3, 3, N).round(6) * np.where(np.arange(N) % 5, 1.0, -1.0)
SCORES = np.round(SCORES * 64) / 64  # the same in single precision
CHANCES = np.round(np.linspace(0.03, 0.97, N) * 256) / 256
LABELS = (np.arange(N) * 7 % 11 < np.arange(N) / 6).astype(np.int64)
USERS = np.arange(N) // 4
ITEMS = np.arange(N) % 12
WEIGHTS = 1.0 + np.arange(N) % 3
HISTORY = 1.0 + np.unique(USERS, return_inverse=True)[1] % 3  # one of each user
NAMES = np.array([f"n{number % 3}" for number in range(N)])
MATRIX = np.sort(CHANCES.reshape(6, 8), axis=1)[:, ::-1].copy()

EXCLUDED = {
    **dict.fromkeys(
        ("DataError", "FileError", "MissingExtraError", "NotFittedError", "SurenessError", "SurenessWarning", "errors",
         "__version__"), "no data"),
    **dict.fromkeys(
        ("Columns", "Direction", "DistillationSettings", "SimulatorSettings", "Utility", "distillation_method",
         "make_calibrator", "make_recommender", "PrintedProgress", "register", "simulate",
         "silent", "ways_to_decide", "BestFixedSize",
         "FixedSize", "Threshold", "ValidationBest"), "takes settings; lists come from Lists"),
    **dict.fromkeys(("Calibrator", "ListSizePolicy", "ProbabilityMap", "Progress", "Recommender", "ScoreSource"),
                    "a contract; those that fulfil it are attacked"),
    **dict.fromkeys(("FunctionSource", "TorchSource", "source_of"), "takes code of the user, not data"),
    **dict.fromkeys(("CDAE", "CML", "LightGCN", "NeuMF", "UBPR", "BidirectionalDistillation", "tune"),
                    "takes logs as BPR does, by the same code"),
    **dict.fromkeys(("Split", "Run"), "holds what others checked"),
    **dict.fromkeys(("ActivityModel", "backtest"), "takes logs, which checked their data"),
    **dict.fromkeys(("PerUserGamma", "PerUserGaussian"), "takes data as PerUserPlatt does"),
    **dict.fromkeys(("choose_calibrator", "cross_validate", "choose_list_sizes", "compare_policies", "write_report"),
                    "takes objects that checked their data"),
    "load_dataset": "reads known files, see tests/data/recipes",
}  # fmt: skip
"""Public names that are no doors, and why."""


@cache
def world() -> Shop:
    return shop(12, 9, names=True)


@cache
def recommender() -> sn.ConfidentRecommender:
    small, policy = world(), sn.ExpectedUtility(max_size=4)
    return sn.ConfidentRecommender(small.source, sn.calibration.PerUserPlatt(), policy).fit(
        small.train, small.validation
    )


@cache
def fitted(name: str) -> Any:
    return sn.calibration.make_calibrator(name).fit(SCORES, LABELS)


def doors() -> list[Door]:
    """Every argument that takes data."""
    every = [*_calibrators(), *_metrics(), *_pairs(), *_ids(), *_sources(), *_lists(), *_logs(), *_served(), *_paths()]
    missing = ("Interactions.", "reliability_curve", "FactorSource", "MatrixSource")
    return [door._replace(keeps_nan=door.name.startswith(missing)) for door in every]


def covered() -> set[str]:
    """The public names that some door belongs to."""
    return {door.name.split("(")[0].split(".")[0] for door in doors()}


def _vectors(
    name: str, call: Callable[..., Any], good: dict[str, Any], also: dict[str, Any] | None = None
) -> list[Door]:
    """One door per argument; the others are good. Optional ones (`also`) are given alone."""
    needed = [
        Door(f"{name}({argument})", "values", lambda value, argument=argument: call(**(good | {argument: value})), kept)
        for argument, kept in good.items()
    ]
    more = [
        Door(f"{name}({argument})", "values", lambda value, argument=argument: call(**good, **{argument: value}), kept)
        for argument, kept in (also or {}).items()
    ]
    return needed + more


def _calibrators() -> list[Door]:
    found = []
    options = {"sample_weight": WEIGHTS, "propensity": CHANCES}
    for name in names("calibrator"):
        kind = find("calibrator", name).__name__

        def fit(*, name: str = name, **data: Any) -> Any:
            return sn.calibration.make_calibrator(name).fit(**data).probability(SCORES)

        found += _vectors(f"{kind}.fit", fit, {"scores": SCORES, "labels": LABELS}, options)
        for method in ("probability", "log_odds"):
            ask = lambda scores, name=name, method=method: getattr(fitted(name), method)(scores)  # noqa: E731
            found += _vectors(f"{kind}.{method}", ask, {"scores": SCORES})

    def segments(**data: Any) -> Any:
        return sn.SegmentCalibrator().fit(**data).probability(SCORES, segments=NAMES)

    def fields(segments: Any = NAMES, **data: Any) -> Any:
        told = {"name": segments, "item": ITEMS}
        fitted = sn.SegmentCalibrator(sn.PlattCalibrator(), interactions=1).fit(**data, segments=told)
        return fitted.probability(SCORES, segments={"name": NAMES, "item": ITEMS})

    def top_n(**data: Any) -> Any:
        return sn.calibration.TopNCalibrator(n=2).fit(**data).probability(SCORES)

    def lists(**data: Any) -> Any:
        told = {name: data.get(name) for name in ("history", "traits")}
        return sn.ListCalibrator().fit(**data).probability(SCORES, groups=USERS, **told)

    per_segment = sn.SegmentCalibrator().fit(SCORES, LABELS, segments=NAMES)
    per_user = sn.calibration.PerUserPlatt().fit(world().source, world().validation, seen=world().train)
    found += _vectors(
        "SegmentCalibrator.fit", segments, {"scores": SCORES, "labels": LABELS, "segments": NAMES}, options
    )
    found += _vectors("SegmentCalibrator.fit", fields, {"scores": SCORES, "labels": LABELS, "segments": NAMES}, options)
    found += _vectors("SegmentCalibrator.probability", per_segment.probability, {"scores": SCORES, "segments": NAMES})
    found += _vectors("TopNCalibrator.fit", top_n, {"scores": SCORES, "labels": LABELS, "users": USERS})
    known = np.array([f"user {number % 12:03d}" for number in range(N)])
    of_groups = {"scores": SCORES, "labels": LABELS, "groups": USERS}
    found += _vectors("ListCalibrator.fit", lists, of_groups, options | {"history": HISTORY})
    of_lists = sn.ListCalibrator().fit(SCORES, LABELS, groups=USERS, history=HISTORY).probability
    found += _vectors("ListCalibrator.probability", of_lists, {"scores": SCORES, "groups": USERS, "history": HISTORY})
    found += _vectors("RetrievalCutoff.fit", lambda **data: sn.RetrievalCutoff().fit(**data).probability(
        SCORES, groups=USERS), of_groups)  # fmt: skip
    return found + _vectors("PerUserPlatt.probability", per_user.probability, {"scores": SCORES, "users": known})


def _metrics() -> list[Door]:
    found, judged = [], {"labels": LABELS, "probabilities": CHANCES}
    for metric in (sn.metrics.brier_score, sn.metrics.negative_log_likelihood, sn.expected_calibration_error,
                   sn.metrics.maximum_calibration_error, sn.metrics.reliability_curve):  # fmt: skip
        found += _vectors(metric.__name__, metric, judged, {"sample_weight": WEIGHTS})
    found += _vectors("top_n_calibration_error", lambda **given: sn.metrics.top_n_calibration_error(**given, n=2),
                      judged | {"users": USERS}, {"scores": SCORES, "sample_weight": WEIGHTS})  # fmt: skip
    for metric in ("ece", "nll", "brier"):

        def interval(*, metric: str = metric, **given: Any) -> Any:
            return sn.metrics.interval(metric, **given, n_resamples=50)

        found += _vectors("interval", interval, judged, {"users": USERS, "sample_weight": WEIGHTS})
    return found


def _pairs() -> list[Door]:
    also = {"users": USERS, "items": ITEMS, "sample_weight": WEIGHTS, "propensity": CHANCES}
    pairs = {"scores": SCORES, "labels": LABELS}
    found = _vectors("ScoredPairs.of", sn.data.ScoredPairs.of, pairs, also)
    found += _vectors("CalibrationSet.from_pairs", sn.CalibrationSet.from_pairs, pairs, also)
    ratings = {"scores": SCORES, "ratings": 1.0 + np.arange(N) % 5}
    found += _vectors("CalibrationSet.from_ratings", sn.CalibrationSet.from_ratings, ratings)
    found += _vectors("ScoreHistogram.of", sn.ScoreHistogram.of, {"scores": SCORES, "targets": CHANCES},
                      {"sample_weight": WEIGHTS})  # fmt: skip
    seen = {"users": USERS, "items": ITEMS}
    found += _vectors("prior_correction", partial(sn.prior_correction, base_rate=0.2), {"probabilities": CHANCES})
    found += _vectors("undo_sampling", partial(sn.undo_sampling, kept=0.1), {"probabilities": CHANCES})
    found += _vectors(
        "PopularityPropensity.fit", lambda **given: sn.propensity.PopularityPropensity().fit(**given), seen
    )
    propensity = sn.propensity.PopularityPropensity().fit(**seen)
    found += _vectors("PopularityPropensity.propensity", propensity.propensity, seen)
    return [*found, Door("CalibrationSet.from_table(table)", "table", sn.CalibrationSet.from_table)]


def _ids() -> list[Door]:
    known = sn.IdMap.of(NAMES[:3])
    numbered = sn.IdMap.of(np.arange(12))
    return [
        *_vectors("IdMap.of", lambda values: sn.IdMap.of(values), {"values": NAMES}),
        *_vectors("IdMap.of", lambda numbers: sn.IdMap.of(numbers), {"numbers": USERS}),
        *_vectors("IdMap.rows", lambda values: known.rows(values), {"values": NAMES}),
        *_vectors("IdMap.rows", lambda numbers: numbered.rows(numbers), {"numbers": USERS}),
        *_vectors("IdMap.known_rows", lambda values: known.known_rows(values, "users"), {"values": NAMES}),
        *_vectors("IdMap.at", lambda rows: known.at(rows), {"rows": np.arange(N) % 3}),
        *_vectors("Segments", lambda segment_names: sn.calibration.Segments(segment_names), {"segment_names": NAMES}),
        *_vectors("Interactions.of", sn.Interactions.of, {"users": USERS, "items": ITEMS},
                  {"ratings": WEIGHTS, "times": np.arange(N)}),
        Door("Interactions.from_table(table)", "table", sn.Interactions.from_table),
        Door("Interactions.from_matrix(matrix)", "rows", sn.Interactions.from_matrix, (MATRIX > 0.5).astype(np.int64)),
    ]  # fmt: skip


def _sources() -> list[Door]:
    first = np.arange(3)

    def scored(source: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):  # infinite scores are refused where they are used
            return source.score_block(first)

    def factors(**given: Any) -> Any:
        return scored(sn.FactorSource(**({"user_factors": MATRIX, "item_factors": MATRIX} | given)))

    triple = {"users": USERS, "items": ITEMS, "scores": SCORES}
    bias = _vectors("FactorSource", factors,
                    {"user_bias": CHANCES[:6]})  # fmt: skip
    return [
        Door(
            "FactorSource(user_factors)", "rows", lambda value: factors(user_factors=value, item_factors=MATRIX), MATRIX
        ),
        Door(
            "FactorSource(item_factors)", "rows", lambda value: factors(user_factors=MATRIX, item_factors=value), MATRIX
        ),
        *bias,
        Door("MatrixSource(matrix)", "rows", lambda value: scored(sn.MatrixSource(value)), MATRIX),
        *_vectors("CandidateSource.of", lambda **given: sn.CandidateSource.of(**given).score_block(first), triple),
        Door("CandidateSource.from_table(table)", "table", sn.CandidateSource.from_table),
    ]


def _lists() -> list[Door]:
    utilities = np.cumsum(MATRIX, axis=1)
    pages = np.repeat(utilities[:, None], 2, axis=1)

    def probabilities(value: Any, **given: Any) -> Any:
        return sn.expected_utility(value, max_size=4, **given)

    def sizes(value: Any, argument: str) -> Any:
        given = {"probabilities": MATRIX, "scores": MATRIX, argument: value}
        return sn.ExpectedUtility(max_size=4).sizes(Lists.of(**given))

    def budget(value: Any, argument: str) -> Any:
        return sn.allocate_budget(**({"utilities": utilities, "budget": 9.0} | {argument: value}))

    def domains(value: Any, argument: str) -> Any:
        return sn.allocate_domains(**({"utilities": pages, "slots": 4} | {argument: value}))

    def relevant(value: Any) -> Any:
        return probabilities(MATRIX, expected_relevant=value)

    ones, per_user = np.ones((6, 8)), np.full(6, 2)
    given = [
        ("expected_utility(probabilities)", probabilities, MATRIX),
        ("expected_utility(expected_relevant)", relevant, np.full(6, 9.0)),
        ("expected_utility(lengths)", lambda value: probabilities(MATRIX, lengths=value), np.full(6, 8)),
        ("ExpectedUtility.sizes(probabilities)", lambda value: sizes(value, "probabilities"), MATRIX),
        ("ExpectedUtility.sizes(scores)", lambda value: sizes(value, "scores"), MATRIX),
        ("allocate_budget(utilities)", lambda value: budget(value, "utilities"), utilities),
        ("allocate_budget(cost)", lambda value: budget(value, "cost"), ones),
        ("allocate_budget(budget)", lambda value: budget(value, "budget"), np.array(9.0)),
        ("allocate_budget(min_size)", lambda value: budget(value, "min_size"), per_user),
        ("allocate_budget(max_size)", lambda value: budget(value, "max_size"), per_user),
        ("allocate_budget(lengths)", lambda value: budget(value, "lengths"), np.full(6, 8)),
        ("allocate_domains(utilities)", lambda value: domains(value, "utilities"), pages),
        ("allocate_domains(slots)", lambda value: domains(value, "slots"), np.full(6, 4)),
        ("allocate_domains(min_size)", lambda value: domains(value, "min_size"), np.full((6, 2), 1)),
        ("allocate_domains(max_size)", lambda value: domains(value, "max_size"), np.full((6, 2), 3)),
        ("allocate_domains(lengths)", lambda value: domains(value, "lengths"), np.full((6, 2), 8)),
    ]  # fmt: skip
    return [Door(name, "rows", call, good) for name, call, good in given]


def _logs() -> list[Door]:
    small = world()

    def bpr(log: Any) -> Any:
        return sn.BPR(n_factors=2, epochs=1, validate_every=1).fit(log)

    calls: dict[str, Callable[[Any], Any]] = {
        "by_ratio(log)": sn.by_ratio,
        "by_time(log)": sn.by_time,
        "hold_out(log)": sn.hold_out,
        "leave_one_out(log)": sn.leave_one_out,
        "k_core(log)": lambda log: sn.data.k_core(log, 2),
        "prepare(data)": lambda log: sn.data.prepare(log, "ratio"),
        "svd_source(interactions)": lambda log: sn.svd_source(log, n_factors=2),
        "evaluate_ranking(test)": lambda log: sn.evaluate_ranking(small.source, log),
        "evaluate_ranking(seen)": lambda log: sn.evaluate_ranking(small.source, small.test, seen=log),
        "PerUserPlatt.fit(held_out)": lambda log: sn.calibration.PerUserPlatt().fit(small.source, log),
        "ListCalibrator.fit_source(held_out)": lambda log: sn.ListCalibrator().fit_source(small.source, log),
        "CalibrationSet.from_source(held_out)": lambda log: sn.CalibrationSet.from_source(small.source, log).gather(),
        "ConfidentRecommender.fit(validation)": lambda log: sn.ConfidentRecommender(small.source).fit(small.train, log),
        "ConfidentRecommender.evaluate(test)": recommender().evaluate,
        "BPR.fit(train)": bpr,
    }
    return [Door(name, "log", call) for name, call in calls.items()]


def _served() -> list[Door]:
    asked = np.array([f"user {number % 12:03d}" for number in range(N)])
    items = np.array([f"item {number % 9:03d}" for number in range(N)])
    return [
        *_vectors("ConfidentRecommender.recommend", recommender().recommend, {"users": asked[:12]}),
        *_vectors("ConfidentRecommender.sizes", recommender().sizes, {"users": asked[:12]}),
        *_vectors("ConfidentRecommender.decide", recommender().decide,
                  {"user_ids": np.sort(asked), "item_ids": items, "scores": SCORES}),
        *_vectors("evaluate_ranking", lambda users: sn.evaluate_ranking(world().source, world().test, users=users,
                                                                        seen="nothing"), {"users": np.arange(12)}),
    ]  # fmt: skip


def _paths() -> list[Door]:
    return [
        Door("load(path)", "path", sn.load),
        Door("inspect(path)", "path", sn.saving.inspect),
        Door("open_run(path)", "path", sn.recommender.open_run),
        Door("Interactions.read(path)", "path", sn.Interactions.read),
        Door("CandidateSource.read(path)", "path", sn.CandidateSource.read),
        Door("IsotonicCalibrator.save(path)", "path", lambda path: fitted("isotonic").save(path)),
    ]


def hostile_logs() -> dict[str, Callable[[], Any]]:
    """Logs with something wrong."""
    small = world()
    users, items = small.train.users, small.train.items
    nobody = np.zeros((len(users), len(items)), dtype=bool)
    one = nobody.copy()
    one[0, 0] = True
    of_ids = {"users": users, "items": items}
    return {
        "good": lambda: small.validation,
        "empty": lambda: sn.Interactions.from_matrix(nobody, **of_ids),
        "one pair": lambda: sn.Interactions.from_matrix(one, **of_ids),
        "everything": lambda: sn.Interactions.from_matrix(~nobody, **of_ids),
        "other ids": lambda: sn.Interactions.of([1, 2, 3], [4, 5, 6]),
        "other names": lambda: sn.Interactions.of(["ann", "bob"], ["x", "y"]),
        "one user": lambda: sn.Interactions.of(["user 000"] * 3, ["item 000", "item 001", "item 002"]),
        "None": lambda: None,
        "a word": lambda: "word",
        "a number": lambda: 3,
        "a matrix": lambda: one,
        "a table": lambda: small.train.table(),
        "a list of pairs": lambda: [(1, 2)],
    }


def hostile_paths() -> dict[str, Callable[[], Any]]:
    """Names of files with something wrong."""
    folder = Path(tempfile.mkdtemp())
    (folder / "empty.json").write_bytes(b"")
    (folder / "empty.sureness").write_bytes(b"")
    (folder / "noise.sureness").write_bytes(np.random.default_rng(0).bytes(1_000))
    (folder / "list.json").write_text("[1, 2]")
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "number.json").write_text("1e999999")
    (folder / "words.csv").write_bytes(b"\xff\xfe\x00a,b\n1")
    (folder / "empty.csv").write_bytes(b"")
    (folder / "noise.parquet").write_bytes(b"PAR1" + bytes(50) + b"PAR1")
    (folder / "folder.sureness").mkdir()
    (folder / "loop.sureness").symlink_to(folder / "loop.sureness")
    return {
        **{path.name: (lambda path=path: path) for path in sorted(folder.iterdir())},
        "missing": lambda: folder / "missing.sureness",
        "below a file": lambda: folder / "list.json" / "it.json",
        "an empty name": lambda: "",
        "a dot": lambda: ".",
        "a zero byte": lambda: "a\0b.json",
        "a long name": lambda: folder / ("n" * 300 + ".json"),
        "a device": lambda: "/dev/null",
        "half a character": lambda: "\ud800.json",
        "None": lambda: None,
        "a number": lambda: 3.5,
        "bytes": lambda: b"it.json",
        "a list": lambda: ["it.json"],
    }
