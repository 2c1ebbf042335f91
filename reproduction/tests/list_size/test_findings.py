"""Sentences say what made-up numbers say."""

from __future__ import annotations

import polars as pl
import pytest

from sureness_reproduction.list_size import ablation, domains, serving, sizes, summation, trending
from sureness_reproduction.list_size.comparing_methods import compared, told_gains, wide_utilities
from sureness_reproduction.list_size.utility_tables import told_fixed, told_improvement


def utilities(numbers, *, metric="f1", users=40):
    """Values of each method that vary a little from user to user."""
    rows = [
        (0, metric, method, user, value + 0.01 * ((user * 7 + place) % 5))
        for place, (method, value) in enumerate(numbers.items())
        for user in range(users)
    ]
    return pl.DataFrame(rows, schema=["seed", "metric", "method", "user", "value"], orient="row")


def test_perk_that_beats_all_is_said_to():
    values = utilities({"Rand": 0.1, "best fixed k": 0.2, "PerK as published": 0.4})
    (sentence,) = told_gains("citeulike-a", compared(values))
    assert sentence == "CiteULike: PerK as published beats every competitor on every utility (p < 0.05)."


def test_whom_perk_does_not_beat_is_named():
    values = utilities({"best fixed k": 0.3, "MtCut": 0.5, "AttnCut": 0.4, "PerK as published": 0.4})
    (sentence,) = told_gains("ml-1m", compared(values))
    assert "leads all competitors in no utility" in sentence
    assert "F1 worse than MtCut" in sentence
    assert "F1 level with AttnCut" in sentence
    assert "best fixed k" not in sentence


def test_some_utilities_may_be_won():
    won, lost = {"Rand": 0.1, "PerK as published": 0.4}, {"Rand": 0.4, "PerK as published": 0.1}
    values = pl.concat([utilities(won), utilities(lost, metric="tp")])
    (sentence,) = told_gains("ml-1m", compared(values))
    assert "beats every competitor in F1;" in sentence
    assert "TP worse than Rand" in sentence


def test_marks_compare_with_the_best_fixed_size():
    shown = wide_utilities(utilities({"Rand": 0.1, "best fixed k": 0.2, "PerK, shrunk line": 0.4}))
    marks = dict(shown.select("method", pl.col("F1").str.slice(-1)).iter_rows())
    assert marks["Rand"] == "-"
    assert marks["PerK, shrunk line"] == "+"
    assert marks["best fixed k"].isdigit()


def test_room_above_fixed_sizes_is_told():
    numbers = {"Oracle": 0.6, "Top-1": 0.1, "Top-5": 0.3, "Val-k": 0.25, "best fixed k": 0.3}
    (sentence,) = told_fixed("ml-1m", utilities(numbers))
    assert "F1 0.6200 against 0.3200" in sentence
    assert "Val-k is below the best fixed size in F1" in sentence


def test_the_gain_over_mtcut_stands_beside_the_texts():
    numbers = {"MtCut": 0.1, "PerK as published": 0.2}
    values = pl.concat([utilities(numbers, metric=metric) for metric in ("ndcg", "pdcg", "f1", "tp")])
    (sentence,) = told_improvement("citeulike-a", "bpr", values)
    assert "NDCG +83.3% (dissertation: +6.1%)" in sentence
    assert "PDCG" not in sentence
    assert not told_improvement("ml-1m", "bpr", values)


def test_sizes_are_described():
    rows = [("f1", "Oracle", size) for size in (1, 2, 3, 40)] + [("f1", "MtCut", size) for size in (12, 12, 15, 30)]
    table = sizes.described(pl.DataFrame(rows, schema=["metric", "method", "size"], orient="row"))
    mt = table.filter(method="MtCut").row(0, named=True)
    assert mt["within"] == 0.75
    assert mt["to_oracle"] == 1.0
    assert mt["densest_share"] == 0.75
    assert mt["densest_from"] <= 12
    assert table.filter(method="Oracle")["to_oracle"].item() == 0.0


def test_who_is_closer_to_oracle_is_told():
    rows = [("f1", name, size) for name, of in {
        "Oracle": (1, 2, 3, 40), "MtCut": (15, 15, 15, 15), "PerK as published": (1, 2, 9, 9),
        "PerK, shrunk line": (7, 7, 7, 7),
    }.items() for size in of]  # fmt: skip
    told = sizes.told_sizes(
        "ml-1m", sizes.described(pl.DataFrame(rows, schema=["metric", "method", "size"], orient="row"))
    )
    assert "100% of MtCut's lists have 10 to 20 items" in told[0]
    assert "PerK as published is closer to the sizes of Oracle than MtCut" in told[1]


