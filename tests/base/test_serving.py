"""Objects saved where torch is installed, opened and asked where it is not."""

from __future__ import annotations

import polars as pl
from polars.testing import assert_frame_equal

from tests.base.saved import USERS


def test_a_saved_factor_model_gives_the_lists_it_gave_with_torch(base, saved):
    base.python(
        "import sureness as sn\n"
        f"recommender = sn.load({str(saved / 'bpr.sureness')!r})\n"
        f"recommender.recommend({list(USERS)}).write_parquet('lists.parquet')"
    )
    assert_frame_equal(
        pl.read_parquet(base.cwd / "lists.parquet"), pl.read_parquet(saved / "bpr-lists.parquet"), rel_tol=1e-5
    )


def test_a_run_of_a_factor_model_is_calibrated_and_cut(base, saved):
    base.succeed("list-size", saved / "run.sureness", "-o", "lists.parquet", "--save", "mine.sureness")
    assert pl.read_parquet(base.cwd / "lists.parquet").height
    base.succeed("fit", saved / "run.sureness", "-o", "calibrator.json")
    base.succeed("apply", "calibrator.json", saved / "run.sureness", "--top", 5, "-o", "top.parquet")
    assert pl.read_parquet(base.cwd / "top.parquet")["user_id"].n_unique() == 120


def test_a_model_is_made_and_shown_without_torch(base):
    assert "n_factors=3" in base.python("import sureness as sn; print(sn.BPR(n_factors=3))")


def test_training_names_the_extra(base):
    found = base.python(
        "import sureness as sn\n"
        "try:\n    sn.BPR().fit(sn.Interactions.of([1, 2], [1, 2]))\n"
        "except sn.errors.MissingExtraError as error:\n    print(error.code, error)"
    )
    assert found.startswith("extra ")
    assert "sureness[models]" in found


def test_a_saved_neural_model_names_the_extra(base, saved):
    found = base.python(
        "import sureness as sn\n"
        f"try:\n    sn.load({str(saved / 'neumf.sureness')!r}).recommend([3])\n"
        "except sn.errors.MissingExtraError as error:\n    print(error.code, error)"
    )
    assert found.startswith("extra ")
    assert "sureness[models]" in found
