from __future__ import annotations

import io

import sureness as sn


def test_progress_is_one_line_that_is_written_over():
    stream = io.StringIO()
    progress = sn.PrintedProgress(stream, every=0.0)
    progress("a long step", 1, 10)
    progress("step", 1_000, 2_000)
    assert stream.getvalue().split("\r")[-1] == "step: 50% (1,000 of 2,000)"
    progress("x", 1, 1)
    assert stream.getvalue().endswith("x: 100% (1 of 1)          \n")


def test_quick_steps_are_not_written_but_their_end_is():
    stream = io.StringIO()
    progress = sn.PrintedProgress(stream, every=3_600.0)
    for done in range(1, 101):
        progress("ranking", done, 100)
    assert stream.getvalue().count("ranking") == 2
    assert stream.getvalue().endswith("(100 of 100)\n")


def test_nothing_to_do_is_done():
    stream = io.StringIO()
    sn.PrintedProgress(stream)("ranking", 0, 0)
    assert stream.getvalue().endswith("\n")
