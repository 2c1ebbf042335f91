"""Small pieces of work for the tests of the framework; a module of its own, so that other processes can import it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import polars as pl

from sureness.data import Interactions, by_ratio
from sureness.errors import DataError
from sureness_reproduction.cells import work
from sureness_reproduction.workbench import load_dataset, prepare


def _mark(name: str) -> None:
    """Leave a trace of every computation."""
    trace = os.environ.get("SURENESS_TRACE")
    if trace:
        with Path(trace).open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")


@work()
def number(bench, *, value: int):
    _mark(f"number {value}")
    return {"found": pl.DataFrame({"value": [value]})}


@work(needs=lambda first, second: [number.cell(value=first), number.cell(value=second)], cost=2.0)
def total(bench, *, first: int, second: int):
    _mark(f"total {first} {second}")
    values = [bench.found(number.cell(value=each)).table("found")["value"][0] for each in (first, second)]
    return {"found": pl.DataFrame({"value": [sum(values)]})}


@work()
def slow(bench, *, place: int):
    _mark(f"slow {place}")
    time.sleep(0.4)
    (bench.place / "note.txt").write_text("written beside the tables", encoding="utf-8")
    return {"found": pl.DataFrame({"value": [place]})}


@work()
def lasting(bench, *, place: int):
    _mark(f"lasting {place}")
    time.sleep(40)
    return {"found": pl.DataFrame({"value": [place]})}


@work()
def broken(bench, *, value: int):
    raise DataError(f"{value} cannot be computed")


@work(needs=lambda value, step: [needing_broken.cell(value=value, step=step - 1) if step else broken.cell(value=value)])
def needing_broken(bench, *, value: int, step: int):
    _mark(f"needing {value} {step}")
    return {"found": pl.DataFrame({"value": [value]})}


@work(needs=lambda value: [number.cell(value=1)])
def undeclared(bench, *, value: int):
    return {"found": bench.found(number.cell(value=2)).table("found")}


def _split():
    return by_ratio(Interactions.of([0, 0, 0, 0, 0, 1, 1, 1, 1, 1], [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]))


@work()
def peeking(bench, *, how: str):
    split = bench.sealed(_split())
    looked = {"test": lambda: split.test, "parts": lambda: split.parts, "summary": split.summary}[how]()
    return {"found": pl.DataFrame({"value": [len(looked)]})}


@work(judges=True)
def judging(bench, *, how: str):
    return {"found": pl.DataFrame({"value": [len(bench.sealed(_split()).test)]})}


@work(needs=lambda value: [judging.cell(how="test")])
def choosing_by_the_test(bench, *, value: int):
    return {"found": bench.found(judging.cell(how="test")).table("found")}


@work()
def peeking_at_data(bench, *, data: str, how: str):
    ways = {
        "bench": lambda: bench.split(data, "preference", seed=0).test,
        "shelf": lambda: bench.shelf.split(data, "preference", seed=0).test,
        "prepare": lambda: prepare(data, "preference", folder=bench.shelf.place(data)).test,
        "parts": lambda: load_dataset(data, bench.shelf.place(data)).parts["test"],
        "whole": lambda: load_dataset(data, bench.shelf.place(data)).interactions,
    }
    return {"found": pl.DataFrame({"value": [len(ways[how]())]})}


@work()
def asking_for_the_log(bench, *, data: str):
    return {"found": pl.DataFrame({"value": [len(bench.training_log(data))]})}
