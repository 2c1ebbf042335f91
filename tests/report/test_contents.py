"""What the page says, without the page."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from sureness.calibration.nonparametric import MinMaxCalibrator
from sureness.calibration.parametric import PlattCalibrator
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import ColumnError, DataError, EmptyError, IdError, NotFittedError, SettingError
from sureness.metrics import (
    expected_calibration_error,
    negative_log_likelihood,
    top_n_calibration_error,
)
from sureness.numerics.grouping import ranks_within
from sureness.report import Additions, Background, gather_contents
from sureness.report.cases import choose_cases, top_pairs
from sureness.report.formatting import spoken_percent
from sureness.report.methods import best_of_columns


@pytest.fixture(scope="module")
def contents(material):
    return gather_contents(
        material.pairs,
        material.calibrators,
        background=Background(
            items=material.world.items_table(),
            user_degree=material.degree,
            groups=material.groups,
        ),
        additions=Additions(notes=["a note"]),
        n_resamples=50,
    )


def test_metrics_are_those_of_the_metrics_module(contents, material):
    pairs = material.pairs
    for method in contents.methods:
        p = material.calibrators[method.name].probability(pairs.scores)
        assert_allclose(method.ece.value, expected_calibration_error(pairs.labels, p))
        assert_allclose(method.values["NLL"], negative_log_likelihood(pairs.labels, p))
        top = top_n_calibration_error(pairs.labels, p, pairs.users, n=10, scores=pairs.scores)
        assert_allclose(method.values["ECE@10"], top)


def test_the_largest_error_is_not_that_of_a_tiny_bin():
    rng = np.random.default_rng(0)
    p = np.append(rng.uniform(0.0, 0.2, 4_000), [0.95] * 3)
    pairs = ScoredPairs.of(p, np.append(rng.random(4_000) < p[:-3] + 0.04, [False] * 3))
    calibrators = {"as it is": MinMaxCalibrator().fit([0.0, 1.0], [0, 1])}
    values = gather_contents(pairs, calibrators, n_resamples=2).main.values
    assert 0.03 < values["largest gap"] < 0.08  # the three pairs alone are off by 0.95


def test_overlapping_groups_are_judged_each_and_together(material):
    pairs = material.pairs
    fields = {"country": np.where(pairs.users % 3 == 0, "de", "fr"), "device": np.where(pairs.items % 2, "phone", "tv")}
    background = Background(groups=fields)
    rows = gather_contents(pairs, {"platt": material.calibrators["platt"]}, background=background, n_resamples=2).groups
    counts = {row["name"]: row["n_pairs"] for row in rows}
    assert set(counts) >= {"country: de", "device: tv", "country: de, device: tv", "country: fr, device: phone"}
    assert counts["country: de"] == np.sum(fields["country"] == "de")
    both = (fields["country"] == "de") & (fields["device"] == "tv")
    assert counts["country: de, device: tv"] == both.sum()


def test_best_of_columns_is_the_smallest(contents):
    best = best_of_columns(contents.methods)
    assert best["ECE"] == f"{min(method.ece.value for method in contents.methods):.4f}"
    assert best["Brier"] == f"{min(method.values['Brier'] for method in contents.methods):.4f}"


def test_methods_say_what_they_estimate(contents):
    kinds = {method.name: method.kind for method in contents.methods}
    assert kinds == {
        "platt": "preference",
        "isotonic": "preference",
        "sigmoid": "rescaled",
        "platt (naive)": "interaction",
    }
    assert {"b", "c"} <= {name for name, _ in contents.main.facts}
    assert {method.family for method in contents.methods} == {"preference", "rescaled only", "interaction"}


def test_headline_quotes_what_the_top_promised_and_what_came(contents, material):
    pairs, p = material.pairs, material.calibrators["platt"].probability(material.pairs.scores)
    top = ranks_within(pairs.users, pairs.scores) <= 10
    assert contents.promise.n_pairs == top.sum()
    assert_allclose(
        [contents.promise.main.promised, contents.promise.realised], [p[top].mean(), pairs.labels[top].mean()]
    )
    assert_allclose(contents.promise.main.ratio.value, pairs.labels[top].sum() / p[top].sum())
    promised, came = spoken_percent(p[top].mean()), spoken_percent(pairs.labels[top].mean())
    assert f"promised {promised}; {came} were liked" in contents.headline.sentence


def test_tiles_count(contents, material):
    values = {tile.label: tile.value for tile in contents.tiles}
    assert values["judged pairs"] == f"{len(material.pairs):,}"
    assert values["users"] == "600"
    assert values["liked"] == f"{material.pairs.labels.mean():.1%}"
    promise = contents.promise
    assert values["promised → realised"] == f"{promise.main.promised:.1%} → {promise.realised:.1%}"


def test_the_tile_of_judged_pairs_knows_what_the_main_method_was_fitted_on(contents, material):
    assert f"fitted on {material.calibrators['platt'].n_pairs_:,} pairs" in contents.tiles[0].note
    pairs = material.pairs
    own = {"platt": PlattCalibrator().fit(pairs.scores, pairs.labels)}
    judged_on_itself = gather_contents(pairs, own, n_resamples=20)
    assert "if on these" in judged_on_itself.tiles[0].note
    assert judged_on_itself.fitting == judged_on_itself.tiles[0].note


def test_groups_are_complete_and_ordered_by_size(contents, material):
    names, counts = np.unique(material.groups, return_counts=True)
    assert {row["name"]: row["n_pairs"] for row in contents.groups} == dict(zip(names, counts, strict=True))
    assert [row["n_pairs"] for row in contents.groups] == sorted(counts, reverse=True)
    p = material.calibrators["platt"].probability(material.pairs.scores)
    for row in contents.groups:
        inside = material.groups == row["name"]
        assert_allclose(row["mean_probability"], p[inside].mean())
        assert_allclose(row["positive_share"], material.pairs.labels[inside].mean())
        assert_allclose(row["ece"].value, expected_calibration_error(material.pairs.labels[inside], p[inside]))


def test_cases_are_the_extreme_users_and_no_user_comes_twice(contents, material):
    top = top_pairs(material.pairs, material.calibrators["platt"].probability(material.pairs.scores))
    head = top.filter(pl.col("rank") <= 5).group_by("user_id").agg(pl.col("probability").mean())
    assert [case.kind for case in contents.cases] == ["Sure", "Mixed", "Least sure", "Least sure"]
    assert int(contents.cases[0].user) == head.sort("probability")["user_id"][-1]
    assert len({case.user for case in contents.cases}) == 4
    assert all([item["rank"] for item in case.items] == [1, 2, 3, 4, 5] for case in contents.cases)
    lowest = min(case.items[0]["probability"] for case in contents.cases)
    assert_allclose(lowest, top.filter(pl.col("rank") == 1)["probability"].min())


def test_items_have_titles_and_labels_where_they_are_known(material):
    cases = gather_contents(
        material.pairs, material.calibrators, background=Background(items=material.world.items_table()), n_resamples=2
    ).cases
    assert all(
        item["name"] in material.world.titles and item["label"] is not None for case in cases for item in case.items
    )


def test_an_item_without_title_is_shown_by_its_id():
    top = pl.DataFrame(
        {
            "user_id": ["u", "u"],
            "item_id": [7, 8],
            "score": [2.0, 1.0],
            "rank": [1, 2],
            "probability": [0.5, 0.25],
            "label": [True, None],
        }
    )
    items = pl.DataFrame({"item_id": [7], "title": ["Seven"]})
    (case,) = choose_cases(top, items)
    assert [(item["name"], item["label"]) for item in case.items] == [("Seven", True), ("8", None)]


def test_what_is_not_given_is_left_out(material):
    pairs = ScoredPairs.of(material.pairs.scores, material.pairs.labels)
    contents = gather_contents(pairs, {"platt": material.calibrators["platt"]}, n_resamples=2)
    assert contents.degree is None
    assert not contents.cases
    assert not contents.groups
    assert "ECE@10" not in contents.main.values
    assert not contents.promise.by_user
    assert contents.promise.n_pairs == pytest.approx(0.01 * len(pairs), abs=2)
    assert list(contents.diagrams) == ["platt"]


def test_one_user_is_enough():
    pairs = ScoredPairs.of([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1], users=["u"] * 4, items=["a", "b", "c", "d"])
    fitted = {"platt": PlattCalibrator().fit(pairs.scores, pairs.labels)}
    contents = gather_contents(
        pairs, fitted, background=Background(user_degree=pl.DataFrame({"user_id": ["u"], "degree": [4]})), n_resamples=2
    )
    assert [case.kind for case in contents.cases] == ["Sure"]
    assert np.isnan(contents.degree.correlation)


def test_weights_enter(material):
    pairs = material.pairs
    weight = np.where(pairs.labels, 3.0, 1.0)
    contents = gather_contents(pairs.with_weight(weight), {"platt": material.calibrators["platt"]}, n_resamples=2)
    share = np.average(pairs.labels, weights=weight)
    assert contents.tiles[2].value == f"{share:.1%}"
    assert_allclose(contents.diagrams["platt"].weight.sum(), weight.sum())


def test_at_most_six_diagrams_one_of_them_uncalibrated(material):
    fitted = material.calibrators["platt"]
    many = {f"platt {number}": fitted for number in range(9)} | {"sigmoid": material.calibrators["sigmoid"]}
    contents = gather_contents(material.pairs, many, n_resamples=2)
    assert list(contents.diagrams) == [*(f"platt {number}" for number in range(5)), "sigmoid"]


def test_progress_counts_the_methods(material):
    told = []
    gather_contents(material.pairs, material.calibrators, n_resamples=2, progress=lambda *step: told.append(step))
    assert told == [("metrics", done, 4) for done in range(5)]


def text_ids(material):
    return material.degree.with_columns(pl.col("user_id").cast(pl.String))


@pytest.mark.parametrize(
    ("error", "word", "background"),
    [
        (DataError, "groups", lambda _: Background(groups=["a"])),
        (ColumnError, "title", lambda _: Background(items=pl.DataFrame({"item_id": [1]}))),
        (IdError, "user_id", lambda material: Background(user_degree=text_ids(material))),
    ],
)
def test_unusable_background_is_refused(material, error, word, background):
    with pytest.raises(error, match=word):
        gather_contents(material.pairs, material.calibrators, background=background(material), n_resamples=2)


def test_unusable_calibrators_and_tables_are_refused(material):
    with pytest.raises(EmptyError):
        gather_contents(material.pairs, {})
    with pytest.raises(SettingError, match="'platt'"):
        gather_contents(material.pairs, {"a": "platt"})
    with pytest.raises(NotFittedError):
        gather_contents(material.pairs, {"minmax": MinMaxCalibrator()})


def test_groups_without_weight_are_refused(material):
    weight = (material.groups != material.groups[0]).astype(float)
    with pytest.raises(EmptyError, match="weight"):
        gather_contents(
            replace(material.pairs, weight=weight),
            material.calibrators,
            background=Background(groups=material.groups),
            n_resamples=2,
        )