def test_the_claim_about_mtcut_is_judged_on_its_own_data_only():
    table = pl.DataFrame({"data": ["ml-1m"], "within": [0.9]})
    assert sizes.verdict(table).holds is None
    assert sizes.verdict(table.with_columns(data=pl.lit("ml-25m"))).holds is True
    assert sizes.verdict(table.with_columns(data=pl.lit("ml-25m"), within=0.2)).holds is False


@pytest.mark.parametrize(("second", "word"), [(0.3, "sizes grow"), (-0.1, "do not grow")])
def test_growth_with_the_degree_is_told(second, word):
    table = pl.DataFrame({"metric": ["f1"] * 2, "method": ["a", "b"], "pearson": [0.2, second]})
    assert word in sizes.told_degrees("ml-1m", table)[0]


def test_a_size_that_never_varies_has_no_correlation():
    values = {"metric": ["f1"] * 3, "method": ["a"] * 3, "seed": [0] * 3, "size": [4] * 3, "degree": [1, 2, 3]}
    assert sizes.correlations(pl.DataFrame(values))["pearson"].to_list() == [0.0]


def ablated(own, one, none, ece=(0.01, 0.02, 0.3)):
    names = ("user-wise", "global", "uncalibrated")
    utility = pl.concat([
        utilities(dict(zip(names, (own, one, none), strict=True)), metric=metric).rename({"method": "calibration"})
        for metric in ("ndcg", "pdcg", "f1", "tp")
    ])  # fmt: skip
    means = utility.group_by("calibration", "seed", "metric").agg(pl.col("value").mean())
    errors = pl.DataFrame({"calibration": names * 2, "seed": [0] * 6, "metric": ["ece"] * 3 + ["ece of the top"] * 3,
                           "value": ece * 2})  # fmt: skip
    return utility, pl.concat([means, errors.with_columns(pl.col("seed").cast(means.schema["seed"]))])


def test_the_order_of_calibrations_is_judged():
    (sentence,) = ablation.told("ml-1m", "neumf", *ablated(0.4, 0.3, 0.1))
    assert "holds for ECE, ECE of the top, NDCG, PDCG, F1, TP." in sentence
    (sentence,) = ablation.told("ml-1m", "neumf", *ablated(0.2, 0.3, 0.1, ece=(0.03, 0.02, 0.3)))
    assert "holds for nothing, not for ECE, ECE of the top, NDCG, PDCG, F1, TP" in sentence


def test_time_is_compared_round_by_round():
    times = pl.DataFrame({"method": ["Top-k", "PerK"] * 3, "round": [1, 1, 2, 2, 3, 3],
                          "milliseconds": [1.0, 1.2, 10.0, 12.0, 1.0, 9.0]})  # fmt: skip
    parameters = pl.DataFrame({"method": ["Top-k", "PerK"], "parameters": [1_000, 1_010]})
    sentence = serving.told("ml-1m", "bpr", times, parameters)
    assert "+20% time (dissertation: about 10%) and +1.0% parameters" in sentence
    assert serving.verdict([0.08, 0.12]).holds
    assert not serving.verdict([0.2, 0.3]).holds


def terms(values):
    rows = [(m, metric, value) for m, value in values.items() for metric in ("ndcg", "f1")]
    return pl.DataFrame(rows, schema=["M", "metric", "value"], orient="row")


def test_the_m_that_suffices_is_found():
    table = terms({"5": 0.1, "50": 0.2, "500": 0.2, "2000": 0.2001, "exact": 0.21})
    assert summation.sufficient(table) == 50
    assert "NDCG -0.0099" in summation.told("ml-1m", table)
    assert summation._verdict({"ml-1m": 50}).holds
    assert not summation._verdict({"ml-1m": 2_000}).holds  # still changing: nothing can be said of more


def test_what_filling_gains_and_costs_is_told():
    users = range(20)
    rows = {"user": users, "seed": [0] * 20, "size": [5] * 20, "f1_cut": [0.3 + 0.01 * (u % 3) for u in users],
            "f1_full": [0.1] * 20, "hits_page": [2 + u % 2 for u in users], "hits_full": [3] * 20}  # fmt: skip
    (sentence,) = trending.told("ml-1m", pl.DataFrame(rows))
    assert "rises when they are cut (+0.2095" in sentence
    assert "15.0 of 20 slots" in sentence
    assert "-0.500 hits" in sentence


def test_what_sharing_gains_is_told():
    users = range(20)
    rows = {"user": users, "seed": [0] * 20, "equal": [0.2] * 20, "free": [0.3 + 0.01 * (u % 3) for u in users],
            "filled": [0.2 + 0.01 * (-1) ** u for u in users]}  # fmt: skip
    (sentence,) = domains.told("simulator", pl.DataFrame(rows))
    assert "may stay free: more (+0.1095" in sentence
    assert "all filled: no difference" in sentence
