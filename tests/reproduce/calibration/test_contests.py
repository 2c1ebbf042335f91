"""What is said about judgements, on judgements that are known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sureness.reproduce.calibration.contests import (
    decrease_in_text,
    improvement_in_text,
    is_proposed,
    lowest,
    proposal_table,
    risk_table,
)
from sureness.reproduce.calibration.ratios import ratio_findings
from sureness.reproduce.calibration.sentences import (
    claim_verdicts,
    gaming_sentence,
    level_sentence,
    proposal_sentences,
    risk_sentences,
)
from sureness.reproduce.calibration.sets import AS_LOGGED
from sureness.reproduce.calibration.summing import difference, over_seeds, summary
from tests.reproduce.calibration.made_up import judgements

GAUSSIAN, PLATT = ("gaussian", "unbiased"), ("platt", "unbiased")


@pytest.mark.parametrize(
    ("other", "spread", "verdict"),
    [(0.10, 1e-4, "holds"), (0.0501, 0.02, "lowest, but within chance"), (0.0499, 0.02, "not lowest, within chance"),
     (0.01, 1e-4, "does not hold")],
)  # fmt: skip
def test_a_claim_is_judged_by_its_interval(other, spread, verdict):
    rows = judgements({GAUSSIAN: 0.05, PLATT: other}, spread=spread)
    table = proposal_table(rows)
    assert table["verdict"].to_list() == [verdict]
    assert table["improvement_percent"].item() == pytest.approx(100 * (1 - 0.05 / other))


def test_a_constant_and_methods_outside_the_text_are_no_rivals():
    rows = judgements({GAUSSIAN: 0.05, ("constant", ""): 0.001, ("kanoulas", "unbiased"): 0.002}, spread=1e-4)
    table = proposal_table(rows)
    assert table["verdict"].item() == "holds"
    assert "kanoulas" not in table["best_other"].item()


def test_a_method_that_fails_on_a_seed_is_not_the_lowest():
    rows = judgements({GAUSSIAN: 0.05, ("gamma", "unbiased"): 0.01})
    fewer = rows.filter(~((pl.col("method") == "gamma") & (pl.col("seed") == 1)))
    assert lowest(rows, is_proposed)[0] == ("gamma", "unbiased")
    assert lowest(fewer, is_proposed)[0] == GAUSSIAN


def test_where_no_unbiased_map_exists_nothing_is_decided():
    rows = judgements({}).filter(pl.col("risk") != "unbiased")
    assert proposal_table(rows)["verdict"].item().startswith("not decided")
    risks = risk_table(rows)
    assert risks["decrease_percent"].null_count() == risks.height
    assert not any(verdict.holds for verdict in claim_verdicts({AS_LOGGED: (proposal_table(rows), risks)}, rows))


def test_the_risks_are_compared_method_by_method():
    errors = {(method, "naive"): 0.1 for method in ("platt", "beta", "gaussian", "gamma")}
    errors |= {(method, "unbiased"): 0.05 for method in ("platt", "beta", "gaussian")} | {("gamma", "unbiased"): 0.2}
    table = risk_table(judgements(errors, spread=1e-5))
    found = {row["method"]: (round(row["decrease_percent"], 6), row["unbiased_is"]) for row in table.to_dicts()}
    assert found["platt"] == (50.0, "lower")
    assert found["gamma"] == (-100.0, "higher")
    said = risk_sentences(table, AS_LOGGED)[0]
    assert "does not hold: it does in 3 of 4 cases (3 beyond chance; higher beyond chance in 1)" in said
    assert "-100.00 to 50.00%" in said


def test_the_improvement_of_the_text_follows_from_its_table():
    assert improvement_in_text("coat", "bpr") == pytest.approx(5.11, abs=0.01)  # the text prints 5.21, from more digits
    assert decrease_in_text("coat", "bpr", "platt") == pytest.approx(6.80, abs=0.01)
    assert improvement_in_text("simulated", "bpr") is None


def test_sentences_hold_the_numbers():
    rows = judgements({GAUSSIAN: 0.05, ("constant", ""): 0.01}, models=("bpr", "cml"), spread=1e-4)
    said = proposal_sentences(proposal_table(rows), AS_LOGGED)[0]
    assert "(holds: bpr, cml)" in said
    assert "75.00 to 75.00%" in said
    assert "beyond chance better for 2 and worse for 0 of 2 models" in said
    assert "lower than the best proposed method for 2 of 2 models" in gaming_sentence(rows, AS_LOGGED)
    level = level_sentence(judgements({}), AS_LOGGED)
    assert "naive: mean probability 0.300, ECE 0.2000, of which the level alone 60%" in level


def test_intervals_hold_users_and_seeds():
    rows = judgements({GAUSSIAN: 0.05, PLATT: 0.08}, seeds=(0, 1, 2), spread=0.01)
    found = summary(rows, "ece").filter(method="gaussian", risk="unbiased").row(0, named=True)
    assert found["low"] < 0.05 < found["high"]
    assert found["seeds"] == 3
    apart = difference(rows, GAUSSIAN, PLATT)
    assert apart.value == pytest.approx(-0.03)
    alone = found["high"] - found["low"]
    assert apart.high - apart.low < 2 * alone  # users are drawn for both alike
    seeds = np.repeat([[0.1], [0.3]], 400, axis=1)
    assert set(np.round(over_seeds(seeds), 6)) == {0.1, 0.2, 0.3}


def test_the_ratio_is_said_to_decide():
    table = pl.DataFrame(
        {"data": ["coat"] * 2, "fitted on": ["1 negatives per positive", "9 negatives per positive"],
         "positive share": [0.5, 0.1], "liked in the test": [0.18] * 2, "ECE, naive": [0.3, 0.08],
         "ECE, unbiased": [0.5, 0.02], "proposed is lowest": ["0 of 5", "2 of 5 (1 beyond chance)"],
         "unbiased is lower": ["0 of 20", "9 of 20"]}
    )  # fmt: skip
    said = ratio_findings(table)[0]
    assert "from 0.0200 to 0.5000" in said
    assert "has 10.0% positives and worse where it has 50.0%" in said
    assert (
        "(9 negatives per positive), the text's claim on the lowest ECE comes true for 2 of 5 (1 beyond chance) models"
        in said
    )
