"""`sureness allocate` agrees with the library, and refuses what makes no sense."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal

from sureness.errors import DataError, OutputError
from sureness.jobs import AllocateOptions, allocate, allocating, blocks
from sureness.lists.budgets import allocate_budget
from sureness.lists.comparing import compare_worth
from sureness.lists.expectation import expected_utility
from sureness.lists.pages import allocate_domains, equal_shares
from sureness.metrics.utility import at_sizes, utility_at_every_size
from tests.cli.runner import refused, run, succeed

N_USERS, N_ITEMS = 40, 15
DOMAINS = ["books", "films", "music"]


@pytest.fixture(scope="module")
def world():
    """Probabilities (users, domains, items) that fall within a list, labels drawn from them, and costs."""
    rng = np.random.default_rng(0)
    level = rng.normal(-1.5, 1.5, (N_USERS, len(DOMAINS), 1))
    p = -np.sort(-1 / (1 + np.exp(-level - rng.normal(size=(N_USERS, len(DOMAINS), N_ITEMS)))), axis=2)
    return p, (rng.random(p.shape) < p).astype(int), rng.integers(1, 4, p.shape)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, world):
    """The same as files, with rows in any order."""
    p, labels, costs = world
    user, domain, item = (index.ravel() for index in np.indices(p.shape))
    table = pl.DataFrame(
        {
            "user_id": [f"u{number:02}" for number in user], "domain": np.array(DOMAINS)[domain],
            "item_id": item, "probability": p.ravel(), "label": labels.ravel(), "cost": costs.ravel(),
        }
    ).sample(fraction=1.0, shuffle=True, seed=1)  # fmt: skip
    folder = tmp_path_factory.mktemp("allocate")
    table.write_parquet(folder / "pairs.parquet")
    table.write_csv(folder / "pairs.csv")
    table.filter(pl.col("domain") == "books").write_parquet(folder / "books.parquet")
    table.rename({"user_id": "who", "item_id": "what", "domain": "kind", "probability": "p"}).write_csv(
        folder / "other.tsv", separator="\t"
    )
    return folder


@pytest.fixture(scope="module")
def page(world):
    p, labels, _ = world
    expected = expected_utility(p.reshape(-1, N_ITEMS), "f1", max_size=10).reshape(N_USERS, len(DOMAINS), 10)
    shares = equal_shares(10, np.full((N_USERS, len(DOMAINS)), N_ITEMS), max_size=10)
    found = allocate_domains(expected, 10)
    every = utility_at_every_size(labels[:, :, :10].reshape(-1, 10), labels.sum(axis=2).ravel(), "f1")
    worth = [at_sizes(every, sizes.ravel()).reshape(N_USERS, -1).sum(axis=1) for sizes in (found.sizes, shares)]
    return found, compare_worth(*worth)


@pytest.mark.parametrize("name", ["pairs.parquet", "pairs.csv"])
def test_a_page_agrees_with_the_library(folder, tmp_path, page, name):
    told = json.loads(succeed("allocate", folder / name, "--slots", 10, "-o", "sizes.csv", "--json", cwd=tmp_path))
    found, judged = page
    sizes = pl.read_csv(tmp_path / "sizes.csv")
    assert sizes.columns == ["user_id", "domain", "list_size", "expected_utility"]
    assert sizes["domain"].to_list() == DOMAINS * N_USERS
    assert sizes["list_size"].to_list() == found.sizes.ravel().tolist()
    assert_allclose(sizes["expected_utility"], found.values.ravel())
    assert told["expected_utility"] == pytest.approx(found.value.mean())
    assert told["expected_utility"] > told["expected_utility_of_equal_shares"]
    for what in ("value", "reference", "difference", "standard_error", "p_value"):
        assert told["held_out"][what] == pytest.approx(getattr(judged, what))


def test_the_shown_items_are_the_best_ones(folder, tmp_path, page):
    succeed("allocate", folder / "pairs.csv", "--slots", "10", "--show-items", "-o", "items.parquet", cwd=tmp_path)
    items = pl.read_parquet(tmp_path / "items.parquet")
    assert items.columns == ["user_id", "domain", "rank", "item_id", "probability"]
    expected = [
        (f"u{user:02}", DOMAINS[domain], rank + 1, rank)
        for (user, domain), size in np.ndenumerate(page[0].sizes)
        for rank in range(size)
    ]
    assert items.drop("probability").rows() == expected


def test_a_budget_agrees_with_the_library(folder, tmp_path, world):
    command = ("allocate", folder / "books.parquet", "--budget", "90", "--utility", "dcg", "--max-size", "8")
    told = json.loads(succeed(*command, "-o", "sizes.parquet", "--json", cwd=tmp_path))
    p, _, costs = world
    found = allocate_budget(expected_utility(p[:, 0], "dcg", max_size=8), 90, cost=costs[:, 0, :8])
    sizes = pl.read_parquet(tmp_path / "sizes.parquet")
    assert sizes.columns == ["user_id", "list_size", "expected_utility"]
    assert sizes["list_size"].to_list() == found.sizes.tolist()
    assert (told["spent"], told["price"], told["bound"]) == pytest.approx((found.spent, found.price, found.bound))
    assert told["shown"] == found.sizes.sum()


def test_lists_of_a_budget_run_over_all_domains(folder, tmp_path):
    succeed("allocate", folder / "pairs.parquet", "--budget", "200", "--show-items", "-o", "i.parquet", cwd=tmp_path)
    items = pl.read_parquet(tmp_path / "i.parquet")
    assert items.columns == ["user_id", "rank", "domain", "item_id", "probability"]
    assert items["domain"].n_unique() == len(DOMAINS)
    falling = items.group_by("user_id", maintain_order=True).agg((pl.col("probability").diff() <= 0).all())
    assert falling["probability"].all()


def test_columns_can_have_other_names(folder, tmp_path, page):
    names = (
        "--columns",
        "user_id=who",
        "--columns",
        "item_id=what",
        "--columns",
        "domain=kind",
        "--columns",
        "probability=p",
    )
    told = json.loads(
        succeed("allocate", folder / "other.tsv", "--slots", "10", *names, "-o", "s.csv", "--json", cwd=tmp_path)
    )
    assert told["held_out"]["difference"] == pytest.approx(page[1].difference)


def test_short_lists_and_absent_domains_show_what_there_is(tmp_path):
    pl.DataFrame(
        {"user_id": ["a", "a", "b"], "domain": ["x", "y", "y"], "item_id": [1, 2, 2], "probability": [0.9, 0.8, 0.7]}
    ).write_csv(tmp_path / "few.csv")
    told = succeed("allocate", "few.csv", "--slots", "9", "--min-size", "2", "-o", "sizes.csv", cwd=tmp_path)
    assert pl.read_csv(tmp_path / "sizes.csv")["list_size"].to_list() == [1, 1, 0, 1]
    assert "held-out" not in told


def test_an_endless_budget_shows_the_best_lists(folder, tmp_path):
    told = json.loads(succeed("allocate", folder / "books.parquet", "--budget", "inf", "-o", "s.csv", "--json",
                              cwd=tmp_path))  # fmt: skip
    assert (told["budget"], told["price"], told["bound"]) == (None, 0, 0)


def test_people_are_told_how_it_compares(folder, tmp_path):
    told = succeed("allocate", folder / "books.parquet", "--budget", "90", "-o", "sizes.csv", cwd=tmp_path)
    for words in ("items shown", "spent", "below the best by at most", "held-out F1", "with equal shares", "wrote"):
        assert words in told


def test_one_user_has_no_standard_error(tmp_path):
    pl.DataFrame({"user_id": [1, 1], "item_id": [1, 2], "probability": [0.9, 0.2], "label": [1, 0]}).write_csv(
        tmp_path / "one.csv"
    )
    told = json.loads(succeed("allocate", "one.csv", "--budget", "1", "-o", "s.csv", "--json", cwd=tmp_path))
    assert (told["held_out"]["value"], told["held_out"]["standard_error"]) == (1, None)


PAIRS = {"user_id": [1, 1], "domain": ["x", "x"], "item_id": [1, 2], "probability": [0.9, 0.2]}


@pytest.mark.parametrize(
    ("changes", "options", "word"),
    [
        ({}, [], "slots"),
        ({}, ["--slots", "3", "--budget", "3"], "slots"),
        ({}, ["--slots", "-3"], "slots"),
        ({}, ["--budget", "-3"], "-3.0"),
        ({}, ["--budget", "nan"], "nan"),
        ({}, ["--budget", "1", "--min-size", "2"], "min_size"),
        ({}, ["--slots", "1", "--min-size", "2"], "slots"),
        ({}, ["--slots", "9", "--min-size", "3", "--max-size", "2"], "max_size"),
        ({"domain": None}, ["--slots", "3"], "column domain"),
        ({"probability": None}, ["--slots", "3"], "column probability"),
        ({"probability": [0.9, 1.2]}, ["--slots", "3"], "1.2"),
        ({"probability": [0.9, None]}, ["--slots", "3"], "column probability"),
        ({"item_id": [1, 1]}, ["--slots", "3"], "once"),
        ({"label": [0, 7]}, ["--slots", "3"], "labels"),
        ({"cost": [1.0, -1.0]}, ["--budget", "3"], "-1.0"),
        ({name: [] for name in PAIRS}, ["--slots", "3"], "no rows"),
    ],
)
def test_bad_input_is_refused(tmp_path, changes, options, word):
    columns = {name: column for name, column in (PAIRS | changes).items() if column is not None}
    pl.DataFrame(columns).write_parquet(tmp_path / "pairs.parquet")
    done = run("allocate", "pairs.parquet", *options, "-o", "sizes.csv", cwd=tmp_path)
    refused(done, DataError, word)
    assert not (tmp_path / "sizes.csv").exists()


def test_the_input_is_not_overwritten(folder):
    done = run("allocate", "pairs.csv", "--slots", "3", "-o", "pairs.csv", cwd=folder)
    refused(done, OutputError)


ASKED = [{"slots": 7}, {"slots": 7, "items": True}, {"budget": 150.0}, {"budget": 150.0, "items": True}]


@pytest.mark.parametrize("asked", ASKED)
def test_blocks_of_users_give_what_the_whole_table_gives(asked, folder, tmp_path, monkeypatch):
    table = pl.read_parquet(folder / "pairs.parquet")
    table = table if "slots" in asked else table.filter(pl.col("domain") == "books")
    table.write_parquet(tmp_path / "any.parquet")
    table.sort("user_id", maintain_order=True).write_parquet(tmp_path / "sorted.parquet")
    options = AllocateOptions(**asked)
    whole = allocate(tmp_path / "any.parquet", tmp_path / "whole.parquet", options)
    monkeypatch.setattr(blocks, "BATCH_ROWS", 50)
    monkeypatch.setattr(allocating, "_CELLS", 90)  # so that a matrix holds few of the lists of a block
    parts = allocate(tmp_path / "sorted.parquet", tmp_path / "blocks.parquet", options)
    assert_frame_equal(pl.read_parquet(tmp_path / "blocks.parquet"), pl.read_parquet(tmp_path / "whole.parquet"))
    assert parts.shared == whole.shared
    assert parts.held_out == pytest.approx(whole.held_out)
    assert parts.expected_utility == pytest.approx(whole.expected_utility)


def test_one_long_list_costs_no_more_than_its_own_rows(tmp_path):
    """A matrix of all lists would have 12 thousand million cells."""
    long, n_users = 60_000, 200_000
    users = np.concatenate([np.zeros(long, dtype=np.int64), np.arange(1, n_users)])
    items = np.concatenate([np.arange(long), np.zeros(n_users - 1, dtype=np.int64)])
    probability = np.where(users == 0, 1e-5, 0.5)
    pl.DataFrame({"user_id": users, "item_id": items, "probability": probability}).write_parquet(tmp_path / "t.parquet")
    options = AllocateOptions(budget=1_000.0, utility="tp", max_size=long)
    found = allocate(tmp_path / "t.parquet", tmp_path / "sizes.parquet", options)
    assert found.n_users == n_users
    assert found.shared["spent"] == 1_000


def test_what_is_wrong_in_a_later_block_is_said_and_nothing_is_written(folder, tmp_path, monkeypatch):
    table = pl.read_parquet(folder / "books.parquet").sort("user_id")
    wrong = pl.when(pl.int_range(pl.len()) == table.height - 1).then(2.0).otherwise("probability")
    table.with_columns(wrong.alias("probability")).write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(blocks, "BATCH_ROWS", 50)
    for options in (AllocateOptions(budget=50.0), AllocateOptions(slots=3)):
        with pytest.raises(DataError):
            allocate(tmp_path / "t.parquet", tmp_path / "out.parquet", options)
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]
