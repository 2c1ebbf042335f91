"""Chapter 4: how many items each user should see."""

from __future__ import annotations

from sureness_reproduction.list_size import ablation, pages, serving, sizes, summation, utility
from sureness_reproduction.study import Study

STUDIES: tuple[Study, ...] = (
    *ablation.STUDIES, *serving.STUDIES, *utility.STUDIES, *sizes.STUDIES, *summation.STUDIES, *pages.STUDIES,
)  # fmt: skip
