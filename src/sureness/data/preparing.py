"""Filter and split a data set by the protocol that is customary for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Literal

import numpy as np

from sureness._progress import Progress, silent
from sureness._types import Seed
from sureness._wording import counted
from sureness.data.datasets import load_dataset
from sureness.data.filtering import at_least, k_core, positives, rated_above, rating_above
from sureness.data.interactions import Interactions, check_log, union
from sureness.data.recipes import Dataset, Protocol, Recipe, pair_keys, recipe, recipe_names
from sureness.data.splitting import Split, by_ratio, hold_out, leave_one_out, parted
from sureness.data.time_splitting import TimeCuts, by_time
from sureness.errors import SettingError

_PLAIN = Recipe(name="interactions", title="", licence="", read=None)


def prepare(
    data: str | Dataset | Interactions,
    protocol: Protocol | None = None,
    *,
    seed: Seed = 0,
    folder: str | PathLike[str] | None = None,
    positive_above: float | Literal["recipe"] | None = "recipe",
    per_user: int | None = None,
    core: int | None = None,
    shares: Sequence[float] = (0.6, 0.2, 0.2),
    per_domain: bool | None = None,
    cuts: TimeCuts | None = None,
    training_pairs: Literal["left_out", "kept"] = "left_out",
    progress: Progress = silent,
    **options: Any,
) -> Split:
    """The positives of a data set, filtered and split; defaults come from its recipe.

    Parameters
    ----------
    data : str, Dataset or Interactions
        The name of a data set, or what is already loaded.
    protocol : {"preference", "leave-one-out", "ratio", "time", "given"}, optional
        preference: a tenth of the training positives is validation, the test is the uniformly exposed part with all
        its ratings. leave-one-out: each user's last pair is test, the one before validation. ratio: `shares` of each
        user's pairs. time: what came first is training, see `by_time`. given: the split that came with the data.
    seed : int or numpy.random.Generator
        The same seed gives the same split.
    folder : path, optional
        Where the files of a named data set are.
    positive_above : float or None
        Pairs rated higher are positive; None takes every pair.
    per_user, core : int, optional
        Least interactions of a user; of users and items, repeated until it holds. Not for preference and given. For
        time they are counted in the training part, and who falls out there is left out of the later parts.
    shares, per_domain
        For ratio, see `by_ratio`.
    cuts : dict, optional
        For time, the settings of `by_time`, such as ``{"validation_from": "2024-05-01", "test_from": "2024-06-01"}``.
    training_pairs : {"left_out", "kept"}
        For preference: whether test pairs that were also rated in training are left out.
    progress : Progress, optional
        Called with a step, how much of it is done, and its total.
    **options
        What the recipe offers, such as ``artefact=True`` for citeulike-bd.
    """
    dataset = _loaded(data, folder, progress, options)
    known = recipe(dataset.name) if dataset.name in recipe_names() else _PLAIN
    threshold = known.positive_above if positive_above == "recipe" else positive_above
    chosen = protocol or known.protocol
    makers: dict[str, Callable[[], Split]] = {
        "preference": lambda: _preference(dataset, threshold, training_pairs, seed),
        "given": lambda: _given(dataset, threshold, known.validation, seed),
        "leave-one-out": lambda: leave_one_out(_filtered(dataset, known, threshold, per_user, core), seed=seed),
        "ratio": lambda: by_ratio(
            _filtered(dataset, known, threshold, per_user, core), shares, seed=seed,
            per_domain=known.per_domain if per_domain is None else per_domain,
        ),
        "time": lambda: _filtered_split(
            by_time(dataset.interactions, seed=seed, **(cuts or {})), known, threshold, per_user, core
        ),
    }  # fmt: skip
    if chosen not in makers:
        raise SettingError(f"the protocol must be one of {', '.join(makers)}, got {chosen!r}")
    if chosen in ("preference", "given") and not per_user is core is None:
        raise SettingError(f"the protocol {chosen} keeps the parts as they came, so per_user and core have no use; "
                           "leave them out, or choose leave-one-out, ratio or time")  # fmt: skip
    if cuts and chosen != "time":
        raise SettingError(f"{' and '.join(cuts)} belong to the protocol time, the protocol {chosen} has "
                           "no use for them; leave them out, or choose time")  # fmt: skip
    return makers[chosen]()


def _loaded(
    data: str | Dataset | Interactions,
    folder: str | PathLike[str] | None,
    progress: Progress,
    options: dict[str, Any],
) -> Dataset:
    if isinstance(data, str):
        return load_dataset(data, folder, progress=progress, **options)
    if options or folder is not None:
        given = [*options, *(["folder"] if folder is not None else [])]
        raise SettingError(
            f"{' and '.join(given)} belong to a data set that is read by name, got {data!r}; leave them out"
        )
    return data if isinstance(data, Dataset) else Dataset("interactions", check_log(data, "data"))


def _filtered(
    dataset: Dataset, known: Recipe, threshold: float | None, per_user: int | None, core: int | None
) -> Interactions:
    log = dataset.interactions
    if threshold is not None:
        log = rating_above(log, threshold)
    return _counted(log, known, per_user, core)


def _counted(log: Interactions, known: Recipe, per_user: int | None, core: int | None) -> Interactions:
    least, both = (known.per_user if per_user is None else per_user), (known.core if core is None else core)
    if least > 1:
        log = at_least(log, per_user=least)
    return k_core(log, both) if both > 1 else log


def _filtered_split(
    split: Split, known: Recipe, threshold: float | None, per_user: int | None, core: int | None
) -> Split:
    """Filters after a cut: ratings in each part, counts in training, whose users and items the later parts keep."""
    if threshold is not None:
        split = _above(split, threshold)
    train = _counted(split.train, known, per_user, core)
    if train is split.train:
        return split
    later = (part.aligned(train.users, train.items) for part in (split.validation, split.test))
    return Split(*parted(train, *later))


def _above(split: Split, threshold: float) -> Split:
    """The positives of each part, and the users and items that have any."""
    kept = {name: positives(part, threshold) for name, part in split.parts.items()}
    if not len(kept["train"]):
        rating_above(split.train, threshold)  # which refuses
    whole = union(list(kept.values())).compact()
    notes = {
        name: f"ratings above {threshold:g}: {len(part) - len(kept[name]):,} of {counted(len(part), 'pair')} of the "
        f"{name} part removed"
        for name, part in split.parts.items()
    }
    return Split(*parted(*(kept[name].aligned(whole.users, whole.items).noting(notes[name]) for name in kept)))


def _preference(dataset: Dataset, threshold: float | None, training_pairs: str, seed: Seed) -> Split:
    train, test = _needed(dataset, "preference")
    if threshold is None:
        raise SettingError("the protocol preference needs a rating above which pairs are positive; give positive_above")
    if training_pairs not in ("left_out", "kept"):
        raise SettingError(f"training_pairs must be left_out or kept, got {training_pairs!r}")
    positives = train.keep(rated_above(train, threshold)).noting(
        f"{np.count_nonzero(rated_above(train, threshold)):,} of {counted(len(train), 'training pair')} are rated "
        f"above {threshold:g} and count as positive"
    )
    judged = _without(test, train, "test") if training_pairs == "left_out" else test
    kept, held_out = hold_out(positives, 0.1, seed=seed)
    return Split(kept, held_out, judged)


def _given(dataset: Dataset, threshold: float | None, rule: str, seed: Seed) -> Split:
    train, test = _needed(dataset, "given")
    validation = dataset.parts.get("validation")
    parts = [part for part in (train, validation, test) if part is not None]
    if threshold is not None:
        parts = [part.keep(rated_above(part, threshold)) for part in parts]
    if validation is not None:
        train, validation, test = parts
    else:
        train, validation = _carved(parts[0], rule, seed)
        test = parts[1]
    validation = _without(validation, train, "validation")
    return Split(train, validation, _without(_without(test, train, "test"), validation, "test"))


def _carved(train: Interactions, rule: str, seed: Seed) -> tuple[Interactions, Interactions]:
    """Split a validation part off a training part that has none: one pair, or a tenth, of each user's pairs."""
    untimed = replace(train, times=None)  # the test was made elsewhere, so an order in time would mean nothing
    tenth = rule == "tenth"
    split = by_ratio(untimed, (0.9, 0.1, 0.0), seed=seed) if tenth else leave_one_out(untimed, seed=seed)
    noted = replace(train, notes=split.train.notes)
    chosen = split.validation if tenth else split.test
    held_out = np.isin(pair_keys(train), pair_keys(chosen), assume_unique=True)
    kept, validation = parted(noted.keep(~held_out), noted.keep(held_out))
    return kept, validation


def _needed(dataset: Dataset, protocol: str) -> tuple[Interactions, Interactions]:
    if not {"train", "test"} <= set(dataset.parts):
        raise SettingError(
            f"the protocol {protocol} needs a train and a test part that came with the data, {dataset.name} has "
            f"{' and '.join(dataset.parts) or 'none'}; choose leave-one-out, ratio or time"
        )
    return dataset.parts["train"], dataset.parts["test"]


def _without(part: Interactions, other: Interactions, name: str) -> Interactions:
    """A part without the pairs of another."""
    twice = np.isin(pair_keys(part), pair_keys(other), assume_unique=True)
    if not (n_twice := int(np.count_nonzero(twice))):
        return part
    pairs = counted(n_twice, f"{name} pair is", f"{name} pairs are")
    return part.keep(~twice).noting(f"{pairs} in an earlier part and left out")
