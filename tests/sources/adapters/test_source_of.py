"""One function for the models of all libraries, recognised by their class, without importing any library."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import sureness as sn
from sureness._registry import names, register
from sureness.errors import DataError, IdError
from sureness.sources.adapters.rows import rows_of

LIBRARIES = [
    "implicit",
    "lenskit",
    "cornac",
    "rectools",
    "recbole",
    "lightfm",
    "surprise",
    "torch",
    "pandas",
    "pyspark",
]


def test_importing_the_adapters_and_sources_loads_no_other_library():
    code = (
        "import sureness as sn, sys; [getattr(sn, name) for name in sn.__all__ if 'ource' in name or 'from_' in name];"
        f"sys.exit(', '.join(m for m in {LIBRARIES} if m in sys.modules) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("library", names("adapter"))
def test_models_and_their_subclasses_go_to_the_adapter_of_their_library(library, monkeypatch):
    kind = type("Model", (), {"__module__": f"{library}.some.where"})
    mine = type("Mine", (kind,), {"__module__": "my.project"})
    adapter = f"sources.adapters.{library}.from_{library}" if library != "pyspark" else "spark.als.als_source"
    monkeypatch.setattr(f"sureness.{adapter}", lambda model, *details, **more: (model, details, more))
    for model in (kind(), mine()):
        assert sn.source_of(model, 1, users=2) == (model, (1,), {"users": 2})


def test_an_adapter_registered_by_another_package_is_used(registry):
    kind = type("Model", (), {"__module__": "their_library.models"})
    register("adapter", "their_library", lambda model, scores: sn.MatrixSource(scores))
    assert sn.source_of(kind(), np.eye(2)).n_items == 2


def test_a_source_is_returned_as_it_is():
    source = sn.MatrixSource(np.zeros((2, 3)))
    assert sn.source_of(source) is source


@pytest.mark.parametrize("model", [np.zeros((2, 2)), "bpr.pkl", None])
def test_anything_else_is_refused_with_the_classes_to_use(model):
    with pytest.raises(DataError, match="FunctionSource") as raised:
        sn.source_of(model)
    assert raised.value.code == "data"
    assert all(library in str(raised.value) for library in names("adapter"))


def test_a_mapping_may_omit_rows_and_name_rows_beyond_the_model():
    rows = rows_of({"zoë": 2, "ann": 0, "later": 3}, 3, "users")
    assert rows.ids.ids.to_list() == ["ann", "zoë"]
    assert rows.of(np.array([[10], [20], [30]])).tolist() == [[10], [30]]


def test_an_id_map_names_the_rows_in_its_own_order():
    ids = sn.IdMap.of(["b", "a"])
    assert rows_of(ids, 2, "users").ids is ids
    with pytest.raises(IdError, match="users"):
        rows_of(ids, 3, "users")
