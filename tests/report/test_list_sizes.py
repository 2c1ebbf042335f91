"""The list-size part of a page: its numbers, and the page around them."""

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness.data.interactions import Interactions
from sureness.data.splitting import by_ratio
from sureness.lists.comparing import PolicyComparison, compare_policies
from sureness.lists.policies import BestFixedSize, ExpectedUtility, FixedSize, Oracle
from sureness.metrics import expected_calibration_error
from sureness.metrics.utility import at_sizes
from sureness.recommender.confident import ConfidentRecommender
from sureness.recommender.promises import kept_promise
from sureness.report import Additions, gather_list_sizes, write_list_size_report
from sureness.report.cases import choose_users
from sureness.report.list_sizes import list_headline, list_tiles, page_name
from tests.report.test_page import Structure, page_alone

ADDITIONS = Additions(notes=["a note"])
SECTIONS = ["list-sizes", "list-policies", "list-promise", "list-groups", "list-cases"]


@pytest.fixture(scope="module")
def world():
    return sn.simulate(sn.SimulatorSettings(n_users=300, n_items=80, preference_rate=0.25, seed=5))


@pytest.fixture(scope="module")
def split(world):
    return by_ratio(Interactions.from_matrix((world.train + world.held_out).tocsr()), seed=0)


@pytest.fixture(scope="module")
def recommender(split):
    policy = ExpectedUtility("f1", max_size=30)
    source = sn.svd_source(split.train, n_factors=4)
    return ConfidentRecommender(source, policy=policy).fit(split.train, split.validation)


@pytest.fixture(scope="module")
def compared(recommender, split):
    before = recommender.validation_lists(split.train, split.validation)
    policies = {
        "PerK": recommender.policy_,
        "Top-5": FixedSize(5),
        "Oracle": Oracle("f1", max_size=30),
        "best fixed k": BestFixedSize("f1", max_size=30).fit(before),
    }
    return compare_policies(policies, recommender.lists(labels=split.test), "f1", reference="best fixed k")


@pytest.fixture(scope="module")
def found(recommender, split, compared, world):
    return gather_list_sizes(recommender, test=split.test, compared=compared, items=world.items_table(), n_resamples=20)


def test_policies_have_the_numbers_of_the_comparison(found, compared):
    rows = {page_name(row["policy"]): row for row in compared.table.iter_rows(named=True)}
    assert [row.name for row in found.policies][:2] == ["personal sizes", "best in hindsight"]
    assert {row.name for row in found.policies} == set(rows)
    for row in found.policies:
        assert (row.value, row.mean_size) == (rows[row.name]["f1"], rows[row.name]["mean_size"])
        assert (row.difference, row.p_value) == (rows[row.name]["difference"], rows[row.name]["p_value"])


def test_sizes_are_those_of_the_recommender(found, recommender, compared):
    sizes = recommender.sizes()
    assert_allclose(found.mean_size, sizes["list_size"].mean())
    assert_allclose(found.degree.correlation, np.corrcoef(sizes["list_size"], recommender.seen_.user_degree)[0, 1])
    assert list(found.sizes) == ["personal sizes", "best in hindsight"]
    assert_allclose(found.sizes["best in hindsight"].mean(), compared.sizes["Oracle"].mean())
    assert found.n_judged == len(compared.users)


def test_groups_split_the_users_by_degree(found, recommender, split, compared):
    degree = recommender.seen_.user_degree
    sizes, lists = recommender.sizes()["list_size"].to_numpy(), recommender.lists(labels=split.test)
    assert sum(group["n_users"] for group in found.groups) == len(degree)
    assert [group["name"] for group in found.groups] == ["few", "some", "many"]
    before = -1
    for group in found.groups:
        low, high = (int(number) for number in group["degrees"].split(" to "))
        assert low > before
        before = high
        inside = (degree >= low) & (degree <= high)
        assert group["n_users"] == inside.sum()
        assert_allclose(group["mean_size"], sizes[inside].mean())
        shown = (np.arange(lists.width) < sizes[:, None]) & inside[:, None]
        assert_allclose(group["ece"].value, expected_calibration_error(lists.hits[shown], lists.probabilities[shown]))
        assert group["ece"].low <= group["ece"].value <= group["ece"].high
        judged = inside[compared.users]
        assert_allclose(group["value"], compared.values["PerK"][judged].mean())
        assert_allclose(group["reference"], compared.values["best fixed k"][judged].mean())
        worth = at_sizes(recommender.policy_.expected(lists), sizes)
        assert_allclose(group["expected"], worth[inside].mean())


