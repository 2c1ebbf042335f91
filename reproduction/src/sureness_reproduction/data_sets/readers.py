"""How each data set is read: as the publisher ships it, or from tables with a header."""

from __future__ import annotations

import io
from functools import partial
from typing import Any

import polars as pl

from sureness.data import (
    RATED,
    RATED_UNTIMED,
    TABLE,
    DataFiles,
    LogTables,
    as_text,
    optional,
    parts_of,
    rows_of,
    separated,
)
from sureness.errors import FileError
from sureness_reproduction.data_sets.parsers import (
    json_lines,
    lists_with_count,
    lists_with_user,
    numbers,
    rating_matrix,
)


def coat(files: DataFiles) -> LogTables:
    """Ratings people chose to give, ratings of random coats, propensities and features."""

    def raw() -> pl.DataFrame:
        return parts_of(**{part: rating_matrix(files.read(f"{part}.ascii")) for part in ("train", "test")})

    rows = rows_of(files, raw)
    extras: dict[str, Any] = {}
    if files.has("propensities.tsv"):
        extras["propensities"] = files.table("propensities.tsv").select(pl.selectors.matches(r"^i\d+$")).to_numpy()
    elif files.has("propensities.ascii"):
        extras["propensities"] = numbers(files.read("propensities.ascii"))
    return LogTables(rows, _coat_features(files, "user"), _coat_features(files, "item"), extras)


def _coat_features(files: DataFiles, whose: str) -> pl.DataFrame | None:
    if files.has(f"{whose}_features.tsv"):
        return files.table(f"{whose}_features.tsv")
    if not files.has(f"{whose}_features.ascii"):
        return None
    matrix = numbers(files.read(f"{whose}_features.ascii"))
    table = pl.DataFrame({f"feature_{place}": column for place, column in enumerate(matrix.T)})
    return table.with_row_index(f"{whose}_id").with_columns(pl.col(f"{whose}_id").cast(pl.Int64))


def yahoo_r3(files: DataFiles) -> LogTables:
    """Ratings people chose to give, and ratings of random songs."""

    def raw() -> pl.DataFrame:
        name = "ydata-ymusic-rating-study-v1_0-{}.txt"
        return parts_of(**{part: separated(files.read(name.format(part)), "\t", RATED_UNTIMED)
                           for part in ("train", "test")})  # fmt: skip

    return LogTables(rows_of(files, raw))


def ml_csv(files: DataFiles) -> LogTables:
    """MovieLens 25M: ratings and titles as CSV with a header."""
    rows = rows_of(files, lambda: separated(files.read("ratings.csv"), ",", RATED, header=True))
    items = optional(files, "items.tsv")
    if items is None and files.has("movies.csv"):
        items = separated(files.read("movies.csv"), ",", as_text("item_id", "title", "genres"), header=True)
    return LogTables(rows, None, items)


def citeulike(files: DataFiles) -> LogTables:
    """CiteULike: the articles in each user's library."""
    return LogTables(rows_of(files, lambda: lists_with_count(files.read("users.dat"))))


def citeulike_bd(files: DataFiles, artefact: bool = False) -> LogTables:
    """The split of the BD paper, with or without the counts that its preparation took for items."""
    rows = rows_of(files, partial(_only_tables, files, "citeulike-bd"))
    if artefact:
        return LogTables(rows, notes=("5,219 rows are counts that were read as items; kept, as asked",))
    clean = rows.filter(pl.col("count_artefact") == 0)
    lost = rows.height - clean.height
    return LogTables(clean, notes=(f"dropped {lost:,} rows where a count was read as an item",))


def lightgcn(files: DataFiles) -> LogTables:
    """One line per user in train.txt and test.txt."""

    def raw() -> pl.DataFrame:
        names = {"train": "train.txt", "validation": "valid.txt", "test": "test.txt"}
        return parts_of(**{part: lists_with_user(files.read(name)) for part, name in names.items() if files.has(name)})

    return LogTables(rows_of(files, raw))


def deepcf(files: DataFiles, stem: str) -> LogTables:
    """Two files, train and test, in the form of the DeepCF paper."""

    def raw() -> pl.DataFrame:
        return parts_of(**{part: separated(files.read(f"{stem}.{part}.rating"), "\t", RATED_UNTIMED)
                           for part in ("train", "test")})  # fmt: skip

    return LogTables(rows_of(files, raw))


