"""Trained recommenders as folders: safetensors, ids and a manifest; never executable."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
from torch import Tensor

from sureness._artefacts import MANIFEST, read_manifest, write_folder
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import ArtefactError, FileError
from sureness.models.base import HISTORY, Recommender
from sureness.models.catalogue import RECOMMENDERS, make_recommender
from sureness.sources.saving import read_ids, write_ids

FORMAT, SCHEMA = "sureness-model", 1
_TENSORS = "model.safetensors"


def save_model(model: Recommender, folder: str | PathLike[str]) -> None:
    """Write a fitted recommender; the folder is whole or not there."""
    from safetensors.torch import save

    manifest = {
        "format": FORMAT,
        "schema": SCHEMA,
        "model": model.name,
        "settings": model.settings.plain(),
        "shape": [model.n_users, model.n_items],
        "parameters": model.n_parameters,
        "best_epoch": model.best_epoch_,
        "best_metric": model.best_metric_,
        "history": model.history_.to_dicts(),
    }
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.network_.state_dict().items()}

    def write(place: Path) -> None:
        (place / _TENSORS).write_bytes(save(tensors))
        write_ids(model.users, "users", place)
        write_ids(model.items, "items", place)

    write_folder(folder, manifest, write)


def load_model(folder: str | PathLike[str], *, device: str = "cpu") -> Recommender:
    """Read a recommender that `save` wrote; it scores as before, on any device."""
    import polars as pl
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    place = Path(folder)
    if not (place / MANIFEST).exists() and (place / "model" / MANIFEST).exists():
        raise FileError(f"{place} is a run, not a model; give {place / 'model'}, or read the run with load_run")
    manifest = read_manifest(place, FORMAT, SCHEMA)
    if manifest.get("model") not in RECOMMENDERS:
        raise ArtefactError(f"{place} holds a model {manifest.get('model')!r}, expected one of "
                            f"{', '.join(RECOMMENDERS)}; update sureness")  # fmt: skip
    try:
        model = make_recommender(manifest["model"], **{**manifest["settings"], "device": device})
        users, items = (read_ids(place / f"{side}.parquet") for side in ("users", "items"))
        tensors = load_file(place / _TENSORS)
        network = model.build(_history(tensors, users, items))
        network.load_state_dict(tensors)
        model.best_epoch_, model.best_metric_ = manifest["best_epoch"], manifest["best_metric"]
        model.history_ = pl.DataFrame(manifest["history"], schema=HISTORY)
    except (SafetensorError, KeyError, TypeError, RuntimeError) as error:
        raise ArtefactError(f"{place} cannot be understood ({error!r}); save the model again") from error
    network.eval()
    return model._with(network, users, items)


def _history(tensors: dict[str, Tensor], users: IdMap, items: IdMap) -> Interactions:
    """The log a network needs for its shape; of CDAE also the histories, which it saved."""
    starts, rows = tensors.get("history_starts"), tensors.get("history_items")
    if starts is None or rows is None:
        return Interactions(users, items, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    lengths = np.diff(starts.numpy())
    return Interactions(users, items, np.repeat(np.arange(len(users)), lengths), rows.numpy())
