"""What happens to a process that writes checkpoints: it is killed anywhere, or the disk is full."""

from __future__ import annotations

import errno
import os
import signal
import time


def killed_again_and_again(start, path, finished, rng):
    """Start, wait for a few checkpoints, kill; until three kills left one, each of which is whole and never goes back.

    Parameters
    ----------
    start : callable
        Starts the process, which resumes from `path`.
    path : Path
        Its checkpoint.
    finished : callable
        How many epochs a checkpoint holds; raises if it is not whole.
    rng : numpy.random.Generator
        Where to kill.
    """
    reached = []
    while len(reached) < 3:
        process = start()
        _wait_for_writes(process, path, int(rng.integers(1, 5)))
        time.sleep(float(rng.random()) * 0.04)  # anywhere in an epoch, in a refresh, in a validation or in a write
        over = not process.is_alive()
        process.kill()
        process.join()
        if over:
            break
        assert process.exitcode == -signal.SIGKILL
        if path.exists():
            reached.append(finished(path))
    assert len(reached) >= 2, "it finished before it could be killed"
    assert reached == sorted(reached)
    assert reached[0] < reached[-1]


def _wait_for_writes(process, path, writes):
    before, deadline = None, time.monotonic() + 120
    while writes and process.is_alive():
        assert time.monotonic() < deadline, "no checkpoint was written"
        now = path.stat().st_mtime_ns if path.exists() else None
        writes -= now != before
        before = now
        time.sleep(0.001)


def full_disk_after(n_checkpoints):
    """An `os.fsync` that fails after this many checkpoints: each syncs its file and its folder."""
    sync, calls = os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) > 2 * n_checkpoints:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    return full
