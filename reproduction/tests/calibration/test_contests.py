"""What is said about judgements, on judgements that are known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from reproduction.tests.calibration.made_up import judgements
from sureness_reproduction.calibration import confidence, diagrams
from sureness_reproduction.calibration.contests import (
    is_proposed,
    lowest,
    proposal_table,
    published_decrease,
    published_improvement,
    risk_table,
)
from sureness_reproduction.calibration.grid import why_absent
from sureness_reproduction.calibration.ratios import positive_share, ratio_findings
from sureness_reproduction.calibration.sentences import (
    claim_verdicts,
    gaming_sentences,
    level_sentences,
    proposal_sentences,
    risk_sentences,
)
from sureness_reproduction.calibration.sets import AS_LOGGED, negatives, title_of
from sureness_reproduction.calibration.summing import Difference, difference, over_seeds, summary
from sureness_reproduction.experiment import Plan

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


def test_a_constant_and_methods_outside_the_text_are_not_baselines():
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
    assert "does not hold: it does in 3 of 4 decided cases (3 beyond chance; higher beyond chance in 1)" in said
    assert "The ECE falls by 50.00% or rises 2.0-fold" in said


def test_the_risks_are_compared_on_the_seeds_that_both_have():
    """The unbiased risk halves the error on both seeds; on one of them it has no minimum."""
    rows = judgements({("platt", "naive"): 0.1, ("platt", "unbiased"): 0.05}, seeds=(0, 1), spread=1e-5)
    tenfold = pl.when(pl.col("seed") == 1).then(10.0).otherwise(1.0)
    rows = rows.with_columns(pl.col("ece") * tenfold)
    fewer = rows.filter(~((pl.col("risk") == "unbiased") & (pl.col("seed") == 0)))
    found = risk_table(fewer).filter(method="platt").row(0, named=True)
    assert found["decrease_percent"] == pytest.approx(50)
    assert (found["naive"], found["unbiased"]) == (pytest.approx(1.0), pytest.approx(0.5))


def test_a_claim_of_all_is_not_refuted_by_what_has_no_minimum():
    rows = judgements({GAUSSIAN: 0.05, PLATT: 0.1}, models=("bpr", "cml"), spread=1e-4)
    fewer = rows.filter((pl.col("model") == "bpr") | (pl.col("risk") != "unbiased"))
    improvement = "ECE improvement of the proposed methods over the best competitor"

    def holds(some):
        tables = proposal_table(some), risk_table(some)
        return {verdict.fact: verdict.holds for verdict in claim_verdicts({AS_LOGGED: tables}, some)}[improvement]

    assert holds(rows) is True
    assert holds(fewer) is None
    assert holds(judgements({GAUSSIAN: 0.2, PLATT: 0.1}, spread=1e-4)) is False


def test_a_small_difference_beyond_chance_counts_however_it_is_written():
    assert Difference(-0.0004, -0.0008, -0.00003).side == "lower"
    assert Difference(0.0004, -0.0008, 0.002).side == "higher, within chance"


def test_what_the_text_says_of_yahoo_is_not_decided_by_coat():
    pooled = pl.DataFrame({"histogram": [0.2, 0.9], "Gaussian": [0.2, 0.95]})
    fact = "largest probability produced by non-parametric methods"
    coat = diagrams._verdict(fact, {"coat": pooled}, ["histogram"], 0.6)
    assert coat.holds is None
    assert "0.900 on Coat" in coat.found
    both = diagrams._verdict(fact, {"coat": pooled, "yahoo-r3": pooled * 0.5}, ["histogram"], 0.6)
    assert both.holds is True
    assert "0.900 on Coat, 0.450 on" in both.found


def test_the_improvement_of_the_text_follows_from_its_table():
    assert published_improvement("coat", "bpr") == pytest.approx(
        5.11, abs=0.01
    )  # the dissertation prints 5.21, from more digits
    assert published_decrease("coat", "bpr", "platt") == pytest.approx(6.80, abs=0.01)
    assert published_improvement("simulated", "bpr") is None


def test_sentences_hold_the_numbers():
    rows = judgements({GAUSSIAN: 0.05, ("constant", ""): 0.01}, models=("bpr", "cml"), spread=1e-4)
    said = proposal_sentences(proposal_table(rows), AS_LOGGED)[0]
    assert said.startswith("Coat, as many")
    assert "as the dissertation claims? Yes for bpr, cml. " in said
    assert "falls by 75.00% (dissertation: " in said
    assert "beyond chance better for 2 and worse for 0 of 2 decided models" in said
    assert "lower than the best proposed method for 2 of 2 decided models" in gaming_sentences(rows, AS_LOGGED)[0]
    level = level_sentences(judgements({}), AS_LOGGED)[0]
    assert "Naive: mean probability 0.300, ECE 0.2000, of which the level alone 60%" in level


def test_what_has_no_minimum_is_no_case():
    rows = judgements({GAUSSIAN: 0.3}, models=("bpr", "cml"), spread=1e-5)
    fewer = rows.filter((pl.col("model") == "bpr") | (pl.col("risk") != "unbiased"))
    said = proposal_sentences(proposal_table(fewer), AS_LOGGED)[0]
    assert "not decided (no minimum) for cml" in said
    assert "of 1 decided models" in said
    risks = risk_table(fewer)
    assert "of 4 decided cases" in risk_sentences(risks, AS_LOGGED)[0]
    assert "; 4 are not decided (no minimum)" in risk_sentences(risks, AS_LOGGED)[0]
    assert "of 4 decided cases" in claim_verdicts({AS_LOGGED: (proposal_table(fewer), risks)}, fewer)[0].found
    assert "of 1 decided models" in gaming_sentences(fewer, AS_LOGGED)[0]
    none = risk_table(rows.filter(pl.col("risk") != "unbiased"))
    assert "is not decided: in none of 8 cases" in risk_sentences(none, AS_LOGGED)[0]


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
        {"data": ["coat"] * 3, "fitted on": [title_of(negatives(count)) for count in (1, 5, 9)],
         "positive share": [0.5, 0.17, 0.1], "liked in the test": [0.18] * 3, "ECE, naive": [0.3, 0.06, 0.08],
         "ECE, unbiased": [float("nan"), 0.5, 0.02], "mean probability, naive": [0.4, 0.135, 0.084],
         "mean probability, unbiased": [float("nan"), 0.439, 0.168],
         "proposed is lowest": ["0 of 0", "0 of 5", "2 of 5 (1 beyond chance)"],
         "unbiased is lower": ["0 of 0", "0 of 20", "9 of 20"]}
    )  # fmt: skip
    said = ratio_findings(table)[0]
    assert "from 0.0200 to 0.5000 (no minimum with 1 of 3)" in said
    assert "has 10.0% positives and worse where it has 17.0%;" in said  # without a minimum it is neither
    assert "with 9 negatives per positive the mean probability is 0.084 naive and 0.168 unbiased, which is bet" in said
    assert "with 5 negatives per positive the mean probability is 0.135 naive and 0.439 unbiased, which is wor" in said
    assert (
        "(9 negatives per positive), the dissertation's claim on the lowest ECE comes true for 2 of 5 (1 beyond" in said
    )
    assert "no minimum with any tried number" in ratio_findings(table.head(1))[0]


def test_the_share_of_positives_is_that_of_all_seeds():
    class Found:
        def __init__(self, cell):
            self.positives = 20 + 10 * cell["base"]["seed"]

        def table(self, _):
            return pl.DataFrame({"positives": [self.positives], "pairs": [100]})

    assert positive_share(Plan("quick", (0, 1), ("coat",)), Found, AS_LOGGED, "coat") == pytest.approx(0.25)


def degrees(*claims):
    """The table of degrees and confidence, with a seed for each r, share of sure probabilities and risk."""
    return pl.DataFrame(
        {"data": "coat", "fitted on": title_of(AS_LOGGED), "seed": seed, "risk": risk, "above 0.99": sure, "r": r,
         "claim": confidence._degree_claim(r, sure, risk)}
        for seed, (r, sure, risk) in enumerate(claims)
    )  # fmt: skip


def test_a_saturated_map_says_nothing_of_degrees():
    table = degrees((0.091, 1.0, "unbiased"), (0.094, 0.95, "unbiased"))
    said = confidence._degree_findings(table)
    assert len(said) == 1
    assert "with the Gaussian map and the unbiased risk" in said[0]
    assert "confidence is 0.09 over seeds. Not decided: nearly all probabilities are 1 (2 seeds, 97.5%" in said[0]
    verdict = confidence._degree_verdict(table)
    assert verdict.holds is None
    assert "unbiased risk: not decided: nearly all probabilities are 1" in verdict.found


def test_a_degree_claim_is_decided_where_r_can_tell():
    table = degrees((0.2, 0.1, "unbiased"), (0.3, 0.1, "unbiased"), (0.7, 0.1, "naive"))
    assert confidence._degree_verdict(table).holds is False
    said = confidence._degree_findings(table)
    assert "is 0.20 to 0.30 over seeds. The dissertation's r > 0.5 holds on 0 of 2 decided seeds." in said[0]
    assert "the naive risk" in said[1]
    assert "Not decided: the unbiased risk has no minimum (1 seed," in said[1]
    assert confidence._degree_verdict(degrees((0.6, 0.1, "unbiased"))).holds is True
    assert confidence._degree_verdict(degrees((0.6, 0.1, "unbiased"), (0.7, 0.1, "naive"))).holds is None


def test_the_reason_for_absent_data_is_its_own():
    plan = Plan("full", (0,), (), ("coat", "yahoo-r3"))
    assert why_absent(plan, "coat") == "it is not in the data folder"
    assert "terms bind each user" in why_absent(plan, "yahoo-r3")
