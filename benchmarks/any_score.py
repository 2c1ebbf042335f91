"""Scores of click models, rankers, retrieval and late labels in simulated worlds; writes RESULTS-any-score.md.

`.venv-rankers/bin/python -m benchmarks.any_score [clicks|rankers|retrieval|late ...] [--repetitions 200]`
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from sureness.calibration import ListCalibrator, PlattCalibrator, undo_sampling
from sureness.errors import SettingError, SurenessWarning
from sureness.lists import RetrievalCutoff
from sureness.metrics import expected_calibration_error, negative_log_likelihood

_REPORT = Path(__file__).parent / "RESULTS-any-score.md"
_DEPTH = 30  # candidates of a query


# --- retrieval -------------------------------------------------------------------------------------------------------


class Queries(NamedTuple):
    """Scores and relevance of the best candidates of queries, (n_queries, 30), best first."""

    scores: np.ndarray
    relevant: np.ndarray

    @property
    def flat(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        groups = np.repeat(np.arange(len(self.scores)), self.scores.shape[1])
        return self.scores.ravel(), self.relevant.ravel(), groups


def retrieved(n_queries: int, seed: int) -> Queries:
    """Cosines whose level and spread differ between queries; some queries have no relevant document."""
    rng = np.random.default_rng(seed)
    level, scale = rng.normal(0, 0.06, n_queries)[:, None], rng.uniform(0.5, 1.5, n_queries)[:, None]
    relevant = rng.random((n_queries, 150)) < rng.beta(1.2, 18, n_queries)[:, None]
    scores = 0.55 + level + scale * (rng.normal(0, 0.08, relevant.shape) + 0.15 * relevant)
    best = np.argsort(-scores, axis=1)[:, :_DEPTH]
    return Queries(np.take_along_axis(scores, best, axis=1), np.take_along_axis(relevant, best, axis=1))


def mean_f1(kept: np.ndarray, relevant: np.ndarray) -> float:
    """Mean over queries; 1 where nothing is relevant and nothing kept."""
    size = kept.sum(axis=1) + relevant.sum(axis=1)
    return float(np.where(size > 0, 2 * (kept & relevant).sum(axis=1) / np.maximum(size, 1), 1.0).mean())


def heuristics(judged: Queries) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """What is usual, each with the setting that has the best F1 on the judged queries."""
    rank = np.arange(_DEPTH)

    def gap(scores: np.ndarray) -> np.ndarray:
        return rank <= np.argmax(scores[:, :-1] - scores[:, 1:], axis=1)[:, None]

    families: dict[str, list[Callable[[np.ndarray], np.ndarray]]] = {
        "fixed k": [lambda s, k=k: np.broadcast_to(rank < k, s.shape) for k in range(1, _DEPTH + 1)],
        "fixed score": [lambda s, c=c: s >= c for c in np.quantile(judged.scores, np.linspace(0, 1, 60))],
        "share of the best score": [lambda s, c=c: s >= c * s[:, :1] for c in np.linspace(0.5, 1, 51)],
    }
    best = {
        name: max(family, key=lambda cut: mean_f1(cut(judged.scores), judged.relevant))
        for name, family in families.items()
    }
    return {"k = 10": lambda s: np.broadcast_to(rank < 10, s.shape), "largest gap": gap} | best


class Asked(NamedTuple):
    """What is asked of a cut-off."""

    name: Literal["precision", "recall"]
    value: float
    sure: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.value:g}{', sure' if self.sure else ''}"


class CutoffRun(NamedTuple):
    """One repetition: what a cut-off states, and what comes of it for many other queries."""

    low: float
    high: float
    true: float
    recall: float


def cutoffs(
    n_queries: int, repetitions: int, population: Queries, asked: Sequence[Asked], *, raw: bool = False
) -> dict[Asked, list[CutoffRun]]:
    """Cut-offs of every repetition, without those that are refused."""
    scores, relevant, groups = population.flat
    found: dict[Asked, list[CutoffRun]] = {each: [] for each in asked}
    for seed in range(repetitions):
        judged_scores, labels, judged_groups = retrieved(n_queries, seed).flat
        calibrator = PlattCalibrator(scores_are="scores") if raw else None
        fitted = RetrievalCutoff(calibrator).fit(judged_scores, labels, groups=judged_groups)
        probability = fitted.probability(scores, groups=groups)
        for each in asked:
            with suppress(SettingError):
                cutoff = fitted.cutoff(sure=each.sure, **{each.name: each.value})
                kept = probability >= cutoff.probability
                hits, stated = (kept & relevant).sum(), getattr(cutoff, each.name)
                recall = float(hits / relevant.sum())
                true = recall if each.name == "recall" else float(hits / max(kept.sum(), 1))
                found[each].append(CutoffRun(stated.low, stated.high, true, recall))
    return found


def f1_of_ways(n_queries: int, repetitions: int, population: Queries) -> dict[str, list[float]]:
    """F1 over other queries of every way to cut."""
    scores, _, groups = population.flat
    found: dict[str, list[float]] = {}
    for seed in range(repetitions):
        judged = retrieved(n_queries, seed)
        for name, cut in heuristics(judged).items():
            found.setdefault(name, []).append(mean_f1(cut(population.scores), population.relevant))
        judged_scores, labels, judged_groups = judged.flat
        fitted = RetrievalCutoff().fit(judged_scores, labels, groups=judged_groups)
        kept = fitted.keep_best(scores, groups=groups).reshape(population.scores.shape)
        found.setdefault("expected F1", []).append(mean_f1(kept, population.relevant))
    return found


def interval_coverage(n_queries: int, repetitions: int, population: Queries) -> tuple[float, float]:
    """How often the interval of a probability holds the rate of such candidates, for tenths of the candidates."""
    scores, relevant, groups = population.flat
    inside, sure_of = [], []
    for seed in range(repetitions):
        judged_scores, labels, judged_groups = retrieved(n_queries, seed).flat
        found = RetrievalCutoff().fit(judged_scores, labels, groups=judged_groups).interval(scores, groups=groups)
        tenths = np.array_split(np.argsort(found["probability"].to_numpy()), 10)
        for tenth in tenths:
            low, high = (float(found[name].to_numpy()[tenth].mean()) for name in ("low", "high"))
            inside.append(low <= relevant[tenth].mean() <= high)
            sure_of.append(high - low)
    return float(np.mean(inside)), float(np.mean(sure_of))


# --- click models ----------------------------------------------------------------------------------------------------


def clicks(kept: float, n: int = 400_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a click model says that was trained on a share of its negatives, what happened, and the truth."""
    rng = np.random.default_rng(seed)
    truth = 1 / (1 + np.exp(-rng.normal(-3.4, 1.2, n)))
    return truth / (truth + kept * (1 - truth)), rng.random(n) < truth, truth


