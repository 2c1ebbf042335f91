"""Recipes of public data sets by their names, and what is read with one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._registry import find, names
from sureness._types import IntArray
from sureness.data.interactions import Interactions
from sureness.errors import MissingExtraError, SettingError

_CHECKSUM = re.compile(r"md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}")

Protocol = Literal["preference", "leave-one-out", "ratio", "time", "given"]


class Address(NamedTuple):
    """Where a file can be downloaded."""

    url: str  # https
    file_name: str
    checksum: str  # "md5:..." or "sha256:..."


class Size(NamedTuple):
    """The known size of a data set."""

    users: int
    items: int
    interactions: int


@dataclass(frozen=True, eq=False)
class LogTables:
    """What a reader returns: rows, features and extras."""

    rows: pl.DataFrame  # user_id, item_id; optionally rating, time, domain, split (train, validation, test)
    users: pl.DataFrame | None = None  # features with user_id
    items: pl.DataFrame | None = None  # features with item_id
    extras: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    __repr__ = fields_repr


@dataclass(frozen=True, kw_only=True, eq=False)
class Recipe:
    """How one data set is obtained, read, filtered and split."""

    name: str
    title: str
    licence: str
    read: Callable[..., LogTables] | None  # None if there is no log of users
    needs: tuple[tuple[str, ...], ...] = ()  # the publisher's files that are needed, one tuple for each form
    also: tuple[str, ...] = ()  # the publisher's files that are read if they exist
    parsing: str = ""  # how the publisher's files are read
    addresses: tuple[Address, ...] = ()
    how_to_get: str = ""  # instructions if there is no address
    trap: str = ""  # a known pitfall of this data
    size: Size | None = None  # of the copy that the tests read
    options: Mapping[str, tuple[Any, ...]] = field(
        default_factory=dict
    )  # option to the values it may have, the default first
    protocol: Protocol = "ratio"
    positive_above: float | None = None  # pairs rated higher are positive; None: all pairs are
    per_user: int = 1  # users with fewer interactions are left out
    core: int = 1  # minimum for users and items, repeated until it holds
    per_domain: bool = False  # shares are taken of each user's pairs of each domain
    validation: Literal["one", "tenth"] = "tenth"  # pairs per user taken from a given training part

    __repr__ = fields_repr

    def __post_init__(self) -> None:
        for each in self.addresses:
            if not each.url.startswith(("https://", "http://127.0.0.1:")) or not _CHECKSUM.fullmatch(each.checksum):
                raise SettingError(
                    f"the recipe of {self.name} must download by https and with a checksum, got {each.url} and "
                    f"checksum {each.checksum!r}; leave the address out, and write where the file is into how_to_get"
                )


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set as it was read, not filtered or split."""

    name: str
    interactions: Interactions  # all pairs
    parts: Mapping[str, Interactions] = field(default_factory=dict)  # the publisher's splits, with the same ids
    extras: Mapping[str, Any] = field(default_factory=dict)  # such as propensities (Coat) or trust (Ciao)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = "".join(f", {name} {len(part):,}" for name, part in self.parts.items())
        return f"Dataset({self.name}: {self.interactions!r}{parts})"


def common_pairs(first: Interactions, second: Interactions) -> int:
    """How many pairs are in both logs, which must have the same ids."""
    return int(np.count_nonzero(np.isin(pair_keys(first), pair_keys(second), assume_unique=True)))


def pair_keys(log: Interactions) -> IntArray:
    """A number for each pair, the same in every log with these ids."""
    return log.user_rows * log.n_items + log.item_rows


def recipe_names() -> tuple[str, ...]:
    """The names of all data sets; most recipes are in the package sureness-reproduction."""
    return names("dataset")


def recipe(name: str) -> Recipe:
    """The recipe of a name.

    Examples
    --------
    >>> recipe("ml-1m").title
    'MovieLens 1M'
    """
    if name in names("dataset"):
        try:
            return find("dataset", name)  # type: ignore[no-any-return]
        except MissingExtraError as error:
            raise MissingExtraError(
                f"the recipe of {name} is in a package of its own; install it with: pip install sureness-reproduction"
            ) from error
    close = get_close_matches(name.lower(), names("dataset"), n=1)
    hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(names('dataset'))}"
    raise SettingError(f"expected the name of a data set, got {name!r}; {hint}")
