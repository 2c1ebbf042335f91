"""Everything public prints in a few lines, however much it holds."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness._printing import fields_repr, short
from sureness._settings import written
from sureness.data.recipes import Dataset
from sureness.lists import Lists
from sureness.metrics import RankingQuality
from sureness.metrics.utility import named_utility
from sureness.propensity import GivenPropensity
from sureness.recommender.backtesting import Backtest
from tests.saving.kinds import KINDS, made

MOST_CHARACTERS, MOST_LINES = 900, 6
PLAIN = re.compile(  # types of fields that never print much
    r"(int|float|bool|str|Path|Direction|Callable\[.*|Literal\[.*|[A-Z][a-zA-Z]*Name|tuple\[(int|str|Family), \.\.\.\]"
    r"|Any|str \| int|Estimand|Risk|Population|Protocol|Size|Labels|Guides|Start|Ranks|Normaliser|Reading"
    r"|Kept|RankedBy|Tempered|Adam)( \| None)?"
    r"|Annotated\[.*"
)


class Long:
    """What a field may hold: an array, a table, a model."""

    def __repr__(self):
        return "a long line\n" * 500


def public_classes():
    packages = [importlib.import_module(f"sureness.{found.name}") for found in pkgutil.iter_modules(sn.__path__)
                if found.ispkg and found.name not in ("cli", "expressions", "service")]  # fmt: skip
    named = [getattr(module, name) for module in [sn, *packages] for name in module.__all__]
    ours = {kind for kind in named if isinstance(kind, type) and kind.__module__.startswith("sureness")}
    return sorted(ours, key=lambda kind: (kind.__module__, kind.__name__))


def prints_its_fields(kind):
    """Whether the printed form is made from the fields: by Python or by `fields_repr`."""
    return hasattr(kind.__repr__, "__wrapped__") or kind.__repr__ is fields_repr or issubclass(kind, tuple)


def filled(kind):
    """An object whose fields hold something long, unless their type says that they never do."""
    if issubclass(kind, tuple):
        return kind(*(held(kind.__annotations__[name].__forward_arg__) for name in kind._fields))
    holder = object.__new__(kind)
    for field in dataclasses.fields(kind):
        object.__setattr__(holder, field.name, held(str(field.type)))
    return holder


def held(annotation):
    return 12_345 if PLAIN.fullmatch(annotation) else Long()


def is_short(text):
    return len(text) <= MOST_CHARACTERS and len(text.splitlines()) <= MOST_LINES


def name(kind):
    return kind.__name__


@pytest.mark.parametrize("kind", list(filter(prints_its_fields, public_classes())), ids=name)
def test_fields_print_short(kind):
    assert is_short(repr(filled(kind)))


@pytest.mark.parametrize("kind", list(KINDS))
def test_what_was_learned_prints_short(kind):
    assert is_short(repr(made(kind)))


def examples():
    """Objects with a printed form of their own that are not saved."""
    world = sn.simulate(sn.SimulatorSettings(n_users=30, n_items=20))
    log = sn.Interactions.from_matrix(world.train)
    model = sn.BPR(n_factors=2)
    dataset = Dataset("ours", log, {"train": log}, {}, ())
    lists = Lists.of(hits=[[True, False], [True, True]])
    return [
        world, log, sn.by_ratio(log), sn.CalibrationSet.from_pairs([0.0, 1.0], [0, 1]), dataset, sn.Columns(),
        sn.BidirectionalDistillation(model, sn.BPR(n_factors=1)),
        sn.lists.compare_policies({f"fixed {size}": sn.FixedSize(size) for size in (1, 2)}, lists, "f1"),
        GivenPropensity(np.full((30, 20), 0.5)), sn.propensity.PopularityPropensity(),
        RankingQuality(pl.DataFrame({"user_id": [1], "hit@1": [1.0]})), log.users, named_utility("f1"),
        sn.CandidateSource.of(["a"] * 900, range(900), np.ones(900)), Backtest((), None, None),
    ]  # fmt: skip


def test_everything_else_prints_short():
    shown = examples()
    for example in shown:
        assert is_short(repr(example)), repr(example)
    own = {kind for kind in public_classes() if "__repr__" in vars(kind) and not prints_its_fields(kind)}
    assert own <= {type(example) for example in shown}, "a class with a printed form of its own needs an example"


@pytest.mark.parametrize("name", ["platt", "gaussian", "isotonic"])
def test_a_fitted_calibrator_shows_what_it_learned(name):
    fitted = made(f"calibrator/{name}")
    for shown in (repr(fitted), fitted._repr_html_()):
        assert "interaction" in shown
        assert "300 pairs" in shown
        for parameter, value in getattr(fitted, "natural_parameters_", {}).items():
            assert re.search(rf"{parameter}\W.*{re.escape(f'{value:.6g}')}", shown)
    assert repr(sn.calibration.make_calibrator(name)).endswith(")")


def test_the_written_form_is_the_same_before_and_after_fitting():
    fitted = sn.SegmentCalibrator(made("calibrator/platt"))
    assert written(fitted) == "SegmentCalibrator(base=PlattCalibrator())"
    assert written(made("saved/recommender").map_) == "ListCalibrator()"


def test_a_fitted_recommender_shows_its_map_and_policy():
    shown = repr(made("saved/recommender"))
    assert "map ListCalibrator()" in shown
    assert "users 12" in shown


@pytest.mark.parametrize(("value", "expected"), [
    (np.zeros((3, 2)), "float64 array (3, 2)"),
    (np.float64(0.5), "np.float64(0.5)"),
    (pl.DataFrame({"a": [1, 2]}), "table of 2 rows and 1 column"),
    (["x"] * 1_000, "list of 1,000"),
    ([Long()], "list of 1"),
    (Long(), "Long(…)"),
])  # fmt: skip
def test_values_are_described_in_one_line(value, expected):
    assert short(value) == expected
