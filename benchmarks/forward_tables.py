"""The tables and the figure of docs/measured/forward.md, out of benchmarks/results/forward.csv."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "measured" / "forward.md"
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "forward.png"
BANDS = ((1, 1), (2, 3), (4, 5), (6, 10), (11, 20))
JUDGED = 3  # the last windows of a cell; those before are what the intervals of the coming window rest on
FEWEST_HITS = 300
_FEWEST_IN_BAND = 30
_NAMES = {"als": "implicit ALS", "implicit-bpr": "implicit BPR", "bpr": "our BPR"}
_CELL = ("data", "model", "windows")


def every_window() -> pl.DataFrame:
    """The judged windows of each log, model and kind of window."""
    table = pl.read_csv(RESULTS / "forward.csv").sort(*_CELL, "start")
    return table.group_by(*_CELL, maintain_order=True).tail(JUDGED)


def summary_table(found: pl.DataFrame) -> list[str]:
    """What was asked of the promise, and how many windows keep it."""
    there = found.filter(pl.col("there_promised") >= FEWEST_HITS)
    period = found.filter(pl.col("period_promised") >= FEWEST_HITS)
    sure = period.filter(~pl.col("warned"))
    ranks = [f"ranks {first}-{last}" for first, last in BANDS]
    users = pl.col("users_there") / pl.col("users_promised")
    covered = pl.col("there_ratio").is_between("there coming low", "there coming high")
    missed = (pl.col("period_ratio") - 1).abs() > 0.25
    width = (there["there coming high"] / there["there coming low"]).median()
    rows = [
        ("all windows", str(found.height)),
        (f"if the user is there: windows with {FEWEST_HITS} promised hits or more", str(there.height)),
        ("the interval of realised over promised meets 0.9 to 1.1", _share(_meets(there, "there", 0.9, 1.1))),
        ("bands of ranks whose interval meets 0.8 to 1.2", _bands(there, ranks, 0.8, 1.2)),
        ("users seen in the window before: meets 0.8 to 1.25", _bands(there, ["seen before"], 0.8, 1.25)),
        ("users not seen in it: meets 0.8 to 1.25", _bands(there, ["not seen"], 0.8, 1.25)),
        (f"in the period: windows with {FEWEST_HITS} promised hits or more", str(period.height)),
        ("of these without a warning", _share(~period["warned"])),
        ("without a warning: 0.8 to 1.25 of the promise came", _share(sure["period_ratio"].is_between(0.8, 1.25))),
        ("0.8 to 1.25 of the promised users were there", _share(found.select(users.is_between(0.8, 1.25)).to_series())),
        ("the chance of being there is right within 0.05", _share(found["chance error"] <= 0.05)),
        ("the 90% interval of the coming window covers", _share(there.select(covered).to_series())),
        ("its median width, high over low", f"{width:.2f}"),
        ("promise of the period off by more than a quarter: warned", _share(period.filter(missed)["warned"])),
        ("not off by so much: warned", _share(period.filter(~missed)["warned"])),
        *((f"{name.upper()} surely worse than the best fixed size of the past: a size for each user / what is kept",
           _worse(found, name)) for name in ("f1", "ndcg")),
    ]  # fmt: skip
    return ["| | |", "|---|---:|", *(f"| {what} | {value} |" for what, value in rows)]


def _worse(found: pl.DataFrame, name: str) -> str:
    worse = found[f"{name}_high"] < 0
    return f"{worse.sum()} / {(worse & (found[f'{name}_kept'] == 'personal sizes')).sum()} of {len(found)}"


def _meets(found: pl.DataFrame, name: str, low: float, high: float) -> pl.Series:
    join = "_" if name in ("there", "period") else " "
    return (found[f"{name}{join}low"] <= high) & (found[f"{name}{join}high"] >= low)


def _bands(found: pl.DataFrame, names: list[str], low: float, high: float) -> str:
    judged = [_meets(found, name, low, high).filter(found[f"{name} promised"] >= _FEWEST_IN_BAND) for name in names]
    return _share(pl.concat(judged))


def _share(held: pl.Series) -> str:
    held = held.drop_nulls()
    return f"{int(held.sum())} of {len(held)} ({held.mean():.0%})" if len(held) else "none"


def windows_table(found: pl.DataFrame) -> list[str]:
    """Both promises, who was there, and list sizes, one row for each window."""
    rows = [
        "| data | model | windows | begins | there | period | coming | users there | F1 | fixed | NDCG | fixed |",
        "|---|---|---|---|" + "---:|" * 8,
    ]
    for each in found.iter_rows(named=True):
        there, period = (_ratio(each, of) for of in ("there", "period"))
        coming = f"{each['there coming low']:.2f}-{each['there coming high']:.2f}{' !' if each['warned'] else ''}"
        users = each["users_there"] / each["users_promised"]
        sizes = " | ".join(f"{each[name]:.4f} | {each[name + '_fixed']:.4f}" for name in ("f1", "ndcg"))
        names = f"{each['data']} | {_NAMES[each['model']]} | {each['windows']} | {str(each['start'])[:10]}"
        rows.append(f"| {names} | {there} | {period} | {coming} | {users:.2f} | {sizes} |")
    return rows


def _ratio(row: dict[str, float], of: str) -> str:
    value, low, high, promised = (row[f"{of}_{name}"] for name in ("ratio", "low", "high", "promised"))
    return f"{value:.2f} ({max(low, 0):.2f}-{high:.2f}) of {promised:,.0f}"


def draw(found: pl.DataFrame, path: Path = FIGURE) -> None:
    """Realised over promised hits of every window, if the user is there and in the period."""
    import matplotlib.pyplot as plt

    judged = pl.max_horizontal("there_promised", "period_promised") >= FEWEST_HITS
    logs = sorted(found.filter(judged)["data"].unique(), reverse=True)
    figure, axes = plt.subplots(1, 2, figsize=(10, 0.55 * len(logs) + 1.6), sharey=True, layout="constrained")
    colours = dict(zip(_NAMES, ("#2f6f9f", "#d9822b", "#4f8f4f"), strict=True))
    for ax, of, title in zip(axes, ("there", "period"), ("if the user is there", "in the period"), strict=True):
        ax.axvspan(0.9, 1.1, color="#e8eef2", zorder=0)
        ax.axvline(1.0, color="#888888", linewidth=0.8)
        for model, colour in colours.items():
            rows = found.filter(pl.col("model") == model, pl.col(f"{of}_promised") >= FEWEST_HITS)
            place = np.array([logs.index(name) for name in rows["data"]], dtype=float)
            place += (list(colours).index(model) - 1) * 0.22
            ratio = rows[f"{of}_ratio"].to_numpy()
            spread = np.stack([ratio - rows[f"{of}_low"].to_numpy(), rows[f"{of}_high"].to_numpy() - ratio])
            ax.errorbar(ratio, place, xerr=spread, fmt="o", color=colour, markersize=3.5, linewidth=0.8, alpha=0.85,
                        label=_NAMES[model])  # fmt: skip
        ax.set(title=title, xlabel="realised over promised hits", xscale="log", xlim=(0.4, 2.5))
        ax.set_xticks([0.5, 0.75, 1.0, 1.5, 2.0], ["0.5", "0.75", "1", "1.5", "2"], minor=False)
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks(range(len(logs)), logs)
    axes[1].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def write_page() -> None:
    """Put the tables between their marks in the page, and draw the figure."""
    PAGE.write_text(page(), encoding="utf-8")
    draw(every_window())


def page() -> str:
    """The page with its tables as the results have them now."""
    found = every_window()
    text = PAGE.read_text(encoding="utf-8")
    for name, rows in {"forward summary": summary_table(found), "forward windows": windows_table(found)}.items():
        block = "\n".join(["", *rows, ""])
        text = re.sub(rf"(<!-- {name} -->\n).*?(<!-- end -->)", rf"\g<1>{block}\g<2>", text, flags=re.DOTALL)
    return text
