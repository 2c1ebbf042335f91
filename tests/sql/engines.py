"""Real databases behind one face: load a table, ask a query."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

Kind = Literal["double", "single", "integer", "decimal", "text"]
DIGITS, PLACES = 30, 12  # of decimals


class Column(NamedTuple):
    """Values of one type; None is missing."""

    kind: Kind
    values: Sequence[Any]


class Engine(Protocol):
    """A running database."""

    dialect: str

    def load(self, table: str, columns: Mapping[str, Column]) -> None: ...
    def rows(self, query: str) -> list[tuple[Any, ...]]: ...


def create(name: str, columns: Mapping[str, Column], types: Mapping[str, str]) -> str:
    return f"CREATE TABLE {name} ({', '.join(f'{column} {types[each.kind]}' for column, each in columns.items())})"


def rows_of(columns: Mapping[str, Column]) -> list[tuple[Any, ...]]:
    return list(zip(*(each.values for each in columns.values()), strict=True))


class SQLite:
    dialect = "sqlite"
    types = {"double": "REAL", "single": "REAL", "integer": "INTEGER", "decimal": "NUMERIC", "text": "TEXT"}  # noqa: RUF012

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")

    def load(self, table: str, columns: Mapping[str, Column]) -> None:
        self.connection.execute(create(table, columns, self.types))
        rows = [[float(each) if isinstance(each, Decimal) else each for each in row] for row in rows_of(columns)]
        self.connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()


class DuckDB:
    dialect = "duckdb"
    types = {  # noqa: RUF012
        "double": "DOUBLE", "single": "REAL", "integer": "BIGINT", "decimal": f"DECIMAL({DIGITS}, {PLACES})",
        "text": "VARCHAR",
    }  # fmt: skip

    def __init__(self) -> None:
        import duckdb

        self.connection = duckdb.connect()

    def load(self, table: str, columns: Mapping[str, Column]) -> None:
        self.connection.execute(create(table, columns, self.types))
        unnested = ", ".join(f"unnest(?::{self.types[each.kind]}[])" for each in columns.values())
        values = [[str(v) if isinstance(v, Decimal) else v for v in each.values] for each in columns.values()]
        self.connection.execute(f"INSERT INTO {table} SELECT {unnested}", values)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()


class PostgreSQL:
    dialect = "postgres"
    types = {  # noqa: RUF012
        "double": "double precision", "single": "real", "integer": "bigint", "decimal": "numeric", "text": "text",
    }  # fmt: skip

    def __init__(self, folder: Path) -> None:
        import psycopg

        self.connection = psycopg.connect(host=str(folder), user="postgres", dbname="postgres", autocommit=True)

    def load(self, table: str, columns: Mapping[str, Column]) -> None:
        self.connection.execute(create(table, columns, self.types))
        marks = ", ".join(["%s"] * len(columns))
        with self.connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", rows_of(columns))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()


class Spark:
    dialect = "spark"
    types = {  # noqa: RUF012
        "double": "DOUBLE", "single": "FLOAT", "integer": "BIGINT", "decimal": f"DECIMAL({DIGITS}, {PLACES})",
        "text": "STRING",
    }  # fmt: skip

    def __init__(self, folder: Path) -> None:
        from pyspark.sql import SparkSession

        settings = {
            "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "1", "spark.driver.memory": "1g",
            "spark.default.parallelism": "1", "spark.sql.warehouse.dir": str(folder), "spark.driver.host": "127.0.0.1",
        }  # fmt: skip
        builder = SparkSession.builder.master("local[1]").appName("sureness")
        for name, value in settings.items():
            builder = builder.config(name, value)
        self.session = builder.getOrCreate()
        self.session.sparkContext.setLogLevel("ERROR")

    def load(self, table: str, columns: Mapping[str, Column]) -> None:
        schema = ", ".join(f"{name} {self.types[each.kind]}" for name, each in columns.items())
        self.session.createDataFrame(rows_of(columns), schema).coalesce(1).createOrReplaceTempView(table)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.session.sql(query).collect()]


# --- starting and stopping -------------------------------------------------------------------------------------------

ENGINES = ("sqlite", "duckdb", "postgres", "spark")


def why_absent(engine: str) -> str | None:
    """What an engine lacks on this machine; None: it can be started."""
    lacks = {
        "sqlite": [],
        "duckdb": [] if find_spec("duckdb") else ["duckdb"],
        "postgres": [name for name, found in (("psycopg", find_spec("psycopg")), ("initdb", programs())) if not found],
        "spark": [name for name, found in (("pyspark", find_spec("pyspark")), ("java", java())) if not found],
    }[engine]
    return f"{engine} needs {' and '.join(lacks)}, not installed here; make test-sql has it" if lacks else None


@contextmanager
def started(engine: str) -> Iterator[Engine]:
    """A database that lives in a temporary folder."""
    if engine == "sqlite":
        yield SQLite()
    elif engine == "duckdb":
        yield DuckDB()
    elif engine == "postgres":
        with postgres_cluster() as folder:
            yield PostgreSQL(folder)
    else:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["JAVA_HOME"] = str(java())
            spark = Spark(Path(folder))
            yield spark
            spark.session.stop()


def programs() -> Path | None:
    """The folder of PostgreSQL's programs, which Debian keeps out of the path."""
    found = shutil.which("initdb")
    return Path(found).parent if found else next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"))), None)


def java() -> Path | None:
    """A Java that Spark runs on: version 17 where there are several."""
    installed = sorted(Path("/usr/lib/jvm").glob("java-17-*"))
    found = shutil.which("java")
    return installed[0] if installed else Path(found).resolve().parents[1] if found else None


@contextmanager
def postgres_cluster() -> Iterator[Path]:
    """A cluster of its own on a socket in a temporary folder; PostgreSQL refuses to run as root."""
    where, user = programs(), "postgres" if os.geteuid() == 0 else None
    assert where is not None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)

        def call(program: str, *words: str) -> None:
            subprocess.run([where / program, *words], check=True, capture_output=True, cwd=folder, user=user)

        data = str(folder / "data")
        call("initdb", "--pgdata", data, "--username", "postgres", "--auth", "trust", "--no-sync", "--encoding", "UTF8")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        call("pg_ctl", "start", "--wait", "--pgdata", data, "--log", str(folder / "log"), "--options", options)
        try:
            yield folder
        finally:
            call("pg_ctl", "stop", "--pgdata", data, "--mode", "immediate")
