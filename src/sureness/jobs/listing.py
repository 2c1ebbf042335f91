"""The recommender that makes the lists of a run, opened or fitted to its validation part; and its baselines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._registry import find, names
from sureness.calibration.base import make_calibrator
from sureness.calibration.maps import ProbabilityMap
from sureness.data.interactions import Interactions
from sureness.errors import EmptyError, SettingError, warn
from sureness.jobs.inputs import given_seen, not_usual, warned_log
from sureness.jobs.options import Usually
from sureness.lists.comparing import PolicyComparison, compare_policies
from sureness.lists.lists import Lists
from sureness.lists.policies import (
    BestFixedSize,
    ExpectedUtility,
    FixedSize,
    ListSizePolicy,
    Oracle,
    RandomSize,
    Threshold,
    ValidationBest,
)
from sureness.metrics.utility import Utility, named_utility
from sureness.numerics.checks import check_choice
from sureness.recommender.choosing import choose_list_sizes, ways_to_decide
from sureness.recommender.confident import ConfidentRecommender
from sureness.recommender.expecting import Target
from sureness.recommender.promises import KeptPromise, kept_promise
from sureness.recommender.run import Run, open_run
from sureness.saving.objects import inspect, load
from sureness.sources.aligned import Seen
from sureness.tables.columns import Columns
from sureness.tables.frames import Table

AUTO, USUAL = "auto", "lists"
_MAPS = (USUAL, *(name for name in names("map") if name.startswith("per-user")))
CALIBRATIONS = (*_MAPS, *names("calibrator"), AUTO)

PolicyName = Literal["expected-utility", "threshold", "fixed", "best-fixed", "validation-best"]
_BY_UTILITY = ("utility", "min_size", "max_size")
_SETTINGS: dict[PolicyName, tuple[str, ...]] = {
    "expected-utility": _BY_UTILITY, "threshold": ("threshold", "min_size", "max_size"), "fixed": ("size",),
    "best-fixed": _BY_UTILITY, "validation-best": _BY_UTILITY,
}  # fmt: skip
_NEEDED: dict[PolicyName, str] = {"threshold": "threshold", "fixed": "size"}  # no number would suit everybody


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """How long lists are chosen; None: the usual value."""

    policy: Annotated[
        PolicyName | None,
        "What decides; best-fixed and validation-best learn from the validation part of a run.",
        Usually("expected-utility"),
    ] = None
    utility: Annotated[str | None, "What a list is worth: ndcg, pdcg, f1, tp or dcg.", Usually("f1")] = None
    threshold: Annotated[
        float | None, "In place of a utility: show all items that are at least this likely, such as 0.05."
    ] = None
    size: Annotated[int | None, "In place of a utility: show everybody this many items."] = None
    min_size: Annotated[
        int | None, "Fewest items; with 0, a user may see none.", Usually("1, or 0 with a threshold")
    ] = None
    max_size: Annotated[int | None, "Most items.", Usually("50, or all of a table with a threshold")] = None
    expected_relevant: Annotated[
        float | Target | None,
        "Relevant items of a user, beyond the table too; for a run also carried or fitted.",
    ] = None

    def __post_init__(self) -> None:
        if isinstance(self.expected_relevant, float) and not 0 <= self.expected_relevant < math.inf:
            raise SettingError(f"expected_relevant must be a finite number, 0 or more, got {self.expected_relevant}")

    @property
    def policy_name(self) -> PolicyName:
        """The policy that was named, or the one that a threshold or a size belongs to."""
        if self.policy is not None:
            return self.policy
        if self.threshold is not None:
            return "threshold"
        return "expected-utility" if self.size is None else "fixed"

    def list_size_policy(self) -> ListSizePolicy:
        """The policy, with the usual settings where none are given."""
        name, own = self.policy_name, self._settings()
        if name == "threshold":
            return Threshold(own.pop("threshold"), **{"min_size": 0} | own)
        if "utility" in _SETTINGS[name]:
            own["utility"] = named_utility(self.utility or "f1").name
        policy: ListSizePolicy = find("policy", name)(**own)
        return policy

    def _settings(self) -> dict[str, Any]:
        """The given settings of the policy; refuses what it does not take, and what it cannot do without."""
        name = self.policy_name
        check_choice(name, "policy", tuple(_SETTINGS))
        every = dict.fromkeys(setting for taken in _SETTINGS.values() for setting in taken)
        given = {setting: getattr(self, setting) for setting in every if getattr(self, setting) is not None}
        if others := [setting for setting in given if setting not in _SETTINGS[name]]:
            raise SettingError(f"{others[0]} has no meaning for the policy {name}; leave it out")
        if name in _NEEDED and _NEEDED[name] not in given:
            raise SettingError(f"the policy {name} needs a {_NEEDED[name]}; give it")
        return given


@dataclass(frozen=True, kw_only=True)
class CalibrationOptions:
    """Where the probabilities of a run come from, and logs in place of its own."""

    calibrator: Annotated[
        str | PathLike[str] | None,
        f"Calibrator to fit: {', '.join(CALIBRATIONS)}; or a fitted one, a file of `sureness fit`.",
        Usually(USUAL),
    ] = None
    held_out: Annotated[Table | None, "Log to calibrate on, in place of the run's validation part."] = None
    seen: Annotated[
        tuple[Table, ...],
        "Log of items not shown again, for a run in place of its training part, or nothing; may repeat.",
    ] = ()
    test: Annotated[Table | None, "Log to judge the lists by, in place of the run's test part."] = None

    @property
    def logs(self) -> dict[str, Table]:
        """The given held-out logs by the part of the run that they replace."""
        given = {"validation": self.held_out, "test": self.test}
        return {part: path for part, path in given.items() if path is not None}

    @property
    def fitted(self) -> Path | None:
        """The file of a calibrator that is fitted already; None where one is to be fitted."""
        return None if self.calibrator is None or str(self.calibrator) in CALIBRATIONS else Path(self.calibrator)


PERSONAL = ExpectedUtility.title
"""What comparisons call personal sizes by expected utility, after the dissertation."""

REFERENCE = "best fixed k"
"""The baseline that the others are compared with, user by user."""

_FIXED = (1, 5, 10, 20, 50, 100)


def compare_with_baselines(
    recommender: ConfidentRecommender, *, seen: Seen, validation: Interactions, test: Interactions
) -> PolicyComparison:
    """Judge a recommender's list sizes and those of the baselines on the test period.

    Paired differences are to the fixed size that was best in the validation period.

    Parameters
    ----------
    recommender : ConfidentRecommender
        Fitted on `seen` and `validation`.
    seen, validation, test : Interactions
        The first as for `ConfidentRecommender.fit`.

    Examples
    --------
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> from sureness.data.splitting import by_ratio
    >>> from sureness.sources.svd import svd_source
    >>> split = by_ratio(Interactions.from_matrix(simulate(SimulatorSettings(n_users=150, n_items=80)).train), seed=0)
    >>> recommender = ConfidentRecommender(svd_source(split.train, n_factors=4)).fit(split.train, split.validation)
    >>> compared = compare_with_baselines(recommender, seen=split.train, validation=split.validation, test=split.test)
    >>> compared.table["policy"].to_list()[:3]
    ['PerK', 'Oracle', 'Top-1']
    """
    policy = recommender.policy_
    utility = named_utility(policy.utility)
    before = recommender.validation_lists(seen, validation)
    policies: dict[str, ListSizePolicy] = {policy.title: policy, **baselines(utility, policy.max_size, before)}
    return compare_policies(policies, recommender.lists(labels=test), utility, reference=REFERENCE)


def baselines(utility: str | Utility, max_size: int, validation: Lists) -> dict[str, ListSizePolicy]:
    """The policies of the dissertation that need no training, by name.

    Parameters
    ----------
    utility : str or Utility
        What the fitted ones and the oracle maximise.
    max_size : int
        Longest list.
    validation : Lists
        Labelled lists of the validation period, on which the best fixed sizes are chosen.
    """
    bounds = {"max_size": max_size}
    return {
        "Oracle": Oracle(utility, **bounds),
        **{f"Top-{k}": FixedSize(k) for k in _FIXED if k <= max_size},
        "Rand": RandomSize(**bounds),
        REFERENCE: BestFixedSize(utility, **bounds).fit(validation),
        "Val-k": ValidationBest(utility, **bounds).fit(validation),
        "p >= 0.2": Threshold(0.2, **bounds),
    }


@dataclass(frozen=True, eq=False)
class Listing:
    """A fitted recommender, and the run it was fitted to."""

    recommender: ConfidentRecommender
    run: Run | None  # None: it was saved without its split
    chosen_because: str | None = None

    __repr__ = fields_repr

    def compared(self) -> PolicyComparison | None:
        """The lists beside those of other policies, if there is a test that can judge them."""
        run = self.run
        if run is None or run.test is None or run.validation is None:
            return None
        if run.about.get("protocol") == "preference":
            warn(
                "the test of this run knows only the items that were shown, so lists made from all items cannot be "
                "judged by it"
            )
            return None
        try:
            seen: Seen = "nothing" if run.train is None else run.train
            return compare_with_baselines(self.recommender, seen=seen, validation=run.validation, test=run.test)
        except EmptyError as error:  # lists can be made from all that is known, they just cannot be judged
            warn(f"the lists cannot be judged: {error}")
            return None

    def promise(self) -> KeptPromise | None:
        """What became of the promise of the lists, if there is a test."""
        test = None if self.run is None else self.run.test
        return None if test is None else kept_promise(self.recommender, test)


def open_listing(
    path: Path,
    options: ListOptions,
    calibration: CalibrationOptions | None = None,
    *,
    columns: Columns | None = None,
    progress: Progress = silent,
) -> Listing:
    """Open a saved recommender, or fit one to a run, a model or a source.

    Parameters
    ----------
    path : path
    options : ListOptions
    calibration : CalibrationOptions, optional
    columns : Columns, optional
        Of the logs in place of the run's own.
    progress : Progress
    """
    calibration, columns = calibration or CalibrationOptions(), columns or Columns()
    if path.is_file() and inspect(path).kind == "saved/recommender":
        _refuse_any(path, [*not_usual(options, ListOptions()), *not_usual(calibration, CalibrationOptions())])
        return Listing(load(path, ConfidentRecommender), None)
    run = open_run(path)
    given: dict[str, Any] = {part: warned_log(run, log, columns, part) for part, log in calibration.logs.items()}
    seen = given_seen(run, calibration.seen, columns, run.train)
    train = seen if isinstance(seen, Interactions) else None
    run = replace(run, **given, train=train, about={} if "test" in given else run.about)
    if run.validation is None:
        raise EmptyError(f"{path} has no validation part to calibrate on; give a log of held-out pairs as held_out=...")
    if str(calibration.calibrator) == AUTO:
        return _chosen(run, seen, options, calibration, progress)
    calibrator, ready = _calibrator(calibration)
    target = "carried" if options.expected_relevant is None else options.expected_relevant
    recommender = ConfidentRecommender(run.source, calibrator, options.list_size_policy(), expected_relevant=target)
    return Listing(recommender.fit(seen, run.validation, refit=not ready, progress=progress), run)


def _refuse_any(path: Path, given: Sequence[str]) -> None:
    """A saved recommender has its calibrator and policy."""
    if given:
        raise SettingError(
            f"{path} was saved with its calibrator and list sizes, so {given[0]} has no meaning; leave it out, or give "
            "the run it was made from"
        )


def _chosen(run: Run, seen: Seen, options: ListOptions, calibration: CalibrationOptions, progress: Progress) -> Listing:
    """Whatever makes the best lists of the validation part."""
    settled_by_auto = not_usual(options, ListOptions(utility=options.utility, max_size=options.max_size))
    if settled_by_auto:
        raise SettingError(f'calibrator="auto" decides everything itself; leave {settled_by_auto[0]} out')
    assert run.validation is not None
    policy = options.list_size_policy()
    ways = ways_to_decide(run.source, policy.utility, policy.max_size)
    choice = choose_list_sizes(ways, seen, run.validation, progress=progress)
    return Listing(choice.best, run, choice.reason)


def _calibrator(options: CalibrationOptions) -> tuple[ProbabilityMap | None, bool]:
    """The calibrator that was asked for, None for the usual one, and whether it is fitted already."""
    if options.fitted is not None:
        if not options.fitted.suffix and not options.fitted.exists():  # a word that is not one of the names
            check_choice(str(options.fitted), "calibrator", CALIBRATIONS)
        return load(options.fitted, ProbabilityMap), True
    name = str(options.calibrator or USUAL)
    if name == USUAL:
        return None, False  # with as many candidates as the lists may have
    return find("map", name)() if name in _MAPS else make_calibrator(name), False
