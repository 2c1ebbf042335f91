"""What a recipe says, what a reader hands back, and the data set that comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from sureness._types import IntArray
from sureness.data.interactions import Interactions

Protocol = Literal["preference", "leave-one-out", "ratio", "given"]


class Address(NamedTuple):
    """Where a file can be fetched."""

    url: str
    file_name: str
    checksum: str | None = None  # "md5:..." or "sha256:..." where the publisher states one; else pinned when fetched


class Size(NamedTuple):
    """How large a data set is known to be."""

    users: int
    items: int
    interactions: int


@dataclass(frozen=True, eq=False)
class LogTables:
    """What a reader found: rows, features and whatever else came along."""

    rows: pl.DataFrame  # user_id, item_id; where they exist rating, time, domain, split (train, validation, test)
    users: pl.DataFrame | None = None  # features with user_id
    items: pl.DataFrame | None = None  # features with item_id
    extras: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Recipe:
    """Everything there is to know about one data set."""

    name: str
    title: str
    licence: str
    read: Callable[..., LogTables] | None  # files and options in, tables out; None where there is no log of users
    needs: tuple[tuple[str, ...], ...] = ()  # publisher's file names that must be there, one tuple for each form
    also: tuple[str, ...] = ()  # publisher's files that are read where they are there
    parsing: str = ""  # how the publisher's files are read
    addresses: tuple[Address, ...] = ()
    how_to_get: str = ""  # where there is no address
    trap: str = ""  # what has gone wrong with this data before
    size: Size | None = None  # as in the copy that the tests read
    options: Mapping[str, tuple[Any, ...]] = field(
        default_factory=dict
    )  # option to the values it may have, the default first
    protocol: Protocol = "ratio"
    positive_above: float | None = None  # pairs rated higher are positive; None: every pair is
    per_user: int = 1  # users with fewer interactions are left out
    core: int = 1  # the same for users and items, repeated until it holds
    per_domain: bool = False  # shares are taken of each user's pairs of each domain
    validation: Literal["one", "tenth"] = "tenth"  # taken out of a given training part that has none: per user


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set as it was read, before anything is filtered or split."""

    name: str
    interactions: Interactions  # all of it
    parts: Mapping[str, Interactions] = field(default_factory=dict)  # splits that came with it, with the same id maps
    extras: Mapping[str, Any] = field(default_factory=dict)  # such as propensities (Coat) or trust (Ciao)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = "".join(f", {name} {len(part):,}" for name, part in self.parts.items())
        return f"Dataset({self.name}: {self.interactions!r}{parts})"


def common_pairs(first: Interactions, second: Interactions) -> int:
    """How many pairs are in both; the id maps must be the same."""
    return int(np.count_nonzero(np.isin(pair_keys(first), pair_keys(second), assume_unique=True)))


def pair_keys(log: Interactions) -> IntArray:
    """A number for each pair, the same in every log with these id maps."""
    return log.user_rows * log.n_items + log.item_rows
