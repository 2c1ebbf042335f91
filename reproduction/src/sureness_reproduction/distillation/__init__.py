"""The experiments of chapter 3: a large and a small model teach each other."""

from __future__ import annotations

from sureness_reproduction.distillation import hyperparameters, main_tables, rank_analyses, schemes, sizes, versus_cd
from sureness_reproduction.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    rank_analyses.EXPERIMENTS[0],
    *main_tables.EXPERIMENTS,
    *sizes.EXPERIMENTS,
    *rank_analyses.EXPERIMENTS[1:],
    *schemes.EXPERIMENTS,
    *hyperparameters.EXPERIMENTS,
    *versus_cd.EXPERIMENTS,
)