# --- rankers ---------------------------------------------------------------------------------------------------------

BANDS = ((0, 1), (1, 3), (3, 5), (5, 10), (10, 20))  # of ranks


class Documents(NamedTuple):
    """The documents of queries: features, labels and the query of each, in the order of the queries."""

    features: np.ndarray
    labels: np.ndarray
    queries: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        return np.bincount(self.queries)


def documents(n_queries: int, seed: int) -> Documents:
    """10 to 39 documents for each query; the scores of long queries are larger, as those of BM25 are."""
    rng = np.random.default_rng(seed)
    queries = np.repeat(np.arange(n_queries), rng.integers(10, 40, n_queries))
    x = rng.normal(size=(len(queries), 8))
    words, easy = rng.integers(1, 9, n_queries)[queries], rng.normal(size=n_queries)[queries]
    worth = 1.2 * x[:, 0] + 0.8 * np.sin(2 * x[:, 1]) + 0.6 * x[:, 2] * x[:, 3] + 0.4 * x[:, 4]
    labels = rng.random(len(queries)) < 1 / (1 + np.exp(2.2 - 0.7 * easy - worth))
    x[:, 0], x[:, 4] = words * (2 + x[:, 0]), np.sqrt(words) * x[:, 4]
    return Documents(x, labels.astype(int), queries)


