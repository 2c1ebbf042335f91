"""What other processes do with saved objects while tests watch: `python -m tests.attacks.saving_process ROLE ...`.

write PATH FIRST SECOND SECONDS   save the two objects in FIRST and SECOND under PATH in turn
read PATH FIRST SECOND SECONDS    open PATH again and again, and count what was found
kill PATH NEW                     save NEW over PATH, once for every system call that it makes, killed at that call
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

from sureness.saving.objects import read_packed, write_packed
from tests.attacks.faults import LOCKS, at_number, watch

CALLS = ("open", "write", "fsync", "replace", "unlink", "mkdir", *LOCKS)
"""The system calls of a save; each may fail, and before and after each a process may be killed."""


def form_of(path: Path):
    return "json" if path.suffix == ".json" else "file"


def started() -> float:
    """When the test says that all processes are ready."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    return time.monotonic()


def write(path: Path, first: Path, second: Path, seconds: float) -> dict[str, int]:
    import sureness as sn

    objects = [sn.load(first), sn.load(second)]
    done = 0
    end = started() + seconds
    while time.monotonic() < end:
        objects[done % 2].save(path)
        done += 1
    return {"saved": done}


def read(path: Path, first: Path, second: Path, seconds: float) -> dict[str, int]:
    """How often the first, the second, a mixture and a refusal was met."""
    import sureness as sn
    from tests.saving.kinds import fingerprint

    whole = {fingerprint(sn.load(first)): "first", fingerprint(sn.load(second)): "second"}
    found: Counter[str] = Counter(first=0, second=0, mixed=0, refused=0)
    end = started() + seconds
    while time.monotonic() < end:
        try:
            found[whole.get(fingerprint(sn.load(path)), "mixed")] += 1
        except Exception as error:  # whatever it is, it must not happen
            found["refused"] += 1
            sys.stderr.write(f"{error!r}\n")
    return dict(found)


def kill(path: Path, new: Path) -> list[dict[str, object]]:
    """For every system call: its name, and what the folder holds after a process was killed before or after it.

    The processes are forks of this one, which has only one thread: nothing but numpy is loaded.
    """
    packed, form = read_packed(new), form_of(path)
    old, results = path.read_bytes(), []
    for after in (False, True):
        for number in range(1, 1_000):
            path.write_bytes(old)
            told, tell = os.pipe()
            child = os.fork()
            if not child:
                _die_at(number, tell, after)
                write_packed(packed, path, form)
                os._exit(0)
            os.close(tell)
            name = os.read(told, 100).decode()
            os.close(told)
            _, status = os.waitpid(child, 0)
            if not name:
                break
            content = path.read_bytes()
            left = len(os.listdir(path.parent)) - 1
            path.write_bytes(old)
            write_packed(packed, path, form)
            swept = os.listdir(path.parent) == [path.name]
            results.append(
                {
                    "call": name, "after": after, "status": os.waitstatus_to_exitcode(status), "left": left,
                    "content": "old" if content == old else "new" if content == path.read_bytes() else "broken",
                    "swept": swept,
                }
            )  # fmt: skip
    return results


def _die_at(number: int, tell: int, after: bool) -> None:
    """Let the process end without a word at its n-th system call of a save, before or after the call is made."""
    write = os.write

    def die(name: str) -> None:
        write(tell, name.encode())
        os._exit(9)

    dying = at_number(number, die)
    watch(_ignore if after else dying, dying if after else None, CALLS, reads=True)


def _ignore(name: str) -> None:
    """Nothing happens at an operation."""


if __name__ == "__main__":
    role, *paths = sys.argv[1:]
    if role == "kill":
        result: object = kill(*map(Path, paths))
    else:
        *files, duration = paths
        result = {"write": write, "read": read}[role](*map(Path, files), float(duration))
    sys.stdout.write(json.dumps(result))
