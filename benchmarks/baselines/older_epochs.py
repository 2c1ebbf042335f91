"""Train a model for as many epochs as the standard input says, line by line, and print their processor time.

`python older_epochs.py MODEL PAIRS SETTINGS` with an older checkout first on PYTHONPATH; reads nothing of ours.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import count

import numpy as np
import torch

from sureness.data import Interactions
from sureness.models import Trainer, make_recommender


def main(model: str, pairs: str, settings: str) -> None:
    torch.set_num_threads(1)
    train = Interactions.of(*np.load(pairs))
    trainer, numbers = Trainer(make_recommender(model, **json.loads(settings)).build(train), train), count(1)
    print("seconds 0", flush=True)
    for line in sys.stdin:
        start = time.process_time()
        for _ in range(int(line)):
            trainer.epoch(next(numbers))
        print(f"seconds {time.process_time() - start}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
