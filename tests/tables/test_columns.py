"""Names of columns: only those that differ are renamed, and a job takes only the columns it uses."""

from __future__ import annotations

import pytest

from sureness.tables import Columns


def test_agreed_names_need_no_renaming():
    assert Columns().renamed() == {}
    assert Columns(user_id="user_id", segment=None).renamed() == {}


def test_other_names_are_renamed_and_shown():
    columns = Columns(user_id="customer", segment="market")
    assert columns.renamed() == {"user_id": "customer", "segment": "market"}
    assert repr(columns) == "Columns(user_id='customer', segment='market')"


@pytest.mark.parametrize("names", [(), ("score",), ("user_id", "score")])
def test_a_job_takes_only_the_columns_it_uses(names):
    columns = Columns(user_id="customer", score="logit", label="clicked")
    assert columns.only(*names).renamed() == {k: v for k, v in columns.renamed().items() if k in names}
