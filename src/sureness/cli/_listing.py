"""What `list-size`, `report` and `demo` share: the recommender of a folder, and how its lists are compared."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sureness._artefacts import MANIFEST
from sureness.calibration.base import Calibrator
from sureness.calibration.catalogue import CALIBRATORS, make_calibrator
from sureness.calibration.per_user import PER_USER, PerUserCalibrator
from sureness.calibration.saving import load
from sureness.cli._calibrating import noted_log
from sureness.cli._console import print_table
from sureness.errors import DataError, SurenessWarning
from sureness.list_size.comparing import PolicyComparison
from sureness.list_size.policies import ExpectedUtility
from sureness.metrics.utility import named_utility
from sureness.models.runs import Run, load_run
from sureness.numerics.checks import check_choice
from sureness.pipeline.choosing import choose_list_sizes, ways_to_decide
from sureness.pipeline.recommender import ConfidentRecommender
from sureness.report.formatting import chance
from sureness.workflows.comparing import compare_with_baselines

Progress = Callable[[str, int, int], None]

AUTO, USUAL = "auto", "per-user-platt"
CALIBRATIONS = (*PER_USER, *CALIBRATORS, AUTO)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """How lists are to be made; None where nothing was said."""

    utility: str | None = None
    min_size: int | None = None
    max_size: int | None = None
    expected_relevant: str | None = None
    calibrator: Path | None = None
    calibrate: str | None = None

    def policy(self) -> ExpectedUtility:
        """The policy, with the usual settings where nothing was said."""
        given = {"min_size": self.min_size, "max_size": self.max_size}
        sizes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        return ExpectedUtility(named_utility(self.utility or "f1").name, **sizes)

    def target(self) -> Any:
        """How many relevant items users have: a word, or a number."""
        text = self.expected_relevant or "carried"
        return text if text in ("carried", "fitted") else number(text, "carried, fitted or a number")

    def refuse_any(self, folder: Path) -> None:
        """A saved recommender has decided all of this."""
        said = [f"--{name.replace('_', '-')}" for name, value in vars(self).items() if value is not None]
        if said:
            raise DataError(
                f"{folder} was saved with its calibrator and list sizes, so {said[0]} has no meaning; leave it out, or "
                "give the folder of `sureness train`"
            )


@dataclass(frozen=True, eq=False)
class Listing:
    """A fitted recommender, and the parts of its log that are known."""

    recommender: ConfidentRecommender
    run: Run | None  # None: it was saved, and what it was fitted on is not known any more
    chosen_because: str | None = None


def open_lists(
    folder: Path, wanted: Wanted, logs: dict[str, Path | None], columns: dict[str, str], progress: Progress
) -> Listing:
    """The recommender of a folder: read if it was saved as one, else fitted to the run, model or source that is there.

    Parameters
    ----------
    folder : path
    wanted : Wanted
    logs : dict
        Logs in the place of the run's own: train, validation and test, None for those that are not given.
    columns : dict
        Agreed names to the names in these logs.
    progress : callable
    """
    if (folder / "recommender" / MANIFEST).exists():
        wanted.refuse_any(folder)
        if any(path is not None for path in logs.values()):
            raise DataError(f"{folder} was saved after it had been fitted, so logs have no meaning; leave them out")
        return Listing(ConfidentRecommender.load(folder), None)
    target = wanted.target()
    run = load_run(folder)
    given: dict[str, Any] = {part: noted_log(run, path, columns) for part, path in logs.items() if path is not None}
    run = replace(run, **given, about={} if "test" in given else run.about)
    if run.validation is None:
        raise DataError(
            f"{folder} has no validation part to calibrate on; give a log of held-out pairs with --held-out"
        )
    return _fitted(run, wanted, target, progress)


def compare_listing(listing: Listing) -> PolicyComparison | None:
    """The lists beside other policies, if there is a test that can judge them."""
    run = listing.run
    if run is None or run.test is None or run.validation is None:
        return None
    if run.about.get("protocol") == "preference":
        warnings.warn(
            "the test of this run knows the shown items only, so lists out of all items cannot be judged by it",
            SurenessWarning, stacklevel=2,
        )  # fmt: skip
        return None
    return compare_with_baselines(listing.recommender, train=run.train, validation=run.validation, test=run.test)


def print_comparison(compared: PolicyComparison) -> None:
    """All policies, the best first, with paired differences."""
    rows = [
        (name, value, f"{size:.1f}", f"{difference:+.4f}", chance(p_value))
        for name, value, size, difference, p_value in compared.table.sort(compared.utility, descending=True).rows()
    ]
    header = ["policy", compared.utility, "mean size", f"difference to {compared.reference}", "p"]
    caption = (
        f"Means over {len(compared.users):,} users with a relevant item in the test; p of a paired t-test over users. "
        "Oracle knows the answers."
    )
    print_table("What list sizes are worth", header, rows, caption)


def number(text: str, expected: str) -> float:
    """The number that --expected-relevant says."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"--expected-relevant must be {expected}, got {text!r}")
    return value


def _fitted(run: Run, wanted: Wanted, target: Any, progress: Progress) -> Listing:
    if run.validation is None:
        raise DataError("there is no validation part to calibrate on")
    policy = wanted.policy()
    if wanted.calibrate == AUTO:
        if any(said is not None for said in (wanted.expected_relevant, wanted.calibrator, wanted.min_size)):
            raise DataError(
                "--calibrate auto decides alone; leave --expected-relevant, --calibrator and --min-size out"
            )
        ways = ways_to_decide(run.source, policy.utility, policy.max_size)
        choice = choose_list_sizes(ways, run.train, run.validation, progress=progress)
        return Listing(choice.best, run, choice.reason)
    calibrator, ready = _calibrator(wanted)
    recommender = ConfidentRecommender(run.source, calibrator, policy, expected_relevant=target)
    return Listing(recommender.fit(run.train, run.validation, refit=not ready, progress=progress), run)


def _calibrator(wanted: Wanted) -> tuple[PerUserCalibrator | Calibrator, bool]:
    """The calibrator that was asked for, and whether it is fitted already."""
    if wanted.calibrator is not None:
        if wanted.calibrate is not None:
            raise DataError("give --calibrator for one that is fitted, or --calibrate to fit one, not both")
        loaded = load(wanted.calibrator)
        if not isinstance(loaded, PerUserCalibrator | Calibrator):
            raise DataError(f"{wanted.calibrator} has one map for each segment, and lists have none; give another one")
        return loaded, True
    name = check_choice(wanted.calibrate or USUAL, "--calibrate", CALIBRATIONS)
    return PER_USER[name]() if name in PER_USER else make_calibrator(name), False
