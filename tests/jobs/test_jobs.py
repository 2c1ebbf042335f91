"""The jobs called from Python: frozen results, plain forms that are JSON, and nothing printed."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from sureness import jobs
from sureness.calibration.per_user import PerUserPlatt
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.data.simulator import SimulatorSettings, simulate
from sureness.data.splitting import by_ratio, leave_one_out
from sureness.errors import EmptyError, OutputError, SettingError, SurenessWarning
from sureness.recommender.run import Run
from sureness.saving import load
from sureness.sources.base import MatrixSource
from sureness.sources.svd import svd_source
from sureness.tables.columns import Columns
from tests.conftest import draw_pairs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables, a run without torch, and maps of its users."""
    folder = tmp_path_factory.mktemp("jobs")
    scores, labels = draw_pairs(2_000)
    table = {"user_id": np.arange(2_000) // 8, "item_id": np.arange(2_000) % 50, "score": scores, "label": labels}
    kind = np.where(np.arange(2_000) % 2, "books", "films")
    pl.DataFrame({**table, "kind": kind}).write_parquet(folder / "pairs.parquet")
    world = simulate(SimulatorSettings(n_users=120, n_items=40, preference_rate=0.3, seed=3))
    log = Interactions.from_matrix((world.train + world.held_out).tocsr())
    log.table().write_csv(folder / "log.csv")
    split = by_ratio(log, (0.6, 0.2, 0.2), seed=0)
    source = svd_source(split.train, n_factors=4)
    Run(source, **split.parts, about={"protocol": "ratio"}).save(folder / "run.sureness")
    PerUserPlatt().fit(source, split.validation, seen=split.train).save(folder / "maps.sureness")
    jobs.fit(folder / "pairs.parquet", output=folder / "map.json")
    jobs.apply(folder / "map.json", folder / "pairs.parquet", folder / "unsorted.parquet")
    ordered = ["user_id", "probability"]
    pl.read_parquet(folder / "unsorted.parquet").sort(ordered, descending=[False, True]).write_parquet(
        folder / "p.parquet"
    )
    by_kind = Columns(segment="kind")
    jobs.fit(folder / "pairs.parquet", columns=by_kind, output=folder / "segments.json")
    return folder


JOBS = {
    "fit": lambda folder, out: jobs.fit(folder / "pairs.parquet", output=out / "map.json"),
    "fit auto": lambda folder, out: jobs.fit(folder / "pairs.parquet", jobs.FitOptions(method="auto")),
    "fit run": lambda folder, out: jobs.fit(folder / "run.sureness", jobs.FitOptions(method="platt")),
    "apply": lambda folder, out: jobs.apply(folder / "map.json", folder / "pairs.parquet", out / "p.csv"),
    "apply run": lambda folder, out: jobs.apply(folder / "map.json", folder / "run.sureness", out / "p.csv"),
    "cut table": lambda folder, out: jobs.cut_table(
        folder / "p.parquet", out / "lists.csv", jobs.ListOptions(utility="dcg")
    ),
    "cut run": lambda folder, out: jobs.cut_run(folder / "run.sureness", out / "lists.csv"),
    "allocate": lambda folder, out: jobs.allocate(
        folder / "p.parquet", out / "sizes.csv", jobs.AllocateOptions(budget=float("inf"))
    ),
    "evaluate": lambda folder, out: jobs.evaluate(folder / "run.sureness"),
    "report": lambda folder, out: jobs.report(folder / "pairs.parquet", [folder / "map.json"], out / "page.html"),
    "describe": lambda folder, out: jobs.describe(str(folder / "log.csv")),
    "train": lambda folder, out: jobs.train(
        str(folder / "log.csv"), out / "run.sureness", jobs.TrainOptions(factors=2, settings=("epochs=2",))
    ),
    "distill": lambda folder, out: jobs.distill(
        str(folder / "log.csv"),
        out / "both.sureness",
        jobs.DistillOptions(
            teacher="bpr:4", student="bpr:2", teacher_set=("epochs=2",), student_set=("epochs=2",),
            settings=("epochs=2",),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("job", JOBS)
def test_results_are_frozen_and_plain_and_nothing_is_printed(folder, tmp_path, capsys, job):
    result = JOBS[job](folder, tmp_path)
    assert capsys.readouterr() == ("", "")
    content = result.plain()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    with pytest.raises(FrozenInstanceError):
        setattr(result, fields(result)[0].name, None)


def test_small_jobs_return_what_is_written_as_json(folder, tmp_path):
    for found in (jobs.write_world(tmp_path, jobs.WorldOptions(users=60, items=30)), jobs.list_datasets()):
        assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_progress_is_reported_to_the_caller(folder, tmp_path):
    steps = []
    jobs.fit(folder / "run.sureness", progress=lambda *told: steps.append(told))
    assert steps[-1][1] == steps[-1][2] > 0
    jobs.apply(folder / "map.json", folder / "pairs.parquet", tmp_path / "p.csv", progress=lambda *t: steps.append(t))
    assert steps[-1] == ("applying", 2_000, 2_000)


# --- every map in apply ----------------------------------------------------------------------------------------------


def test_maps_of_users_are_applied_to_a_table(folder, tmp_path):
    table = pl.DataFrame({"who": [3, 3, 7, 99_999], "score": [0.1, 0.9, 0.5, 0.5]})
    table.write_parquet(tmp_path / "t.parquet")
    jobs.apply(folder / "maps.sureness", tmp_path / "t.parquet", tmp_path / "o.parquet", columns=Columns(user_id="who"))
    maps = load(folder / "maps.sureness")
    expected = maps.probability(table["score"].to_numpy(), users=table["who"].to_numpy())
    assert_allclose(pl.read_parquet(tmp_path / "o.parquet")["probability"], expected)
    assert expected[3] == maps.probability([0.5], users=[88_888])[0]  # users it does not know get the map for all


def test_maps_of_users_are_applied_to_a_run(folder, tmp_path):
    options = jobs.ApplyOptions(top=5)
    result = jobs.apply(folder / "maps.sureness", folder / "run.sureness", tmp_path / "o.parquet", options)
    lists = pl.read_parquet(tmp_path / "o.parquet")
    assert result.n_pairs == lists.height > 500
    maps = load(folder / "maps.sureness")
    expected = maps.probability(lists["score"].to_numpy(), users=lists["user_id"].to_numpy())
    assert_allclose(lists["probability"], expected)


@pytest.mark.parametrize("names", [["7", "8", "x"], [7, 8, 9]], ids=["text", "numbers"])
def test_the_users_of_a_text_file_are_read_as_those_of_the_maps(tmp_path, names):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 30))
    source = MatrixSource(scores, users=IdMap.of(names))
    held_out = Interactions.from_matrix(rng.random((3, 30)) < 1 / (1 + np.exp(-scores)), users=source.users)
    maps = PerUserPlatt(top=None).fit(source, held_out)
    maps.save(tmp_path / "maps.sureness")
    expected = maps.probability([0.5, 0.5], users=names[:2])
    for others in ("", "unheard of,0.5\n"):  # makes the column one of text
        (tmp_path / "pairs.csv").write_text(f"user_id,score\n7,0.5\n8,0.5\n{others}")
        jobs.apply(tmp_path / "maps.sureness", tmp_path / "pairs.csv", tmp_path / "o.parquet")
        assert_allclose(pl.read_parquet(tmp_path / "o.parquet")["probability"][:2], expected)


def test_maps_of_segments_are_applied_to_tables_and_runs(folder, tmp_path):
    segments, run, kinds = folder / "segments.json", folder / "run.sureness", Columns(segment="kind")
    pairs = pl.read_parquet(folder / "pairs.parquet")
    jobs.apply(segments, folder / "pairs.parquet", tmp_path / "t.parquet", columns=kinds)
    maps = load(segments)
    expected = maps.probability(pairs["score"].to_numpy(), segments=pairs["kind"].to_numpy())
    assert_allclose(pl.read_parquet(tmp_path / "t.parquet")["probability"], expected)
    pl.DataFrame({"item_id": [1, 2, 3], "kind": ["books", "films", "films"]}).write_csv(tmp_path / "items.csv")
    options = jobs.ApplyOptions(segments=tmp_path / "items.csv")
    with pytest.warns(SurenessWarning, match="none at all"):
        jobs.apply(segments, run, tmp_path / "o.parquet", options, columns=kinds)
    lists = pl.read_parquet(tmp_path / "o.parquet")
    named = lists["item_id"].replace_strict({1: "books", 2: "films", 3: "films"}, default="none")
    with pytest.warns(SurenessWarning, match="'none'"):
        expected = maps.probability(lists["score"].to_numpy(), segments=named.to_numpy())
    assert_allclose(lists["probability"], expected, rtol=1e-6)


def test_segments_of_items_that_a_run_does_not_know_are_left_out(folder, tmp_path):
    kinds, run = Columns(segment="kind"), folder / "run.sureness"
    written = []
    for name, extra in (("a", ""), ("b", "unheard of,films\n01,films\n")):
        (tmp_path / f"{name}.csv").write_text(f"item_id,kind\n{extra}1,books\n2,films\n")
        options = jobs.ApplyOptions(segments=tmp_path / f"{name}.csv")
        with pytest.warns(SurenessWarning, match="none at all"):
            jobs.apply(folder / "segments.json", run, tmp_path / f"{name}.parquet", options, columns=kinds)
        written.append(pl.read_parquet(tmp_path / f"{name}.parquet"))
    assert written[0].equals(written[1])


def test_maps_of_segments_are_not_applied_to_a_run_without_segments(folder, tmp_path):
    with pytest.raises(SettingError, match="segments"):
        jobs.apply(
            folder / "segments.json", folder / "run.sureness", tmp_path / "o.csv", columns=Columns(segment="kind")
        )


def test_a_column_of_segments_and_maps_of_segments_belong_together(folder, tmp_path):
    for calibrator, columns in (("segments.json", Columns()), ("map.json", Columns(segment="kind"))):
        with pytest.raises(SettingError):
            jobs.apply(folder / calibrator, folder / "pairs.parquet", tmp_path / "o.csv", columns=columns)


# --- one rule for metrics --------------------------------------------------------------------------------------------


def test_the_metrics_follow_the_split():
    log = Interactions.from_matrix(simulate(SimulatorSettings(n_users=60, n_items=30, exposure_rate=0.4, seed=1)).train)
    source = svd_source(log, n_factors=2)
    ratio, last = (Run(source, **split.parts) for split in (by_ratio(log, seed=0), leave_one_out(log, seed=0)))
    assert jobs.usual_metrics(ratio) == ("hit@50", "ndcg@50", "recall@50")
    assert jobs.usual_metrics(last) == ("hit@50", "ndcg@50", "hit@100", "ndcg@100")
    assert tuple(jobs.judge(last).means) == jobs.usual_metrics(last)
    shown = Run(source, test=ratio.test, about={"protocol": "preference"})
    assert jobs.usual_metrics(shown)[0] == "ndcg@1"
    with pytest.raises(SettingError, match="rating"):
        jobs.judge(shown)
    with pytest.raises(EmptyError):
        jobs.judge(Run(source))


# --- refusals --------------------------------------------------------------------------------------------------------


def test_an_output_that_is_the_input_is_refused(folder):
    with pytest.raises(OutputError):
        jobs.apply(folder / "map.json", folder / "pairs.parquet", folder / "pairs.parquet")
    with pytest.raises(OutputError):
        jobs.cut_table(folder / "p.parquet", folder / "p.parquet")
    with pytest.raises(OutputError):
        jobs.allocate(folder / "p.parquet", folder / "p.parquet", jobs.AllocateOptions(budget=3.0))


def test_a_run_may_have_capitals_in_its_ending(folder, tmp_path):
    load(folder / "run.sureness").save(tmp_path / "RUN.SURENESS")
    assert jobs.fit(tmp_path / "RUN.SURENESS", jobs.FitOptions(method="platt")).n_pairs > 0


def test_a_run_is_not_replaced_by_what_is_made_from_it(folder, tmp_path):
    run = tmp_path / "run.sureness"
    run.write_bytes((folder / "run.sureness").read_bytes())
    before = run.read_bytes()
    with pytest.raises(OutputError):
        jobs.fit(run, jobs.FitOptions(method="per-user-platt"), output=run)
    with pytest.raises(OutputError):
        jobs.cut_run(run, tmp_path / "lists.csv", page=jobs.PageOptions(save=run))
    assert run.read_bytes() == before


def test_a_log_is_not_replaced_by_lists(folder, tmp_path):
    log = tmp_path / "log.csv"
    log.write_bytes((folder / "log.csv").read_bytes())
    with pytest.raises(OutputError):
        jobs.apply(folder / "map.json", folder / "run.sureness", log, jobs.ApplyOptions(seen=(log,)))
    with pytest.raises(OutputError):
        jobs.cut_run(folder / "run.sureness", log, calibration=jobs.CalibrationOptions(test=log))
    assert log.read_bytes() == (folder / "log.csv").read_bytes()


@pytest.mark.parametrize(
    ("method", "name"), [("platt", "m.sureness"), ("per-user-platt", "m.json"), ("platt", "folder")]
)
def test_a_name_that_cannot_be_written_is_refused_before_the_fit(folder, tmp_path, method, name):
    (tmp_path / "folder").mkdir()
    steps = []
    with pytest.raises(OutputError):
        jobs.fit(
            folder / "run.sureness", jobs.FitOptions(method=method), output=tmp_path / name,
            progress=lambda *step: steps.append(step),
        )  # fmt: skip
    assert not steps


def test_options_of_runs_and_tables_are_told_apart(folder, tmp_path):
    for data, options in {
        "pairs.parquet": jobs.FitOptions(popularity_propensity=True),
        "run.sureness": jobs.FitOptions(relative_propensity=True),
    }.items():
        with pytest.raises(SettingError, match="propensity"):
            jobs.fit(folder / data, options)
    with pytest.raises(SettingError, match="segments"):
        options = jobs.ApplyOptions(segments=tmp_path / "x.csv")
        jobs.apply(folder / "map.json", folder / "pairs.parquet", tmp_path / "o.csv", options)


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic"])
def test_a_fit_that_says_nothing_is_said(method):
    table = pl.DataFrame({"score": [1.0, 2.0, 3.0, 4.0] * 10, "label": [1, 1, 0, 0] * 10})
    with pytest.warns(SurenessWarning, match="the same probability"):
        found = jobs.fit(table, jobs.FitOptions(method=method))
    low, high = found.calibrator.probability([1.0, 4.0])
    assert low == high


def test_warnings_name_the_line_of_the_caller():
    top = pl.DataFrame({"user_id": [1, 1, 2, 2] * 5, "item_id": [*range(20)], "score": [0.1, 0.9, 0.3, 0.7] * 5})
    clicks = pl.DataFrame({"user_id": [1, 1, 2, 2, 99], "item_id": [1, 5, 7, 11, 1]})
    with pytest.warns(SurenessWarning) as said:
        jobs.fit(top, jobs.FitOptions(method="platt", held_out=clicks))
    assert any("unknown user" in str(each.message) for each in said)
    assert {each.filename for each in said} == {__file__}
