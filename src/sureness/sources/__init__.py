"""Where scores come from: anything that can score a block of users against all items."""

from sureness.sources.base import FactorSource, MatrixSource, ScoreSource
from sureness.sources.svd import svd_source

__all__ = ["FactorSource", "MatrixSource", "ScoreSource", "svd_source"]