def test_users_of_one_degree_are_one_group():
    rng = np.random.default_rng(0)
    log = Interactions.of(np.repeat(np.arange(80), 10), np.argsort(rng.random((80, 40)), axis=1)[:, :10].ravel())
    parts = by_ratio(log, seed=0)
    equal = ConfidentRecommender(sn.svd_source(parts.train, n_factors=3)).fit(parts.train, parts.validation)
    (group,) = gather_list_sizes(equal, test=parts.test, n_resamples=20).groups
    assert (group["name"], group["degrees"], group["n_users"]) == ("all", "8 to 8", 80)


def test_cases_show_different_users_with_their_own_cut(found, recommender, split):
    table = recommender.recommend()
    assert [case.kind for case in found.cases] == ["Sure", "Long list", "Short list", "Least sure"]
    assert len({case.user for case in found.cases}) == 4
    for case in found.cases:
        own = table.filter(user_id=int(case.user))
        _, expected, size = case.draw.args
        assert case.size == own.height == size
        shown = [item for item in case.items if item["shown"]]
        by_rank = dict(own.select("rank", "item_id").rows())
        chances = dict(own.select("rank", "probability").rows())
        for item in shown:
            assert_allclose(item["probability"], chances[item["rank"]])
            assert item["label"] == (by_rank[item["rank"]] in split.test.items_of(int(case.user)))
        hidden = [item["rank"] for item in case.items if not item["shown"]]
        assert hidden == [rank for rank in range(case.size + 1, case.size + 4) if rank <= 30]
        assert sum(item["skipped"] for item in case.items) + len(case.items) == case.items[-1]["rank"]
        assert_allclose(expected[case.size - 1], expected.max())


def test_sure_and_doubtful_users_are_the_extreme_ones(found, recommender):
    worth = recommender.sizes()
    assert int(found.cases[0].user) == worth["expected_utility"].arg_max()
    assert int(found.cases[-1].user) == worth["expected_utility"].arg_min()


def test_users_without_candidates_are_no_cases():
    probabilities, lengths = np.array([[0.5, 0.4], [0.0, 0.0], [0.9, 0.1]]), np.array([2, 0, 2])
    expected = np.array([[0.3, 0.4], [0.0, 0.0], [0.8, 0.5]])
    chosen = choose_users(probabilities, lengths, np.array([2, 0, 1]), expected)
    assert [(kind, row) for kind, _, row in chosen] == [("Sure", 2), ("Least sure", 0)]


def test_without_labels_nothing_is_judged(recommender):
    found = gather_list_sizes(recommender)
    assert found.policies == ()
    assert found.n_judged is None
    assert list(found.sizes) == ["personal sizes"]
    assert all(group["ece"] is None and group["value"] is None for group in found.groups)
    assert all(item["label"] is None for case in found.cases for item in case.items)
    assert [case.kind for case in found.cases] == ["Sure", "Long list", "Short list", "Least sure"]


def test_a_test_alone_compares_with_the_oracle(recommender, split):
    found = gather_list_sizes(recommender, test=split.test, n_resamples=20)
    assert [row.name for row in found.policies] == ["personal sizes", "best in hindsight"]
    assert found.reference is None
    assert all(group["reference"] is None and group["value"] is not None for group in found.groups)


def test_any_policy_can_be_shown(split):
    source = sn.svd_source(split.train, n_factors=4)
    fixed = ConfidentRecommender(source, policy=FixedSize(4)).fit(split.train, split.validation)
    found = gather_list_sizes(fixed, test=split.test, n_resamples=20)
    assert found.mean_size == 4.0
    assert np.isnan(found.degree.correlation)
    assert len(found.cases) == 4


# --- the page -------------------------------------------------------------------------------------------------------


def compared_by(value, reference, p_value, monkeypatch):
    """A comparison with these means and this p-value."""
    users = np.arange(10)
    values = {"PerK": np.full(10, value), "fixed": np.full(10, reference)}
    found = PolicyComparison("f1", "fixed", users, dict.fromkeys(values, np.full(10, 3)), values)
    monkeypatch.setattr(PolicyComparison, "difference", lambda *_: (value - reference, p_value))
    return found


