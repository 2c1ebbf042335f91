"""Chapter 3: a large and a small model teach each other."""

from __future__ import annotations

from sureness_reproduction.distillation import authors_code, comparison, ranks, sizes, sweeps
from sureness_reproduction.study import Study

STUDIES: tuple[Study, ...] = (
    *ranks.STUDIES, *comparison.STUDIES, *authors_code.STUDIES, *sizes.STUDIES, *sweeps.STUDIES,
)  # fmt: skip
