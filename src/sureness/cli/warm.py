"""sureness warm: compile all kernels now, for images and first requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sureness._wording import counted
from sureness.cli._console import present, progress_bar, say, steps_of
from sureness.cli._options import Json
from sureness.jobs.warming import warm


def warm_kernels(json: Json = False) -> None:
    """Compile all numerical kernels into the cache, by running every job once on tiny data.

    Do this when an image is built, so that the first real call does not wait for the compiler. NUMBA_CACHE_DIR says
    where the cache is; it must be the same when the image runs.
    """
    with progress_bar(json) as bar:
        result = warm(progress=steps_of(bar))
    present(result, json, _show)


def _show(result: Mapping[str, Any]) -> None:
    compiled = counted(result["compiled"], "kernel")
    say(f"compiled {compiled} and found {result['loaded']} in the cache, in {result['seconds']:.0f} s")
    if not result["trained"]:
        say("without torch, those of training were left out; install it with: pip install 'sureness[models]'")
