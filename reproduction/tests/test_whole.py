from __future__ import annotations

import json
import os
import re
from collections import Counter
from dataclasses import replace

import polars as pl
import pytest
from numpy.testing import assert_allclose

from reproduction.tests.small import SMALL
from reproduction.tests.works import broken
from sureness.errors import DataError, FileError, SurenessWarning
from sureness_reproduction import catalogue, claims, writing
from sureness_reproduction.claims import claims_table
from sureness_reproduction.comparing import beside_published, paired
from sureness_reproduction.outcome import Outcome, Verdict
from sureness_reproduction.published import published, published_tables
from sureness_reproduction.running import CellError, run_cells
from sureness_reproduction.store import CellStore
from sureness_reproduction.whole import reproduce
from sureness_reproduction.workbench import DataShelf
from sureness_reproduction.writing import write_index

OTHER = replace(SMALL, name="other", title="Another")


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(writing, "experiments", lambda: {each.name: each for each in (SMALL, OTHER)})


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.delenv("SURENESS_DATA", raising=False)
    monkeypatch.setenv("SURENESS_CACHE", str(tmp_path / "cache"))
    store = CellStore(tmp_path / "cells", DataShelf(tmp_path))
    return reproduce([SMALL], store, tmp_path / "out", scale="full")[0]


def test_every_output_is_there(written, tmp_path):
    names = sorted(str(file.relative_to(tmp_path / "out")) for file in (tmp_path / "out").rglob("*") if file.is_file())
    assert names == [
        "README.md", "index.html", "small/README.md", "small/figures/line.png", "small/figures/line.svg",
        "small/index.html", "small/numbers.parquet", "small/outcome.json",
    ]  # fmt: skip
    table = pl.read_parquet(written.folder / "numbers.parquet")
    assert_allclose(table["ours"][0], 0.2)  # (0 + 1, 1 + 1, 2 + 1) / 10
    assert table["verdict"].to_list() == ["better", ""]
    assert table["remark"].to_list() == ["", "not run: a data set is missing"]


