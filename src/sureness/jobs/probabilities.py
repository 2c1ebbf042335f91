"""Judge the probabilities of a table, also by fields and weighted by value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from sureness._printing import fields_repr
from sureness._types import AnyArray, FloatArray
from sureness.data.scored_pairs import ScoredPairs
from sureness.jobs.inputs import refuse_given
from sureness.jobs.judging import EvaluateOptions
from sureness.jobs.options import plain
from sureness.metrics.field_errors import field_calibration_error, field_relative_error
from sureness.metrics.intervals import Interval, interval
from sureness.numerics.checks import check_probabilities
from sureness.saving.packed import JSON
from sureness.tables.columns import Columns
from sureness.tables.frames import Place, Table, place_of
from sureness.tables.reading import readable, recognised, require_columns, scan_table

_METRICS = {
    "log loss": "nll", "normalised entropy": "normalised_entropy", "predicted over observed": "calibration_ratio",
    "ECE": "ece",
}  # fmt: skip
_OF_RUNS = ("test", "seen", "metric", "per_user")
_READ = ("probability", "label", "weight", "user_id")


class _Given(TypedDict):
    users: AnyArray | None
    sample_weight: FloatArray | None


@dataclass(frozen=True, eq=False, kw_only=True)
class ProbabilityQuality:
    """How well the probabilities of a table agree with what happened."""

    table: Place
    n_pairs: int
    weighted: bool  # by the column weight
    metrics: dict[str, Interval]

    __repr__ = fields_repr

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        found = {name: {"value": each.value, "low": each.low, "high": each.high} for name, each in self.metrics.items()}
        return plain(  # type: ignore[no-any-return]
            {"table": self.table, "pairs": self.n_pairs, "weighted": self.weighted, "metrics": found}
        )


def evaluate_table(
    table: Table, options: EvaluateOptions | None = None, *, columns: Columns | None = None
) -> ProbabilityQuality:
    """Judge a table with probability and label, weighted by the column weight if there is one, such as a price.

    Users, or other groups, are the observations of the intervals where the table has them.

    Parameters
    ----------
    table : table of any kind, or path
    options : EvaluateOptions, optional
        Its fields are columns, such as the advertiser; each gives an F-ECE and a Field-RCE.
    columns : Columns, optional

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"probability": [0.2, 0.4, 0.9, 0.9], "label": [0, 1, 1, 1], "shop": ["a", "a", "b", "b"]})
    >>> found = evaluate_table(table, EvaluateOptions(field=("shop",)))
    >>> round(found.metrics["F-ECE by shop"].value, 12)
    0.15
    """
    place, options, columns = place_of(table), options or EvaluateOptions(), columns or Columns()
    refuse_given(options, _OF_RUNS, f"belongs to a run, got the table {place}")
    columns = recognised(place, columns, "user_id", but=list(options.field))
    frame = scan_table(place, columns.only(*_READ))
    require_columns(frame, ["probability", "label", *options.field], place)
    names = [name for name in _READ if name in frame.collect_schema().names()]
    with readable(place):
        rows = frame.select(list(dict.fromkeys((*names, *options.field)))).collect()
    ids, weight = (rows[name].to_numpy() if name in names else None for name in ("user_id", "weight"))
    pairs = ScoredPairs.of(
        check_probabilities(rows["probability"].to_numpy()), rows["label"].to_numpy(), users=ids, sample_weight=weight
    )
    given: _Given = {"users": pairs.users, "sample_weight": pairs.weight}
    found = {name: interval(metric, pairs.labels, pairs.scores, **given) for name, metric in _METRICS.items()}
    for name in options.field:
        values = rows[name].to_numpy()
        found[f"F-ECE by {name}"] = field_calibration_error(pairs.labels, pairs.scores, values, **given)
        found[f"Field-RCE by {name}"] = field_relative_error(pairs.labels, pairs.scores, values, **given)
    return ProbabilityQuality(table=place, n_pairs=len(pairs), weighted=pairs.weight is not None, metrics=found)
