"""The real data that the library's tests use, the empty folder that they run in, and tiny models of all chapters."""

import pytest

from reproduction.tests.small import SmallShelf, make_small
from sureness_reproduction.cells import CellStore
from tests.conftest import data_folder, working_directory

__all__ = ["data_folder", "small_store", "working_directory"]


@pytest.fixture(scope="module")
def small_store(tmp_path_factory, data_folder):
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        yield CellStore(tmp_path_factory.mktemp("cells"), SmallShelf(data_folder, absent=("amazon-crossdomain",)))
