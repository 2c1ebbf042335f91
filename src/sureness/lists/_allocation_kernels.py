"""Compiled loops of `pages` and `budgets`: slots shared by domains, and a budget shared by users."""

from __future__ import annotations

import heapq

import numpy as np

from sureness.numerics.compiling import kernel
from sureness.numerics.threads import block_bounds, each_block, each_stretch

PRICE_BITS = 16  # of a price that one pass over the users settles
_PRICE_BINS = 1 << PRICE_BITS
_MANY = 1 << 20  # numbers to look at, from which on blocks with bins of their own pay
_BIN_BLOCKS = 16  # a fixed number, so that sums do not depend on the number of threads


# --- slots shared by domains ----------------------------------------------------------------------------------------


@kernel(nogil=True)
def _share_block(utilities, slots, lows, highs, lengths, start, stop, shares):
    """The textbook programme: the best total for every number of items, one more domain at a time."""
    n_domains, width = utilities.shape[1:]
    room = n_domains * width if start == stop else min(slots[start:stop].max(), n_domains * width)
    totals, picks = np.empty((n_domains + 1, room + 1)), np.empty((n_domains, room + 1), dtype=np.int64)
    for user in range(start, stop):
        own, reached = min(slots[user], room), 0
        totals[:, : own + 1] = -np.inf
        totals[0, 0] = 0.0
        for domain in range(n_domains):
            before, after = totals[domain], totals[domain + 1]
            high = min(highs[domain], lengths[user, domain])
            low, best = min(lows[domain], high), -np.inf
            for size in range(low, min(high, own) + 1):
                worth = 0.0 if size == 0 else np.float64(utilities[user, domain, size - 1])
                if worth <= best:  # a smaller size is worth as much
                    continue
                best = worth
                for used in range(size, min(own, reached + size) + 1):
                    if before[used - size] + worth > after[used]:
                        after[used] = before[used - size] + worth
                        picks[domain, used] = size
            reached = min(own, reached + high)
        used = np.argmax(totals[n_domains, : own + 1])  # the first of equal ones, with the fewest items
        for domain in range(n_domains - 1, -1, -1):
            shares[user, domain] = picks[domain, used]
            used -= shares[user, domain]


def share_slots(utilities, slots, lows, highs, lengths, shares):
    """The best sizes of the domains of every user."""
    each_stretch(
        lambda *stretch: _share_block(utilities, slots, lows, highs, lengths, *stretch, shares),
        len(utilities),
        utilities.size,
    )


# --- a budget shared by users ---------------------------------------------------------------------------------------


#
# Rows of users are ragged: a pair of the numbers of all rows and of where each begins. Costs without such starts are
# one row for all users.


@kernel()
def _row(ragged, user):
    values, starts = ragged
    return values[starts[user] : starts[user + 1]]


@kernel()
def _costs_of(cost, user):
    """What the items of a user cost; one value may be for all ranks."""
    return _row(cost, user) if cost[1].shape[0] > 0 else cost[0]


@kernel()
def pay(cost, sizes, paid):
    """What the first items of every user cost."""
    for user in range(sizes.shape[0]):
        costs, total = _costs_of(cost, user), 0.0
        for rank in range(sizes[user]):
            total += costs[rank if costs.shape[0] > 1 else 0]
        paid[user] = total


@kernel(error_model="numpy")
def _envelope(row, costs, low, high, sizes, paid, worth, price):
    """Corners of the concave envelope of (cost, utility) over the sizes from `low` to `high`; returns their number.

    `paid` counts from the smallest size, `price` is the gain per cost on the way to a corner and never rises; it is
    infinite where nothing is paid. Corners on one line are all kept.
    """
    sizes[0], paid[0], price[0] = low, 0.0, np.inf
    worth[0] = 0.0 if low == 0 else np.float64(row[low - 1])
    count, total = 1, 0.0
    for size in range(low + 1, high + 1):
        total += costs[size - 1 if costs.shape[0] > 1 else 0]
        value = np.float64(row[size - 1])
        if value <= worth[count - 1]:
            continue
        rate = (value - worth[count - 1]) / (total - paid[count - 1])
        while rate > price[count - 1]:
            count -= 1
            rate = (value - worth[count - 1]) / (total - paid[count - 1])
        sizes[count], paid[count], worth[count], price[count] = size, total, value, rate
        count += 1
    return count


@kernel()
def _corner_scratch(highs):
    width = 0
    for high in highs:
        width = max(width, high)
    return np.empty(width + 1, dtype=np.int64), np.empty(width + 1), np.empty(width + 1), np.empty(width + 1)