def _lightgbm(train: Documents) -> Callable[[np.ndarray], np.ndarray]:
    from lightgbm import LGBMRanker

    model = LGBMRanker(objective="lambdarank", n_estimators=60, num_leaves=15, n_jobs=1, verbose=-1)
    return model.fit(train.features, train.labels, group=train.sizes).predict


def _xgboost(train: Documents) -> Callable[[np.ndarray], np.ndarray]:
    from xgboost import XGBRanker

    model = XGBRanker(objective="rank:ndcg", n_estimators=60, max_depth=4, n_jobs=1)
    return model.fit(train.features, train.labels, qid=train.queries).predict


def _catboost(train: Documents) -> Callable[[np.ndarray], np.ndarray]:
    from catboost import CatBoostRanker

    model = CatBoostRanker(
        loss_function="YetiRank", iterations=60, depth=4, verbose=0, thread_count=1, allow_writing_files=False
    )
    return model.fit(train.features, train.labels, group_id=train.queries).predict


RANKERS = {"LightGBM lambdarank": _lightgbm, "XGBoost rank:ndcg": _xgboost, "CatBoost YetiRank": _catboost}


class RankerRun(NamedTuple):
    """Queries never seen: realised over promised hits, in all and by band of ranks, and the NLL of every way."""

    ratio: float
    bands: list[float]
    nll: dict[str, float]
    behind: dict[str, tuple[float, float]]  # mean over queries of the difference to the map for lists, and its error


def ranker_run(name: str, n_queries: int = 1_000) -> RankerRun:
    """Train a ranker, fit on other queries, and judge on queries that neither has seen."""
    score = RANKERS[name](documents(n_queries, 1))
    fit, new = documents(n_queries * 3 // 5, 2), documents(n_queries, 3)
    known, scores = score(fit.features).astype(float), score(new.features).astype(float)
    starts = np.concatenate([[0], np.cumsum(new.sizes)[:-1]])

    def of_query(reduce: np.ufunc, values: np.ndarray) -> np.ndarray:
        return reduce.reduceat(values, starts)[new.queries]

    low, high = of_query(np.minimum, scores), of_query(np.maximum, scores)
    raised = np.exp(scores - high)
    ways = {
        "map for lists": ListCalibrator().fit(known, fit.labels, groups=fit.queries).probability(
            scores, groups=new.queries
        ),
        "Platt": PlattCalibrator(scores_are="scores").fit(known, fit.labels).probability(scores),
        "min-max": np.clip((scores - low) / (high - low), 1e-3, 1 - 1e-3),
        "softmax": np.clip(raised / of_query(np.add, raised), 1e-6, 1 - 1e-6),
    }  # fmt: skip
    losses = {name: -np.log(np.where(new.labels, p, 1 - p)) for name, p in ways.items()}
    ranks = np.empty(len(scores), dtype=int)
    ranks[np.lexsort((-scores, new.queries))] = np.arange(len(scores)) - np.repeat(starts, new.sizes)
    promised = ways["map for lists"]
    bands = [(ranks >= first) & (ranks < end) for first, end in BANDS]
    behind = {}
    for other in ("Platt", "min-max", "softmax"):
        gap = np.add.reduceat(losses[other] - losses["map for lists"], starts) / new.sizes
        behind[other] = float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap)))
    return RankerRun(
        float(new.labels.sum() / promised.sum()),
        [float(new.labels[band].sum() / promised[band].sum()) for band in bands],
        {name: float(loss.mean()) for name, loss in losses.items()}, behind,
    )  # fmt: skip


# --- late labels -----------------------------------------------------------------------------------------------------

DELAYS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "exponential, mean 1 day": lambda rng, n: rng.exponential(1.0, n),
    "exponential, mean 3 days": lambda rng, n: rng.exponential(3.0, n),
    "exponential, mean 6 days": lambda rng, n: rng.exponential(6.0, n),
    "Weibull, shape 0.5": lambda rng, n: 1.5 * rng.weibull(0.5, n),
    "Lomax, shape 1.5": lambda rng, n: 1.5 * rng.pareto(1.5, n),
    "Lomax, shape 0.7": lambda rng, n: 3.0 * rng.pareto(0.7, n),
    "log-normal, sigma 2": lambda rng, n: 3.0 * np.exp(2.0 * rng.normal(size=n)),
}
AS_OF = 30.0  # days of impressions


