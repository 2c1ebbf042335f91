"""The demo in short: what calibrated confidence is good for, each with its measured number."""

from __future__ import annotations

import numpy as np

from sureness.experiments.shared_pages import DomainPage
from sureness.experiments.simulated_lists import ListStudy
from sureness.list_size.policies import ExpectedUtility
from sureness.metrics.intervals import Interval
from sureness.report import Distillation, Finding, ListSizes
from sureness.report._format import chance, points, spoken_percent

_CLEAR = 0.05


def trusted(before: float, after: float, how: str, share: float) -> Finding:
    """That a percentage has the right size, by errors over all judged pairs, of which a share is positive."""
    return Finding(
        "A percentage of the right size",
        f"off by {points(before)} → {points(after)} points",
        "mean error of the probabilities before and after calibration",
        "Mean distance between what is promised and what happens: before calibration (sigmoid of the scores), and "
        f"after ({how}); over all judged pairs, of which {spoken_percent(share)} are positive. How likely items fare "
        "is in the diagram.",
        "reliability", holds=after < before,
    )  # fmt: skip


def corrected(naive: float, unbiased: float, truth: float) -> Finding:
    """That the bias of the log is corrected, by mean probabilities."""
    return Finding(
        "Likes, not clicks",
        f"{spoken_percent(naive)} → {spoken_percent(unbiased)}, truth {spoken_percent(truth)}",
        "the chance that an item is liked, by the log, without its bias, and in truth",
        "The chance that a random item is liked: as the log tells it (nobody could click what was never shown), after "
        "inverse propensity weighting, and as it really is, which only the simulator knows.",
        "curves", holds=abs(unbiased - truth) < abs(naive - truth),
    )  # fmt: skip


def near_truth(naive: float, unbiased: float, truth: float, method: str) -> Finding:
    """How near the unbiased fit comes to one that knows the truth, by ECE."""
    return Finding(
        "Nearly as good as knowing the truth",
        f"{points(naive)} → {points(unbiased)} points, best {points(truth)}",
        "mean error when fitted to the log as it is, without its bias, and to the truth",
        f"The error of {method} when it is fitted to the log as it is, without bias, and to the true preferences.",
        "table-1", holds=unbiased < naive,
    )  # fmt: skip


def first_items(before: float, after: float, kept: Interval, n: int) -> Finding:
    """What was promised of each user's first items, by their scores and by personal maps, and what happened."""
    return Finding(
        f"The first {n} items, promised and kept",
        f"{spoken_percent(before)} → {spoken_percent(after)}, kept {spoken_percent(kept.value)}",
        "what the scores promise, what a map for each user promises, and what happened",
        f"The mean chance of each user's first {n} items, by the sigmoid of their scores, and by a map for each user "
        f"that is fitted where lists are made; {spoken_percent(kept.value)} of them are in the test part (95% interval "
        f"{spoken_percent(kept.low)} to {spoken_percent(kept.high)}).",
        "list-groups", holds=abs(after - kept.value) < abs(before - kept.value),
    )  # fmt: skip


def sizes(lists: ListStudy, found: ListSizes) -> Finding:
    """What personal list sizes are worth beside the best fixed one."""
    compared = lists.compared
    main, reference = found.main, str(compared.reference)
    difference, p_value = compared.difference(main, reference)
    low, high = _interval(compared.values[main] - compared.values[reference])
    fixed = float(compared.values[reference].mean())
    own, size = compared.sizes[main], compared.sizes[reference]
    clear = p_value < _CLEAR
    worth = f"{found.utility} {fixed + difference:.3f} against {fixed:.3f} with the best fixed size of {size[0]}"
    return Finding(
        "As many items as are worth showing",
        f"{_gain(difference, fixed)} {found.utility}",
        f"personal list sizes against the best fixed one ({size[0]}), {_verdict(clear, difference, p_value)}",
        f"Lists of {own.min()} to {own.max()} items, {own.mean():.1f} on average: {worth} (difference "
        f"{difference:+.4f}, 95% interval {low:+.4f} to {high:+.4f}, p {chance(p_value)})."
        + _unclear(clear, difference),
        "list-sizes", holds=clear and difference > 0,
    )  # fmt: skip


