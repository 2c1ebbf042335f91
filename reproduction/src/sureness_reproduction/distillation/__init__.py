"""Chapter 3: a large and a small model teach each other."""

from __future__ import annotations

from sureness_reproduction.distillation import authors_code, studies

STUDIES = (*studies.STUDIES, *authors_code.STUDIES)
