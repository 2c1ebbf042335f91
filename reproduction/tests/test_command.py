"""The command, the published numbers, and the table of what the dissertation claims and full runs found."""

import json
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from numpy.testing import assert_allclose

from reproduction.tests.small import KNOWN, SmallShelf
from sureness.cli import main
from sureness_reproduction import claims, command, declarations, items
from sureness_reproduction.cells import CellStore
from sureness_reproduction.claims import DECLARED, ELSEWHERE, IN_SETTING, claims_table, computed
from sureness_reproduction.declarations import DRAWINGS, find_studies, studies
from sureness_reproduction.items import LISTED
from sureness_reproduction.pages import NONE, PUBLISHED, published, run_studies
from sureness_reproduction.study import Asked


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "studies", lambda: [KNOWN])
    monkeypatch.setattr(declarations, "studies", lambda: [KNOWN])
    monkeypatch.chdir(tmp_path)

    def called(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["sureness", "reproduce", *words])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0)

    return called


def test_a_study_is_run_by_name_and_by_number(run, capsys):
    assert run("known", "--jobs", "1") == 0
    shown = capsys.readouterr().out
    assert "Known numbers" in shown
    assert "4.0000 ± 0.7071" in shown
    assert run("table-9", "--jobs", "1", "--json") == 0
    (told,) = json.loads(capsys.readouterr().out)["studies"]
    assert told["command"] == "sureness reproduce known --quick"
    assert (told["numbers"][0]["value"], told["missing"]) == (4.0, 0)


def test_full_runs_are_merged(run, tmp_path):
    for model in KNOWN.grid["model"]:
        assert run("known", "--full", "--model", model, "--jobs", "1", "--merge", "kept") == 0
    assert pl.read_csv(tmp_path / "kept" / "known.csv")["model"].unique(maintain_order=True).to_list() == ["one", "two"]
    assert not (tmp_path / "kept" / "known.md").exists()


def test_another_command_does_not_replace_a_page(run, tmp_path):
    for words in (("--quick",), ("--quick", "--model", "one"), ("--quick",)):
        assert run("known", *words, "--jobs", "1") == 0
    assert sorted(page.name for page in (tmp_path / "reproduced").glob("*.md")) == ["known-2.md", "known.md"]


def test_the_studies_are_listed(run, capsys):
    assert run("--list") == 0
    assert "table-9.1" in capsys.readouterr().out
    assert run("--list", "--json") == 0
    assert json.loads(capsys.readouterr().out)["studies"][0]["name"] == "known"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((), 2, "give the names"),
        (("known", "--quick", "--full"), 2, "exclude each other"),
        (("known", "--merge", "kept"), 2, "give --full"),
        (("nothing",), 1, "no study 'nothing'"),
        (("known", "--data", "coat"), 1, "has the data 'coat'"),
        (("known", "--model", "three"), 1, "has the model 'three'"),
        (("known", "--method", "nowhere:Thing"), 1, "cannot import nowhere"),
        (("known", "--method", "plat"), 1, "takes the method 'plat'; they have good, bad"),
        (("known", "--method", "math:pi"), 1, "takes the method 'math:pi'"),
        (("",), 1, "no study ''"),
        (("known", "--data-folder", "nowhere"), 1, "no folder"),
    ],
)
def test_what_cannot_be_run_is_refused_first(run, capsys, tmp_path, words, code, told):
    assert run(*words) == code
    assert told in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert not (tmp_path / "reproduced").exists()


# --- published numbers ------------------------------------------------------------------------------------------------


