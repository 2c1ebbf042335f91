"""What the tests of every search over settings look at."""

from __future__ import annotations

import json


def tried(found):
    """The settings that a search tried, in order."""
    return [json.loads(settings) for settings in found.trials.sort("trial")["settings"]]


def assert_same_search(first, again):
    """Both tried the same settings and found the same; only times may differ."""
    assert tried(first) == tried(again)
    assert first.trials.drop("seconds").equals(again.trials.drop("seconds"))
