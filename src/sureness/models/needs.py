"""What models need besides the base installation."""

from __future__ import annotations

from sureness.errors import missing_extra


def need_torch(what: str) -> None:
    """Refuse what cannot be done without torch, before any work is done.

    Parameters
    ----------
    what : str
        The start of the sentence, such as "fitting BPR".
    """
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise missing_extra(what, "torch", "models") from error
