"""Studies in files: every name leads somewhere, mistakes are refused, and settings are valid and tried equally."""

import os
import tomllib
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from reproduction.tests.small import DECLARED, KNOWN
from sureness.errors import DataError
from sureness.models import make_recommender
from sureness_reproduction.cells import in_order
from sureness_reproduction.declarations import DRAWINGS, PACKAGE, declared_studies, find_studies, read, studies
from sureness_reproduction.distillation import settings
from sureness_reproduction.distillation.controls import method_settings
from sureness_reproduction.distillation.training import split_of, spread_over
from sureness_reproduction.study import Asked
from sureness_reproduction.workbench import DataShelf, SealedError, Workbench, sealing_tests


def test_a_claim_is_made_for_each_value_and_metric():
    text = DECLARED.replace('one = ["good"]', 'one = ["good", "best"]').replace('"worth"', '["worth", "size"]')
    (study,) = declared_studies(tomllib.loads(text), "reproduction.tests")
    assert [(claim.text, claim.metric) for claim in study.claims[:4]] == [
        ("good beats bad", "worth"), ("good beats bad", "size"), ("best beats bad", "worth"), ("best beats bad", "size")
    ]  # fmt: skip
    assert study.claims[2].first == {"method": "best"}
    assert [claim.sign for claim in KNOWN.claims] == ["+", "+", "+"]


def test_a_study_takes_over_what_another_has():
    like = '[study.alike]\nlike = "known"\ntitle = "Another"\ncolumns = ["method"]\n'
    known, alike = declared_studies(tomllib.loads(DECLARED + like), "reproduction.tests")
    assert (alike.title, alike.columns, alike.note) == ("Another", ["method"], known.note)
    assert (alike.grid, alike.claims) == (known.grid, known.claims)


def test_the_study_of_the_readme_can_be_added():
    readme = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
    added = tomllib.loads(readme.split("```toml")[1].split("```")[0])
    file = read("calibration")
    study = declared_studies(file | {"study": file["study"] | added["study"]}, f"{PACKAGE}.calibration")[-1]
    assert (study.name, len(list(study.points(Asked())))) == ("ece-of-two", 4)


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("[study.known]", "[study.known]\ncolour = 1", "the study known has no field 'colour'; the fields are title"),
        ("[defaults]", "[defaults]\nname = 'x'", ".defaults. has no field 'name'"),
        ('["map", ', '["mop", ', "methods of a file of studies are map, policy, function, got mop"),
        ("[values]", "[valeus]", "a file of studies has no field 'valeus'"),
        ('columns = ["model"]', 'columns = "model"', "columns of the study known must be a list, got 'model'"),
        ('columns = ["model"]', 'samples = "people"', "samples of the study known must be users or draws"),
        ("[study.known.grid]", "[study.mine]\ngrid = {}\n[study.known.grid]", "the grid of the study mine has no axis"),
        ("full = [0, 1, 2]", "full = [0, 0]", "the axis seed of the study known must be a list of different values"),
        ('model = ["one", "two"]', "model = []", "the axis model of the study known must be a list"),
        ("above = 4.0", "above = 4.0, each = [1]", "the study known of reproduction.tests cannot be understood"),
        ("small:doubled", "small:trebled", "there is no 'small:trebled' in reproduction.tests; give module:function"),
        ("small:doubled", "large:doubled", "there is no 'large:doubled'"),
        ("@two-seeds", "@seeds", "'@seeds' is not declared before it is used; .values. has two-seeds"),
        ('title = "Known numbers"', "", "the study known has no title"),
        ('title = "Known numbers"', 'title = "x"\nlike = "other"', "like 'other', which is not declared before it"),
        ('model = ["one", "two"]', 'model = "one"', "the axis model of the study known must be a list"),
        ('above = 4.0', "over = 4.0", "a claim of the study known has no field 'over'"),
        ('above = 4.0', "above = 4.0, below = 5.0", "must have claim, metric, first, and either above or below"),
        ("{one} beats", "{won} beats", "nothing is known for '{won} beats bad'; `each` has one, other"),
    ],
)  # fmt: skip
def test_mistakes_are_refused_in_one_sentence(right, wrong, told):
    assert right in DECLARED
    with pytest.raises(DataError, match=told):
        declared_studies(tomllib.loads(DECLARED.replace(right, wrong)), "reproduction.tests")