OLD = '{"name": "small", "chapter": 2, "title": "A", "shows": "b", "command": "c", "findings": ["The mean is 0.20."]}'


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("The mean is 0.20.", "The mean is 0.90."),
        lambda text: text.replace('"small"', '"smell"'),
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: OLD,
    ],
    ids=["a digit", "a letter", "half", "nothing", "a list", "without a checksum"],
)
def test_a_damaged_outcome_is_not_shown_as_a_finding(written, tmp_path, damage):
    file = written.folder / "outcome.json"
    file.write_text(damage(file.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.warns(SurenessWarning, match="small is left out"):
        page = write_index(tmp_path / "out")
    assert "The mean is" not in page.read_text(encoding="utf-8")
    assert "The mean is" not in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_the_markdown_says_all_of_it(written):
    text = (written.folder / "README.md").read_text(encoding="utf-8")
    for part in (
        "# A small experiment", "`sureness reproduce small --full --seeds 3`", "- The mean is 0.20.",
        "## Numbers | all",
        "Ours beside theirs.", "![A line <that> rises](figures/line.png)", "Seeds: 0, 1, 2.",
        "Not here, so not run: Yahoo!R3.", "| cml | – | – | – | 0.9000 |",
    ):  # fmt: skip
        assert part in text


def test_the_pages_are_whole_and_refer_to_nothing_outside(written, tmp_path):
    page = written.page.read_text(encoding="utf-8")
    assert "A line &lt;that&gt; rises" in page
    assert page.count("<svg") == 1
    index = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert 'href="small/index.html"' in index
    assert "1 experiment." in index
    assert "The mean is 0.20." in index
    for text in (page, index):
        assert not re.findall(r'(?:src|href)="(?:https?:)?//', text)


def test_a_part_of_the_data_can_be_asked_for(tmp_path):
    store = CellStore(tmp_path / "cells", DataShelf(tmp_path))
    (written,) = reproduce([SMALL], store, tmp_path / "out", scale="full", only=["simulated"])
    assert written.plan.absent == ()
    assert written.command == "sureness reproduce small --full --seeds 3 --data simulated"


def test_the_page_of_all_keeps_what_earlier_runs_wrote(written, tmp_path):
    store = CellStore(tmp_path / "cells", DataShelf(tmp_path))
    reproduce([OTHER], store, tmp_path / "out")
    index = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert index.index('href="small/index.html"') < index.index('href="other/index.html"')


def test_without_data_nothing_is_written_over(written, tmp_path, monkeypatch):
    needy = replace(SMALL, data={"quick": ("yahoo-r3",), "full": ("yahoo-r3",)})
    before = written.page.read_text(encoding="utf-8")
    store = CellStore(tmp_path / "cells", DataShelf(tmp_path))
    with pytest.raises(DataError, match="nothing can be run: yahoo-r3 not found; set SURENESS_DATA"):
        reproduce([needy], store, tmp_path / "out")
    reproduce([needy, OTHER], store, tmp_path / "out")
    assert written.page.read_text(encoding="utf-8") == before


def test_what_is_whole_is_written_when_something_else_fails(tmp_path):
    failing = replace(OTHER, cells=lambda plan: [broken.cell(value=3)])
    store = CellStore(tmp_path / "cells", DataShelf(tmp_path))
    with pytest.raises(CellError, match="broken 3"):
        reproduce([SMALL, failing], store, tmp_path / "out")
    assert (tmp_path / "out" / "small" / "index.html").exists()
    assert not (tmp_path / "out" / "other").exists()


def test_a_folder_that_cannot_be_written_is_known_first(tmp_path, monkeypatch):
    (tmp_path / "out").write_text("a file", encoding="utf-8")
    store = CellStore(tmp_path / "cells", DataShelf(tmp_path))
    with pytest.raises(FileError, match="cannot write"):
        reproduce([SMALL], store, tmp_path / "out")
    assert not (tmp_path / "cells").exists()


def test_the_first_error_is_told_also_where_pages_cannot_be_written(tmp_path, monkeypatch):
    failing = replace(OTHER, cells=lambda plan: [broken.cell(value=3)])

    def refuse(*_):
        raise DataError("no page today")

    monkeypatch.setattr("sureness_reproduction.whole.write_outcome", refuse)
    with pytest.raises(CellError, match=r"broken 3: .*; and what is finished could not be shown: no page today"):
        reproduce([SMALL, failing], CellStore(tmp_path / "cells", DataShelf(tmp_path)), tmp_path / "out")


def test_half_written_cells_of_yesterday_are_swept(tmp_path):
    store = CellStore(tmp_path, DataShelf(tmp_path))
    old, young = tmp_path / ".a.partial", tmp_path / ".b.partial"
    for place in (old, young):
        place.mkdir()
    os.utime(old, (0, 0))
    run_cells([], store)
    assert not old.exists()
    assert young.exists()


def test_names_lead_to_experiments():
    known = catalogue.experiments()
    assert all(name == each.name for name, each in known.items())
    assert catalogue.experiment("claims") is known["claims"]
    with pytest.raises(DataError, match="no experiment 'nothing'; there are"):
        catalogue.experiment("nothing")


def test_published_numbers_are_those_of_the_text():
    assert published("ece").filter(data="coat", model="neumf", method="platt", risk="naive").height == 1
    top = published("list-size").filter(method="Top-1").pivot("metric", index=["data", "model"], values="value")
    assert top.height == 12
    assert_allclose(top["ndcg"], top["tp"])  # with one item shown they are the same
    assert_allclose(top["pdcg"], 2 * top["ndcg"] - 1, atol=1.1e-4)
    with pytest.raises(DataError, match="no published table"):
        published("nothing")
    assert set(published_tables()) >= {"ece", "mce", "nll", "distillation", "list-size", "claims"}


_RISKS = ["model", "method", "risk"]
_FILES = {
    "ece": ("calibration_ece.csv", _RISKS),
    "mce": ("calibration_mce.csv", _RISKS),
    "nll": ("calibration_nll.csv", _RISKS),
    "calibration-ranking": ("calibration_ranking.csv", ["model"]),
    "distillation": ("distillation_main.csv", ["model", "method"]),
    "sampling-schemes": ("distillation_sampling.csv", ["model", "scheme", "role"]),
    "list-size": ("list_size_utility_bpr.csv", ["model", "method"]),
}
_WORDS = {"ncf": "neumf", "hist": "histogram", "uerm": "unbiased", "none": ""}
_MENDED = {"distillation": 1}  # 0.0558 for 0.0588


@pytest.mark.parametrize("table", _FILES)
def test_the_published_files_say_the_same(data_folder, table):
    """Key by key: every number of ours is in the file under the same model, method and so on."""
    name, keys = _FILES[table]
    path = data_folder.parent / "published" / name
    if not path.exists():
        pytest.skip(f"no published tables at {path.parent}")
    source = pl.read_csv(path, infer_schema_length=0)
    theirs = Counter(_key([row[key] for key in keys], row["value"]) for row in source.to_dicts())
    ours = published(table)
    if table == "list-size":
        ours = ours.filter(model="bpr")
    mine = Counter(_key([row[key] for key in keys], row["value"]) for row in ours.to_dicts())
    assert ours.height >= 30
    assert sum((mine - theirs).values()) == _MENDED.get(table, 0)


def _key(words, value):
    plain = [_WORDS.get(word.lower(), word.lower()) for word in words]
    return (*plain, float(value))


def test_which_is_better_depends_on_the_number():
    ours = pl.DataFrame({"metric": ["ece", "ndcg"], "value": [0.3, 0.3]})
    theirs = pl.DataFrame({"metric": ["ece", "ndcg"], "value": [0.2, 0.2]})
    found = beside_published(ours, theirs, ["metric"], higher_is_better=lambda row: row["metric"] == "ndcg")
    assert found["verdict"].to_list() == ["worse", "better"]
    equal = beside_published(theirs, theirs, ["metric"])
    assert equal["verdict"].to_list() == ["equal", "equal"]


def test_users_are_paired_after_averaging_their_seeds():
    first = pl.DataFrame({"user": [1, 2, 3] * 2, "seed": [0] * 3 + [1] * 3, "value": [1.0, 2.0, 3.0, 3.0, 2.0, 4.0]})
    second = first.with_columns(value=pl.col("value") - pl.Series([1.0, 0.5, 0.5, 1.0, 1.5, 0.5]))
    gain, p_value = paired(first, second)
    assert_allclose(gain, (1.0 + 1.0 + 0.5) / 3)
    assert 0 < p_value < 0.05
    again, same = paired(first.reverse(), second)
    assert_allclose((again, same), (gain, p_value))


def test_claims_have_verdicts_or_a_reason():
    table = claims_table(
        {("best distillation weight", ""): ("small", Verdict("best distillation weight", "0.25", False))}
    )
    row = table.row(by_predicate=pl.col("claim") == "best distillation weight", named=True)
    assert (row["text"], row["here"], row["verdict"]) == ("0.5", "0.25", "does not hold")
    assert table.filter(pl.col("here").str.len_chars() == 0).is_empty()
    others = table.filter(pl.col("claim") != "best distillation weight")
    assert others["here"].str.starts_with("not run: ").all()


def test_claims_are_gathered_from_the_experiments(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "_tested", lambda: [SMALL])
    store = CellStore(tmp_path / "cells", DataShelf(tmp_path))
    (written,) = reproduce([claims._claims()], store, tmp_path / "out", scale="full")
    assert "holds: 0, does not hold: 1" in written.outcome.findings[0]
    row = written.outcome.tables[0].shown.row(by_predicate=pl.col("claim") == "best distillation weight", named=True)
    assert row["experiment"] == "small, 3 seeds"  # its own number, not that of the page
    (fewer,) = reproduce([claims._claims()], store, tmp_path / "out", scale="full", seeds=1)
    assert "small, 1 seed" in fewer.outcome.tables[0].shown["experiment"].to_list()


def test_a_quick_run_decides_no_claim(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "_tested", lambda: [SMALL])
    (written,) = reproduce([claims._claims()], CellStore(tmp_path / "cells", DataShelf(tmp_path)), tmp_path / "out")
    assert "holds: 0, does not hold: 0" in written.outcome.findings[0]
    assert "0.25 (quick)" in written.outcome.tables[0].shown["here"].to_list()


def test_a_claim_without_its_data_says_whether_they_were_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(
        claims, "_tested", lambda: [replace(SMALL, cells=lambda plan: [], outcome=lambda *_: Outcome())]
    )
    store = CellStore(tmp_path / "cells", DataShelf(tmp_path))
    (every,) = reproduce([claims._claims()], store, tmp_path / "out", scale="full")
    assert "not run: its data are not here" in every.outcome.tables[0].shown["here"].to_list()
    (some,) = reproduce([claims._claims()], store, tmp_path / "out", scale="full", only=["simulated"])
    assert "not run: its data are not here or not asked for" in some.outcome.tables[0].shown["here"].to_list()


def test_the_command_runs_lists_and_tells(tmp_path, monkeypatch, capsys):
    import sys

    from sureness.cli import main
    from sureness_reproduction import command

    monkeypatch.setattr(command, "experiments", lambda: {"small": SMALL})
    monkeypatch.setattr(command, "experiment", lambda name: SMALL)

    def run(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["sureness", "reproduce", *words])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0)

    assert run("--list") == 0
    assert "A small experiment" in capsys.readouterr().out
    assert run("all", "--quick", "--jobs", "1", "-o", str(tmp_path / "out"), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["experiments"][0]["findings"] == ["The mean is 0.15."]
    assert run("small", "--jobs", "1", "-o", str(tmp_path / "out")) == 0
    assert "The page to look at" in capsys.readouterr().out
    assert run("small", "--data", "coat") == 1
    assert "has the data set 'coat'" in capsys.readouterr().err
    assert run() == 2
    assert run("small", "--quick", "--full") == 2
    assert run("small", "--data-folder", str(tmp_path / "nowhere")) == 1
    assert "no folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "why"),
    [(["coat"], "none of the data sets asked for; it has simulated"), ([], "none of its data sets is here")],
)
def test_why_an_experiment_was_not_run(asked, why):
    from sureness_reproduction.command import why_not_run

    assert why in why_not_run(SMALL, "quick", asked)
