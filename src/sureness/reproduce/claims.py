"""The claims of the text."""

from __future__ import annotations

from sureness.reproduce.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = ()