@pytest.mark.parametrize(
    ("name", "axis", "told"),
    [("ece", {"pairs": ["all candidates"]}, "no calibration set 'all candidates'"),
     ("distillation", {"start": ["strogn"]}, "no settings are declared for 'strogn'"),
     ("distillation", {"model": ["npr"]}, "no settings are declared for 'npr'")],
)  # fmt: skip
def test_a_misspelt_value_of_an_axis_is_refused_before_anything_is_computed(name, axis, told):
    (study,) = find_studies([name])
    with pytest.raises(DataError, match=told):
        list(replace(study, grid={**study.grid, **axis}).points(Asked("full")))


def test_names_and_numbers_lead_to_studies():
    assert [each.name for each in find_studies(["table-2.3"])] == ["ece"]
    assert sorted(each.number for each in find_studies(["table-2"])) == [f"table-2.{number}" for number in range(1, 6)]
    assert [each.name for each in find_studies(["all", "ece"])] == [each.name for each in studies()]
    with pytest.raises(DataError, match="no study 'table-9'"):
        find_studies(["table-9"])


TABLES = {2: 5, 3: 6, 4: 6}  # of the dissertation, by chapter
FIGURES = {2: 6, 3: 9, 4: 6, 5: 1}


def test_every_table_and_figure_of_the_dissertation_has_its_own_number():
    wanted = {f"table-{chapter}.{n}" for chapter, last in TABLES.items() for n in range(1, last + 1)}
    wanted |= {f"figure-{chapter}.{n}" for chapter, last in FIGURES.items() for n in range(1, last + 1)}
    known = {number for each in studies() for number in each.tables_and_figures}
    assert known | set(DRAWINGS) == wanted
    assert not known & set(DRAWINGS)
    for drawing in DRAWINGS:
        with pytest.raises(DataError, match="nothing to compute"):
            find_studies([drawing])


@pytest.mark.parametrize(
    ("number", "published"),
    [("table-3.2", "distillation"), ("table-3.3", "distillation-size-time"), ("table-3.4", "rank-difference"),
     ("table-3.5", "sampling-schemes"), ("table-3.6", "distillation-versus-cd"), ("table-4.2", "list-size-bpr"),
     ("table-4.3", "list-size-neumf"), ("table-4.4", "list-size-lightgcn"), ("table-4.5", "list-size-calibration"),
     ("table-4.6", "list-size-space-time")],
)  # fmt: skip
def test_numbers_follow_the_order_of_the_source(number, published):
    assert published in [each.name for each in find_studies([number])]


def test_single_cases_stay_single():
    (cases,) = find_studies(["calibration-case-study"])
    assert list(cases.axes(Asked(seeds=3))["seed"]) == [0]


@pytest.mark.parametrize("scale", ["quick", "full"])
def test_what_chooses_never_judges(scale):
    """No cell that a choice rests on, directly or not, may look at test labels."""
    for study in studies():
        for cell in in_order(cell for _, cell in study.points(Asked(scale, seeds=1))):
            assert cell.declared.judges or not any(need.declared.judges for need in cell.needs), cell.label


# --- the settings of chapter 3 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "model"), [*product(("strong", "published"), settings.DECLARED["alone"]["full"])])
def test_settings_are_valid_and_everything_is_tried_equally_at_full_scale(start, model):
    for scale, role in product(("quick", "full"), settings.SIZES):
        assert [make_recommender(model, **each) for each in settings.alone(scale, start, model, role)]
    teacher, student = (settings.alone("full", start, model, role) for role in settings.SIZES)
    assert len(teacher) == len(student) >= 2
    methods = ("bd", "cd", "rd", "bd-public") if start == "strong" else ("bd", "cd", "rd")
    points = [{"data": "citeulike-bd", "start": start, "model": model, "methods": [method]} for method in methods]
    chosen = [settings.chosen("full", point) for point in points]
    assert len({len(each["tried"]) for each in chosen}) == 1
    assert len({str(each["schedule"]) for each in chosen}) == 1


