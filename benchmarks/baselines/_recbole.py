"""RecBole on a split that was made elsewhere; runs in RecBole's own environment, without `sureness`."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # before torch is loaded
    os.environ.setdefault(_name, "1")
warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402

torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
_load = torch.load
torch.load = lambda *given, **named: _load(*given, **({"weights_only": False} | named))  # its checkpoints hold settings

from recbole.config import Config  # noqa: E402
from recbole.data import create_dataset, data_preparation  # noqa: E402
from recbole.utils import get_model, get_trainer, init_seed  # noqa: E402

# Where RecBole's own values would be unfair to it: one user a batch when it validates, and scores cut to four digits.
_FIXED: dict[str, Any] = {
    "USER_ID_FIELD": "user_id", "ITEM_ID_FIELD": "item_id", "load_col": {"inter": ["user_id", "item_id"]},
    "benchmark_filename": ["train", "valid", "test"], "eval_args": {"mode": "full"}, "eval_batch_size": 4_000_000,
    "metrics": ["NDCG", "Recall"], "topk": [50], "valid_metric": "NDCG@50", "metric_decimal_place": 8,
    "use_gpu": False, "show_progress": False, "reproducibility": True, "state": "WARNING",
}  # fmt: skip


class Session:
    """A model of RecBole with its trainer and its data.

    Parameters
    ----------
    model : {"LightGCN", "BPR"}
    folder : path
        Holds the atomic files `<name>.train.inter`, `.valid.inter` and `.test.inter`, where <name> is the folder's.
    settings : dict
        RecBole's, by RecBole's names.
    """

    def __init__(self, model: str, folder: Path, settings: dict[str, Any], scratch: Path) -> None:
        given = _FIXED | {"data_path": str(folder.parent), "checkpoint_dir": str(scratch)} | settings
        os.chdir(scratch)  # it writes tensorboard logs to the working folder
        self.config = Config(model=model, dataset=folder.name, config_dict=given)
        init_seed(self.config["seed"], self.config["reproducibility"])
        self.dataset = create_dataset(self.config)
        self.train, self.valid, _ = data_preparation(self.config, self.dataset)
        init_seed(self.config["seed"], self.config["reproducibility"])
        self.model = get_model(model)(self.config, self.train.dataset)
        self.trainer = get_trainer(self.config["MODEL_TYPE"], model)(self.config, self.model)

    def rows(self, field: str, values: torch.Tensor) -> np.ndarray:
        """The rows of a table of embeddings in our order: its ids are our row numbers, its first row is nobody's."""
        ours = self.dataset.field2id_token[field][1:].astype(np.int64)
        if len(ours) != ours.max() + 1:
            raise RuntimeError(f"{field}: RecBole knows {len(ours):,} of {ours.max() + 1:,} rows")
        ordered = np.empty((len(ours), values.shape[1]), dtype=np.float32)
        ordered[ours] = values[1:].numpy()
        return ordered
