from __future__ import annotations

import json
import sys
from collections import Counter

import polars as pl
import pytest
from numpy.testing import assert_allclose

from reproduction.tests.small import KNOWN
from sureness.cli import main
from sureness.errors import DataError
from sureness_reproduction import command, study
from sureness_reproduction.pages import published


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "studies", lambda: [KNOWN])
    monkeypatch.setattr(study, "studies", lambda: [KNOWN])
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
    assert told["numbers"][0]["value"] == 4.0
    assert told["missing"] == 0


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
        (("nothing",), 1, "no study 'nothing'"),
        (("known", "--data", "coat"), 1, "has the data 'coat'"),
        (("known", "--model", "three"), 1, "has the model 'three'"),
        (("known", "--method", "nowhere:Thing"), 1, "cannot import nowhere"),
        (("known", "--data-folder", "nowhere"), 1, "no folder"),
    ],
)
def test_what_cannot_be_run_is_refused_first(run, capsys, tmp_path, words, code, told):
    assert run(*words) == code
    assert told in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert not (tmp_path / "reproduced").exists()


def test_published_numbers_are_those_of_the_dissertation():
    assert published("ece").filter(data="coat", model="neumf", method="platt", risk="naive").height == 1
    top = published("list-size").filter(method="Top-1").pivot("metric", index=["data", "model"], values="value")
    assert top.height == 12
    assert_allclose(top["ndcg"], top["tp"])  # with one item shown they are the same
    assert_allclose(top["pdcg"], 2 * top["ndcg"] - 1, atol=1.1e-4)
    with pytest.raises(DataError, match="no published table"):
        published("nothing")


_RISKS = ["model", "method", "risk"]
_FILES = {
    "ece": ("calibration_ece.csv", _RISKS),
    "mce": ("calibration_mce.csv", _RISKS),
    "nll": ("calibration_nll.csv", _RISKS),
    "calibration-ranking": ("calibration_ranking.csv", ["model"]),
    "distillation": ("distillation_main.csv", ["model"]),
    "sampling-schemes": ("distillation_sampling.csv", ["model", "role"]),
    "list-size": ("list_size_utility_bpr.csv", ["model", "method"]),
    "list-size-data": ("list_size_data.csv", []),
}
_WORDS = {"ncf": "neumf", "hist": "histogram", "uerm": "unbiased", "none": "", "perk": "perk as published"}
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
    assert ours.height >= 16
    assert sum((mine - theirs).values()) == _MENDED.get(table, 0)


def _key(words, value):
    return (*(_WORDS.get(word.lower(), word.lower()) for word in words), float(value))
