"""Progress of the whole demo."""

from __future__ import annotations

from sureness.demo.stages import Stages


def test_progress_never_goes_back_and_ends_with_the_last_stage():
    seen = []
    stages = Stages({"train": 10.0, "judge": 30.0}, lambda *step: seen.append(step))
    for name in ("train", "judge"):
        report = stages.stage(name)
        for done, total in ((1, 2), (2, 2), (0, 5), (5, 5), (0, 0)):
            report("step", done, total)
    done = [done for _, done, _ in seen]
    assert done == sorted(done)
    assert done[-1] == 400
    assert {total for _, _, total in seen} == {400}
    assert seen[-1][0] == "judge: step"
