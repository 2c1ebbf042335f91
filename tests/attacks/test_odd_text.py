"""Odd text tables in the reader, and a sample of them on the command line; `make attack` tries many more."""

from __future__ import annotations

import re

import pytest

from tests.attacks.odd_text import KINDS, attack_text, odd_files
from tests.cli.runner import run


def test_odd_text_is_read_rightly_or_refused_with_the_line_or_the_option(tmp_path):
    found = attack_text(tmp_path, n_files=4 * len(KINDS))
    assert found.tried > 250
    assert found.failed == 0, found.notes
    n_read, n_refused = (int(re.search(rf"([0-9]+) {word}", found.what)[1]) for word in ("read", "refused"))
    assert min(n_read, n_refused) > 80
    assert n_read + n_refused == found.tried


def test_the_files_of_a_seed_are_always_the_same():
    first, again, other = (odd_files(len(KINDS), seed) for seed in (3, 3, 4))
    assert first == again
    assert [odd.content for odd in first] != [odd.content for odd in other]


@pytest.mark.parametrize("number", range(0, len(KINDS), 4))
def test_odd_text_on_the_command_line(tmp_path, number):
    odd = odd_files(len(KINDS), seed=1)[number]
    (tmp_path / odd.name).write_bytes(odd.content)
    done = run("data", "describe", odd.name, "--split", "ratio", "--json", cwd=tmp_path)
    assert "Traceback" not in done.stderr
    errors = re.findall(r"^error: ", done.stderr, flags=re.M)
    assert done.returncode == len(errors) <= 1
    if odd.truth is not None and not done.returncode:
        assert f'"interactions": {len(odd.truth)},' in done.stdout
