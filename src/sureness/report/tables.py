"""Tables that callers give: columns checked, ids joined, and what a map reads of each pair besides its score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl
from numpy.typing import ArrayLike

from sureness._types import AnyArray, FloatArray
from sureness.calibration.fields import Field, FieldTable, columns_of, full_column
from sureness.calibration.list_terms import HISTORY
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.maps import ProbabilityMap
from sureness.calibration.segments import SegmentCalibrator
from sureness.errors import ColumnError, IdError, SettingError
from sureness.numerics.checks import check_ids
from sureness.tables.frames import Frame, as_frame
from sureness.tables.id_values import as_series, id_series


def given_table(table: Frame, needed: Sequence[str], name: str) -> pl.DataFrame:
    """A table of any library with the columns that are needed, its ids as whole numbers or text.

    Examples
    --------
    >>> named = pl.DataFrame({"user_id": ["ann"], "degree": [3]}, schema_overrides={"user_id": pl.Categorical})
    >>> given_table(named, ["user_id", "degree"], "the degree table").schema["user_id"]
    String
    """
    frame = as_frame(table)
    missing = [column for column in needed if column not in frame.columns]
    if missing:
        raise ColumnError(
            f"{name} must have the columns {', '.join(needed)}, got {', '.join(frame.columns) or 'none'}; "
            f"rename or add {', '.join(missing)}"
        )
    return frame.with_columns(id_series(frame[key]) for key in ("user_id", "item_id") if key in needed)


def with_ids_of(table: pl.DataFrame, other: pl.DataFrame, keys: Iterable[str], name: str) -> pl.DataFrame:
    """The table with its ids cast to the other's type; any integer types match, numbers and text do not.

    Examples
    --------
    >>> small = pl.DataFrame({"user_id": [1]}, schema={"user_id": pl.Int32})
    >>> with_ids_of(small, pl.DataFrame({"user_id": [1]}), ["user_id"], "small").schema["user_id"]
    Int64
    """
    for key in keys:
        own, wanted = table.schema[key], other.schema[key]
        if own != wanted and not (own.is_integer() and wanted.is_integer()):
            raise IdError(f"{key} is {own} in {name} and {wanted} among the candidates; use the same ids in both")
    return table.with_columns(pl.col(key).cast(other.schema[key]) for key in keys)


def fields_of(calibrator: ProbabilityMap) -> tuple[str, ...]:
    """The columns that a map reads by their own names: fields, or the history and traits of a map for lists."""
    if isinstance(calibrator, ListCalibrator):
        return calibrator.reads()[2:]
    return calibrator.fields_ if isinstance(calibrator, SegmentCalibrator) else ()


def columns_for(
    calibrator: ProbabilityMap, segments: ArrayLike | None, fields: FieldTable | None, n_pairs: int
) -> pl.DataFrame | None:
    """What a map looks at besides scores and users: its fields, or the column ``segment``; None: nothing is known."""
    names = fields_of(calibrator)
    if names and fields is not None:
        columns = columns_of(fields, names)
        return pl.DataFrame([as_series(full_column(n, each, n_pairs)).alias(n) for n, each in columns.items()])
    return None if segments is None else pl.DataFrame({"segment": as_series(segments)})


def probability_with(
    calibrator: ProbabilityMap, scores: FloatArray, users: AnyArray | None, known: pl.DataFrame | None
) -> FloatArray:
    """Probabilities of pairs; a map for lists compares those of each user."""
    if not isinstance(calibrator, ListCalibrator):
        return calibrator.probability(scores, users=users, segments=_segments(known))
    if users is None:
        raise SettingError("a map for lists compares the pairs of a user, and these pairs have no users; give user_id")
    history = None if known is None or HISTORY not in known.columns else known[HISTORY]
    counts = None if history is None else history.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return calibrator.probability(scores, groups=users, history=counts, traits=known)


def _segments(known: pl.DataFrame | None) -> Any:
    """What `probability` takes: one column of segments has no name."""
    return known["segment"] if known is not None and known.columns == ["segment"] else known


def given_groups(groups: Any, n_pairs: int) -> list[ArrayLike | pl.Series]:
    """One column as it is; of a table each column, with its name, and each two of them together.

    Examples
    --------
    >>> [each.to_list() for each in given_groups({"country": ["de", "fr"], "device": ["phone", None]}, 2)][1:]
    [['device: phone', 'device: missing'], ['country: de, device: phone', 'country: fr, device: missing']]
    """
    if not (isinstance(groups, Mapping) or hasattr(groups, "columns")):
        return [check_ids(groups, n_pairs, "groups")]
    columns = {name: as_series(full_column(name, each, n_pairs)) for name, each in columns_of(groups).items()}
    return _with_crossings([f"{name}: " + each.cast(pl.String).fill_null("missing") for name, each in columns.items()])


def groups_of_fields(own: SegmentCalibrator, known: pl.DataFrame) -> list[ArrayLike | pl.Series]:
    """For each field, the value or the range of numbers of every pair, in words; then each two fields together."""
    return _with_crossings(
        [
            pl.Series([f"{field.name}: {label}" for label in _labels(field)]).gather(
                pl.Series(field.coarse[field.codes(known[field.name])])
            )
            for field in own.effects_.coding.fields
        ]
    )


def _with_crossings(columns: list[pl.Series]) -> list[ArrayLike | pl.Series]:
    return [*columns, *(first + ", " + second for first, second in combinations(columns, 2))]


def _labels(field: Field) -> list[str]:
    """The values of a field, or its ranges of numbers, by coarse code."""
    if field.values is not None:
        known = [str(value) for value in field.values.ids.to_list()]
    elif len(field.coarse_edges):
        low, high = field.coarse_edges[0], field.coarse_edges[-1]
        between = [f"{a:.4g} to {b:.4g}" for a, b in zip(field.coarse_edges, field.coarse_edges[1:], strict=False)]
        known = [f"below {low:.4g}", *between, f"from {high:.4g}"]
    else:
        known = ["any number"]
    return ["not known to the map", *known, *["missing"] * field.has_missing]
