"""Some bytes of every kind of file, changed and cut; `make attack` takes every one."""

from __future__ import annotations

import pytest

from sureness.errors import ArtefactError
from sureness.recommender.run import open_run
from tests.attacks.damage import FILES, damage


@pytest.mark.parametrize("kind", FILES)
def test_damage_is_noticed(kind, tmp_path):
    found = damage(kind, tmp_path, most=300)
    assert found.tried > 100
    assert found.failed == 0, found.notes


def test_a_folder_of_files_is_no_run(tmp_path):
    """Parts that lie beside each other can go missing one by one; a run is one file."""
    (tmp_path / "run" / "split").mkdir(parents=True)
    (tmp_path / "run" / "run.json").write_text("{}")
    with pytest.raises(ArtefactError):
        open_run(tmp_path / "run")
