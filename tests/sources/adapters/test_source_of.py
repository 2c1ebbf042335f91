"""One door for all libraries: recognised by class, nothing imported, everything else told where to go."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import sureness as sn
from sureness.sources.adapters import ADAPTERS
from sureness.sources.adapters._rows import rows_of

LIBRARIES = ["implicit", "lenskit", "cornac", "recbole", "lightfm", "surprise", "torch", "pandas"]


def test_importing_the_adapters_and_sources_loads_no_other_library():
    code = (
        "import sureness as sn, sys; [getattr(sn, name) for name in sn.__all__ if 'ource' in name or 'from_' in name];"
        f"sys.exit(', '.join(m for m in {LIBRARIES} if m in sys.modules) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("library", ADAPTERS)
def test_models_and_their_subclasses_go_to_the_adapter_of_their_library(library, monkeypatch):
    kind = type("Model", (), {"__module__": f"{library}.some.where"})
    mine = type("Mine", (kind,), {"__module__": "my.project"})
    monkeypatch.setitem(ADAPTERS, library, lambda model, *details, **more: (model, details, more))
    for model in (kind(), mine()):
        assert sn.source_of(model, 1, users=2) == (model, (1,), {"users": 2})


def test_a_source_is_one_already():
    source = sn.MatrixSource(np.zeros((2, 3)))
    assert sn.source_of(source) is source


@pytest.mark.parametrize("model", [np.zeros((2, 2)), "bpr.pkl", None])
def test_anything_else_is_told_where_to_go(model):
    message = (
        r"expected a fitted model of cornac, implicit, lenskit, lightfm, recbole, surprise, got .*; wrap a PyTorch"
    )
    with pytest.raises(sn.DataError, match=message):
        sn.source_of(model)


def test_a_mapping_may_leave_rows_out_and_have_others_beyond():
    rows = rows_of({"zoë": 2, "ann": 0, "later": 3}, 3, "users")
    assert rows.ids.ids.to_list() == ["ann", "zoë"]
    assert rows.of(np.array([[10], [20], [30]])).tolist() == [[10], [30]]


def test_an_id_map_names_the_rows_in_its_own_order():
    ids = sn.IdMap.of(["b", "a"])
    assert rows_of(ids, 2, "users").ids is ids
    with pytest.raises(sn.DataError, match="users must name each of the 3 rows of the model, got 2 ids"):
        rows_of(ids, 3, "users")
