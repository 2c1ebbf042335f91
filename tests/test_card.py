"""Cards for notebooks are plain, escaped HTML that holds what was learned."""

from __future__ import annotations

from html.parser import HTMLParser

import polars as pl
import pytest

import sureness as sn
from sureness._printing import card
from sureness.calibration import Choice
from sureness.lists import Lists
from sureness.metrics import RankingQuality
from tests.saving.kinds import made

NASTY = "<script>alert('x')</script>"


class Elements(HTMLParser):
    """The elements of a page; refuses what is not closed."""

    def __init__(self, text):
        super().__init__()
        self.names, self.open = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.names.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def compared():
    lists = Lists.of(hits=[[True, False], [True, True]])
    return sn.lists.compare_policies({NASTY: sn.FixedSize(1), "two": sn.FixedSize(2)}, lists, "f1", reference="two")


def chosen():
    return Choice(sn.PlattCalibrator(), pl.DataFrame({"calibrator": [NASTY], "nll": [0.5]}), "nll", False, NASTY)


CARDS = {
    "calibrator": lambda: made("calibrator/platt"),
    "recommender": lambda: made("saved/recommender"),
    "comparison": compared,
    "choice": chosen,
    "ranking": lambda: RankingQuality(pl.DataFrame({"user_id": [1], NASTY: [1.0]})),
}


@pytest.mark.parametrize("name", list(CARDS))
def test_cards_are_whole_and_plain(name):
    text = CARDS[name]()._repr_html_()
    assert set(Elements(text).names) <= {"div", "b", "table", "tr", "th", "td"}
    assert "http" not in text
    assert "url(" not in text
    assert len(text) < 10_000


def test_a_comparison_shows_every_policy():
    text = compared()._repr_html_()
    assert "two" in text
    assert "&lt;script&gt;" in text
    assert "mean_size" in text


def test_a_choice_shows_why():
    assert "&lt;script&gt;" in chosen()._repr_html_()


def test_long_tables_are_cut_and_counted():
    text = card("many", columns=["n"], rows=[(number,) for number in range(1_000)])
    assert "970 more rows" in text
    assert text.count("<tr>") == 31
