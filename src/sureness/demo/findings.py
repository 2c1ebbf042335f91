"""The findings that open the demo's page: what calibrated confidence is good for, each with its measured number."""

from __future__ import annotations

import numpy as np

from sureness._wording import counted
from sureness.demo.list_study import ListStudy
from sureness.jobs.shared_pages import DomainPage
from sureness.metrics.intervals import Interval
from sureness.report.distillation import Distillation
from sureness.report.findings import Finding
from sureness.report.formatting import chance, points, spoken_percent
from sureness.report.list_sizes import ListSizes

_CLEAR = 0.05  # p-values below count as a clear difference
_FEWEST_USERS = 20  # for a comparison of tenths


def calibrated(before: float, after: float, method: str, share: float) -> Finding:
    """Calibration error before and after, over all judged pairs, of which `share` are positive."""
    return Finding(
        "Percentages that can be trusted",
        f"off by {points(before)} → {points(after)} points",
        "mean error of the probabilities before and after calibration",
        "Mean distance between predicted and observed frequency: before calibration (the sigmoid of the scores) and "
        f"after it ({method}), over all judged pairs, of which {spoken_percent(share)} are positive. The diagram shows "
        "how the likely items do.",
        "reliability", holds=after < before,
    )  # fmt: skip


def corrected(naive: float, unbiased: float, truth: float) -> Finding:
    """Mean probabilities with and without correcting the bias of the log, and the truth."""
    return Finding(
        "Likes, not clicks",
        f"{spoken_percent(naive)} → {spoken_percent(unbiased)}, truth {spoken_percent(truth)}",
        "mean chance that an item is liked: naive, bias corrected, and true",
        "The chance that a random item is liked: estimated from the log alone (where nobody can click what was never "
        "shown), after inverse propensity weighting, and in truth, which only the simulator knows.",
        "curves", holds=abs(unbiased - truth) < abs(naive - truth),
    )  # fmt: skip


def near_truth(naive: float, unbiased: float, truth: float, method: str) -> Finding:
    """ECE of the naive and the unbiased fit, and of a fit that knows the truth."""
    return Finding(
        "Nearly as good as knowing the truth",
        f"{points(naive)} → {points(unbiased)} points, best {points(truth)}",
        "mean error of the naive fit, the unbiased fit, and a fit to the truth",
        f"Calibration error of {method} fitted to the log as it is, with the bias corrected, and to the true "
        "preferences.",
        "table-1", holds=unbiased < naive,
    )  # fmt: skip


def first_items(before: float, after: float, observed: Interval, n: int) -> Finding:
    """Predicted and observed hit rate of each user's first n items."""
    return Finding(
        f"The first {counted(n, 'item')}, predicted and observed",
        f"{spoken_percent(before)} → {spoken_percent(after)}, observed {spoken_percent(observed.value)}",
        "predicted by the scores, predicted by the map for lists, and observed",
        f"Mean probability of each user's first {counted(n, 'item')}: by the sigmoid of their scores, and by a map "
        f"that is fitted to each user's best candidates. Of these items, {spoken_percent(observed.value)} are in the "
        f"test part (95% interval {spoken_percent(observed.low)} to {spoken_percent(observed.high)}).",
        "list-groups", holds=abs(after - observed.value) < abs(before - observed.value),
    )  # fmt: skip


def personal_sizes(lists: ListStudy, found: ListSizes) -> Finding:
    """Utility of personal list sizes beside the best fixed one."""
    compared = lists.compared
    main, reference = found.main, str(compared.reference)
    difference, p_value = compared.difference(main, reference)
    low, high = _interval(compared.values[main] - compared.values[reference])
    fixed = float(compared.values[reference].mean())
    own, size = compared.sizes[main], compared.sizes[reference]
    clear = p_value < _CLEAR
    worth = f"{found.utility} {fixed + difference:.3f} against {fixed:.3f} with the best fixed size, {size[0]}"
    return Finding(
        "Lists as long as they are worth showing",
        f"{_gain(difference, fixed)} {found.utility}",
        f"personal list sizes against the best fixed one ({size[0]}), {_verdict(clear, difference, p_value)}",
        f"Lists of {own.min()} to {counted(own.max(), 'item')}, {own.mean():.1f} on average: {worth} (difference "
        f"{difference:+.4f}, 95% interval {low:+.4f} to {high:+.4f}, p {chance(p_value)})."
        + _caveat(clear, difference),
        "list-sizes", holds=clear and difference > 0,
    )  # fmt: skip


