"""Bidirectional distillation the way of the public code: tables of users x items, and Adam that moves every row."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from sureness.data import Interactions
from sureness.distillation import Direction, DistillationSettings

STAGES = ("scores", "ranks", "draws", "steps")


class Stopwatch:
    """Seconds of processor time that each stage has taken."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)

    @contextmanager
    def of(self, stage: str) -> Iterator[None]:
        start = time.process_time()
        yield
        self.seconds[stage] += time.process_time() - start


class DenseFactors(nn.Module):
    """A table of users and a table of items; every step has a gradient for every row."""

    def __init__(self, users: np.ndarray, items: np.ndarray) -> None:
        super().__init__()
        self.users, self.items = (
            nn.Embedding.from_pretrained(torch.tensor(table), freeze=False) for table in (users, items)
        )

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        """Scores of users (B,) and items (B, n); shape (B, n)."""
        return (self.users(users)[:, None] * self.items(items)).sum(dim=-1)

    @torch.no_grad()
    def everything(self) -> Tensor:
        return self.users.weight @ self.items.weight.T


class DenseDistillation:
    """Teacher and student in turns, batch by batch; at a refresh both are ranked by sorting all scores twice.

    Parameters
    ----------
    train : Interactions
    teacher, student : the factors of users and of items
    settings : DistillationSettings
        Both directions are read: weight, scale, items and temperature; always tanh to the student, exp to the teacher.
    batch_size : int
    learning_rate : float
    """

    def __init__(
        self, train: Interactions, teacher: Sequence[np.ndarray], student: Sequence[np.ndarray],
        settings: DistillationSettings, *, batch_size: int = 128, learning_rate: float = 0.001,
    ) -> None:  # fmt: skip
        self.train, self.batch_size = train, batch_size
        self.models = DenseFactors(*teacher), DenseFactors(*student)
        self.directions = settings.to_teacher, settings.to_student
        self.optimisers = [torch.optim.Adam(model.parameters(), lr=learning_rate) for model in self.models]
        self.seen = torch.zeros(train.shape, dtype=torch.bool)
        self.pairs = torch.tensor(train.user_rows), torch.tensor(train.item_rows)
        self.seen[self.pairs] = True
        self.drawn: list[Tensor] = []  # for the teacher and for the student, (pairs, items)
        self.watch = Stopwatch()

    def refresh(self) -> None:
        """Score, rank and draw for all users; both weights are tables of users x items too."""
        with self.watch.of("scores"):
            scores = [model.everything().masked_fill_(self.seen, -torch.inf) for model in self.models]
        with self.watch.of("ranks"):
            of_teacher, of_student = (dense_ranks(each) for each in scores)
        with self.watch.of("draws"):
            to_teacher, to_student = self.directions
            weights = [
                exp_weights(of_teacher, of_student, to_teacher.rank_gap_scale, self.seen),
                tanh_weights(of_student, of_teacher, to_student.rank_gap_scale, self.seen),
            ]
            self.drawn = [
                draws(each, self.train.user_degree, direction.items)
                for each, direction in zip(weights, self.directions, strict=True)
            ]

    def epoch(self) -> tuple[float, float]:
        """One pass over the pairs, fresh negatives; returns the mean loss of teacher and student."""
        users, positives = self.pairs
        with self.watch.of("steps"):
            negatives = self._negatives(users)
            batches = torch.randperm(len(users)).split(self.batch_size)
        totals = [0.0, 0.0]
        for places in batches:
            for learner in (0, 1):
                with self.watch.of("steps"):
                    items = self.drawn[learner][places]
                    totals[learner] += self.step(learner, users[places], positives[places], negatives[places], items)
        return totals[0] / len(batches), totals[1] / len(batches)

    def step(self, learner: int, users: Tensor, positives: Tensor, negatives: Tensor, items: Tensor) -> float:
        """One step of the teacher (0) or the student (1); returns its mean loss."""
        model, guide = self.models[learner], self.models[1 - learner]
        loss = pairwise_loss(model, users, positives, negatives)
        loss = loss + imitation_loss(model, guide, users, items, self.directions[learner])
        self.optimisers[learner].zero_grad()
        loss.backward()
        self.optimisers[learner].step()
        return loss.item()

    def _negatives(self, users: Tensor) -> Tensor:
        drawn = torch.randint(self.train.n_items, (len(users),))
        while (wrong := self.seen[users, drawn]).any():
            drawn[wrong] = torch.randint(self.train.n_items, (int(wrong.sum()),))
        return drawn


def dense_ranks(scores: Tensor) -> Tensor:
    """Ranks within each row, 1 for the highest: the order of the order."""
    return scores.argsort(dim=1, descending=True).argsort(dim=1) + 1


def tanh_weights(learner: Tensor, guide: Tensor, scale: float, seen: Tensor) -> Tensor:
    """tanh of how much lower the learner ranks each item, 0 where it ranks it higher or the user has seen it."""
    return torch.tanh(((learner - guide) * scale).clamp(min=0)).masked_fill_(seen, 0.0)


def exp_weights(learner: Tensor, guide: Tensor, scale: float, seen: Tensor) -> Tensor:
    """exp of how much lower the learner ranks each item, 0 where the user has seen it."""
    return torch.exp((learner - guide) * scale).masked_fill_(seen, 0.0)


def draws(weights: Tensor, counts: np.ndarray, items: int) -> Tensor:
    """`items` for each pair, user after user; shape (pairs, items)."""
    drawn = [
        torch.multinomial(weights[user], int(count) * items, replacement=True).view(-1, items)
        for user, count in enumerate(counts)
        if count
    ]
    return torch.cat(drawn)


def pairwise_loss(model: DenseFactors, users: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
    """The mean loss of BPR."""
    scores = model(users, torch.stack([positives, negatives], dim=1))
    return functional.softplus(scores[:, 1] - scores[:, 0]).mean()


def imitation_loss(
    learner: DenseFactors, guide: DenseFactors, users: Tensor, items: Tensor, direction: Direction
) -> Tensor:
    """The weighted cross-entropy with the guide's labels on the drawn items (B, n), their mean over the pairs."""
    with torch.no_grad():
        labels = torch.sigmoid(guide(users, items) / direction.temperature)
    logits = learner(users, items) / direction.temperature
    loss = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    return direction.weight * loss.sum(dim=1).mean()