def test_a_log_cannot_tell_unbiased_from_naive_risk(monkeypatch, capsys, tmp_path):
    """It has no uniformly exposed test, so a contrast of risks there would mean nothing."""
    (tmp_path / "own.tsv").write_text("user_id\titem_id\n" + "".join(f"{n % 9}\t{n}\n" for n in range(90)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sureness", "reproduce", "ece", "--data", "own.tsv"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    assert "all pairs were shown with the same chance" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "reproduced").exists()


def test_published_numbers_are_consistent():
    assert set(PUBLISHED) == {each.published for each in studies()} - {""}
    top = published("list-size").filter(method="Top-1").pivot("metric", index=["data", "model"], values="value")
    assert top.height == 12
    assert_allclose(top["ndcg"], top["tp"])  # with one item shown they are the same
    assert_allclose(top["pdcg"], 2 * top["ndcg"] - 1, atol=1.1e-4)


_RISKS = ["model", "method", "risk"]
_FILES = {
    "ece": ("calibration_ece.csv", _RISKS), "mce": ("calibration_mce.csv", _RISKS),
    "nll": ("calibration_nll.csv", _RISKS), "calibration-ranking": ("calibration_ranking.csv", ["model"]),
    "distillation": ("distillation_main.csv", ["model"]), "list-size-data": ("list_size_data.csv", []),
    "sampling-schemes": ("distillation_sampling.csv", ["model", "role"]),
    "list-size": ("list_size_utility_bpr.csv", ["model", "method"]),
}  # fmt: skip
_WORDS = {"ncf": "neumf", "hist": "histogram", "uerm": "unbiased", "none": "", "perk": "perk as published"}
_MENDED = {"distillation": 1}  # 0.0558 for 0.0588


@pytest.mark.parametrize("table", _FILES)
def test_the_published_files_say_the_same(data_folder, table):
    """Key by key: every number of ours is in the file under the same model, method and so on."""
    name, keys = _FILES[table]
    path = data_folder.parent / "published" / name
    if not path.exists():
        pytest.skip(f"no published tables at {path.parent}")

    def counted(source):
        words = [[row[key].lower() for key in keys] + [float(row["value"])] for row in source.to_dicts()]
        return Counter(tuple(_WORDS.get(word, word) for word in each) for each in words)

    ours = published(table).filter(model="bpr") if table == "list-size" else published(table)
    assert ours.height >= 16
    unknown = counted(ours) - counted(pl.read_csv(path, infer_schema_length=0))
    assert unknown.total() == _MENDED.get(table, 0)


# --- claims -----------------------------------------------------------------------------------------------------------

ONE = {"chapter": 9, "claim": "Good is best", "studies": ["known"], "contrasts": ["good beats bad"], "published": "+5%",
       "why": "It is good."}  # fmt: skip


def contrast(holds, difference=0.1, p=0.01, **more):
    row = {"claim": "good beats bad", "claimed": True, "first": "good", "second": "bad", "value": 1.0, "against": 1.0}
    return row | {"difference": difference, "p_holm": p, "holds": holds} | more


def test_every_claim_is_declared_and_every_declared_one_is_tested():
    tested = {claim.text for each in studies() for claim in each.claims if claim.claimed}
    assert {text for claim in DECLARED for text in claim["contrasts"]} == tested
    for claim in DECLARED:
        for each in find_studies(claim["studies"]):
            assert {text.text for text in each.claims} & set(claim["contrasts"]), claim["claim"]


_MISSING = "not run; `sureness reproduce known --full`"


@pytest.mark.parametrize(
    ("rows", "where", "holds", "found"),
    [
        ([contrast("yes"), contrast("yes", 0.2, 0.03)], {}, "yes: 2 of 2", "+10.0% to +20.0%; 2 yes; p 0.01 to 0.03"),
        ([contrast("yes"), contrast("no", -0.1)], {}, "no: 1 of 2", "-10.0% to +10.0%; 1 yes, 1 no; p 0.01"),
        ([contrast("yes"), contrast("open", 0.0, None)], {}, "open: 1 of 2", "+0.0% to +10.0%; 1 yes, 1 open; p 0.01"),
        ([contrast("yes", p=None)], {}, "yes: 1 of 1", "+10.0%; 1 yes; p –"),
        ([contrast("no", second="", value=0.3, against=0.5)], {}, "no: 0 of 1", "0.3 against 0.5; 1 no; p 0.01"),
        ([contrast("yes", model="bpr"), contrast("no", -0.1, model="cdae")], {"model": ["bpr"]}, "yes: 1 of 1",
         "+10.0%; 1 yes; p 0.01"),
        ([contrast("yes", claimed=False)], {}, NONE, _MISSING),
        ([], {}, NONE, _MISSING),
    ],
)  # fmt: skip
def test_a_claim_holds_where_it_holds_everywhere(monkeypatch, rows, where, holds, found):
    monkeypatch.setattr(claims, "DECLARED", [ONE | {"where": where}])
    (row,) = claims_table(lambda name: pl.DataFrame(rows, infer_schema_length=None)).to_dicts()
    assert row[ELSEWHERE] == NONE
    assert (row[IN_SETTING], row["we found"], row["published"], row["why"]) == (holds, found, "+5%", "It is good.")


def test_settings_that_the_dissertation_did_not_use_are_judged_apart(monkeypatch):
    monkeypatch.setattr(claims, "DECLARED", [ONE])
    rows = [contrast("yes", data="coat"), contrast("no", -0.1, data="amazon-music")]
    (row,) = claims_table(lambda name: pl.DataFrame(rows)).to_dicts()
    assert (row[IN_SETTING], row[ELSEWHERE]) == ("yes: 1 of 1", "no: 0 of 1")


def test_finished_cells_go_before_committed_results(run, monkeypatch, tmp_path):
    monkeypatch.setattr(claims, "DECLARED", [ONE])
    monkeypatch.setattr(claims, "committed", lambda name: pl.DataFrame([contrast("no", -0.1)]))
    store = CellStore(tmp_path / "cells", SmallShelf(tmp_path))
    assert claims_table(partial(computed, store))[IN_SETTING].to_list() == ["no: 0 of 1"]
    run_studies([KNOWN], Asked("full"), store, tmp_path)
    assert claims_table(partial(computed, store))[ELSEWHERE].to_list() == ["yes: 2 of 2"]


PLACES = [place.partition(" | ")[0] for answered in LISTED.values() for place in answered.values()]


def test_every_claim_table_and_figure_is_among_the_items():
    listed = {place.removeprefix("claim ") for place in PLACES if place.startswith("claim ")}
    assert {claim["claim"] for claim in DECLARED} == listed
    names = " ".join(f"{kind} {item}" for kind, answered in LISTED.items() for item in answered)
    numbers = {number for each in studies() for number in each.tables_and_figures} | set(DRAWINGS)
    assert [number for number in numbers if number.replace("-", " ") not in names] == []


def test_items_name_studies_and_tests_that_there_are():
    for kind, _, rest in (place.partition(" ") for place in PLACES):
        assert kind in ("test", "study", "claim", "cannot")
        if kind == "study":
            (study,) = find_studies([rest.split()[0]])
            keys = [each.split("=") for each in rest.split()[1:]]
            assert all(value in study.known(key) for key, value in keys if key in ("data", "model"))
        if kind == "test":
            assert (Path(__file__).parents[2] / rest).exists(), rest


def test_an_item_is_done_where_its_rows_are_committed(tmp_path, monkeypatch):
    monkeypatch.setattr(items, "RESULTS", tmp_path)
    listed = {"a": "study nll method=platt | b", "c": "study nll", "d": "cannot be had: e"}
    monkeypatch.setattr(items, "LISTED", {"x": listed})
    states = items.items_table()["state"].to_list()
    assert states == ["not run", "not run", "cannot be had"]
    pl.DataFrame({"method": ["beta"], "value": [1.0]}).write_csv(tmp_path / "nll.csv")
    table = items.items_table()
    assert table["state"].to_list() == ["not run", "done", "cannot be had"]
    assert table["command"][2] == "e"
    assert table["command"][0] == "`sureness reproduce nll --full --method platt`"
    assert items.counts(table) == "3 items: 1 done, 1 cannot be had, 1 not run."


def test_the_command_shows_the_claims_without_computing(run, capsys, tmp_path, monkeypatch):
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert run("claims", "--full", "--json") == 0
    told = json.loads(capsys.readouterr().out)["claims"]
    assert [row["the dissertation claims"] for row in told] == [claim["claim"] for claim in DECLARED]
    assert not list(tmp_path.iterdir())