def unsure_users(lists: ListStudy) -> Finding | None:
    """Hit rates of the tenths of users with the lowest and highest expected utility; None with too few users."""
    test = lists.recommender.lists(labels=lists.split.test)
    test = test.take(np.flatnonzero(np.asarray(test.n_relevant) > 0))
    if test.n_users < _FEWEST_USERS:
        return None
    test = lists.recommender.policy_.decide(test)
    found = np.any(np.asarray(test.hits) & test.shown, axis=1)
    order = np.argsort(np.asarray(test.expected), kind="stable")
    tenth = test.n_users // 10
    least, most = (float(found[chosen].mean()) for chosen in (order[:tenth], order[-tenth:]))
    return Finding(
        "It knows when it does not know",
        f"{spoken_percent(least)} against {spoken_percent(most)}",
        "users with a hit, where the least and the most was expected" + ("" if least < most else "; not so here"),
        "Share of users with at least one hit in their list: the tenth with the lowest expected utility, and the tenth "
        "with the highest. " + ("Ask the former what they like." if least < most else "It could not tell them apart."),
        "list-cases", holds=least < most,
    )  # fmt: skip


def shared_page(shared: DomainPage) -> Finding:
    """Utility of a page shared by expected utility beside equal shares."""
    found = shared.compared
    clear = found.p_value < _CLEAR
    used = float(shared.sizes.sum(axis=1).mean())
    return Finding(
        f"One page for {counted(len(shared.domains), 'domain')}",
        f"{_gain(found.difference, found.reference)} F1",
        f"slots by expected gain against equal shares, {_verdict(clear, found.difference, found.p_value)}",
        f"Each of {counted(shared.slots, 'slot')} goes to the domain where one more item gains most; {used:.1f} are "
        f"used on average. F1 {found.value:.3f} against {found.reference:.3f} with equal shares (p "
        f"{chance(found.p_value)})."
        + _caveat(clear, found.difference),
        "list-table-1", holds=clear and found.difference > 0,
    )  # fmt: skip


def distilled_student(found: Distillation) -> Finding:
    """What the student reaches alone and distilled, beside its teacher."""
    metric = found.metrics[0]
    main, alone, teacher = (found.row(name) for name in (found.main, found.student, found.teacher))
    values = [row.measures[metric].value.value for row in (alone, main, teacher)]
    measure = main.measures[metric]
    size = spoken_percent((main.parameters or 0) / (teacher.parameters or 1))
    difference = measure.difference or 0.0
    return Finding(
        "A small model that learns from a large one",
        f"{metric} {values[0]:.3f} → {values[1]:.3f}",
        f"{size} of its teacher's size ({metric} {values[2]:.3f}), alone and distilled, "
        + _verdict(measure.clear, difference, measure.p_value or 0.0),
        f"A student with {size} of its teacher's parameters, alone and distilled ({main.name}); the teacher reaches "
        f"{values[2]:.3f}. p {chance(measure.p_value or 0.0)}." + _caveat(measure.clear, difference),
        "distillation", holds=measure.clear and difference > 0,
    )  # fmt: skip


def _gain(difference: float, reference: float) -> str:
    return f"{difference / reference:+.1%}" if reference > 0 else f"{difference:+.4f}"


def _caveat(clear: bool, difference: float) -> str:
    if not clear:
        return " No clear difference here."
    return "" if difference > 0 else " It does worse here."


def _verdict(clear: bool, difference: float, p_value: float) -> str:
    worse = ", worse" if clear else ", no clear difference"
    return f"p {chance(p_value)}" + ("" if clear and difference > 0 else worse)


def _interval(differences: np.ndarray) -> tuple[float, float]:
    mean, side = float(differences.mean()), 1.96 * float(differences.std(ddof=1)) / len(differences) ** 0.5
    return mean - side, mean + side
