"""A confident recommender as one folder: maps, summaries, what is hidden, and the source where it can be saved."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sureness._artefacts import MANIFEST, read_manifest, write_folder, write_together
from sureness._registry import find, name_of
from sureness.calibration.saving import describe, load_per_user, restore, save_per_user, write_columns
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import ArtefactError, DataError, NotFittedError
from sureness.list_size.base import ListSizePolicy
from sureness.metrics.utility import Utility, named_utility, utility_of
from sureness.pipeline.maps import GlobalMap
from sureness.pipeline.recommender import ConfidentRecommender
from sureness.pipeline.summaries import Summaries
from sureness.sources.base import ScoreSource, id_maps

FORMAT = "sureness-recommender"
SCHEMA = 1
_SUMMARIES, _SEEN, _STATE = "summaries.parquet", "seen.parquet", "policy.safetensors"
_MAPS, _SOURCE, _CORE = "maps", "source", "recommender"


def save_recommender(recommender: ConfidentRecommender, folder: str | PathLike[str]) -> None:
    """Write a fitted recommender; the folder is whole or not there.

    Maps of users and the source are artefacts of their own in folders inside; each checks itself when it is read.
    """
    if not hasattr(recommender, "summaries_"):
        raise NotFittedError("ConfidentRecommender is not fitted yet; call fit before save")
    write_together(folder, (_SOURCE, _MAPS, _CORE), lambda place: _write_parts(recommender, place))


def _write_parts(recommender: ConfidentRecommender, place: Path) -> None:
    policy, maps = _describe_policy(recommender.policy_), recommender.maps_
    source_saved = _save_source(recommender.source, place / _SOURCE)
    if not isinstance(maps, GlobalMap):
        save_per_user(maps, place / _MAPS)
    manifest = {
        "format": FORMAT,
        "schema": SCHEMA,
        "shape": [recommender.source.n_users, recommender.source.n_items],
        "source": source_saved,
        "parts": _parts(place),
        "policy": policy,
        "expected_relevant": _plain_target(recommender.expected_relevant),
        "global": describe(maps.calibrator) if isinstance(maps, GlobalMap) else None,
    }

    def write(inside: Path) -> None:
        write_columns(_summaries_of(recommender), inside / _SUMMARIES)
        write_columns(recommender.seen_.table().select("user_id", "item_id"), inside / _SEEN)
        if arrays := _arrays(recommender.policy_.state()):
            _write_arrays(arrays, inside / _STATE)

    write_folder(place / _CORE, manifest, write)


def load_recommender(folder: str | PathLike[str], source: ScoreSource | None = None) -> ConfidentRecommender:
    """Read what `save_recommender` wrote."""
    place = Path(folder)
    inside = place / _CORE
    manifest = read_manifest(inside, FORMAT, SCHEMA)
    if _parts(place) != manifest["parts"]:
        raise ArtefactError(f"the parts of {place} do not belong together, saving was interrupted; save it again")
    if source is None:
        if not manifest["source"]:
            raise DataError(f"{place} was saved without its source, which cannot be saved; give load(folder, source)")
        from sureness.models.runs import open_source

        source = open_source(place / _SOURCE)
    if [source.n_users, source.n_items] != manifest["shape"]:
        raise DataError(f"the source must have the shape {manifest['shape']} that it was fitted with, "
                        f"got {[source.n_users, source.n_items]}; give the same recommender")  # fmt: skip
    try:
        summaries, hidden = pl.read_parquet(inside / _SUMMARIES), pl.read_parquet(inside / _SEEN)
        maps: Any = GlobalMap(restore(manifest["global"])) if manifest["global"] else load_per_user(place / _MAPS)
        if isinstance(maps, GlobalMap):
            maps.expected_relevant_ = summaries["expected_relevant"].to_numpy()
            maps.beyond_ = summaries["expected_beyond"].to_numpy()
        policy = _restore_policy(manifest["policy"], inside / _STATE)
        target = manifest["expected_relevant"]
        loaded = ConfidentRecommender(
            source, maps, policy, expected_relevant=np.asarray(target) if isinstance(target, list) else target
        )
        loaded.maps_, loaded.policy_, loaded.summaries_ = maps, policy, Summaries.of_table(summaries)
        known_users = IdMap(summaries["user_id"])
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise ArtefactError(f"{place} cannot be understood ({error!r}); save the recommender again") from error
    users, items = id_maps(source)
    if not known_users.same_as(users) or np.any(items.rows(hidden["item_id"]) < 0):
        raise DataError(f"the source must have the users and items that {place} was fitted with, in the same order of "
                        "users; give the same recommender")  # fmt: skip
    loaded.seen_ = Interactions.from_table(hidden, users=users, items=items)
    return loaded


def _parts(place: Path) -> dict[str, str]:
    """The checksum of each part, which is an artefact of its own."""
    files = {name: place / name / MANIFEST for name in (_SOURCE, _MAPS)}
    try:
        return {
            name: json.loads(file.read_text(encoding="utf-8"))["checksum"]
            for name, file in files.items()
            if file.exists()
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ArtefactError(f"a part of {place} is damaged ({error!r}); save the recommender again") from error


def _summaries_of(recommender: ConfidentRecommender) -> pl.DataFrame:
    users, _ = id_maps(recommender.source)
    maps = recommender.maps_
    return recommender.summaries_.table().with_columns(
        user_id=users.ids, expected_relevant=pl.Series(maps.expected_relevant_), expected_beyond=pl.Series(maps.beyond_)
    )


def _save_source(source: ScoreSource, folder: Path) -> bool:
    """Write the source if it is of a kind that can be written."""
    from sureness.sources.saving import save_source

    if hasattr(source, "fit"):  # a trained recommender of ours
        source.save(folder)  # type: ignore[attr-defined]
        return True
    try:
        save_source(source, folder)
    except DataError:
        return False
    return True


def _describe_policy(policy: ListSizePolicy) -> dict[str, Any]:
    if not _is_known(policy):
        raise DataError(f"only the policies of sureness can be saved, got {policy!r}; fit with one of them to save")
    settings = {name: _plain(value) for name, value in policy.get_params(deep=False).items()}
    if "utility" in settings:
        settings["utility"] = named_utility(settings["utility"]).plain(policy.max_size)
    state = {name: value for name, value in policy.state().items() if not isinstance(value, np.ndarray)}
    return {"kind": name_of("policy", type(policy)), "settings": settings, "state": state}


def _restore_policy(described: dict[str, Any], arrays: Path) -> ListSizePolicy:
    settings = {name: _revived(value) for name, value in described["settings"].items()}
    if "utility" in settings:
        utility: Utility = utility_of(settings["utility"])
        settings["utility"] = utility.name if set(settings["utility"]) == {"name"} else utility
    policy = _kind(described["kind"])(**settings)
    state = dict(described["state"])
    if arrays.exists():
        from safetensors.numpy import load_file

        state |= load_file(arrays)
    if state:
        policy.restore(state)
    return policy


def _kind(name: str) -> type[ListSizePolicy]:
    return find("policy", name)  # type: ignore[no-any-return]


def _is_known(policy: ListSizePolicy) -> bool:
    return name_of("policy", type(policy)) is not None


def _plain(value: Any) -> Any:
    """A setting as JSON knows it; infinity, which JSON does not know, in a wrapper."""
    value = value.item() if isinstance(value, np.generic) else value
    return {"number": str(value)} if isinstance(value, float) and np.isinf(value) else value


def _revived(value: Any) -> Any:
    return float(value["number"]) if isinstance(value, dict) and value.keys() == {"number"} else value


def _arrays(state: dict[str, Any]) -> dict[str, Any]:
    return {name: np.ascontiguousarray(value) for name, value in state.items() if isinstance(value, np.ndarray)}


def _write_arrays(arrays: dict[str, Any], path: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    try:
        save_file(arrays, path)
    except SafetensorError as error:
        raise OSError(str(error)) from error


def _plain_target(target: Any) -> Any:
    return target if isinstance(target, str) else json.loads(json.dumps(np.asarray(target, dtype=float).tolist()))
