"""Outputs that are inputs, lie in one, are named twice or cannot be written are refused before any work."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from sureness.errors import OutputError
from sureness.jobs.datasets import WorldOptions, write_world
from sureness.jobs.outputs import check_outputs
from sureness.jobs.training import Checkpoints
from tests.saving.test_files import as_nobody


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table, a run and a log, which is also the working directory."""
    for name in ("table.csv", "run.sureness", "log.csv"):
        (tmp_path / name).write_text(name)
    (tmp_path / "figures").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def link(name, to):
    Path(name).symlink_to(to)
    return name


def hard_link(name, to):
    Path(name).hardlink_to(to)
    return name


def through_a_folder(to):
    Path("other").symlink_to(".")
    return Path("other") / to


SAME = {
    "the same name": lambda: "table.csv",
    "a longer way": lambda: "figures/../table.csv",
    "the whole path": lambda: Path("table.csv").absolute(),
    "a link": lambda: link("a.csv", "table.csv"),
    "a link to a link": lambda: link("b.csv", link("a.csv", "table.csv")),
    "a hard link": lambda: hard_link("a.csv", "table.csv"),
    "a linked folder": lambda: through_a_folder("table.csv"),
}


@pytest.mark.parametrize("how", SAME)
def test_an_output_that_is_an_input_is_refused(folder, how):
    output = SAME[how]()
    for outputs, inputs in (([output], ["table.csv"]), (["table.csv"], [output]), (["o.csv", output], ["table.csv"])):
        with pytest.raises(OutputError):
            check_outputs([(each, "table") for each in outputs], ["log.csv", None, *inputs])


@pytest.mark.parametrize("how", SAME)
@pytest.mark.parametrize("exists", [True, False])
def test_an_output_that_is_named_twice_is_refused(folder, how, exists):
    output = SAME[how]()
    if not exists and how != "a hard link":
        Path("table.csv").unlink()
    for pair in ((output, "table.csv"), ("table.csv", output)):
        with pytest.raises(OutputError):
            check_outputs([(each, "table") for each in pair])


@pytest.mark.parametrize("read", ["run.sureness", "run.sureness/student"])
@pytest.mark.parametrize("written", ["run.sureness", "run.sureness/student/o.sureness", "run.sureness/o.sureness"])
def test_a_part_of_a_file_is_the_file(folder, read, written):
    with pytest.raises(OutputError):
        check_outputs([(written, "file")], [read])


@pytest.mark.parametrize("outputs", [("new.csv", "new.csv/more.csv"), ("new.csv/more.csv", "new.csv")])
def test_an_output_below_another_is_refused(folder, outputs):
    with pytest.raises(OutputError):
        check_outputs([(each, "table") for each in outputs])


def test_figures_may_lie_beside_inputs_but_not_lead_to_them(folder):
    check_outputs([("page.html", "page"), (".", "figures")], ["table.csv"])
    link("figures/reliability.png", "../table.csv")
    link("figures/degree.svg", "../page.html")
    with pytest.raises(OutputError):
        check_outputs([("figures", "figures")], ["table.csv"])
    for outputs in ([("page.html", "page"), ("figures", "figures")], [("figures", "figures"), ("page.html", "page")]):
        with pytest.raises(OutputError):
            check_outputs(outputs, ["log.csv"])


def test_a_folder_of_results_does_not_lie_in_an_input(folder):
    (folder / "data" / "coat").mkdir(parents=True)
    check_outputs([("reproduced", "folder")], ["data"])
    for inside in ("data", "data/coat", "data/new/folder"):
        with pytest.raises(OutputError):
            check_outputs([(inside, "folder")], ["data"])


@pytest.mark.parametrize("name", ["run.sureness.checkpoints/trials.json", "run.sureness.checkpoints/new/start.json"])
def test_nothing_is_written_among_checkpoints(folder, name):
    with pytest.raises(OutputError):
        check_outputs([(name, "json")])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("table.doc", "table"), ("page", "page"), ("page.json", "page"), ("map.json", "file"), ("map.sureness", "json"),
        ("figures", "table"), ("table.csv/below.csv", "table"), ("table.csv", "figures"), ("table.csv/new", "folder"),
        ("n" * 260 + ".csv", "table"), ("a\0b.csv", "table"), ("a\0b", "folder"), ("circle.csv", "table"),
        ("nowhere.csv/x.csv", "table"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused_and_nothing_is_made(folder, name, kind):
    link("circle.csv", "circle.csv")
    link("nowhere.csv", "not/there")
    before = sorted(folder.rglob("*"))
    with pytest.raises(OutputError):
        check_outputs([(name, kind)])
    assert sorted(folder.rglob("*")) == before


def test_what_can_be_written_is_not_refused_and_nothing_is_made(folder):
    link("new.csv", "figures/made.csv")
    before = sorted(folder.rglob("*"))
    outputs = [
        ("o.PARQUET", "table"), (os.fsdecode(b"\xe9.csv"), "table"),
        ("new.csv", "table"), ("a/b/c.tsv", "table"), ("n" * 251 + ".csv", "table"),
        ("page.html", "page"), ("made.sureness", "file"), ("made.json", "json"), ("figures", "figures"), (None, "file"),
    ]  # fmt: skip
    check_outputs(outputs, ["table.csv", "run.sureness/student", "ml-100k", "a\0b", None])
    assert sorted(folder.rglob("*")) == before


def test_a_closed_folder_is_refused():
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o555)
        with as_nobody(), pytest.raises(OutputError):
            check_outputs([(Path(name) / "new" / "table.csv", "table")])


def test_the_tables_of_a_world_do_not_lead_to_each_other(folder):
    link("train.csv", "test.csv")
    with pytest.raises(OutputError):
        write_world(folder, WorldOptions(users=20, items=10, domains=2, factors=2, ending="csv"))
    assert not (folder / "test.csv").exists()


def test_checkpoints_of_the_longest_name_have_a_folder_of_their_own(folder):
    outputs = [folder / f"{letter * 246}.sureness" for letter in "ab"]
    places = {Checkpoints(output, ("model",)).folder for output in outputs}
    assert len(places) == 2
    for place in places:
        place.mkdir()
        assert place.name.endswith(".sureness.checkpoints")
    assert Checkpoints(folder / "run.v1.sureness", ()).folder.name == "run.v1.sureness.checkpoints"
