"""Train RecBole's LightGCN with RecBole's trainer: `python recbole_lightgcn.py FOLDER SETTINGS.json OUTPUT.npz`.

Early stopping is RecBole's own, on its full-ranking NDCG@50 of the validation set. The embeddings of the best epoch go
to OUTPUT.npz as `users` and `items` in the order of our rows, the seconds and scores of every epoch to OUTPUT.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _recbole import Session, np, torch


def main(folder: str, settings_file: str, output: str) -> None:
    settings = json.loads(Path(settings_file).read_text())
    output_file = Path(output).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        session = Session("LightGCN", Path(folder).resolve(), settings, Path(scratch))
        told = _trained(session)
        best = torch.load(session.trainer.saved_model_file)
        session.model.load_state_dict(best["state_dict"])
        with torch.no_grad():
            users, items = session.model.forward()
    np.savez(output_file, users=session.rows("user_id", users), items=session.rows("item_id", items))
    told |= {"settings": settings, "best_epoch": best["epoch"] + 1}
    output_file.with_suffix(".json").write_text(json.dumps(told))


def _trained(session: Session) -> dict[str, Any]:
    """RecBole's ``fit``, with a clock around its epochs and its validations."""
    trainer, epochs = session.trainer, []
    train_epoch, valid_epoch = trainer._train_epoch, trainer._valid_epoch

    def timed_training(*given: Any, **named: Any) -> Any:
        start = time.perf_counter()
        loss = train_epoch(*given, **named)
        epochs.append({"epoch": len(epochs) + 1, "train_seconds": time.perf_counter() - start})
        return loss

    def timed_validation(*given: Any, **named: Any) -> Any:
        start = time.perf_counter()
        score, result = valid_epoch(*given, **named)
        epochs[-1] |= {"valid_seconds": time.perf_counter() - start, "ndcg@50": score, "recall@50": result["recall@50"]}
        print(json.dumps(epochs[-1]), flush=True)
        return score, result

    trainer._train_epoch, trainer._valid_epoch = timed_training, timed_validation
    best, _ = trainer.fit(session.train, session.valid, verbose=False, saved=True)
    return {"epochs": epochs, "valid": {"ndcg@50": best}}


if __name__ == "__main__":
    main(*sys.argv[1:])
