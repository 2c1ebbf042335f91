"""The real data that the library's tests use."""

from tests.conftest import data_folder

__all__ = ["data_folder"]
