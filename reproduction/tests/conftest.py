"""The real data that the library's tests use, and the empty folder that they run in."""

from tests.conftest import data_folder, working_directory

__all__ = ["data_folder", "working_directory"]