@pytest.mark.parametrize(
    ("value", "reference", "p_value", "sentence"),
    [
        (0.22, 0.20, 0.001, "Personal list sizes bring 10% more F1 than fixed."),
        (0.22, 0.20, 0.4, "Personal list sizes show no clear difference from fixed here."),
        (0.18, 0.20, 0.001, "Fixed beats personal list sizes here."),
        (-0.1, -0.3, 0.001, "Personal list sizes bring 0.2 more F1 than fixed."),
    ],
)
def test_the_headline_is_what_the_test_says(recommender, split, monkeypatch, value, reference, p_value, sentence):
    compared = compared_by(value, reference, p_value, monkeypatch)
    found = gather_list_sizes(recommender, test=split.test, compared=compared, n_resamples=20)
    assert list_headline(found).sentence == sentence


@pytest.mark.parametrize(
    ("value", "p_value", "verdict"), [(0.22, 0.001, "good"), (0.22, 0.4, ""), (0.18, 0.001, "bad")]
)
def test_only_a_clear_gain_has_the_colour_of_success(recommender, split, monkeypatch, value, p_value, verdict):
    compared = compared_by(value, 0.20, p_value, monkeypatch)
    found = gather_list_sizes(recommender, test=split.test, compared=compared, n_resamples=20)
    assert list_tiles(found)[-1].verdict == verdict


def test_nobody_is_asked_first_whom_the_policy_would_not_ask(found, split):
    assert found.n_unsure == 0
    assert "ask first" not in [tile.label for tile in list_tiles(found)]
    policy = ExpectedUtility("f1", max_size=30, unsure_below=0.99)
    strict = ConfidentRecommender(sn.svd_source(split.train, n_factors=4), policy=policy)
    unsure = gather_list_sizes(strict.fit(split.train, split.validation))
    assert unsure.n_unsure
    assert unsure.cases[-1].kind == "Ask first"
    assert {tile.label: tile.value for tile in list_tiles(unsure)}["ask first"] == f"{unsure.n_unsure:,}"


def test_headline_and_tiles_without_labels(recommender):
    found = gather_list_sizes(recommender)
    assert f"{found.mean_size:.1f} items on average" in list_headline(found).sentence
    tile = list_tiles(found)[-1]
    assert tile.label == "expected F1"
    assert tile.value == f"{recommender.sizes()['expected_utility'].mean():.4f}"


def test_a_page_about_lists_alone(found, tmp_path):
    summary, page, _ = page_alone(
        write_list_size_report, found, tmp_path, [*SECTIONS, "notes"], n_figures=8, additions=ADDITIONS
    )
    assert len(summary.figures) == 16
    assert summary.headline == list_headline(found).sentence
    assert page.count("Cut: ") == 4
    assert not re.search(r"PerK|Oracle|Val-k|Rand\b|Top-5|best fixed k", page)
    write_list_size_report(tmp_path / "again.html", found, additions=ADDITIONS)
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_the_page_says_what_became_of_the_promise(found, recommender, split, tmp_path):
    assert found.promise.by_rank.equals(recommender.promise(split.test))
    assert found.promise.by_probability.equals(recommender.promise(split.test, by="probability"))
    write_list_size_report(tmp_path / "page.html", found)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    total = found.promise.total
    said = f"{total['ratio']:.2f} ({total['low']:.2f} to {total['high']:.2f})"
    assert page.count(said) == 4  # in the headline, the sentence and both tables
    assert "was not cut by time" in page
    by_time = replace(found, promise=replace(found.promise, by_time=True))
    write_list_size_report(tmp_path / "later.html", by_time)
    assert "a later period of its own" in (tmp_path / "later.html").read_text(encoding="utf-8")


def test_lists_that_show_nothing_promise_nothing(split):
    policy = sn.Threshold(1.0, min_size=0)
    recommender = ConfidentRecommender(sn.svd_source(split.train, n_factors=4), policy=policy)
    recommender.fit(split.train, split.validation)
    assert kept_promise(recommender, split.test) is None


def test_a_page_without_labels_says_so(recommender, tmp_path):
    write_list_size_report(tmp_path / "page.html", gather_list_sizes(recommender))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert Structure(page).sections == ["list-sizes", "list-groups", "list-cases", "notes"]
    assert "no labels of a later period" in page


def test_what_is_given_is_escaped(recommender, split, world, tmp_path):
    evil = "<script>alert('x')</script> & 確率 $x_1$"
    items = world.items_table().with_columns(title=pl.lit(evil), domain=pl.lit(evil))
    found = gather_list_sizes(recommender, test=split.test, items=items, n_resamples=20)
    write_list_size_report(tmp_path / "page.html", found, additions=Additions(title=evil, notes=[evil]))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert Structure(page).open == []
