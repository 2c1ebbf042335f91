"""The chance that users are there in the next window, against a table of 42 cells of recency and frequency.

    python -m benchmarks.activity [--logs tafeng ml-1m]

For each of the last three tenths of a log, and the last three calendar months of logs with six or more, the model and
the table learn from what came before, on the same past windows with the same weights, and are judged on all users known
then. The rows go to benchmarks/results/activity.csv; the summary is printed, and stands in docs/measured/forward.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

import sureness as sn
from benchmarks.logs import FOLDER
from sureness.data import Clock, past_windows
from sureness.errors import DataError
from sureness.metrics import coming_ratio

RESULTS = Path(__file__).parent / "results" / "activity.csv"
LOGS = ("tafeng", "movietweetings", "deskdrop", "wikipedia-edits", "foursquare-nyc", "ml-1m", "ml-100k")
_DAY = 86_400
_JUDGED, _LEARNED = 3, 8  # windows; the model looks back as far
_RECENCIES, _FREQUENCIES = 7, np.array([2, 3, 5, 10, 25])
_SHARE_OF_LOG = 0.1


def log_of(name: str) -> sn.Interactions:
    """With every event; times count seconds."""
    table = pl.read_csv(FOLDER / name / "interactions.tsv.gz", separator="\t", infer_schema_length=None)
    return sn.Interactions.of(table["user"], table["item"], times=table["timestamp"].cast(pl.Int64))


def windows_of(log: sn.Interactions) -> Iterator[tuple[str, float | str]]:
    """Each length of windows with its name."""
    clock = Clock.of(log.every_row().times)
    days = (clock.end - clock.first) / _DAY
    yield "tenth", _SHARE_OF_LOG * (clock.end - clock.first)
    if days >= 6 * 30:
        yield "month", "1mo" if clock.unit else 30 * _DAY


def cells_of(name: str) -> Iterator[dict[str, object]]:
    """One row for each judged window of a log."""
    log = log_of(name)
    for kind, length in windows_of(log):
        past = list(_all_windows(log, length))
        promised: list[float] = []
        realised: list[float] = []
        for number, (before, during) in enumerate(past):
            start = during.period[0]
            learned = past[max(0, number - _LEARNED) : number]
            if not learned:
                continue
            model = sn.ActivityModel(window=length).fit_windows(learned)
            now = model.predict_at(before, start)
            known = now.frequency > 0
            there, chance = (during.user_degree > 0)[known], now.chance[known]
            promised.append(float(chance.sum()))
            realised.append(float(there.sum()))
            if len(past) - number > _JUDGED:
                continue
            table = _table_of(learned, model)(now)[known]
            gain = _nll(there, table) - _nll(there, chance)
            coming = coming_ratio(promised[:-1], realised[:-1], coming=promised[-1])
            yield {
                "log": name, "window": kind, "back": len(past) - number, "users": int(known.sum()),
                "there": int(there.sum()), "promised": round(promised[-1], 1),
                "promised_by_table": round(float(table.sum()), 1),
                "ten_groups": round(_ten_groups(there, chance), 4),
                "ten_groups_of_table": round(_ten_groups(there, table), 4),
                "nll": round(float(_nll(there, chance).mean()), 4), "gain": round(float(gain.mean()), 4),
                "gain_se": round(float(gain.std() / np.sqrt(len(gain))), 4),
                "coming_low": round(coming.low, 3), "coming_high": round(coming.high, 3),
            }  # fmt: skip


def _all_windows(log: sn.Interactions, length: float | str) -> Iterator[tuple[sn.Interactions, sn.Interactions]]:
    for n in range(_LEARNED + _JUDGED, 0, -1):
        try:
            return past_windows(log, length, n=n)
        except DataError:  # not so many
            continue
    raise DataError(f"a window of {length} is longer than the log; take shorter ones")


def _table_of(learned, model):
    """The share of users there in each of 42 cells; a cell with few users keeps close to the share of all."""
    at_start = [model.predict_at(before, during.period[0]) for before, during in learned]
    known = [now.frequency > 0 for now in at_start]
    recency = np.concatenate([now.recency[mask] for now, mask in zip(at_start, known, strict=True)])
    edges = np.quantile(recency, np.arange(1, _RECENCIES) / _RECENCIES)

    def place(now: sn.activity.Activity) -> np.ndarray:
        columns = len(_FREQUENCIES) + 1
        return np.searchsorted(edges, now.recency, side="right") * columns + np.searchsorted(
            _FREQUENCIES, now.frequency, side="right"
        )

    came, all_of = np.zeros(42), np.zeros(42)
    for age, (now, mask, (_, during)) in enumerate(zip(at_start[::-1], known[::-1], learned[::-1], strict=True)):
        cells = place(now)[mask]
        came += 0.5**age * np.bincount(cells, (during.user_degree > 0)[mask], 42)
        all_of += 0.5**age * np.bincount(cells, minlength=42)
    share = (came + 2 * came.sum() / all_of.sum()) / (all_of + 2)
    return lambda now: share[place(now)]


def _nll(there: np.ndarray, chance: np.ndarray) -> np.ndarray:
    kept = np.clip(chance, 1e-6, 1 - 1e-6)
    return -np.where(there, np.log(kept), np.log1p(-kept))


def _ten_groups(there: np.ndarray, chance: np.ndarray) -> float:
    """Mean distance of the chance and the share of users there, in ten groups by chance."""
    groups = np.array_split(np.argsort(chance, kind="stable"), 10)
    return float(np.mean([abs(there[group].mean() - chance[group].mean()) for group in groups]))


def summary(rows: pl.DataFrame) -> str:
    """The table of docs/measured/forward.md."""
    ratio, of_table = rows["there"] / rows["promised"], rows["there"] / rows["promised_by_table"]
    z = rows["gain"] / rows["gain_se"]
    inside = (rows["coming_low"] <= ratio) & (ratio <= rows["coming_high"])

    def share(mask: pl.Series) -> str:
        return f"{mask.sum()} of {len(mask)}"

    lines = [
        ("users there .8 to 1.25 of the promised number", share(ratio.is_between(0.8, 1.25)),
         share(of_table.is_between(0.8, 1.25))),
        ("chance within .05, mean of ten groups", share(rows["ten_groups"] <= 0.05),
         share(rows["ten_groups_of_table"] <= 0.05)),
        ("NLL, mean", f"{rows['nll'].mean():.4f}", f"{(rows['nll'] + rows['gain']).mean():.4f}"),
        ("NLL higher by more than two standard errors", share(z < -2), share(z > 2)),
        ("number there inside the 90% interval of the coming window", share(inside), ""),
    ]  # fmt: skip
    head = "| last tenths and months of seven logs | model | table of 42 cells |\n|---|---:|---:|"
    return "\n".join([head, *(f"| {name} | {ours} | {theirs} |" for name, ours, theirs in lines)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", nargs="+", default=LOGS, choices=LOGS)
    chosen = parser.parse_args().logs
    warnings.simplefilter("ignore", sn.errors.SurenessWarning)
    rows = pl.DataFrame([row for name in chosen for row in cells_of(name)])
    if list(chosen) == list(LOGS):
        rows.write_csv(RESULTS)
    print(rows.with_columns(ratio=(pl.col("there") / pl.col("promised")).round(2)))
    print(summary(rows))


if __name__ == "__main__":
    main()
