"""A report as a job on tables and saved maps."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.errors import ColumnError, KindError, OutputError, SettingError
from sureness.jobs.reporting import ReportOptions, _judged_rows, report
from sureness.tables.columns import Columns


@pytest.fixture
def folder(tmp_path):
    """Pairs of two shops, one of which likes nine times as much, and a map per shop."""
    rng = np.random.default_rng(0)
    shop = np.repeat(["a", "b"], 2_000)
    score = rng.normal(size=4_000)
    label = rng.random(4_000) < 1 / (1 + np.exp(np.where(shop == "a", 3, 0) - score))
    users = np.tile(np.arange(200), 20)
    table = pl.DataFrame({"user_id": users, "item_id": np.arange(4_000), "score": score, "label": label, "shop": shop})
    table.write_parquet(tmp_path / "pairs.parquet")
    sn.SegmentCalibrator().fit(score, label, segments=shop).save(tmp_path / "shops.json")
    sn.PlattCalibrator().fit(score, label).save(tmp_path / "all.json")
    return tmp_path


def test_a_map_per_segment_is_judged_with_the_segment_column(folder):
    found = report(
        folder / "pairs.parquet", [folder / "shops.json", folder / "all.json"], folder / "page.html",
        ReportOptions(group_column=("shop",)), columns=Columns(segment="shop"),
    )  # fmt: skip
    assert found.plain()["main"] == "shops"
    assert found.ece["shops"] < 0.05
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "score, segment" in page  # what it reads
    groups = page[page.index('id="groups"') :]
    assert set(re.findall(r'<th scope="row">(\w)</th>', groups)) == {"a", "b"}


def test_a_map_of_several_fields_is_judged_on_each_of_their_values(folder):
    table = pl.read_parquet(folder / "pairs.parquet")
    table = table.with_columns(price=pl.int_range(pl.len()) % 97 / 10, device=pl.lit("phone"))
    table.write_parquet(folder / "fields.parquet")
    fields = table.select("shop", "price", "device")
    sn.SegmentCalibrator().fit(table["score"], table["label"], segments=fields).save(folder / "fields.json")
    report(folder / "fields.parquet", [folder / "fields.json"], folder / "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    for group in ("device: phone", "price: below", *(f"shop: {each}" for each in table["shop"].unique())):
        assert group in page
    with pytest.raises(ColumnError, match="price"):
        report(folder / "pairs.parquet", [folder / "fields.json"], folder / "page.html")


def test_a_map_per_segment_without_a_segment_column_is_refused(folder):
    with pytest.raises(ColumnError, match="no column segment; it has"):
        report(folder / "pairs.parquet", [folder / "shops.json"], folder / "page.html")
    assert not (folder / "page.html").exists()


@pytest.mark.parametrize("name", ["pairs.parquet", "all.json"])
def test_a_page_does_not_replace_what_it_is_made_from(folder, name):
    before = (folder / name).read_bytes()
    with pytest.raises(OutputError):
        report(folder / "pairs.parquet", [folder / "all.json"], folder / name)
    assert (folder / name).read_bytes() == before


def test_what_is_no_calibrator_is_refused(folder):
    sn.MatrixSource(np.zeros((2, 2))).save(folder / "source.sureness")
    with pytest.raises(KindError):
        report(folder / "pairs.parquet", [folder / "source.sureness"], folder / "page.html")


@pytest.mark.parametrize("most_rows", [1, 7, 50, 1_000])
def test_a_sample_has_at_least_one_user_and_whole_users(folder, most_rows):
    rows, notes = _judged_rows(folder / "pairs.parquet", Columns(), most_rows, [])
    per_user = rows.group_by("user_id").len()["len"]
    assert per_user.to_list() == [20] * max(1, most_rows // 20)
    assert f"{max(1, most_rows // 20):,} of 200 users" in notes[0]
    again, _ = _judged_rows(folder / "pairs.parquet", Columns(), most_rows, [])
    assert again.equals(rows)


def test_a_sample_of_no_rows_is_refused(folder):
    with pytest.raises(SettingError, match="most_rows"):
        report(folder / "pairs.parquet", [folder / "all.json"], folder / "page.html", ReportOptions(most_rows=0))
