"""Small pieces of work for the tests of the framework; a module of its own, so that other processes can import it."""

import os
import time
from pathlib import Path

import polars as pl

from sureness.errors import DataError
from sureness_reproduction.cells import work
from sureness_reproduction.workbench import load_dataset, prepare


def _mark(name, found=0):
    """Leave a trace of every computation."""
    if trace := os.environ.get("SURENESS_TRACE"):
        with Path(trace).open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")
    return {"found": pl.DataFrame({"value": [found]})}


@work()
def number(bench, *, value: int):
    return _mark(f"number {value}", value)


@work(needs=lambda first, second: [number.cell(value=first), number.cell(value=second)], cost=2.0)
def total(bench, *, first: int, second: int):
    values = [bench.found(number.cell(value=each)).table("found")["value"][0] for each in (first, second)]
    return _mark(f"total {first} {second}", sum(values))


@work()
def slow(bench, *, place: int):
    found = _mark(f"slow {place}", place)
    time.sleep(0.4)
    (bench.place / "note.txt").write_text("written beside the tables", encoding="utf-8")
    return found


SLOW = [slow.cell(place=place) for place in range(8)]


@work()
def broken(bench, *, value: int):
    raise DataError(f"{value} cannot be computed")


@work(needs=lambda value, step: [needing_broken.cell(value=value, step=step - 1) if step else broken.cell(value=value)])
def needing_broken(bench, *, value: int, step: int):
    return _mark(f"needing {value} {step}")


@work(needs=lambda value: [number.cell(value=1)])
def undeclared(bench, *, value: int):
    return {"found": bench.found(number.cell(value=2)).table("found")}


@work(judges=True)
def judging(bench, *, data: str):
    return _mark("judging", len(bench.split(data, "preference", seed=0).test))


@work(needs=lambda data: [judging.cell(data=data)])
def choosing_by_the_test(bench, *, data: str):
    return {"found": bench.found(judging.cell(data=data)).table("found")}


@work()
def peeking(bench, *, data: str, how: str):
    split, place = bench.split(data, "preference", seed=0), bench.shelf.place(data)
    ways = {
        "test": lambda: split.test,
        "all parts": lambda: split.parts,
        "summary": split.summary,
        "shelf": lambda: bench.shelf.split(data, "preference", seed=0).test,
        "prepare": lambda: prepare(data, "preference", folder=place).test,
        "parts": lambda: load_dataset(data, place).parts["test"],
        "whole": lambda: load_dataset(data, place).interactions,
        "log": lambda: bench.training_log(data),  # which has no test label
    }
    return _mark(f"peeking {how}", len(ways[how]()))
