"""placeholder"""

from typing import Any


def list_query(*a: Any, **k: Any) -> str:
    raise NotImplementedError
