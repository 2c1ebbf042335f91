"""One session for all tests of a mode. A process runs one mode, because it can have one kind of session only."""

from __future__ import annotations

import os

import pytest

from tests.spark.sessions import MODES, started, why_absent

WANTED = os.environ.get("SURENESS_SPARK", "classic")


@pytest.fixture(scope="session", params=MODES)
def spark(request):
    if reason := why_absent(request.param):
        pytest.skip(reason)
    if request.param != WANTED:
        pytest.skip(
            f"this process tests {WANTED} sessions; make test-spark runs SURENESS_SPARK={request.param} beside it"
        )
    with started(request.param) as session:
        yield session