@pytest.mark.parametrize("method", settings.DECLARED["tried"])
def test_what_is_tried_for_a_method_is_valid(method):
    assert [method_settings(method, **spread_over(method, each)) for each in settings.tried_for(method)]


def test_chapter_three_runs_the_artefact_on_citeulike_only():
    point = {"data": "amazon-music", "start": "published", "model": "bpr", "methods": ["bd"]}
    runs = [("full", {}), ("full", {"start": "strong"}), ("quick", {})]
    assert [settings.chosen(scale, point | changed) is None for scale, changed in runs] == [True, False, False]


def test_all_methods_of_the_axes_have_the_same_budget():
    """From each start and at each rate; without a start there is one rate, and no model alone."""
    (study,) = find_studies(["distillation-axes"])
    budgets = dict[tuple[str, float], list[dict]]()
    for point, _ in study.points(Asked("full", seeds=1, data=("citeulike-bd",))):
        found = settings.axes("full", point)
        if point["methods"] != ["alone"]:
            budgets.setdefault((point["start"], point["rate"]), []).append(found["schedule"])
    assert set(budgets) == {("strong", 1.0), ("strong", 0.2), ("none", 1.0)}
    for (_, rate), schedules in budgets.items():
        assert len(schedules) == 3
        assert all(each == schedules[0] for each in schedules)
        assert (schedules[0]["fitted_rate"], schedules[0]["end_rate"]) == (rate, 0.0)


@pytest.mark.parametrize("name", ["distillation-size-time", "list-size-space-time"])
def test_sizes_and_times_are_those_of_models_after_one_epoch(name):
    (study,) = find_studies([name])
    for _, cell in study.points(Asked("full", seeds=1)):
        trained = next(iter(in_order([cell])))
        (some,) = trained.parameters.get("settings") or [trained.parameters.get("start")]
        assert some["epochs"] == 1


def test_what_studies_share_is_trained_once():
    """The control without labels and the recommended setting of BD are the same cells in every study of a start."""
    asked, shared = Asked("full", seeds=1, data=("citeulike-bd",), model=("bpr",)), {}
    for name in ("distillation", "distillation-axes", "sampling-schemes", "model-sizes"):
        for point, cell in find_studies([name])[0].points(asked):
            usual = {"start": "strong", "rate": 0.2, "sizes": "50 and 5"}
            if any(point.get(key, value) != value for key, value in usual.items()):
                continue
            if point["methods"][0] in ("continued", "bd", "bd, printed sign"):
                needs = {need.text for need in in_order([cell]) if need.work.endswith(":distilled")}
                shared.setdefault(point["methods"][0][:2], []).append(needs)
    assert len(set.intersection(*shared["co"])) == len(set.intersection(*shared["bd"])) == 1


@pytest.mark.skipif("SURENESS_DATA" not in os.environ, reason="needs the CiteULike split of the public code")
def test_the_second_random_item_is_like_the_test():
    """Items of the validation part that came with the data are rarer than those of the test."""

    def unknown(split, held_out):
        return float(
            np.mean(np.bincount(split.train.item_rows, minlength=split.train.n_items)[held_out.item_rows] == 0)
        )

    bench = Workbench(DataShelf(None), {}, Path())
    given, drawn = bench.split("citeulike-bd"), split_of(bench, data="citeulike-bd", start="strong")
    assert unknown(given, given.validation) > 1.5 * unknown(given, given.test)
    assert 0.5 < unknown(drawn, drawn.validation) / unknown(drawn, drawn.test) < 1.5
    assert [len(part) for part in drawn.parts.values()] == [
        len(given.train) + len(given.validation) - given.train.n_users, given.train.n_users, len(given.test)
    ]  # fmt: skip
    with sealing_tests():
        sealed = split_of(bench, data="citeulike-bd", start="strong")
    with pytest.raises(SealedError):
        _ = sealed.test
