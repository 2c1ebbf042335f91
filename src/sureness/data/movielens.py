"""MovieLens 100K and 1M, for examples and tutorials."""

from __future__ import annotations

import polars as pl

from sureness.data.data_files import RATED, DataFiles, as_text, optional, parts_of, rows_of, separated
from sureness.data.recipes import Address, LogTables, Recipe, Size

_GROUPLENS = "https://files.grouplens.org/datasets/movielens"
_TERMS = "research, no redistribution; also no commercial use without permission, cite GroupLens"
_OFFICIAL = ("none", "u1", "u2", "u3", "u4", "u5", "ua", "ub")


def ml_100k(files: DataFiles, official: str = "none") -> LogTables:
    """Ratings, users and titles; optionally with one of GroupLens's own splits."""
    rows = rows_of(files, lambda: separated(files.read("u.data"), "\t", RATED))
    if official != "none":
        rows = _official(files, rows, official)
    users, items = optional(files, "users.tsv"), optional(files, "items.tsv")
    if items is None and files.has("u.item"):
        columns = as_text("item_id", "title", "release_date")
        items = separated(files.read("u.item"), "|", columns, encoding="latin-1")
    if users is None and files.has("u.user"):
        users = separated(files.read("u.user"), "|", as_text("user_id", "age", "gender", "occupation", "zip"))
    return LogTables(rows, users, items)


def _official(files: DataFiles, rows: pl.DataFrame, official: str) -> pl.DataFrame:
    if files.has("official_splits.tsv"):
        flags = files.table("official_splits.tsv").select("user_id", "item_id", f"{official}_test")
        in_test = pl.col(f"{official}_test") == 1
        split = pl.when(in_test).then(pl.lit("test")).otherwise(pl.lit("train")).alias("split")
        return rows.join(flags, on=["user_id", "item_id"], how="left", maintain_order="left").with_columns(split)
    return parts_of(train=separated(files.read(f"{official}.base"), "\t", RATED),
                    test=separated(files.read(f"{official}.test"), "\t", RATED))  # fmt: skip


def ml_dat(files: DataFiles) -> LogTables:
    """MovieLens 1M and 10M: ratings and titles between double colons."""
    rows = rows_of(files, lambda: separated(files.read("ratings.dat"), "::", RATED))
    users, items = optional(files, "users.tsv"), optional(files, "items.tsv")
    if items is None and files.has("movies.dat"):
        items = separated(files.read("movies.dat"), "::", as_text("item_id", "title", "genres"), encoding="latin-1")
    if users is None and files.has("users.dat"):
        users = separated(files.read("users.dat"), "::", as_text("user_id", "gender", "age", "occupation", "zip"))
    return LogTables(rows, users, items)


ML_100K = Recipe(
    name="ml-100k",
    title="MovieLens 100K",
    licence=_TERMS,
    read=ml_100k,
    needs=(("u.data",),),
    also=("u.item", "u.user", *(f"{fold}.{part}" for fold in _OFFICIAL[1:] for part in ("base", "test"))),
    parsing="u.data: user, item, rating, timestamp between tabs; u.item is Latin-1",
    addresses=(Address(f"{_GROUPLENS}/ml-100k.zip", "ml-100k.zip", "md5:0e33842e24a9c977be4e0107933c0723"),),
    size=Size(943, 1_682, 100_000),
    options={"official": _OFFICIAL},
    per_user=20,
)

ML_1M = Recipe(
    name="ml-1m",
    title="MovieLens 1M",
    licence=_TERMS,
    read=ml_dat,
    needs=(("ratings.dat",),),
    also=("movies.dat", "users.dat"),
    parsing="ratings.dat: user::item::rating::timestamp; movies.dat is Latin-1",
    addresses=(Address(f"{_GROUPLENS}/ml-1m.zip", "ml-1m.zip", "md5:c4d9eecfca2ab87c1945afe126590906"),),
    trap="177 of the 3,883 titled films have no rating",
    size=Size(6_040, 3_706, 1_000_209),
    per_user=20,
)
