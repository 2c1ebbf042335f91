"""What is shown of a backtest is what is in its file."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sureness as sn
from sureness.calibration import Fields
from sureness.service.promises import read_promise
from tests.service.running import Server

ROW = {"promised": 10.0, "realised": 9, "ratio": 0.9, "low": 0.7, "high": 1.1}


def test_the_tables_of_a_recommender_are_read_as_they_are(tmp_path):
    log = sn.Interactions.from_matrix(sn.simulate(sn.SimulatorSettings(n_users=240, n_items=80, seed=0)).train)
    split = sn.by_ratio(log, seed=0)
    recommender = sn.ConfidentRecommender(sn.svd_source(split.train, n_factors=4)).fit(split.train, split.validation)
    recommender.save(tmp_path / "recommender.sureness")
    by_rank = recommender.promise(split.test).to_dicts()
    fields = Fields.of(recommender.source, seen=split.train)
    by_group = recommender.promise(split.test, by=fields).to_dicts()
    (tmp_path / "promise.json").write_text(json.dumps({"by_rank": by_rank, "by_group": by_group}))
    with Server((tmp_path / "recommender.sureness", "--backtest", tmp_path / "promise.json")) as server:
        found = server.get("/v1/promise").json
    assert [(table["by"], table["of"]) for table in found["tables"]] == [
        ("rank", ""), ("group", "all"), ("group", "activity"), ("group", "popularity"),
    ]  # fmt: skip
    rows = found["tables"][0]["rows"]
    assert [row["name"] for row in rows] == [row["ranks"] for row in by_rank]
    for row, known in zip(rows, by_rank, strict=True):
        assert {name: row[name] for name in ("promised", "realised", "ratio", "low", "high")} == {
            name: known[name] for name in ("promised", "realised", "ratio", "low", "high")
        }


def test_the_windows_of_a_backtest_are_read_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    user, item, day = rng.integers(100, size=4_000), rng.integers(60, size=4_000), rng.integers(120, size=4_000)
    log = sn.Interactions.of(user, item, times=np.datetime64("2024-01-01") + day)
    plain = sn.backtest(log, sn.svd_source, window="15d", windows=2).plain()
    (tmp_path / "backtest.json").write_text(json.dumps(plain))
    judged = read_promise(tmp_path / "backtest.json")
    assert [list(each.__struct_fields__) for each in judged.coming] == [["what", "promised", "low", "high"]] * 3
    assert [each.promised for each in judged.coming] == [row["promised"] for row in plain["coming"]]
    assert judged.cautions == plain["cautions"]
    found = {table.of: table.rows for table in judged.tables}
    assert set(found) == {"users_there", "there", "period"}
    for of, rows in found.items():
        assert [row.name for row in rows] == ["2024-03-31", "2024-04-15"]
        for row, window in zip(rows, plain["windows"], strict=True):
            assert (row.promised, row.realised) == (window[of]["promised"], window[of]["realised"])
            assert (row.low, row.high) == (window[of].get("low"), window[of].get("high"))
            assert row.ratio == pytest.approx(row.realised / row.promised)


def test_evaluate_prints_what_is_read(tmp_path):
    printed = {"run": "x", "ndcg@10": 0.1, "promise": {"probability": "taken", "by_rank": [{"ranks": "all", **ROW}]}}
    (tmp_path / "promise.json").write_text(json.dumps(printed))
    (table,) = read_promise(tmp_path / "promise.json").tables
    assert table.rows[0].realised == 9


@pytest.mark.parametrize(
    "content",
    ["", "[]", "null", "{}", "no JSON", '{"windows": []}', '{"windows": [{}]}', '{"by_rank": 7}', "[" * 100_000,
     '{"by_rank": [{"ranks": "1", "promised": "many", "realised": 1}]}', '{"promise": null}'],
)  # fmt: skip
def test_other_files_are_refused_in_one_sentence(tmp_path, content):
    (tmp_path / "other.json").write_text(content)
    with pytest.raises(sn.errors.FileError, match=r"must be the JSON of a backtest") as refused:
        read_promise(tmp_path / "other.json")
    assert "\n" not in str(refused.value)
    with pytest.raises(sn.errors.FileError, match="cannot read"):
        read_promise(tmp_path / "nothing.json")
