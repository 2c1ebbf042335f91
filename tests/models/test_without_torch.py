"""A base installation: models are made, listed and described without torch, factor models also opened and served."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sureness.models.base import FactorRecommender, Recommender
from sureness.models.catalogue import model_names, model_type
from sureness.saving.objects import load
from tests.models.worlds import everyone, fitted, simulated

WITHOUT_TORCH = "import sys; sys.modules['torch'] = None\n"
FACTOR_MODELS = [name for name in model_names() if issubclass(model_type(name), FactorRecommender)]
OTHERS = [name for name in model_names() if name not in FACTOR_MODELS]


def run(script, *arguments):
    """What a process without torch prints."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH + script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with one file of each model, and a run of the first."""
    folder = tmp_path_factory.mktemp("saved")
    for name in model_names():
        fitted(name).save(folder / f"{name}.sureness")
    return folder


@cache
def described():
    return run("""
import inspect
import sureness as sn
from sureness.models.catalogue import model_names, model_type
from sureness._settings import clone

for name in model_names():
    kind = model_type(name)
    model = kind(n_factors=3, seed=7)
    model.set_params(seed=8, device="cuda")
    print(name, repr(clone(model)), model.settings.n_factors, "n_factors: 'int' = 64" in str(inspect.signature(kind)),
          getattr(sn.models, kind.__name__) is kind, len(kind.search_space) > 0)
""").splitlines()


def test_every_model_is_made_changed_and_described():
    expected = [
        f"{name} {model_type(name).__name__}(n_factors=3, seed=8, device='cuda') 3 True True True"
        for name in model_names()
    ]
    assert described() == expected


def test_the_factor_models_are_the_four_that_have_factors():
    assert FACTOR_MODELS == ["bpr", "ubpr", "cml", "lightgcn"]
    assert all(fitted(name).pack().needs == () for name in FACTOR_MODELS)
    assert all(fitted(name).pack().needs == ("models",) for name in OTHERS)


def test_factor_models_are_opened_and_score_as_before(saved, tmp_path):
    run(
        """
import numpy as np
from sureness.saving.objects import load

scores = {}
for name in sys.argv[3:]:
    model = load(f"{sys.argv[1]}/{name}.sureness")
    scores[name] = model.score_block(np.arange(model.n_users))
    model.recommend([5, 2], 4, seen="nothing").write_parquet(f"{sys.argv[2]}/{name}.parquet")
    model.save(f"{sys.argv[2]}/{name}.sureness")
    scores[f"{name} parameters"] = model.n_parameters
np.savez(f"{sys.argv[2]}/scores.npz", **scores)
""",
        saved, tmp_path, *FACTOR_MODELS,
    )  # fmt: skip
    import polars as pl

    with np.load(tmp_path / "scores.npz") as scores:
        for name in FACTOR_MODELS:
            model = fitted(name)
            assert_array_equal(scores[name], everyone(model), err_msg=name)
            assert scores[f"{name} parameters"] == model.n_parameters
            assert pl.read_parquet(tmp_path / f"{name}.parquet").equals(model.recommend([5, 2], 4, seen="nothing"))
            assert (tmp_path / f"{name}.sureness").read_bytes() == (saved / f"{name}.sureness").read_bytes()
            assert load(tmp_path / f"{name}.sureness", Recommender).network_ is not None


def test_a_run_of_a_factor_model_is_opened(tmp_path):
    from sureness.recommender.run import Run

    split = simulated()
    Run(fitted("lightgcn"), split.train, split.validation, split.test).save(tmp_path / "run.sureness")
    printed = run(
        "from sureness.recommender.run import open_run; opened = open_run(sys.argv[1]); "
        "print(opened.source.name, len(opened.train), opened.source.score_block([3])[0, :3].tolist())",
        tmp_path / "run.sureness",
    )
    scores = fitted("lightgcn").score_block(np.array([3]))[0, :3].tolist()
    assert printed.strip() == f"lightgcn {len(split.train)} {scores}"


def refused(action, *arguments):
    """The sentence with which something is refused for want of torch."""
    return run(
        f"""
from sureness.errors import MissingExtraError
try:
    {action}
except MissingExtraError as error:
    print(error)
else:
    print("nothing was refused")
""",
        *arguments,
    )


@pytest.mark.parametrize("name", OTHERS)
def test_models_with_layers_say_which_extra_opens_them(name, saved):
    sentence = refused("from sureness.saving.objects import load; load(sys.argv[1])", saved / f"{name}.sureness")
    assert sentence == f"the saved model/{name} needs torch; install it with: pip install 'sureness[models]'\n"


@pytest.mark.parametrize("name", model_names())
def test_fitting_says_which_extra_it_needs_before_any_work(name):
    kind = model_type(name).__name__
    sentence = refused(f"import sureness as sn; sn.models.{kind}().fit('not a log, which would be refused next')")
    assert sentence == f"fitting {kind} needs torch; install it with: pip install 'sureness[models]'\n"


@pytest.mark.parametrize(
    "action",
    [
        "from sureness.models.tuning import tune; tune('bpr', None)",
        "from sureness.saving.objects import load; load(sys.argv[1]).network_",
    ],
)
def test_what_else_needs_torch_says_so(action, saved):
    assert "needs torch" in refused(action, saved / "bpr.sureness")
