"""Does the promise hold in the next window? Logs with times, models trained again before each window, all users.

``python -m benchmarks.forward --data tafeng --model als`` computes the cells it finds missing, one log, model and kind
of window at a time, and keeps trained models in --cache. Each cell has several last windows of a log, tenths of it or
calendar months; nothing is chosen on a window that is judged. What came is kept in benchmarks/results/forward.csv, one
row for each window. Then it writes the tables and the figure of docs/measured/forward.md.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sureness as sn
from benchmarks.activity import LOGS, log_of
from benchmarks.forward_tables import BANDS, RESULTS, write_page
from sureness.data import Interactions
from sureness.metrics import coming_ratio
from sureness.models import BPR
from sureness.numerics import ratio_of_sums
from sureness.recommender import JudgedWindow, backtest
from sureness.sources import ScoreSource, from_implicit

MODELS = ("als", "implicit-bpr", "bpr")
WINDOWS: dict[str, tuple[Any, int]] = {"tenths": (0.1, 5), "months": ("1mo", 3)}  # how long, and how many are judged
LEARNED = 3
KEYS = ("data", "model", "windows")
NO_MONTHS = ("tafeng", "wikipedia-edits", "foursquare-nyc")  # too short for six of them, or times without a date
_FACTORS, _EPOCHS = 64, 50


def trainer(name: str, model: str, cache: Path) -> Callable[[Interactions], ScoreSource]:
    """What trains a model with 64 factors on a log, or opens the one that was trained on the same events before."""

    def train(log: Interactions) -> ScoreSource:
        rows = log.every_row()
        path = cache / f"{name}~{model}~{len(rows.times)}~{int(rows.times.max())}.sureness"
        if not path.exists():
            cache.mkdir(parents=True, exist_ok=True)
            _trained(model, log).save(path)  # type: ignore[attr-defined]
        return sn.load(path)  # type: ignore[return-value]

    return train


def _trained(model: str, log: Interactions) -> ScoreSource:
    if model == "bpr":
        return BPR(n_factors=_FACTORS, epochs=_EPOCHS).fit(log)
    from implicit.cpu.als import AlternatingLeastSquares  # type: ignore[import-untyped]
    from implicit.cpu.bpr import BayesianPersonalizedRanking  # type: ignore[import-untyped]

    kind = {"als": AlternatingLeastSquares, "implicit-bpr": BayesianPersonalizedRanking}[model]
    fitted = kind(factors=_FACTORS, random_state=0, num_threads=1)
    fitted.fit(log.matrix, show_progress=False)
    return from_implicit(fitted, log)


def judged(name: str, model: str, windows: str, cache: Path) -> pl.DataFrame:
    """One row for each judged window."""
    length, count = WINDOWS[windows]
    found = backtest(log_of(name), trainer(name, model, cache), window=length, windows=count, learned=LEARNED)
    table = found.table()
    rows = [_row(window, found.windows[:number]) for number, window in enumerate(found.windows)]
    return pl.concat([table, pl.DataFrame(rows)], how="horizontal")


def _row(window: JudgedWindow, earlier: tuple[JudgedWindow, ...]) -> dict[str, Any]:
    """What is judged beyond the table of a backtest: bands of ranks, who came before, and the coming interval."""
    row: dict[str, Any] = {}
    lists, there = window.lists, window.trained.there
    shown, hits, promised = lists.shown, lists.needed("hits", window), lists.promises(window)
    start = window.trained.start
    rows = window.trained.past.before.every_row()
    recent = np.unique(rows.user_rows[rows.times >= start - (window.trained.end - start)])
    names = window.trained.source.users  # type: ignore[attr-defined]
    seen = np.zeros(len(names), dtype=bool)
    known = names.rows(window.trained.past.before.users.ids.gather(recent))
    seen[known[known >= 0]] = True
    ranks = np.arange(1, lists.width + 1)
    where = {f"ranks {a}-{b}": (ranks >= a) & (ranks <= b) & there[lists.users][:, None] for a, b in BANDS}
    where |= {"seen before": (there & seen)[lists.users][:, None], "not seen": (there & ~seen)[lists.users][:, None]}
    for name, inside in where.items():
        chosen = shown & inside
        users = chosen.any(axis=1)
        came, asked = (np.where(chosen, each, 0.0).sum(axis=1)[users] for each in (hits, promised))
        ratio = ratio_of_sums(came, asked)
        sums = {"promised": asked.sum(), "realised": came.sum(), "low": ratio.low, "high": ratio.high}
        row |= {f"{name} {what}": value for what, value in sums.items()}
    chance, here = lists.needed("there", window), there[lists.users]
    groups = np.array_split(np.argsort(chance, kind="stable"), 10)
    row["chance error"] = float(np.mean([abs(chance[group].mean() - here[group].mean()) for group in groups]))
    for of in window.promises:
        asked, came = ([float(each.sums(of)[side].sum()) for each in earlier] for side in (0, 1))
        coming = coming_ratio(asked, came, coming=float(window.sums(of)[0].sum()))
        row |= {f"{of} coming low": coming.low, f"{of} coming high": coming.high}
    return row


def main() -> None:
    """Compute what is missing, and write all there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=list(LOGS))
    parser.add_argument("--model", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--windows", nargs="+", default=list(WINDOWS), choices=list(WINDOWS))
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/sureness-forward").expanduser())
    parser.add_argument("--again", action="store_true", help="also compute cells that are there")
    asked = parser.parse_args()
    path = RESULTS / "forward.csv"
    every = {} if not path.exists() else pl.read_csv(path).partition_by(*KEYS, as_dict=True)
    for cell in itertools.product(asked.data, asked.model, asked.windows):
        if (cell in every and not asked.again) or (cell[2] == "months" and cell[0] in NO_MONTHS):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is warned of is in the column warned
            found = judged(*cell, asked.cache).with_columns(pl.col(pl.Float64).round(4))
        named = [pl.lit(value).alias(name) for name, value in zip(KEYS, cell, strict=True)]
        every[cell] = found.select(*named, pl.all())
        pl.concat([every[each] for each in sorted(every)], how="diagonal_relaxed").write_csv(path)
        print(*cell, flush=True)
    write_page()


if __name__ == "__main__":
    main()
