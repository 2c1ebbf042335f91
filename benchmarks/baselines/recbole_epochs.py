"""Train a model of RecBole for as many epochs as the standard input says, line by line, and print their processor time.

`python recbole_epochs.py MODEL FOLDER SETTINGS`; runs in RecBole's own environment.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from _recbole import Session


def main(model: str, folder: str, settings: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        session = Session(model, Path(folder).resolve(), json.loads(settings), Path(scratch))
        print("seconds 0", flush=True)
        for line in sys.stdin:
            start = time.process_time()
            for epoch in range(int(line)):
                session.trainer._train_epoch(session.train, epoch)
            print(f"seconds {time.process_time() - start}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