def amazon(files: DataFiles, category: str) -> LogTables:
    """Ratings only; the files of 2014 begin with the user, those of 2018 with the item."""

    def raw() -> pl.DataFrame:
        named = RATED | {"user_id": pl.String, "item_id": pl.String}  # 0000000116 is a book, 116 is not
        if files.has(f"ratings_{category}.csv"):
            return separated(files.read(f"ratings_{category}.csv"), ",", named)
        swapped = {name: named[name] for name in ("item_id", "user_id", "rating", "time")}
        return separated(files.read(f"{category}.csv"), ",", swapped)

    return LogTables(rows_of(files, raw))


def amazon_crossdomain(files: DataFiles, pair: str = "sport-phone") -> LogTables:
    """Two shops with the same users."""

    def raw() -> pl.DataFrame:
        first, second = pair.split("-")
        shops = {first: f"{first}_{second}", second: f"{second}_{first}"}
        tables = [
            separated(
                files.read(f"{folder}/{part}.txt"), "\t", {"user_id": pl.Int64, "item_id": pl.Int64}
            ).with_columns(domain=pl.lit(domain), split=pl.lit(part), pair=pl.lit(pair))
            for domain, folder in shops.items()
            for part in ("train", "test")
        ]
        return pl.concat(tables)

    return LogTables(rows_of(files, raw).filter(pl.col("pair") == pair).drop("pair"))


def foursquare_tokyo(files: DataFiles) -> LogTables:
    """Check-ins with category, place and time, as the publisher ships them."""

    def raw() -> pl.DataFrame:
        columns = as_text("user_id", "item_id", "category_id", "category", "lat", "lon", "zone", "time")
        table = separated(files.read("dataset_TSMC2014_TKY.txt"), "\t", columns, encoding="latin-1")
        table = table.with_columns(pl.col("lat", "lon").cast(pl.Float64))
        return table.with_columns(pl.col("time").str.to_datetime("%a %b %d %H:%M:%S %z %Y", time_zone="UTC"))

    rows = rows_of(files, raw)
    places = [name for name in ("category", "lat", "lon") if name in rows.columns]
    items = rows.select("item_id", *places).unique("item_id", keep="first", maintain_order=True) if places else None
    return LogTables(rows, None, items)


def foursquare_filtered(files: DataFiles) -> LogTables:
    """Check-ins of users in sessions; their order stands for time."""
    rows = rows_of(files, partial(_only_tables, files, "foursquare-tky-filtered"))
    return LogTables(rows.with_row_index("time"), None, optional(files, "items.tsv"))


def yelp(files: DataFiles) -> LogTables:
    """Reviews with stars and date, or `yelp.rating`, the filtered file of the dissertation."""

    def raw() -> pl.DataFrame:
        if files.has("yelp.rating"):
            return separated(files.read("yelp.rating"), "\t", RATED)
        columns = {"user_id": "user_id", "item_id": "business_id", "rating": "stars", "time": "date"}
        return json_lines(files.read("yelp_academic_dataset_review.json"), columns)

    return LogTables(rows_of(files, raw))


def ciao(files: DataFiles, domains: bool = False) -> LogTables:
    """Reviews with ratings, categories (optionally as domains) and trust between users."""
    rows = rows_of(files, partial(_ciao_matrix, files))
    if domains:
        rows = rows.with_columns(domain=pl.col("category").cast(pl.String))
    extras = {} if (trust := optional(files, "trust.tsv")) is None else {"trust": trust}
    return LogTables(rows, extras=extras)


def _ciao_matrix(files: DataFiles) -> pl.DataFrame:
    from scipy.io import loadmat  # slow to import

    opened: Any = io.BytesIO(files.read("rating.mat"))
    matrix = loadmat(opened)["rating"]
    columns = ["user_id", "item_id", "category", "rating", "helpfulness"]
    return pl.DataFrame(matrix[:, : len(columns)].astype("int64"), schema=columns, orient="row")


def _only_tables(files: DataFiles, name: str) -> pl.DataFrame:
    raise FileError(f"{name} is read from {TABLE}.gz, which is not in {files.place}; give the folder that holds it")
