"""What jobs write as CSV opens in the spreadsheet that the input came from."""

from __future__ import annotations

import codecs

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness.jobs.allocating import AllocateOptions, allocate
from sureness.jobs.applying import ApplyOptions, apply
from sureness.jobs.cutting import cut_run, cut_table
from sureness.jobs.judging import EvaluateOptions, evaluate
from sureness.jobs.listing import ListOptions
from sureness.recommender.run import Run
from sureness.tables.columns import Columns
from sureness.tables.reading import scan_table

GERMAN = Columns(separator="semicolon", decimal="comma", encoding="utf-8-sig")
LISTS = "user_id;item_id;probability;price\nann;1;0,75;-9,99\nann;2;0,5;1,50\nbob;1;0,25;2,00\n"


@pytest.fixture
def lists(tmp_path):
    path = tmp_path / "lists.csv"
    path.write_text(LISTS, encoding="utf-8-sig")
    return path


def is_german(path) -> bool:
    """Whether a file has a mark, semicolons, decimal commas and no decimal points."""
    found = path.read_bytes()
    text = found.decode("utf-8-sig")
    rows = [line.split(";") for line in text.splitlines()]
    return (
        found.startswith(codecs.BOM_UTF8) and len({len(row) for row in rows}) == 1 and "," in text and "." not in text
    )


def cut(lists, output, **options):
    cut_table(lists, output, ListOptions(utility="tp"), **options)


def share(lists, output, **options):
    allocate(lists, output, AllocateOptions(budget=2, items=True), **options)


@pytest.mark.parametrize("job", [cut, share])
@pytest.mark.filterwarnings("ignore")
def test_lists_of_a_spreadsheet_open_in_it(lists, tmp_path, job):
    job(lists, tmp_path / "out.csv")
    assert is_german(tmp_path / "out.csv")
    assert scan_table(tmp_path / "out.csv").collect()["probability"].max() == 0.75
    job(lists, tmp_path / "out.tsv")
    assert set("\t;") & set((tmp_path / "out.tsv").read_text()) == {"\t"}


@pytest.mark.parametrize("of_lists", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_probabilities_are_written_as_the_scores_were(tmp_path, of_lists):
    rng = np.random.default_rng(0)
    scores, groups = rng.normal(size=400).round(3), np.repeat(np.arange(40), 10)
    labels = rng.random(400) < 1 / (1 + np.exp(1 - scores))
    calibrator = (
        sn.ListCalibrator().fit(scores, labels, groups=groups) if of_lists else sn.PlattCalibrator().fit(scores, labels)
    )
    table = pl.DataFrame({"user_id": groups, "item_id": np.tile(np.arange(10), 40), "score": scores})
    for path, sorted_ in (
        (tmp_path / "sorted.csv", table),
        (tmp_path / "any.csv", table.sample(fraction=1, shuffle=True)),
    ):
        sorted_.write_csv(path, separator=";", decimal_comma=True, include_bom=True)
        apply(calibrator, path, tmp_path / "out.csv")
        assert is_german(tmp_path / "out.csv")
        found = scan_table(tmp_path / "out.csv").collect()
        assert_allclose(found["probability"], apply(calibrator, sorted_).frame["probability"])


def test_a_format_that_is_given_holds_where_no_text_came_in(tmp_path):
    table = pl.DataFrame({"user_id": [1, 1, 2], "item_id": [1, 2, 1], "probability": [0.75, 0.5, 0.25]})
    table.write_parquet(tmp_path / "lists.parquet")
    cut(tmp_path / "lists.parquet", tmp_path / "out.csv", columns=GERMAN)
    assert is_german(tmp_path / "out.csv")
    cut(tmp_path / "lists.parquet", tmp_path / "plain.csv")
    assert (tmp_path / "plain.csv").read_text().startswith("user_id,item_id,probability,rank")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    world = sn.simulate(sn.SimulatorSettings(n_users=150, n_items=60, preference_rate=0.3, seed=3))
    log = sn.Interactions.from_matrix((world.train + world.held_out).tocsr())
    split = sn.by_ratio(log, (0.6, 0.2, 0.2), seed=0)
    path = tmp_path_factory.mktemp("run") / "run.sureness"
    Run(sn.svd_source(split.train, n_factors=4), **split.parts, about={"protocol": "ratio"}).save(path)
    return path


def apply_to_run(run, output):
    calibrator = sn.PlattCalibrator().fit([0, 1, 2, 3], [0, 1, 0, 1])
    apply(calibrator, run, output, ApplyOptions(top=3), columns=GERMAN)


def cut_the_run(run, output):
    cut_run(run, output, columns=GERMAN)


def size_the_run(run, output):
    cut_run(run, output, columns=GERMAN, sizes_only=True)


def judge_the_run(run, output):
    evaluate(run, EvaluateOptions(per_user=output), columns=GERMAN)


@pytest.mark.parametrize("job", [apply_to_run, cut_the_run, size_the_run, judge_the_run])
@pytest.mark.filterwarnings("ignore")
def test_what_is_made_of_a_run_has_the_format_that_is_given(run, tmp_path, job):
    job(run, tmp_path / "out.csv")
    assert is_german(tmp_path / "out.csv")


@pytest.mark.filterwarnings("ignore")
def test_tabs_and_other_encodings_become_what_spreadsheets_open(tmp_path):
    text = LISTS.replace(",", ".").replace(";", "\t").replace("ann", "zoë")
    (tmp_path / "lists.tsv").write_text(text, encoding="cp1252")
    cut(tmp_path / "lists.tsv", tmp_path / "out.csv", columns=Columns(encoding="cp1252"))
    found = (tmp_path / "out.csv").read_bytes()
    assert found.startswith(codecs.BOM_UTF8 + b"user_id,item_id,probability")
    assert "zoë".encode() in found


@pytest.mark.filterwarnings("ignore")
def test_formulas_are_escaped_by_the_format(lists, tmp_path):
    lists.write_text(LISTS.replace("ann", "=1+1"), encoding="utf-8")
    cut(lists, tmp_path / "out.csv", columns=Columns(formulas="escaped"))
    rows = (tmp_path / "out.csv").read_text().splitlines()
    assert rows[1].startswith("'=1+1;1;0,75;-9,99;"), "a negative number is not a formula"
    cut(lists, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1].startswith("=1+1;")


@pytest.mark.parametrize(
    ("price", "written"), [("9,99", "0,5"), ("9.99", "0.5"), ("9", "0.5"), ("9,99;1.5", "0.5"), ("x", "0.5")]
)
@pytest.mark.filterwarnings("ignore")
def test_whole_scores_leave_the_decimals_to_the_other_columns(tmp_path, price, written):
    names = ["score", "price", "weight"][: 2 + price.count(";")]
    (tmp_path / "in.csv").write_text(f"{';'.join(names)}\n0;{price}\n1;{price}\n")
    half = sn.PlattCalibrator().fit([-1.0, -1, 1, 1], [0, 1, 0, 1])
    apply(half, tmp_path / "in.csv", tmp_path / "out.csv")
    assert [line.rsplit(";")[-1] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]] == [written] * 2
