"""Chapter 3: a large and a small model teach each other."""

from __future__ import annotations

from sureness_reproduction.distillation import comparison, ranks, sizes, sweeps
from sureness_reproduction.study import Study

STUDIES: tuple[Study, ...] = (*ranks.STUDIES, *comparison.STUDIES, *sizes.STUDIES, *sweeps.STUDIES)