def unsure(lists: ListStudy) -> Finding | None:
    """Whether lists that were expected to be worth little were: the last and the first tenth of the users."""
    recommender = lists.recommender
    policy = recommender.policy_
    if not isinstance(policy, ExpectedUtility):
        return None
    test = recommender.lists(labels=lists.split.test)
    test = test.take(np.flatnonzero(np.asarray(test.n_relevant) > 0))
    if test.n_users < 20:
        return None
    shown, expected, _ = policy.decide(test)
    inside = np.arange(test.width) < shown[:, None]
    found = np.any(np.asarray(test.hits) & inside, axis=1)
    order = np.argsort(expected, kind="stable")
    tenth = test.n_users // 10
    least, most = (float(found[chosen].mean()) for chosen in (order[:tenth], order[-tenth:]))
    return Finding(
        "It knows when it does not know",
        f"{spoken_percent(least)} against {spoken_percent(most)}",
        "users who found something, where it expected least and most" + ("" if least < most else "; not so here"),
        "Users who found something in their list: the tenth with the lowest expected worth, and the tenth with the "
        "highest. " + ("Better ask the former what they like." if least < most else "It did not know that here."),
        "list-cases", holds=least < most,
    )  # fmt: skip


def page(shared: DomainPage) -> Finding:
    """What sharing a page by expected utility is worth beside equal shares."""
    found = shared.compared
    clear = found.p_value < _CLEAR
    used = float(shared.sizes.sum(axis=1).mean())
    return Finding(
        f"One page for {len(shared.domains)} domains",
        f"{_gain(found.difference, found.reference)} F1",
        f"slots where they are worth most against equal shares, {_verdict(clear, found.difference, found.p_value)}",
        f"{shared.slots} slots go where one more item is worth most, {used:.1f} of them are used: F1 {found.value:.3f} "
        f"against {found.reference:.3f} with equal shares (p {chance(found.p_value)})."
        + _unclear(clear, found.difference),
        "list-table-1", holds=clear and found.difference > 0,
    )  # fmt: skip


def student(found: Distillation) -> Finding:
    """What the distilled student reaches, alone and taught, and its teacher."""
    metric = found.metrics[0]
    main, alone, teacher = (found.row(name) for name in (found.main, found.student, found.teacher))
    values = [row.measures[metric].value.value for row in (alone, main, teacher)]
    measure = main.measures[metric]
    size = (main.parameters or 0) / (teacher.parameters or 1)
    difference = measure.difference or 0.0
    return Finding(
        "A small model taught by a large one",
        f"{metric} {values[0]:.3f} → {values[1]:.3f}",
        f"{spoken_percent(size)} of its teacher's size ({values[2]:.3f}), alone and taught, "
        + _verdict(measure.clear, difference, measure.p_value or 0.0),
        f"A student with {spoken_percent(size)} of its teacher's numbers, alone and taught ({main.name}); the teacher "
        f"reaches {values[2]:.3f}. p {chance(measure.p_value or 0.0)}." + _unclear(measure.clear, difference),
        "distillation", holds=measure.clear and difference > 0,
    )  # fmt: skip


def _gain(difference: float, reference: float) -> str:
    return f"{difference / reference:+.1%}" if reference > 0 else f"{difference:+.4f}"


def _unclear(clear: bool, difference: float) -> str:
    if not clear:
        return " No clear difference here."
    return "" if difference > 0 else " It does worse here."


def _verdict(clear: bool, difference: float, p_value: float) -> str:
    return f"p {chance(p_value)}" + (
        "" if clear and difference > 0 else ", worse" if clear else ", no clear difference"
    )


def _interval(differences: np.ndarray) -> tuple[float, float]:
    mean, side = float(differences.mean()), 1.96 * float(differences.std(ddof=1)) / len(differences) ** 0.5
    return mean - side, mean + side
