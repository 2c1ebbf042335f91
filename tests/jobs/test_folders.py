"""Jobs on tables of several files: the same result as from one file, and no output among the inputs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sureness import jobs
from sureness.data.interactions import Interactions
from sureness.errors import DataError, FileError, OutputError, SurenessWarning
from sureness.jobs import FitOptions
from sureness.tables.columns import Columns
from sureness.tables.writing import write_table
from tests.cli.runner import run

PLATT = FitOptions(method="platt")


@pytest.fixture
def folder(tmp_path):
    """A table in one file, in a folder of days, as text of another country, and a calibrator."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=400).round(6)
    table = pl.DataFrame(
        {"user_id": np.arange(400) // 10, "item_id": np.arange(400) % 10, "score": scores}
    ).with_columns(label=pl.Series(rng.random(400) < 1 / (1 + np.exp(-scores))).cast(int))
    write_table(table, tmp_path / "whole.parquet")
    (tmp_path / "text").mkdir()
    for number, part in enumerate(table.iter_slices(100)):
        place = tmp_path / "days" / f"day=2024-05-0{number + 1}"
        place.mkdir(parents=True)
        write_table(part, place / "part-0.parquet")
        part.write_csv(tmp_path / "text" / f"{number}.txt", separator=";", decimal_comma=True)
    jobs.fit(tmp_path / "whole.parquet", PLATT, output=tmp_path / "map.json")
    return tmp_path


SAID = Columns(separator="semicolon", decimal="comma")


@pytest.mark.parametrize(("name", "columns"), [("days", None), ("days/*/*.parquet", None), ("text", SAID)])
def test_a_fit_and_probabilities_are_those_of_one_file(folder, name, columns):
    whole, parts = (
        jobs.fit(folder / each, PLATT, columns=said) for each, said in (("whole.parquet", None), (name, columns))
    )
    assert parts.n_pairs == 400
    assert parts.parameters == pytest.approx(whole.parameters, rel=1e-9)
    jobs.apply(folder / "map.json", folder / "whole.parquet", folder / "whole-out.parquet")
    jobs.apply(folder / "map.json", folder / name, folder / "out.parquet", columns=columns)
    expected, found = (pl.read_parquet(folder / each)["probability"] for each in ("whole-out.parquet", "out.parquet"))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_lists_and_shares_are_made_of_folders(folder):
    jobs.apply(folder / "map.json", folder / "days", folder / "probable" / "all.parquet")
    options = jobs.ListOptions(utility="dcg")
    with pytest.warns(SurenessWarning, match="sorted"):
        cut = jobs.cut_table(folder / "probable", folder / "lists.parquet", options)
    assert cut.n_users == 40
    budget = jobs.AllocateOptions(budget=50)
    shared = jobs.allocate(folder / "probable", folder / "shared.parquet", budget)
    assert shared.n_users == 40


def test_several_files_are_one_table(folder):
    names = sorted((folder / "days").rglob("*.parquet"))
    result = jobs.apply(folder / "map.json", names, folder / "out.parquet")
    assert result.n_pairs == 400
    assert result.plain()["table"].endswith("and 3 more")
    words = ("apply", "map.json", *names, "-o", "again.parquet")
    assert run(*words, cwd=folder).returncode == 0
    assert pl.read_parquet(folder / "again.parquet").equals(pl.read_parquet(folder / "out.parquet"))
    assert jobs.fit([str(name) for name in names], PLATT).n_pairs == 400
    assert Interactions.from_table(names).n_users == 40
    with pytest.raises(OutputError, match="input"):
        jobs.apply(folder / "map.json", names, names[2])
    with pytest.raises(DataError, match="at least one file"):
        jobs.fit([], PLATT)


@pytest.mark.parametrize(("value", "error"), [("high", FileError), ("", DataError), ("inf", DataError)])
def test_apply_names_the_line_of_a_bad_score(folder, value, error):
    (folder / "bad.csv").write_text(f"user_id,score\n1,0.5\n2,{value}\n")
    with pytest.raises(error, match="line 3"):
        jobs.apply(folder / "map.json", folder / "bad.csv", folder / "out.parquet")


@pytest.mark.parametrize("name", ["days", "days/*/*.parquet"])
def test_a_folder_is_described_and_trained_on(folder, name):
    done = run("data", "describe", name, "--json", cwd=folder)
    assert '"interactions": 400' in done.stdout


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("days", "days/out.parquet"),
        ("days", "days/day=2024-05-01/part-0.parquet"),
        ("days/*/*.parquet", "days/new/out.parquet"),
        ("text/*", "text/out.csv"),
    ],
)
def test_an_output_is_not_put_among_the_inputs(folder, source, target):
    with pytest.raises(OutputError, match="input"):
        jobs.apply(folder / "map.json", folder / source, folder / target, columns=SAID)
    assert not (folder / "days" / "out.parquet").exists()


def test_a_folder_of_anything_else_is_refused(folder):
    (folder / "empty").mkdir()
    with pytest.raises(FileError, match="no tables"):
        jobs.apply(folder / "map.json", folder / "empty", folder / "out.parquet")


def test_the_options_of_text_are_those_of_columns(folder):
    words = ("--format", "separator=semicolon", "--format", "decimal=comma")
    done = run("fit", "text", *words, "--method", "platt", "-o", "again.json", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    noted = run("fit", "text", "--method", "platt", "-o", "again.json", "--json", cwd=folder)
    assert noted.stdout == done.stdout
    assert noted.stderr.count("note: ") == 2  # the separator and the decimal commas, each once
