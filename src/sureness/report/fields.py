"""What a report shows of maps with several fields: each pair's fields, and the values of each as groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
from numpy.typing import ArrayLike

from sureness.calibration.fields import Field, FieldTable, columns_of, full_column
from sureness.calibration.maps import ProbabilityMap
from sureness.calibration.multi_segment import MultiSegmentCalibrator
from sureness.data.id_values import as_series


def map_of_fields(calibrator: ProbabilityMap) -> MultiSegmentCalibrator | None:
    """The map with several fields, also that of a chain; None: there is none."""
    links: tuple[ProbabilityMap, ...] = getattr(calibrator, "links_", (calibrator,))
    return next((link for link in links if isinstance(link, MultiSegmentCalibrator)), None)


def fields_of(calibrator: ProbabilityMap) -> tuple[str, ...]:
    """The names of the fields that a map looks at."""
    own = map_of_fields(calibrator)
    return () if own is None else own.fields_


def told_to(
    calibrator: ProbabilityMap, segments: ArrayLike | None, fields: FieldTable | None, n_pairs: int
) -> pl.DataFrame | None:
    """What a map looks at besides scores and users: its fields, or the column ``segment``; None: nothing is known."""
    own = map_of_fields(calibrator)
    if own is not None and fields is not None:
        columns = columns_of(fields, own.fields_)
        return pl.DataFrame([as_series(full_column(n, each, n_pairs)).alias(n) for n, each in columns.items()])
    return None if segments is None else pl.DataFrame({"segment": as_series(segments)})


def asked_with(told: pl.DataFrame | None) -> Any:
    """The same as `probability` takes it: one column of segments has no name."""
    return told["segment"] if told is not None and told.columns == ["segment"] else told


def groups_of_fields(own: MultiSegmentCalibrator, told: pl.DataFrame) -> Iterator[pl.Series]:
    """For each field, the value or the range of numbers of every pair, in words."""
    for field in own.effects_.coding.fields:
        codes = field.coarse[field.codes(told[field.name])]
        yield pl.Series([f"{field.name}: {label}" for label in _labels(field)]).gather(pl.Series(codes))


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
