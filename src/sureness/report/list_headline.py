"""The result of list sizes in one sentence and four numbers."""

from __future__ import annotations

from sureness._wording import counted
from sureness.report.formatting import chance, count, error
from sureness.report.headline import Headline, Tile
from sureness.report.list_sizes import ORACLE, ListSizes, PolicyRow

_CLEAR = 0.05  # p-values below count as a clear difference


def list_headline(found: ListSizes) -> Headline:
    """Whether personal sizes are better than the reference, and by how much."""
    main, reference = found.policy(found.main), found.policy(found.reference)
    if main is None:
        sentence = f"Each list is as long as it is worth showing: {found.mean_size:.1f} items on average."
        longest = counted(found.max_size, "item")
        return Headline(sentence, f"Lists of up to {longest} that maximise the expected {found.utility}.")
    detail = f"{found.utility} {error(main.value)} with {main.mean_size:.1f} items on average"
    if reference is not None:
        detail += f"; {reference.name} {error(reference.value)} with {reference.mean_size:.1f}"
    if (oracle := found.policy(ORACLE)) is not None:
        detail += f"; the best size for every user, known only in hindsight, {error(oracle.value)}"
    return Headline(_verdict(found, main, reference), f"{detail}. Judged on {counted(found.n_judged or 0, 'user')}.")


def list_tiles(found: ListSizes) -> tuple[Tile, ...]:
    """The four numbers under the headline."""
    main, reference = found.policy(found.main), found.policy(found.reference)
    judged = "" if found.n_judged is None else f"{count(found.n_judged)} with a relevant item in the test"
    tiles = [
        Tile("users", count(found.n_users), judged),
        Tile("items per list", f"{found.mean_size:.1f}", f"on average, at most {found.max_size}"),
        Tile("ask first", count(found.n_unsure), "users whose best list is not worth showing"),
    ]
    if main is None:
        return (*tiles, Tile(f"expected {found.utility}", error(_expected(found)), f"{found.main}, mean over users"))
    if reference is None:
        return (*tiles, Tile(found.utility, error(main.value), found.main))
    values = f"{error(reference.value)} → {error(main.value)}"
    note = f"{reference.name} → {found.main}, p {chance(main.p_value or 0.0)}"
    return (*tiles, Tile(f"{found.utility} fixed → personal", values, note))


def _verdict(found: ListSizes, main: PolicyRow, reference: PolicyRow | None) -> str:
    if reference is None or main.difference is None or main.p_value is None:
        return f"Lists of {main.mean_size:.1f} items on average reach {found.utility} {error(main.value)}."
    baseline = f"the {reference.name}" if reference.name.startswith("best ") else reference.name
    if main.p_value >= _CLEAR:
        return f"Personal list sizes show no clear difference from {baseline} here."
    if main.difference < 0:
        return f"{baseline[:1].upper()}{baseline[1:]} beats personal list sizes here."
    if reference.value <= 0:  # a gain relative to a loss means nothing
        return f"Personal list sizes bring {main.difference:.3g} more {found.utility} than {baseline}."
    gain = main.difference / reference.value
    return f"Personal list sizes bring {gain:.0%} more {found.utility} than {baseline}."


def _expected(found: ListSizes) -> float:
    return sum(group.expected * group.n_users for group in found.groups) / found.n_users
