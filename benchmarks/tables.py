"""What a benchmark hands back: a table, remarks, and whether each bar is met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

Verdict = Literal["met", "missed"]


@dataclass(frozen=True)
class Scale:
    """How large a run is."""

    pairs: tuple[int, ...]  # for what takes one pass
    fewer_pairs: tuple[int, ...]  # for yardsticks that are slow
    family_pairs: int  # where all families are compared with exact fits
    rows: tuple[int, ...]  # of files
    rounds: int  # counted repetitions of each side
    file_rounds: int  # the same for whole files
    shares: tuple[float, ...]  # of the users of a log
    training_rounds: int  # counted repetitions of an epoch
    epochs: int  # at most, where a model is trained to its best


FULL = Scale(
    pairs=(100_000, 1_000_000, 10_000_000), fewer_pairs=(10_000, 100_000, 1_000_000), family_pairs=1_000_000,
    rows=(2_000_000, 8_000_000, 20_000_000), rounds=5, file_rounds=5,
    shares=(0.25, 0.5, 1.0), training_rounds=3, epochs=100,
)  # fmt: skip
QUICK = Scale(
    pairs=(20_000, 60_000, 180_000), fewer_pairs=(2_000, 6_000, 18_000), family_pairs=120_000,
    rows=(50_000, 400_000), rounds=1, file_rounds=1,
    shares=(0.03, 0.06, 0.12), training_rounds=1, epochs=3,
)  # fmt: skip


@dataclass(frozen=True)
class Bar:
    """What was promised of one number, and what came."""

    what: str
    promised: str
    measured: str
    verdict: Verdict

    @classmethod
    def at_least(cls, what: str, promised: float, measured: float, unit: str = "") -> Bar:
        return cls._of(what, f"at least {promised:g}{unit}", measured, unit, measured >= promised)

    @classmethod
    def at_most(cls, what: str, promised: float, measured: float, unit: str = "") -> Bar:
        return cls._of(what, f"at most {promised:g}{unit}", measured, unit, measured <= promised)

    @classmethod
    def _of(cls, what: str, promised: str, measured: float, unit: str, met: bool) -> Bar:
        return cls(what, promised, f"{measured:.3g}{unit}", "met" if met else "missed")


@dataclass(frozen=True)
class Table:
    """One table of results."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    notes: tuple[str, ...] = ()
    bars: tuple[Bar, ...] = ()

    @classmethod
    def skipped(cls, title: str, reason: str) -> Table:
        """In place of a table that could not be made."""
        return cls(title, ("what",), [(reason,)])

    def show(self, console: Console) -> None:
        shown = RichTable(title=escape(self.title), title_justify="left", title_style="bold")
        for place, name in enumerate(self.header):
            shown.add_column(escape(name), justify="left" if place == 0 else "right")
        for row in self.rows:
            shown.add_row(*map(escape, row))
        console.print(shown)
        for note in self.notes:
            console.print(f"  {note}", markup=False, style="dim")
        for bar in self.bars:
            colour = "green" if bar.verdict == "met" else "red"
            console.print(f"  [{colour}]{bar.verdict}[/]: {bar.what}: {bar.measured} ({bar.promised})")
        console.print()

    def markdown(self) -> str:
        parts = [f"## {self.title}", _grid(self.header, self.rows)]
        if self.bars:
            parts.append("\n".join(
                f"- **{bar.verdict}**: {bar.what}: {bar.measured} ({bar.promised})" for bar in self.bars
            ))  # fmt: skip
        if self.notes:
            parts.append("\n".join(f"- {note}" for note in self.notes))
        return "\n\n".join(parts)


def summary(tables: list[Table]) -> Table:
    """All bars in one table."""
    rows = [(bar.what, bar.measured, bar.promised, bar.verdict) for table in tables for bar in table.bars]
    return Table("Bars", ("what", "measured", "bar", "verdict"), rows)


def _grid(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    rule = ("---", *["---:"] * (len(header) - 1))
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))


# --- how numbers are written ---------------------------------------------------------------------------------------


def time_of(seconds: float) -> str:
    return f"{seconds * 1e3:,.3g} ms" if seconds < 0.9995 else f"{seconds:,.2f} s"


def count_of(number: int) -> str:
    return f"{number:,}"


def size_of(n_bytes: float) -> str:
    return f"{n_bytes / 1e6:,.0f} MB"


def small(number: float) -> str:
    return f"{number:.1e}"
