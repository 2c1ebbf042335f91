"""The table of what the dissertation claims, what full runs found, and why."""

from __future__ import annotations

import json
import sys

import polars as pl
import pytest

from reproduction.tests.small import KNOWN, SmallShelf
from sureness.cli import main
from sureness_reproduction import claims, study
from sureness_reproduction.cells import CellStore
from sureness_reproduction.claims import claims_table, computed, declared
from sureness_reproduction.pages import run_studies
from sureness_reproduction.study import Asked, find_studies, studies

ONE = {"chapter": 9, "claim": "Good is best", "studies": ["known"], "contrasts": ["good beats bad"], "published": "+5%",
       "why": "It is good."}  # fmt: skip


def contrast(holds, difference=0.1, p=0.01, **more):
    row = {"claim": "good beats bad", "claimed": True, "first": "good", "second": "bad", "value": 1.0, "against": 1.0}
    return row | {"difference": difference, "p_holm": p, "holds": holds} | more


def test_every_claim_is_declared_and_every_declared_one_is_tested():
    tested = {claim.text for each in studies() for claim in each.claims if claim.claimed}
    assert {text for claim in declared() for text in claim["contrasts"]} == tested
    for claim in declared():
        for each in find_studies(claim["studies"]):
            assert {text.text for text in each.claims} & set(claim["contrasts"]), claim["claim"]


@pytest.mark.parametrize(
    ("rows", "holds", "found"),
    [
        ([contrast("yes"), contrast("yes", 0.2, 0.03)], "yes", "+10.0% to +20.0%; 2 yes; p 0.01 to 0.03"),
        ([contrast("yes"), contrast("no", -0.1)], "no", "-10.0% to +10.0%; 1 yes, 1 no; p 0.01"),
        ([contrast("yes"), contrast("open", 0.0, None)], "open", "+0.0% to +10.0%; 1 yes, 1 open; p 0.01"),
        ([contrast("no", second="", value=0.3, against=0.5)], "no", "0.3 against 0.5; 1 no; p 0.01"),
        ([contrast("yes", claimed=False)], "open", "not run; `sureness reproduce known --full`"),
        ([], "open", "not run; `sureness reproduce known --full`"),
    ],
)
def test_a_claim_holds_where_it_holds_everywhere(monkeypatch, rows, holds, found):
    monkeypatch.setattr(claims, "declared", lambda: [ONE])
    (row,) = claims_table(lambda name: pl.DataFrame(rows, infer_schema_length=None)).to_dicts()
    assert (row["holds"], row["we found"]) == (holds, found)
    assert (row["published"], row["why"]) == ("+5%", "It is good.")


def test_a_claim_may_be_about_some_places_only(monkeypatch):
    rows = [contrast("yes", model="bpr"), contrast("no", -0.1, model="cdae")]
    monkeypatch.setattr(claims, "declared", lambda: [ONE | {"where": {"model": ["bpr"]}}])
    assert claims_table(lambda name: pl.DataFrame(rows))["holds"].to_list() == ["yes"]


def test_finished_cells_go_before_committed_results(monkeypatch, tmp_path):
    monkeypatch.setattr(claims, "declared", lambda: [ONE])
    monkeypatch.setattr(claims, "committed", lambda name: pl.DataFrame([contrast("no", -0.1)]))
    monkeypatch.setattr(study, "studies", lambda: [KNOWN])
    store = CellStore(tmp_path / "cells", SmallShelf(tmp_path))
    assert claims_table(computed(store))["holds"].to_list() == ["no"]
    run_studies([KNOWN], Asked("full"), store, tmp_path)
    assert claims_table(computed(store))["holds"].to_list() == ["yes"]


def test_the_command_shows_the_table_without_computing(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sureness", "reproduce", "claims", "--full", "--json"])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    told = json.loads(capsys.readouterr().out)["claims"]
    assert [row["the dissertation claims"] for row in told] == [claim["claim"] for claim in declared()]
    assert not list(tmp_path.iterdir())