class Impressions(NamedTuple):
    """Scores, whether each is taken at last, when it was shown and when it is taken, in days."""

    scores: np.ndarray
    taken: np.ndarray
    shown_at: np.ndarray
    taken_at: np.ndarray


def impressions(delay: str, n: int = 200_000, seed: int = 0) -> Impressions:
    """A month of impressions, 8% of which are taken at last."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    taken = rng.random(n) < 1 / (1 + np.exp(3 - 1.2 * scores))
    shown_at = rng.uniform(0, AS_OF, n)
    return Impressions(scores, taken, shown_at, np.where(taken, shown_at + DELAYS[delay](rng, n), np.nan))


class LateRun(NamedTuple):
    """Mean probability over that of the fit on all labels, with delays and without; and whether there was a warning."""

    with_delays: float
    ignored: float
    warned: bool


def late_run(delay: str, n: int = 200_000, seed: int = 0, *, lists: bool = False) -> LateRun:
    """Fits on what is known after a month against a fit on what happens at last."""
    known = impressions(delay, n, seed)
    groups = {"groups": np.arange(n) // 20} if lists else {}

    def level(labels: np.ndarray | None, **late: object) -> float:
        fitted = (ListCalibrator() if lists else PlattCalibrator()).fit(known.scores, labels, **groups, **late)
        return float(fitted.probability(known.scores, **groups).mean())

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SurenessWarning)
        found = level(None, shown_at=known.shown_at, taken_at=known.taken_at, as_of=AS_OF)
        warned = any("last quarter" in str(each.message) for each in caught)
    mature = level(known.taken)
    return LateRun(found / mature, level(known.taken_at <= AS_OF) / mature, warned)


# --- the report ------------------------------------------------------------------------------------------------------


def _table(title: str, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in (header, ("---", *["---:"] * (len(header) - 1)), *rows)]
    return f"## {title}\n\n" + "\n".join(lines) + "\n"


def _of_clicks(_: int) -> str:
    rows = []
    for kept in (0.01, 0.1, 0.5):
        (q, labels, _), (new, came, truth) = clicks(kept), clicks(kept, seed=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SurenessWarning)
            found = PlattCalibrator().fit(q, labels).probability(new)
        as_scores = PlattCalibrator(scores_are="scores").fit(q, labels).probability(new)
        best, best_ece = negative_log_likelihood(came, truth), expected_calibration_error(came, truth)
        cells = [f"{kept:.0%}"]
        for p in (found, as_scores, undo_sampling(new, kept=kept)):
            cells.append(f"{negative_log_likelihood(came, p) / best - 1:+.3%}")
            cells.append(f"{expected_calibration_error(came, p) - best_ece:+.4f}")
        mean = undo_sampling(new, kept=kept).mean() / truth.mean() - 1
        rows.append((*cells, f"{mean:+.1e}"))
    header = ("negatives kept", "NLL", "ECE", "scores: NLL", "ECE", "no labels: NLL", "ECE", "mean")
    title = "Click models: 400,000 pairs for the fit and for the judgement, against the true probabilities"
    return _table(title, header, rows)


def _of_rankers(_: int) -> str:
    rows = []
    for name in RANKERS:
        run = ranker_run(name)
        sure = min(mean / error for mean, error in run.behind.values())
        rows.append((
            name, f"{run.ratio:.3f}", f"{min(run.bands):.2f} to {max(run.bands):.2f}",
            *(f"{value:.4f}" for value in run.nll.values()), f"{sure:.1f}",
        ))  # fmt: skip
    header = ("ranker", "realised / promised", "by band of ranks", "NLL: map for lists", "Platt", "min-max", "softmax",
              "closest difference, in standard errors")  # fmt: skip
    title = (
        "Rankers: 600 queries for the fit, 1,000 queries never seen for the judgement, differences paired over queries"
    )
    return _table(title, header, rows)


def _of_retrieval(repetitions: int) -> str:
    population, rows = retrieved(3_000, 10**6), []
    plain = Asked("precision", 0.5), Asked("precision", 0.7), Asked("recall", 0.8)
    asked = (*plain, Asked("precision", 0.5, sure=True), Asked("recall", 0.8, sure=True))
    for raw in (False, True):
        runs_of = {n: cutoffs(n, repetitions, population, asked, raw=raw) for n in (30, 50, 100)}
        for each in asked:
            for n, found in runs_of.items():
                runs = found[each]
                true = np.array([run.true for run in runs])
                rows.append((
                    f"{'one raw cut-off' if raw else 'map for lists'}, {each}", f"{n}", f"{repetitions - len(runs)}",
                    f"{true.mean():.3f} ± {true.std():.3f}",
                    f"{np.mean([run.low <= run.true <= run.high for run in runs]):.1%}",
                    f"{np.mean([run.low <= each.value <= run.high for run in runs]):.1%}",
                    f"{np.mean(true >= each.value):.1%}", f"{np.mean([run.recall for run in runs]):.2f}",
                ))  # fmt: skip
    header = (
        "asked for", "judged queries", "refused", "true", "interval has the true one", "and the stated one",
        "true is at least the stated one", "recall",
    )  # fmt: skip
    parts = [_table(f"Retrieval: cut-offs in {repetitions} repetitions, intervals of 90%", header, rows)]
    ways = {n: f1_of_ways(n, min(repetitions, 100), population) for n in (30, 50, 100)}
    rows = [(name, *(f"{np.mean(ways[n][name]):.3f} ± {np.std(ways[n][name]):.3f}" for n in ways)) for name in ways[30]]
    title = f"Retrieval: mean F1 of other queries, settings from the judged ones, {min(repetitions, 100)} repetitions"
    parts.append(_table(title, ("kept by", *(f"{n} judged" for n in ways)), rows))
    many = retrieved(6_000, 10**6 + 1)
    found = {n: interval_coverage(n, min(repetitions, 100), many) for n in (30, 50, 100)}
    rows = [(f"{n}", f"{inside:.1%}", f"{width:.3f}") for n, (inside, width) in found.items()]
    title = "Retrieval: intervals of 90% of probabilities, by tenths of the candidates"
    parts.append(_table(title, ("judged queries", "hold the rate that came", "mean width"), rows))
    return "\n".join(parts)


def _of_late_labels(repetitions: int) -> str:
    rows = []
    for delay in DELAYS:
        for n in (20_000, 200_000):
            runs = [late_run(delay, n, seed) for seed in range(min(repetitions, 10))]
            levels, ignored = np.array([run.with_delays for run in runs]), np.array([run.ignored for run in runs])
            lists = late_run(delay, n, lists=True).with_delays
            warned = sum(run.warned for run in runs)
            rows.append((
                delay, f"{n:,}", f"{levels.mean():.3f} ({levels.min():.3f} to {levels.max():.3f})", f"{lists:.3f}",
                f"{warned} of {len(runs)}", f"{ignored.mean():.3f}",
            ))  # fmt: skip
    header = ("delays", "impressions", "level (range)", "map for lists", "warned", "delay ignored")
    return _table("Late labels: mean probability over that of a fit on the labels of the end", header, rows)


_PARTS = {"clicks": _of_clicks, "rankers": _of_rankers, "retrieval": _of_retrieval, "late": _of_late_labels}


def main() -> None:
    """Run some parts or all, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(_PARTS))
    parser.add_argument("--repetitions", type=int, default=200)
    asked = parser.parse_args()
    chosen = [name for name in _PARTS if name in (asked.parts or _PARTS)]
    command = " ".join(["python -m benchmarks.any_score", *asked.parts, f"--repetitions {asked.repetitions}"])
    text = "\n".join(_PARTS[name](asked.repetitions) for name in chosen)
    _REPORT.write_text(f"# Scores of any kind, simulated\n\nWritten by `{command}`; do not edit.\n\n{text}")


if __name__ == "__main__":
    main()
