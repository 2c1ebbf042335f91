"""Chapter 4: how many items each user should see."""

from __future__ import annotations

from sureness_reproduction.list_size import budgets, pages, serving, sizes, utility
from sureness_reproduction.study import Study

STUDIES: tuple[Study, ...] = (
    *utility.STUDIES, *sizes.STUDIES, *serving.STUDIES, *pages.STUDIES, *budgets.STUDIES,
)  # fmt: skip