@kernel(nogil=True)
def _add_by_price(utilities, cost, lows, highs, known, shift, start, stop, marked, bins):
    sizes, paid, worth, price = _corner_scratch(highs)
    bits = price.view(np.int64)
    for user in range(start, stop):
        if not marked[user]:
            continue
        costs, marked[user] = _costs_of(cost, user), False
        count = _envelope(_row(utilities, user), costs, lows[user], highs[user], sizes, paid, worth, price)
        for corner in range(1, count):
            key = bits[corner] >> shift
            if key >> PRICE_BITS == known:
                marked[user] = True
                bins[key & (_PRICE_BINS - 1)] += paid[corner] - paid[corner - 1]


def cost_by_price(utilities, cost, lows, highs, known, shift, marked):
    """Total cost of the steps of the envelopes of the marked users, in bins of their price; shape (2**16,).

    Positive floats are in the order of their bits. Those above ``shift + 16`` must equal `known`, the next 16 make the
    bin, so that four passes find any price to the last bit, with no more memory than the bins. Only users that have
    such a step stay marked.
    """
    n_blocks = _BIN_BLOCKS if utilities[0].size >= _MANY else 1  # bins of few users would cost more than these
    bounds, bins = block_bounds(len(lows), n_blocks), np.zeros((n_blocks, _PRICE_BINS))

    def add(block):
        stretch = bounds[block], bounds[block + 1]
        _add_by_price(utilities, cost, lows, highs, known, shift, *stretch, marked, bins[block])

    each_block(add, n_blocks)
    return bins.sum(axis=0)


@kernel(nogil=True)
def _take_above(utilities, cost, lows, highs, threshold, start, stop, chosen, tied):
    sizes, paid, worth, price = _corner_scratch(highs)
    for user in range(start, stop):
        costs = _costs_of(cost, user)
        count = _envelope(_row(utilities, user), costs, lows[user], highs[user], sizes, paid, worth, price)
        corner = 0
        while corner + 1 < count and price[corner + 1] > threshold:
            corner += 1
        chosen[user] = sizes[corner]
        tied[user] = corner + 1 < count and price[corner + 1] == threshold


def take_above(utilities, cost, lows, highs, threshold, chosen, tied):
    """Take every step whose price is above the threshold, and mark the users whose next step has just that price."""
    each_stretch(
        lambda *stretch: _take_above(utilities, cost, lows, highs, threshold, *stretch, chosen, tied),
        len(lows),
        utilities[0].size,
    )


@kernel()
def take_tied(utilities, cost, lows, highs, threshold, left, tied, chosen):
    """Take steps at just the threshold as long as they fit, earlier users first; returns what is left."""
    sizes, paid, worth, price = _corner_scratch(highs)
    for user in range(tied.shape[0]):
        if not tied[user]:
            continue
        costs = _costs_of(cost, user)
        count = _envelope(_row(utilities, user), costs, lows[user], highs[user], sizes, paid, worth, price)
        for corner in range(1, count):
            step = paid[corner] - paid[corner - 1]
            if sizes[corner] <= chosen[user] or price[corner] > threshold:
                continue
            if price[corner] < threshold or step > left:
                break
            chosen[user] = sizes[corner]
            left -= step
    return left


@kernel()
def _best_step(row, costs, size, high, left):
    """The longer list with the largest gain per cost among those that fit, and its cost; size 0 if there is none."""
    best, best_size, best_cost = 0.0, 0, 0.0
    here = 0.0 if size == 0 else np.float64(row[size - 1])
    total = 0.0
    for longer in range(size + 1, high + 1):
        total += costs[longer - 1 if costs.shape[0] > 1 else 0]
        if total > left:
            break
        gain = row[longer - 1] - here
        if gain > 0.0:
            rate = gain / total if total > 0.0 else np.inf
            if rate > best:
                best, best_size, best_cost = rate, longer, total
    return best, best_size, best_cost


@kernel()
def fill_up(utilities, cost, highs, left, chosen):
    """Spend what is left on the best steps that still fit, corners or not; returns what is gained."""
    steps = [(0.0, np.int64(0)) for _ in range(0)]
    for user in range(chosen.shape[0]):
        costs = _costs_of(cost, user)
        rate, size, _ = _best_step(_row(utilities, user), costs, chosen[user], highs[user], left)
        if size > 0:
            steps.append((-rate, np.int64(user)))
    heapq.heapify(steps)
    gained = 0.0
    while len(steps) > 0:
        promised, user = heapq.heappop(steps)
        row, costs = _row(utilities, user), _costs_of(cost, user)
        rate, size, price = _best_step(row, costs, chosen[user], highs[user], left)
        if size > 0 and -rate <= promised:  # still what it was when it was put on the heap
            gained += row[size - 1] - (0.0 if chosen[user] == 0 else row[chosen[user] - 1])
            left -= price
            chosen[user] = size
            rate, size, _ = _best_step(row, costs, chosen[user], highs[user], left)
        if size > 0:
            heapq.heappush(steps, (-rate, user))
    return gained
