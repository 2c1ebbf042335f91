"""What the commands that train share: their options, the split they start from, settings out of words, next steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from sureness.cli._console import out
from sureness.cli._logs import Protocol, named_value, read_data
from sureness.data.interactions import Interactions
from sureness.data.recipes.base import Recipe
from sureness.data.recipes.preparing import prepare
from sureness.data.splitting import Split
from sureness.errors import DataError

Data = Annotated[str, typer.Option(help="Name of a data set, or a file: .parquet, .csv or .tsv.")]
DataFolder = Annotated[Path | None, typer.Option("--from", help="Folder or archive that holds the data set.")]
DataOption = Annotated[
    list[str] | None, typer.Option("--option", help="Option of a data set, such as artefact=true; may repeat.")
]
SplitProtocol = Annotated[Protocol | None, typer.Option(help="How to split, if not in the data set's own way.")]
PositiveAbove = Annotated[float | None, typer.Option(help="Only pairs rated higher count.")]
PerUser = Annotated[int | None, typer.Option(help="Least interactions of a user.")]
Device = Annotated[str, typer.Option(help="cpu or cuda.")]
CheckpointSeconds = Annotated[float, typer.Option(help="Least time between two checkpoints.")]


class Prepared(NamedTuple):
    """A log that is split, and where it comes from."""

    split: Split
    known: Recipe | None  # where the data set has a name
    about: dict[str, Any]  # what a run remembers of its data
    notes: list[str]  # what was dropped on the way, and what training never meets

    @property
    def validation(self) -> Interactions | None:
        """The part to stop by; None where the split has none."""
        return self.split.validation if len(self.split.validation) else None

    def good_settings(self, model: str, given: dict[str, Any]) -> dict[str, Any]:
        """The given settings over those known to be good for this data set."""
        from sureness.models.recommended import recommended

        return (recommended(self.known.name, model) if self.known else {}) | given


def prepared(
    data: str, folder: Path | None, options: list[str], columns: dict[str, str], progress: Any, *,
    protocol: Protocol | None, seed: int, positive_above: float | None, per_user: int | None,
) -> Prepared:  # fmt: skip
    """Read a data set or a file, and split it."""
    dataset, known = read_data(data, folder, options, columns, progress)
    threshold = positive_above if positive_above is not None or known is None else known.positive_above
    split = prepare(dataset, protocol, seed=seed, positive_above=threshold, per_user=per_user)
    about = {
        "data": data, "protocol": protocol or (known.protocol if known else "ratio"), "seed": seed,
        "positive_above": threshold, "options": options,
    }  # fmt: skip
    return Prepared(split, known, about, [*dict.fromkeys((*dataset.notes, *split.notes, *_unlearned(split)))])


def model_settings(name: str, factors: int | None, texts: list[str], device: str, seed: int) -> dict[str, Any]:
    """The settings of a recommender out of words."""
    from sureness.models.catalogue import model_type

    defaults = {field.name: field.default for field in fields(model_type(name))}
    settings = {"seed": seed, "device": device} | typed_settings(name, texts, defaults)
    return settings | ({} if factors is None else {"n_factors": factors})


def typed_settings(owner: str, texts: list[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Settings out of words such as epochs=50; each gets the type of its default."""
    settings: dict[str, Any] = {}
    for key, value in map(named_value, texts):
        if key not in defaults:
            raise DataError(f"{owner} has no setting {key!r}; it has {', '.join(sorted(defaults))}")
        settings[key] = _typed(key, value, defaults[key])
    return settings


def print_notes(notes: list[str]) -> None:
    """What people should know before they read the result."""
    for note in notes:
        out.print(f"note: {note}", markup=False, soft_wrap=True)


def print_next(written: str, run: str) -> None:
    """What was written, and what can be done with a run."""
    out.print(f"wrote {written}; next:\n  sureness fit {run} -o calibrator.json\n"
              f"  sureness apply calibrator.json {run} -o top.parquet\n"
              f"  sureness list-size --model {run} -o lists.parquet", markup=False, soft_wrap=True)  # fmt: skip


def _typed(key: str, value: str, default: Any) -> Any:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[value.lower()]
        if isinstance(default, tuple):
            return tuple(int(part) for part in value.split(","))
        return type(default)(value)
    except (KeyError, ValueError):
        raise DataError(f"{key} must be like {default!r}, got {value!r}") from None


def _unlearned(split: Split) -> list[str]:
    """Notes on users and items of the test that training never meets."""
    degrees = {"users": (split.test.user_degree, split.train.user_degree),
               "items": (split.test.item_degree, split.train.item_degree)}  # fmt: skip
    counts = {name: int(((test > 0) & (train == 0)).sum()) for name, (test, train) in degrees.items()}
    return [f"{n:,} {name} of the test have no training pair; nothing is known of them, but they are judged too"
            for name, n in counts.items() if n]  # fmt: skip
