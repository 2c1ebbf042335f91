"""Read a log of interactions, by the name of a data set or from a file, and split it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, cast

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness.data.datasets import load_dataset
from sureness.data.interactions import Interactions
from sureness.data.preparing import prepare
from sureness.data.recipes import Dataset, Protocol, Recipe, recipe, recipe_names
from sureness.data.splitting import Split, untrained
from sureness.data.time_splitting import ShareOf, TimeCuts
from sureness.errors import SettingError
from sureness.tables.columns import Columns
from sureness.tables.frames import Table, name_of

_FILES = (".csv", ".tsv", ".txt", ".parquet", ".gz", ".zst")
_OF_LOGS = ("user_id", "item_id", "rating", "time", "domain")


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """Where a log is, and how it is split."""

    folder: Annotated[Path | None, "Folder or archive that holds the data set."] = None
    option: Annotated[tuple[str, ...], "Option of a data set, such as artefact=true; may repeat."] = ()
    protocol: Annotated[Protocol | None, "How to split, if not in the data set's own way."] = None
    positive_above: Annotated[float | None, "Only pairs rated higher count."] = None
    per_user: Annotated[int | None, "Drop users with fewer interactions."] = None
    validation_from: Annotated[str | None, "Time at which validation begins, for the protocol time."] = None
    test_from: Annotated[str | None, "Time at which the test begins."] = None
    validation_share: Annotated[float | None, "Share before the test that is validation, instead of times."] = None
    test_share: Annotated[float | None, "Last share that is test, instead of times."] = None
    share_of: Annotated[ShareOf | None, "Share of the whole period, or of each user's ordered interactions."] = None
    seed: Annotated[int, "Seed of the split and of training; the same seed gives the same result."] = 0

    @property
    def cuts(self) -> TimeCuts:
        """Where the log is cut by time, as far as it is said."""
        given = {name: getattr(self, name) for name in TimeCuts.__optional_keys__}
        return cast(TimeCuts, {name: value for name, value in sorted(given.items()) if value is not None})


@dataclass(frozen=True, eq=False, kw_only=True)
class SplitLog:
    """A log that is split, and where it comes from."""

    split: Split
    recipe: Recipe | None  # None: it was read from a file
    about: Mapping[str, Any]  # what a run remembers of its data
    notes: tuple[str, ...]  # what was dropped, and what training never meets

    __repr__ = fields_repr

    @property
    def validation(self) -> Interactions | None:
        """The part that stops training early; None where the split has none."""
        return self.split.validation if len(self.split.validation) else None

    @property
    def sizes(self) -> dict[str, int]:
        """How many pairs each part has."""
        return {name: len(part) for name, part in self.split.parts.items()}

    def good_settings(self, model: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The given settings over those known to be good for this data set."""
        from sureness.models.catalogue import recommended

        return (recommended(self.recipe.name, model) if self.recipe else {}) | dict(given)


def read_log(
    data: Table, options: LogOptions | None = None, *, columns: Columns | None = None, progress: Progress = silent
) -> tuple[Dataset, Recipe | None]:
    """Read a data set by its name, or the interactions of a table.

    Parameters
    ----------
    data : str, or table of any kind
        The name of a data set, a file (.parquet, .csv or .tsv), or a table in memory.
    options : LogOptions, optional
    columns : Columns, optional
        Of a file or a table.
    progress : Progress
    """
    options, columns = options or LogOptions(), columns or Columns()
    name = name_of(data)
    if _is_table(data):
        if options.option or options.folder is not None:
            raise SettingError(f"option and folder belong to a data set that is read by name, got {name}")
        log = Interactions.from_table(data, columns=columns.only(*_OF_LOGS))
        return Dataset(name, log, notes=log.notes), None
    known = recipe(name)
    return load_dataset(name, options.folder, progress=progress, **_recipe_options(known, options.option)), known


def _is_table(data: Table) -> bool:
    """Whether it is a file or a table in memory rather than the name of a data set."""
    if not isinstance(data, str | PathLike):
        return True
    name = str(data)
    return name not in recipe_names() and (name.lower().endswith(_FILES) or "*" in name or Path(name).exists())


def split_log(
    data: Table, options: LogOptions | None = None, *, columns: Columns | None = None, progress: Progress = silent
) -> SplitLog:
    """Read a data set or a table, and split it by the protocol of the data set or the one that is given.

    Examples
    --------
    >>> import tempfile, polars as pl; path = f"{tempfile.mkdtemp()}/log.csv"
    >>> rows = {"user_id": [user for user in range(8) for _ in range(10)], "item_id": list(range(10)) * 8}
    >>> pl.DataFrame(rows).write_csv(path)
    >>> sum(split_log(path, LogOptions(seed=1)).sizes.values())
    80
    """
    options = options or LogOptions()
    dataset, known = read_log(data, options, columns=columns, progress=progress)
    threshold = options.positive_above
    if threshold is None and known is not None:
        threshold = known.positive_above
    split = prepare(
        dataset, options.protocol, seed=options.seed, positive_above=threshold, per_user=options.per_user,
        cuts=options.cuts,
    )  # fmt: skip
    about = {
        "data": name_of(data), "protocol": options.protocol or (known.protocol if known else "ratio"),
        "seed": options.seed, "positive_above": threshold, "options": list(options.option), **options.cuts,
    }  # fmt: skip
    notes = tuple(dict.fromkeys((*dataset.notes, *split.notes, *untrained(split, ["test"]))))
    return SplitLog(split=split, recipe=known, about=about, notes=notes)


def named_value(text: str) -> tuple[str, str]:
    """Both sides of a word such as epochs=50.

    Examples
    --------
    >>> named_value("epochs=50")
    ('epochs', '50')
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise SettingError(f"an option must be written as name=value, got {text!r}")
    return name, value


def _recipe_options(known: Recipe, texts: tuple[str, ...]) -> dict[str, Any]:
    """The options of a recipe from words such as artefact=true; `load_dataset` refuses what is not allowed."""
    values: dict[str, Any] = {}
    for name, value in map(named_value, texts):
        allowed = {str(each).lower(): each for each in known.options.get(name, ())}
        values[name] = allowed.get(value.lower(), value)
    return values
