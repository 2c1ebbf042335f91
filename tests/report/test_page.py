"""The page stands alone, is well formed, escapes what it is given, and is the same every time."""

import re
import sys
from html.parser import HTMLParser

import polars as pl
import pytest

from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import MissingExtraError
from sureness.report import Additions, Background, Finding, write_report

VOID = {"meta", "br", "hr", "img", "input", "link"}
SECTIONS = [
    "promise",
    "how-to-read",
    "reliability",
    "scores",
    "curves",
    "metrics",
    "cases",
    "degree",
    "groups",
    "notes",
]


class Structure(HTMLParser):
    """Which elements there are, and whether every one is closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.sections, self.figures, self.ids = [], [], [], 0, []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        self.sections += [found.get("id")] if tag == "section" else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def checked_page(path, sections, n_figures):
    """A page that is whole: every tag is closed, every id is unique, all sections and figures are there."""
    page = path.read_text(encoding="utf-8")
    structure = Structure(page)
    assert structure.open == []
    assert structure.sections == sections
    assert structure.tags.count("figure") == structure.tags.count("svg") == n_figures
    assert len(structure.ids) == len(set(structure.ids))
    return page


def page_alone(write, found, folder, sections, n_figures, **given):
    """Write a page about one subject; see that it is whole, readable and self-contained."""
    reported = []
    summary = write(
        folder / "page.html",
        found,
        figures_dir=folder / "figures",
        progress=lambda *step: reported.append(step),
        **given,
    )
    page = checked_page(folder / "page.html", sections, n_figures)
    assert sorted(summary.figures) == sorted((folder / "figures").iterdir())
    assert reported[-1] == ("figures", n_figures, n_figures)
    assert not re.search(r"https?://|<(script|link|img)\b", page)
    text = re.sub(r"<[^>]*>", " ", page[page.index("<body>") :])
    assert not re.search(r"\b(nan|None)\b", text)
    assert not re.search(r"[a-z][.;](?=[A-Z])|\w\(\d", text)  # words that ran together
    return summary, page, text


def full_report(material, path, *, background=None, additions=None, **settings):
    known = {
        "items": material.world.items_table(),
        "user_degree": material.degree,
        "groups": material.groups,
    }
    added = {"notes": ["uniformly exposed"]}
    return write_report(
        path,
        material.pairs,
        material.calibrators,
        background=Background(**(known | (background or {}))),
        additions=Additions(**(added | (additions or {}))),
        **({"n_resamples": 20} | settings),
    )


@pytest.fixture(scope="module")
def page(material, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    full_report(material, path)
    return path.read_text(encoding="utf-8")


def test_the_words_say_of_the_fit_what_the_tile_says(page, material):
    fitted = f"platt was fitted on {material.calibrators['platt'].n_pairs_:,} pairs"
    assert page.count(fitted) == 2  # the tile, and how to read the page
    assert "no calibrator was fitted on" not in page


def test_every_section_is_there_and_every_element_closed(page):
    structure = Structure(page)
    assert structure.open == []
    assert structure.sections == SECTIONS
    assert structure.tags.count("figure") == structure.tags.count("svg") == 1 + 1 + 1 + 4 + 3
    assert len(structure.ids) == len(set(structure.ids))


def test_the_page_needs_nothing_from_elsewhere(page):
    assert not re.search(r"https?://|//[a-z]+\.", page)
    assert not re.search(r"<(script|link|img|iframe|object)\b|@import|\bon\w+=", page)
    assert not re.search(r'(?:href|src)="(?!#)', page)


def test_numbers_are_written_in_one_way(page, material):
    assert f"{len(material.pairs):,}" in page
    assert "nan" not in re.sub(r"<[^>]*>", "", page)


def test_the_page_is_the_same_every_time(page, material, tmp_path):
    full_report(material, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_what_is_given_is_escaped(material, tmp_path):
    evil = "<script>alert('x')</script> & ünïcode 確率 $x_1$"
    items = material.world.items_table().with_columns(title=pl.lit(evil), domain=pl.lit(evil))
    full_report(
        material,
        tmp_path / "evil.html",
        background={"items": items, "groups": [evil] * len(material.pairs)},
        additions={"title": evil, "notes": [evil]},
    )
    page = (tmp_path / "evil.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "ünïcode 確率 $x_1$" in page
    assert Structure(page).open == []


def test_names_of_methods_are_escaped_in_text_and_figures(material, tmp_path):
    evil = "<script>alert(1)</script> & 確率 $x_1$ \\frac"
    calibrators = {evil: material.calibrators["platt"], "$": material.calibrators["sigmoid"]}
    summary = write_report(
        tmp_path / "evil.html", material.pairs, calibrators, figures_dir=tmp_path / "figures", n_resamples=2
    )
    assert "<script" not in (tmp_path / "evil.html").read_text(encoding="utf-8")
    assert all(re.fullmatch(r"[a-z0-9_]+\.(png|svg)", path.name) for path in summary.figures)


def test_every_figure_is_written_as_png_and_svg(material, tmp_path):
    told = []
    summary = full_report(
        material, tmp_path / "report.html", figures_dir=tmp_path / "figures", progress=lambda *step: told.append(step)
    )
    assert sorted(summary.figures) == sorted((tmp_path / "figures").iterdir())
    assert len(summary.figures) == 2 * (1 + 1 + 1 + 4 + 3)
    assert all(path.stat().st_size > 1_000 for path in summary.figures)
    assert told[-1] == ("figures", 10, 10)
    assert summary.main == "platt"
    assert set(summary.ece) == set(material.calibrators)


def test_a_page_of_bare_pairs_has_no_empty_sections(material, tmp_path):
    pairs = ScoredPairs.of(material.pairs.scores, material.pairs.labels)
    write_report(tmp_path / "bare.html", pairs, {"platt": material.calibrators["platt"]}, n_resamples=2)
    page = (tmp_path / "bare.html").read_text(encoding="utf-8")
    assert "Not shown" not in page
    assert not {"cases", "degree", "groups"} & set(Structure(page).sections)
    assert "users are unknown" in page
    assert Structure(page).open == []


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_package_is_refused(material, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=package):
        write_report(tmp_path / "report.html", material.pairs, material.calibrators)
    assert not (tmp_path / "report.html").exists()


def test_findings_come_first_escaped_and_lead_to_their_sections(material, tmp_path):
    findings = [
        Finding("Trusted", "41 → 1 points", "short", "Before & after.", "reliability"),
        Finding("Nothing <b>", "+0.1%", "short", "No clear difference.", holds=False),
    ]
    full_report(material, tmp_path / "page.html", additions={"findings": findings})
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    structure = Structure(page)
    assert structure.open == []
    assert structure.sections[0] == "in-short"
    assert '<a class="finding" href="#reliability">' in page
    assert "Before &amp; after." in page
    assert '<div class="finding unclear">' in page
    assert "Nothing &lt;b&gt;" in page
