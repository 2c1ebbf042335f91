"""Every command that writes, on tiny data: its inputs, an older output of other content, and what it leaves."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import polars as pl

import sureness as sn
from sureness.data.interactions import Interactions
from sureness.data.simulator import SimulatorSettings, simulate
from sureness.data.splitting import by_ratio
from sureness.saving.objects import read_packed
from sureness.saving.packed import JSON, arrays_of, tree_of
from tests.conftest import draw_pairs

_SHORT = ("epochs=2", "validate_every=1")
_TRAIN = ("train", "log.csv", "--factors", "2", *(word for each in _SHORT for word in ("--set", each)))
_DISTILL = (
    "distill", "log.csv", "--teacher", "bpr:4", "--student", "bpr:2", "--set", "epochs=2",
    *(word for each in _SHORT for role in ("teacher", "student") for word in (f"--{role}-set", each)),
)  # fmt: skip
_WORLD = ("data", "simulate", "--users", "30", "--items", "20", "--domains", "2", "--factors", "2", "-o", "world")
_TABLES = tuple(f"world/{name}.parquet" for name in ("candidates", "held_out", "items", "test", "train"))


@dataclasses.dataclass(frozen=True)
class Case:
    """A command that writes over older outputs."""

    words: tuple[str, ...]
    changed: tuple[str, ...]  # words at its end that an older command had otherwise
    older: tuple[str, ...]
    outputs: tuple[str, ...]
    together: bool = False  # outputs that must be of one command, never of both
    served: str | None = None  # the file of this name is downloaded

    @property
    def command(self) -> tuple[str, ...]:
        """The words of the attacked command."""
        return (*self.words, *self.changed)

    @property
    def before(self) -> tuple[str, ...]:
        """The words of the command that wrote the older outputs."""
        return (*self.words, *self.older)


CASES = {
    "fit": Case(("fit", "pairs.parquet", "-o", "out.json", "--method"), ("gaussian",), ("platt",), ("out.json",)),
    "fit per user": Case(
        ("fit", "run.sureness", "-o", "out.sureness", "--method"), ("per-user-platt",), ("per-user-gaussian",),
        ("out.sureness",),
    ),
    "apply": Case(("apply", "-o", "out.parquet"), ("map.json", "pairs.parquet"), ("other.json", "pairs.parquet"),
                  ("out.parquet",)),
    "apply to a run": Case(("apply", "-o", "out.csv"), ("map.json", "run.sureness"), ("other.json", "run.sureness"),
                           ("out.csv",)),
    "report": Case(("report", "-o", "page.html", "pairs.parquet"), ("map.json",), ("other.json",), ("page.html",)),
    "list-size": Case(("list-size", "lists.parquet", "-o", "out.parquet", "--max-size"), ("4",), ("2",),
                      ("out.parquet",)),
    "list-size of a run": Case(
        ("list-size", "run.sureness", "-o", "out.parquet", "--save", "saved.sureness", "--report",
         "page.html", "--max-size"), ("4",), ("2",), ("out.parquet", "saved.sureness", "page.html"),
    ),
    "allocate": Case(("allocate", "lists.parquet", "-o", "out.csv", "--budget"), ("40",), ("20",), ("out.csv",)),
    "train": Case((*_TRAIN, "--seed"), ("0",), ("1",), ("run.sureness",)),
    "train --tune": Case((*_TRAIN, "-o", "tuned.sureness", "--tune", "2", "--seed"), ("0",), ("1",),
                         ("tuned.sureness",)),
    "distill": Case((*_DISTILL, "--seed"), ("0",), ("1",), ("distilled.sureness",)),
    "data simulate": Case((*_WORLD, "--seed"), ("0",), ("1",), _TABLES, together=True),
    "data fetch": Case(("data", "fetch", "citeulike-a", "--to", "set"), (), (), ("set/users.dat",), served="users.dat"),
    "data fetch --from": Case(("data", "fetch", "citeulike-a", "--from", "files", "--to"), ("set",), (),
                              ("set/users.dat",)),
}  # fmt: skip


def make_inputs(folder: Path) -> None:
    """What the commands read: a log, labelled pairs, probabilities, calibrators, a run, and files of a data set."""
    folder.mkdir(parents=True)
    world = simulate(SimulatorSettings(n_users=40, n_items=25, exposure_rate=0.4, seed=2))
    log = Interactions.from_matrix(world.train)
    log.table().write_csv(folder / "log.csv")
    scores, labels = draw_pairs(200)
    chance = 1 / (1 + np.exp(-scores))
    pairs = pl.DataFrame({"user_id": np.arange(200) // 10, "item_id": np.arange(200) % 10, "score": scores})
    pairs.with_columns(label=labels).write_parquet(folder / "pairs.parquet")
    pairs.with_columns(probability=chance).write_parquet(folder / "lists.parquet")
    sn.PlattCalibrator().fit(scores, labels).save(folder / "map.json")
    sn.calibration.BetaCalibrator().fit(scores, labels).save(folder / "other.json")
    split = by_ratio(log)
    sn.recommender.Run(sn.svd_source(split.train, n_factors=2), split.train, split.validation, split.test).save(
        folder / "run.sureness"
    )
    (folder / "files").mkdir()
    (folder / "files" / "users.dat").write_text("".join(f"2 {user} {user + 1}\n" for user in range(300)))


def content(path: Path) -> str | None:
    """A digest of what a file holds; saved objects without the seconds that training took. None: there is no file."""
    if not path.exists():
        return None
    if path.suffix != ".sureness":
        return hashlib.sha256(path.read_bytes()).hexdigest()
    packed = read_packed(path)
    digest = hashlib.sha256(repr(_untimed(tree_of(packed))).encode())
    for name, array in sorted(arrays_of(packed).items()):
        if "seconds" not in name:
            digest.update(f"{name}{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _untimed(tree: JSON) -> JSON:
    if isinstance(tree, dict):
        return {name: _untimed(part) for name, part in tree.items() if name != "seconds"}
    return tree


def listing(folder: Path) -> list[str]:
    """The files of a folder; temporary ones without their random names."""
    return sorted(
        re.sub(r"\.[0-9a-f]{8}\.|tmp[a-z0-9_]{8}", ".", str(path.relative_to(folder)))
        for path in folder.rglob("*") if path.is_file()
    )  # fmt: skip


def digests(folder: Path) -> dict[str, str]:
    """The bytes of every file of a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*") if path.is_file()
    }  # fmt: skip


@contextmanager
def downloads(folder: Path) -> Iterator[str]:
    """Serve a folder over loopback; gives its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()
    thread.join()


def redirect(address: str) -> None:
    """Let a process download from here, into a cache in its own folder; called in the process of the command."""
    import requests

    from sureness.data import datasets
    from sureness.data.recipes import Address

    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        os.environ.pop(name, None)
    os.environ["SURENESS_CACHE"] = "cache"
    known = datasets.recipe

    def redirected(name: str):
        found = known(name)
        moved = []
        for file in found.needs[0]:
            digest = hashlib.sha256(requests.get(f"{address}/{file}", timeout=10).content).hexdigest()
            moved.append(Address(f"{address}/{file}", file, f"sha256:{digest}"))
        return dataclasses.replace(found, addresses=tuple(moved))

    datasets.recipe = redirected


def fresh(start: Path, place: Path) -> Path:
    """A copy of a folder to attack."""
    return shutil.copytree(start, place)
