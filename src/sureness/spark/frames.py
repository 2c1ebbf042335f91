"""What is checked of a Spark DataFrame on the driver, before a job starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from sureness.errors import ColumnError, SettingError, missing_extra

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

Kind: TypeAlias = Literal["number", "label", "id", "any"]
"""What a column must hold."""

OLDEST = (4, 0)
"""The first version of Spark whose DataFrames give and take Arrow tables, also through Spark Connect."""

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = (*_WHOLE, "float", "double", "decimal")
_TAKEN: dict[Kind, tuple[tuple[str, ...], str]] = {
    "number": (_NUMBERS, "numbers"),
    "label": ((*_NUMBERS, "boolean", "string"), "0 and 1, true and false, or these words"),
    "id": ((*_WHOLE, "string"), "whole numbers or text"),
    "any": ((), "anything"),
}


def check_frame(frame: object, what: str = "df") -> DataFrame:
    """A DataFrame of a Spark that is new enough, classic or through Connect; anything else is refused."""
    try:
        import pyspark
        from pyspark.sql import DataFrame
    except ImportError as error:
        raise missing_extra("sureness.spark", "pyspark", "spark") from error
    if not isinstance(frame, DataFrame):  # those of Connect are, too
        raise SettingError(
            f"{what} must be a DataFrame of Spark, got {type(frame).__name__}; for tables of other libraries use "
            "sureness.jobs"
        )
    for whose, version in (("pyspark", pyspark.__version__), ("Spark", str(frame.sparkSession.version))):
        check_version(whose, version)
    return frame


def check_version(whose: str, version: str) -> None:
    """Refuse a Spark that lacks what is used here.

    Examples
    --------
    >>> check_version("Spark", "3.5.1")
    Traceback (most recent call last):
    ...
    sureness.errors.SettingError: sureness.spark needs Spark 4.0 or later, got Spark 3.5.1; upgrade it, or ...
    """
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise SettingError(
            f"sureness.spark needs Spark {oldest} or later, got {whose} {version}; upgrade it, or translate a "
            'calibrator to SQL with calibrator.expression("spark")'
        )


def check_columns(frame: DataFrame, needed: Mapping[str, Kind], what: str = "df") -> None:
    """Refuse a DataFrame that lacks a column, or has something else in it."""
    types = dict(frame.dtypes)
    if missing := [name for name in needed if name not in types]:
        raise ColumnError(
            f"{what} has no column {' and no column '.join(missing)}; it has {', '.join(types)}. Rename one, or name "
            "it in the call"
        )
    for name, kind in needed.items():
        taken, wanted = _TAKEN[kind]
        if (found := types[name]).partition("(")[0] not in taken and kind != "any":
            raise ColumnError(f"column {name} of {what} must hold {wanted}, got {found}; cast it first")
    if twice := [name for name in needed if frame.columns.count(name) > 1]:
        raise ColumnError(f"{what} has several columns called {twice[0]}; rename all but one")


def refuse_taken(frame: DataFrame, names: Sequence[str], what: str = "df") -> None:
    """Refuse to add a column that is there already, which would be lost."""
    if taken := [name for name in names if name in frame.columns]:
        raise ColumnError(
            f"{what} has a column {taken[0]!r} already, which would be lost; rename it, or give the new one another "
            "name"
        )


def created(session: SparkSession, table: pl.DataFrame) -> DataFrame:
    """A table of the driver as a DataFrame; Connect needs the schema of one without rows."""
    from pyspark.sql.pandas.types import from_arrow_schema

    arrow = table.to_arrow()
    made: DataFrame = session.createDataFrame(arrow, None if len(arrow) else from_arrow_schema(arrow.schema))
    return made


def fetched(frame: DataFrame) -> pl.DataFrame:
    """A DataFrame in the memory of the driver."""
    found = pl.from_arrow(frame.toArrow())
    assert isinstance(found, pl.DataFrame)
    return found


def is_text(frame: DataFrame, name: str) -> bool:
    """Whether a column of ids holds text."""
    return bool(dict(frame.dtypes)[name] == "string")


def column(name: str) -> Column:
    """A column by its name, letter by letter: a dot is part of the name."""
    from pyspark.sql import functions as sf

    return sf.col(quoted(name))


def quoted(name: str) -> str:
    """A name as Spark reads it letter by letter.

    Examples
    --------
    >>> quoted("a.b")
    '`a.b`'
    """
    return f"`{name.replace('`', '``')}`"


def renamed(frame: DataFrame, names: Mapping[str, str], numbers: Iterable[str] = ()) -> DataFrame:
    """Columns under agreed names; decimals among the `numbers` become double-precision ones, as in local tables."""
    types, wanted = dict(frame.dtypes), set(numbers)

    def taken(ours: str, theirs: str) -> Any:
        found = column(theirs)
        exact = ours in wanted and types[theirs].startswith("decimal")
        return (found.cast("double") if exact else found).alias(ours)

    return frame.select(*(taken(ours, theirs) for ours, theirs in names.items()))


def arrow_types(frame: DataFrame, added: Mapping[str, str]) -> tuple[Any, pa.Schema]:
    """The schema of a DataFrame with more columns after its own, for Spark and for Arrow; all may be missing."""
    from pyspark.sql import types as st
    from pyspark.sql.pandas.types import to_arrow_schema

    own = [st.StructField(each.name, each.dataType, True) for each in frame.schema.fields]
    new = [st.StructField(name, _simple_types()[kind], True) for name, kind in added.items()]
    schema = st.StructType([*own, *new])
    return schema, to_arrow_schema(schema, timezone="UTC")


def _simple_types() -> dict[str, Any]:
    from pyspark.sql import types as st

    return {
        "bigint": st.LongType(),
        "float": st.FloatType(),
        "double": st.DoubleType(),
        "boolean": st.BooleanType(),
        "string": st.StringType(),
        "doubles": st.ArrayType(st.DoubleType(), False),
    }
