"""Simulated data with known truth: preferences, exposure, and the log that results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix

from sureness._printing import fields_repr
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import SettingError
from sureness.numerics.checks import check_memory, check_rate, check_rows, check_whole, same_length
from sureness.numerics.logistic import sigmoid

DOMAINS = ("books", "films", "games", "music", "podcasts")

_FIRST = (
    "amber crystal distant electric endless forgotten gentle golden hidden hollow iron last little lonely lost lucky "
    "midnight northern paper quiet restless scarlet secret seventh silent silver sleeping velvet wandering winter"
)
_SECOND = (
    "archive bridge carnival compass corridor dreamer echo empire engine forest garden harbour horizon island journey "
    "lantern letter map mirror mountain orchard pilot promise river shadow signal staircase station storm voyage"
)
_BLOCK_PAIRS = 4_000_000


@dataclass(frozen=True, kw_only=True)
class SimulatorSettings:
    """Size of the simulated world, and bias of its log."""

    n_users: int = 2_000
    n_items: int = 600  # over all domains
    n_domains: int = 4  # at most as many as `DOMAINS`
    n_tastes: int = 6  # latent dimensions
    preference_rate: float = 0.12  # mean of the preference probabilities
    exposure_rate: float = 0.15  # mean of the exposure probabilities
    taste_strength: float = 1.6  # how much preferences differ between users
    popularity_bias: float = 1.2  # how much more often well-known items are seen
    selection_bias: float = 0.6  # how much more often users see items they would like
    smallest_exposure: float = 0.01  # every pair has at least this exposure
    held_out_share: float = 0.1  # share of the log kept for calibration
    test_items: int = 16  # uniformly exposed test items per user
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.n_domains <= len(DOMAINS):
            raise SettingError(f"n_domains must lie between 1 and {len(DOMAINS)}, got {self.n_domains}")
        if self.n_users < 2 or self.n_items < 2 * self.n_domains:
            raise SettingError(
                f"a world needs at least 2 users and 2 items per domain, got {counted(self.n_users, 'user')} and "
                f"{counted(self.n_items, 'item')} in {counted(self.n_domains, 'domain')}"
            )
        if not 1 <= self.test_items <= self.n_items:
            raise SettingError(f"test_items must lie between 1 and n_items={self.n_items}, got {self.test_items}")
        for name in ("preference_rate", "exposure_rate", "smallest_exposure", "held_out_share"):
            check_rate(getattr(self, name), name)
        check_whole(self.seed, "seed")
        check_whole(self.n_tastes, "n_tastes", 1)
        if not self.smallest_exposure < self.exposure_rate:
            raise SettingError(
                f"exposure_rate must exceed smallest_exposure={self.smallest_exposure}, got {self.exposure_rate}"
            )
        for name in ("taste_strength", "popularity_bias", "selection_bias"):
            if not np.isfinite(getattr(self, name)):
                raise SettingError(f"{name} must be a finite number, got {getattr(self, name)}")


@dataclass(frozen=True, eq=False)
class World:
    """Simulated users and items with true preference and exposure probabilities.

    An interaction is logged when an item was seen *and* liked: Y = O x R, with P(R) = preference, P(O) = exposure.
    Whether a user likes an item is drawn once, so the uniformly exposed test set and the log agree on it.

    Examples
    --------
    >>> world = simulate(SimulatorSettings(n_users=200, n_items=80, seed=1))
    >>> world.train.shape, len(world.domains), world.titles[0] == world.titles[0].title()
    ((200, 80), 4, True)
    >>> bool(abs(world.preference_block(np.arange(200)).mean() - 0.12) < 0.001)
    True
    """

    settings: SimulatorSettings
    user_tastes: FloatArray  # (n_users, n_tastes)
    item_tastes: FloatArray  # (n_items, n_tastes)
    user_level: FloatArray  # (n_users,) tendency to like items
    item_quality: FloatArray  # (n_items,)
    item_fame: FloatArray  # (n_items,) how well known
    user_activity: FloatArray  # (n_users,) tendency to see items
    preference_level: float
    exposure_level: float
    item_domain: IntArray  # (n_items,) index into `domains`
    titles: list[str]
    train: csr_matrix  # (n_users, n_items) the log a recommender learns from
    held_out: csr_matrix  # (n_users, n_items) the share of the log kept for calibration
    test_users: IntArray  # (n_test,)
    test_items: IntArray  # (n_test,) drawn uniformly
    test_labels: BoolArray  # (n_test,) whether the user likes the item

    __repr__ = fields_repr

    @property
    def n_users(self) -> int:
        return self.settings.n_users

    @property
    def n_items(self) -> int:
        return self.settings.n_items

    @property
    def domains(self) -> tuple[str, ...]:
        return DOMAINS[: self.settings.n_domains]

    def preference_block(self, users: IntArray) -> FloatArray:
        """True preference probabilities, shape (len(users), n_items)."""
        return np.asarray(sigmoid(self.preference_level + self._liking(users)))

    def exposure_block(self, users: IntArray) -> FloatArray:
        """True exposure probabilities, shape (len(users), n_items)."""
        return _exposure(self, users)

    def preference(self, users: ArrayLike, items: ArrayLike) -> FloatArray:
        """True preference probability of single pairs."""
        return self._pairs(self.preference_block, users, items)

    def propensity(self, users: ArrayLike, items: ArrayLike) -> FloatArray:
        """True exposure probability of single pairs; this makes a world an exact `PropensityModel`."""
        return self._pairs(self.exposure_block, users, items)

    @cached_property
    def in_training(self) -> BoolArray:
        """Which test pairs are also in the training log; shape (n_test,)."""
        return np.asarray(self.train[self.test_users, self.test_items]).ravel() > 0

    def items_table(self) -> pl.DataFrame:
        """item_id, title and domain of every item."""
        return pl.DataFrame(
            {
                "item_id": np.arange(self.n_items),
                "title": self.titles,
                "domain": [self.domains[d] for d in self.item_domain],
            }
        )

    def _liking(self, users: IntArray) -> FloatArray:
        taste = self.user_tastes[users] @ self.item_tastes.T
        return np.asarray(taste + self.user_level[users, None] + self.item_quality)

    def _pairs(self, block: Callable[[IntArray], FloatArray], users: ArrayLike, items: ArrayLike) -> FloatArray:
        rows = check_rows(users, self.n_users, "users", "of this world are {}")
        columns = check_rows(items, self.n_items, "items", "of this world are {}")
        same_length(columns, len(rows), "items")
        some, place = np.unique(rows, return_inverse=True)
        result = np.empty(len(rows))
        size = max(1, _BLOCK_PAIRS // self.n_items)
        order = np.argsort(place, kind="stable")
        for start in range(0, len(some), size):
            inside = order[np.searchsorted(place[order], start) : np.searchsorted(place[order], start + size)]
            result[inside] = block(some[start : start + size])[place[inside] - start, columns[inside]]
        return result


def simulate(settings: SimulatorSettings | None = None) -> World:
    """Draw a world and its log.

    Examples
    --------
    >>> world = simulate(SimulatorSettings(n_users=100, n_items=40))
    >>> world.train.nnz > 5 * world.held_out.nnz > 0   # a tenth of the log is held out
    True
    """
    settings = settings or SimulatorSettings()
    _check_size(settings)
    rng = np.random.default_rng(settings.seed)
    some_of_each = np.arange(2 * settings.n_domains) % settings.n_domains
    others = rng.integers(0, settings.n_domains, settings.n_items - len(some_of_each))
    item_domain = np.sort(np.r_[some_of_each, others])
    world = _with_levels(settings, rng, item_domain)
    return _live(world, rng)


def _check_size(s: SimulatorSettings) -> None:
    """Tastes and titles, and the pairs that are seen, are held in memory."""
    n_pairs = int(s.n_users * s.n_items * s.exposure_rate)
    n_bytes = 8 * s.n_tastes * (s.n_users + s.n_items) + 100 * s.n_items + 16 * n_pairs
    check_memory(n_bytes, f"a world of {counted(s.n_users, 'user')} and {counted(s.n_items, 'item')}")


def world_tables(world: World) -> dict[str, pl.DataFrame]:
    """The tables of a world by name: train, held_out, test, items."""

    def pairs(matrix: csr_matrix) -> pl.DataFrame:
        users, items = matrix.nonzero()
        return pl.DataFrame({"user_id": users.astype(np.int64), "item_id": items.astype(np.int64)})

    test = pl.DataFrame(
        {"user_id": world.test_users, "item_id": world.test_items, "label": world.test_labels.astype(int)}
    )
    return {
        "train": pairs(world.train),
        "held_out": pairs(world.held_out).with_columns(propensity=world.propensity(*world.held_out.nonzero())),
        "test": test.with_columns(true_preference=world.preference(world.test_users, world.test_items)),
        "items": world.items_table(),
    }


def _exposure(world: World, users: IntArray) -> FloatArray:
    s = world.settings
    seen = world.item_fame + world.user_activity[users, None] + s.selection_bias * world._liking(users)
    return np.asarray(s.smallest_exposure + (1 - s.smallest_exposure) * sigmoid(world.exposure_level + seen))


def _with_levels(s: SimulatorSettings, rng: np.random.Generator, item_domain: IntArray) -> World:
    domain_taste = rng.normal(size=(s.n_domains, s.n_tastes))
    own_taste = rng.normal(size=(s.n_items, s.n_tastes))
    item_tastes = (0.6 * domain_taste[item_domain] + 0.8 * own_taste) * (s.taste_strength / np.sqrt(s.n_tastes))
    quality = 0.6 * rng.normal(size=s.n_items)
    world = World(
        settings=s, user_tastes=rng.normal(size=(s.n_users, s.n_tastes)), item_tastes=item_tastes,
        user_level=0.5 * rng.normal(size=s.n_users), item_quality=quality,
        item_fame=s.popularity_bias * (0.5 * quality / 0.6 + 0.87 * rng.normal(size=s.n_items)),
        user_activity=0.6 * rng.normal(size=s.n_users), preference_level=0.0, exposure_level=0.0,
        item_domain=item_domain, titles=_titles(item_domain, rng), train=csr_matrix((s.n_users, s.n_items)),
        held_out=csr_matrix((s.n_users, s.n_items)), test_users=np.empty(0, int), test_items=np.empty(0, int),
        test_labels=np.empty(0, bool),
    )  # fmt: skip
    some = np.sort(rng.permutation(s.n_users)[:400])
    liked = level_for(lambda level: replace(world, preference_level=level).preference_block(some), s.preference_rate)
    seen = level_for(lambda level: replace(world, exposure_level=level).exposure_block(some), s.exposure_rate)
    return replace(world, preference_level=liked, exposure_level=seen)


def level_for(block: Callable[[float], FloatArray], rate: float) -> float:
    """The intercept for which a block of probabilities has the wanted mean, by bisection."""
    low, high = -30.0, 30.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if block(middle).mean() < rate else (low, middle)
    return (low + high) / 2


def _live(world: World, rng: np.random.Generator) -> World:
    """Draw once for every pair whether it is liked and seen; log pairs that are both, and draw a uniform test set."""
    s = world.settings
    test_items = np.stack([rng.choice(s.n_items, s.test_items, replace=False) for _ in range(s.n_users)])
    test_labels = np.empty(test_items.shape, dtype=bool)
    logged: list[AnyArray] = []
    size = max(1, _BLOCK_PAIRS // s.n_items)
    for start in range(0, s.n_users, size):
        users = np.arange(start, min(start + size, s.n_users))
        liked = rng.random((len(users), s.n_items)) < world.preference_block(users)
        seen = rng.random((len(users), s.n_items)) < world.exposure_block(users)
        logged.append(np.argwhere(liked & seen) + np.array([start, 0]))
        test_labels[users] = np.take_along_axis(liked, test_items[users], axis=1)
    pairs = np.concatenate(logged)
    held_out = rng.random(len(pairs)) < s.held_out_share
    return replace(
        world,
        train=_matrix(pairs[~held_out], s),
        held_out=_matrix(pairs[held_out], s),
        test_users=np.repeat(np.arange(s.n_users), s.test_items),
        test_items=test_items.ravel(),
        test_labels=test_labels.ravel(),
    )


def _matrix(pairs: IntArray, s: SimulatorSettings) -> csr_matrix:
    ones = np.ones(len(pairs), dtype=np.float32)
    return csr_matrix((ones, (pairs[:, 0], pairs[:, 1])), shape=(s.n_users, s.n_items))


def _titles(item_domain: IntArray, rng: np.random.Generator) -> list[str]:
    words = [f"{first} {second}".title() for first in _FIRST.split() for second in _SECOND.split()]
    order = rng.permutation(len(words))
    return [
        words[order[i % len(words)]] + (f" {i // len(words) + 1}" if i >= len(words) else "")
        for i in range(len(item_domain))
    ]
