"""A base installation: learned policies are made and described without torch, and say what fitting them needs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from numpy.testing import assert_array_equal

from sureness.artefacts.saving import load
from tests.truncation.worlds import POLICIES, QUICK, made_up

EXTRA = "needs torch; install it with: pip install 'sureness[models]'"
every = pytest.mark.parametrize("policy_type", POLICIES, ids=lambda kind: kind.__name__)


def run(action, *arguments):
    """What a process without torch prints, also of a missing extra."""
    script = f"""
import sys
sys.modules['torch'] = None
import inspect, numpy as np, sureness as sn
from sureness import truncation
from sureness.artefacts.saving import load
from sureness.list_size.lists import Lists
lists = Lists.of(scores=np.ones((1, 2)), hits=np.ones((1, 2)))
try:
    {action}
except sn.MissingExtraError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@every
def test_policies_are_made_and_described(policy_type, tmp_path):
    name = policy_type.__name__
    printed = run(
        f"policy = truncation.{name}('ndcg', max_size=20); policy.check(); policy.save(sys.argv[1]); "
        f"print(load(sys.argv[1]), 'tau' in inspect.signature(truncation.{name}).parameters)",
        tmp_path / "policy.sureness",
    )
    assert printed == f"{name}(utility='ndcg', max_size=20) True"


@every
def test_fitting_says_which_extra_it_needs_before_any_work(policy_type):
    name = policy_type.__name__
    assert run(f"truncation.{name}().fit(lists)") == f"fitting {name} {EXTRA}"


def test_tuning_says_which_extra_it_needs():
    assert run("truncation.tune_cut('attn-cut', lists)") == f"tuning AttnCut {EXTRA}"


@every
def test_a_fitted_policy_says_which_extra_opens_it(policy_type, tmp_path):
    lists, file = made_up(60), tmp_path / "policy.sureness"
    policy = policy_type(**QUICK).fit(lists)
    policy.save(file)
    opened = load(file, policy_type)
    assert_array_equal(opened.sizes(lists), policy.sizes(lists))
    assert opened.history_.equals(policy.history_)
    assert run("load(sys.argv[1])", file) == f"the saved {policy.pack().kind} {EXTRA}"
