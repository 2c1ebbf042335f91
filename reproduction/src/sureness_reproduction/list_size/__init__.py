"""Chapter 4: how many items each user should see."""

from __future__ import annotations

from sureness_reproduction.experiment import Experiment
from sureness_reproduction.list_size import ablation, domains, serving, sizes, summation, trending, utility_tables

EXPERIMENTS: tuple[Experiment, ...] = (
    *utility_tables.EXPERIMENTS, *sizes.EXPERIMENTS, *ablation.EXPERIMENTS, *serving.EXPERIMENTS,
    *summation.EXPERIMENTS, *trending.EXPERIMENTS, *domains.EXPERIMENTS,
)  # fmt: skip
