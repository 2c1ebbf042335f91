"""The tables of docs/distillation.md out of finished cells: `python -m benchmarks.distillation_tables`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import typer
from scipy import stats

from benchmarks.distillation_study import METRICS, STORE, table

PUBLISHED: dict[tuple[str, str], tuple[float, ...]] = {
    ("neumf", "Teacher"): (0.1566, 0.2272, 0.0385, 0.0487), ("neumf", "BD-Teacher"): (0.1722, 0.2443, 0.0431, 0.0548),
    ("neumf", "Student"): (0.0703, 0.1167, 0.0173, 0.0248), ("neumf", "RD"): (0.0755, 0.1242, 0.0197, 0.0268),
    ("neumf", "CD"): (0.0820, 0.1318, 0.0227, 0.0307), ("neumf", "BD-Student"): (0.0924, 0.1425, 0.0242, 0.0325),
    ("cdae", "Teacher"): (0.1710, 0.2445, 0.0492, 0.0611), ("cdae", "BD-Teacher"): (0.1983, 0.2702, 0.0588, 0.0674),
    ("cdae", "Student"): (0.0724, 0.1090, 0.0198, 0.0257), ("cdae", "RD"): (0.0848, 0.1266, 0.0241, 0.0318),
    ("cdae", "CD"): (0.0861, 0.1332, 0.0250, 0.0324), ("cdae", "BD-Student"): (0.0943, 0.1470, 0.0269, 0.0355),
    ("bpr", "Teacher"): (0.1224, 0.1892, 0.0328, 0.0415), ("bpr", "BD-Teacher"): (0.1479, 0.2144, 0.0390, 0.0498),
    ("bpr", "Student"): (0.0717, 0.1217, 0.0171, 0.0251), ("bpr", "RD"): (0.0782, 0.1234, 0.0185, 0.0259),
    ("bpr", "CD"): (0.0803, 0.1271, 0.0201, 0.0277), ("bpr", "BD-Student"): (0.0853, 0.1378, 0.0213, 0.0298),
}  # fmt: skip
"""Printed numbers for CiteULike, in the order of METRICS."""

NAMES = {
    ("alone", "teacher"): "Teacher", ("bd", "teacher"): "BD-Teacher", ("alone", "student"): "Student",
    ("rd", "student"): "RD", ("cd", "student"): "CD", ("bd", "student"): "BD-Student", ("svd", "student"): "SVD",
    ("teacher-positives", "student"): "teacher positives",
}  # fmt: skip


def section(cells: pl.DataFrame, data: str, start: str, model: str) -> list[str]:
    """One setting as Markdown: mean and deviation over seeds, paired tests on users, the published numbers."""
    some = cells.filter(data=data, start=start, model=model)
    if not some.height:
        return []
    lines = [f"### {model} on {data}, {start} start", "",
             f"| method | seeds | {' | '.join(METRICS)} | H@50 published | H@50 against the model alone |",
             f"|---|---|{'---|' * len(METRICS)}---|---|"]  # fmt: skip
    order = list(NAMES) + sorted({(m, r) for m, r in some.select("method", "role").iter_rows()} - set(NAMES))
    for method, role in order:
        mine = some.filter(method=method, role=role)
        if mine.height:
            lines.append(_line(mine, some, NAMES.get((method, role), f"{method}, {role}"), model, data))
    return [*lines, ""]


def _line(mine: pl.DataFrame, some: pl.DataFrame, name: str, model: str, data: str) -> str:
    role = mine["role"][0]
    numbers = [f"{mine[metric].mean():.4f} ± {mine[metric].std() or 0:.4f}" for metric in METRICS]
    published = PUBLISHED.get((model, name)) if data == "citeulike-bd" else None
    alone = some.filter(method="alone", role=role)
    against = "" if mine["method"][0] == "alone" else _paired(mine, alone)
    printed = "" if published is None else f"{published[0]:.4f}"
    return f"| {name} | {mine.height} | {' | '.join(numbers)} | {printed} | {against} |"


def _paired(mine: pl.DataFrame, other: pl.DataFrame, metric: str = "hit@50") -> str:
    """The difference over the seeds both have, tested on the users' means."""
    seeds = sorted(set(mine["seed"]) & set(other["seed"]))
    if not seeds:
        return ""
    first, second = (_by_user(part.filter(pl.col("seed").is_in(seeds)), metric) for part in (mine, other))
    if np.array_equal(first, second):
        return "+0.0000"
    return f"{(first - second).mean():+.4f} (p = {stats.ttest_rel(first, second).pvalue:.1g})"


def _by_user(cells: pl.DataFrame, metric: str) -> np.ndarray:
    frames = [pl.read_parquet(STORE / "users" / f"{name}.parquet").sort("user_id") for name in cells["users"]]
    return np.mean([frame[metric].to_numpy() for frame in frames], axis=0)


def against(cells: pl.DataFrame, data: str, start: str, model: str, first: str, second: str) -> str:
    """The paired test of two students."""
    some = cells.filter(data=data, start=start, model=model, role="student")
    return _paired(some.filter(method=first), some.filter(method=second))


def main(output: Path | None = None) -> None:
    """Print or write everything that has been run."""
    cells = table()
    lines: list[str] = []
    for data, start, model in sorted(set(cells.select("data", "start", "model").iter_rows())):
        lines += section(cells, data, start, model)
        for rival in ("rd", "cd", "teacher-positives"):
            if told := against(cells, data, start, model, "bd", rival):
                lines += [f"BD-Student against {rival}, H@50: {told}."]
        lines += [""]
    text = "\n".join(lines)
    print(text) if output is None else output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
