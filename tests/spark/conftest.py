"""One session for all tests of a mode; the tests run in every mode that this machine has."""

from __future__ import annotations

import pytest

from tests.spark.sessions import MODES, started, why_absent


@pytest.fixture(scope="session", params=[pytest.param(mode, marks=pytest.mark.xdist_group(mode)) for mode in MODES])
def spark(request):
    if reason := why_absent(request.param):
        pytest.skip(reason)
    with started(request.param) as session:
        yield session
