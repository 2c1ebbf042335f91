"""Compiled loops behind `allocation`: slots shared by domains, a budget shared by users, pages with trending items.

Three floors: row functions look at one user, block functions at a stretch of users with scratch of their own, and
public functions run one block, or many that threads share.
"""

from __future__ import annotations

import heapq

import numpy as np

from sureness.numerics.checks import LARGEST
from sureness.numerics.compiling import kernel
from sureness.numerics.threads import block_bounds, each_block, each_stretch

PRICE_BITS = 16  # of a price that one pass over the users settles
_PRICE_BINS = 1 << PRICE_BITS
_MANY = 1 << 20  # numbers to look at, from which on blocks with bins of their own pay
_BIN_BLOCKS = 16  # a fixed number, so that sums do not depend on the number of threads
_SPARE = 5  # places for records beyond the largest size: that of no items, and four that are worth nothing


# --- checks that numpy would need copies for ------------------------------------------------------------------------


@kernel(nogil=True)
def _first_unusable(values, starts, lengths, start, stop):
    for place in range(start, stop):
        usable = True
        for at in range(starts[place], starts[place] + lengths[place]):
            usable &= abs(values[at]) <= LARGEST  # false for NaN
        if not usable:
            return place
    return lengths.shape[0]


def first_unusable(rows, lengths):
    """The first row with a number that is missing or larger than `LARGEST` within its length; their count if none."""
    found = []
    each_stretch(lambda *stretch: found.append(_first_unusable(*rows, lengths, *stretch)), len(lengths), rows[0].size)
    return min(found)


# --- slots shared by domains ----------------------------------------------------------------------------------------
#
# A row of `tables` has, for every number of items, the best total of the domains so far; -inf if it cannot be. In front
# of it stand `width` cells of -inf, so that a merge may look at fewer than 0 items.


@kernel()
def _records(utilities, user, domain, low, high, length, sizes, worth):
    """The sizes that beat all smaller ones, which alone can be part of a best page.

    Returns their number, whether they are concave, and whether all utilities of the candidates are usable. Four more
    that are worth -inf stand behind them.
    """
    usable = True
    for size in range(length):
        usable &= abs(utilities[user, domain, size]) <= LARGEST  # false for NaN
    best = 0.0 if low == 0 else np.float64(utilities[user, domain, low - 1])
    sizes[domain, 0], worth[domain, 0] = low, best
    count, gain, concave = 1, np.inf, True
    for size in range(low + 1, high + 1):
        value = np.float64(utilities[user, domain, size - 1])
        if value > best:
            concave &= value - best <= gain
            gain = value - best
            sizes[domain, count], worth[domain, count] = size, value
            best = value
            count += 1
    for place in range(count, count + 4):
        sizes[domain, place], worth[domain, place] = 0, -np.inf
    concave &= sizes[domain, count - 1] == low + count - 1  # with a gap it is not
    return count, concave, usable


@kernel()
def _share_concave(group, n_group, sizes, worth, counts, slots, width, table, picks, taken, gains):
    """Best total of the concave domains for every number of items; each next item goes where it gains most.

    `picks` says which domain got the item that made the total that long. Returns the smallest and largest number.
    """
    first, total = 0, 0.0
    for place in range(n_group):
        domain = group[place]
        taken[place] = 0
        gains[place] = worth[domain, 1] - worth[domain, 0] if counts[domain] > 1 else 0.0
        first += sizes[domain, 0]
        total += worth[domain, 0]
    for used in range(slots + 1):  # a loop: assigning to a slice takes longer than a short row
        table[width + used] = -np.inf
    table[width + first] = total
    used = first
    while used < slots:
        best, gain = 0, 0.0  # records only rise, so every gain is positive
        for place in range(n_group):
            if gains[place] > gain:
                best, gain = place, gains[place]
        if gain == 0.0:
            break
        used += 1
        total += gain
        table[width + used] = total
        domain = group[best]
        picks[used] = domain
        taken[best] += 1
        after = taken[best] + 1
        gains[best] = worth[domain, after] - worth[domain, after - 1] if after < counts[domain] else 0.0
    return first, used


@kernel()
def _lay_out(domain, sizes, worth, counts, slots, width, table):
    """The totals of a single domain, and its smallest and largest size that fits."""
    for used in range(slots + 1):
        table[width + used] = -np.inf
    used = sizes[domain, 0]
    for place in range(counts[domain]):
        if sizes[domain, place] > slots:
            break
        used = sizes[domain, place]
        table[width + used] = worth[domain, place]
    return sizes[domain, 0], used


@kernel()
def _merge(before, sizes, worth, count, slots, width, after):
    """after[n] = the best before[n - size] + worth(size): one more domain, for every number of items.

    Four sizes at a time, so that a cell is read and written a quarter as often. Unsigned indices cannot be negative,
    and the compiler needs to know that to handle several cells at once.
    """
    for used in range(slots + 1):
        after[width + used] = -np.inf
    stop = np.uint64(width + slots + 1)
    for place in range(0, count, 4):
        start = np.uint64(width + sizes[place])
        size_0, size_1 = np.uint64(sizes[place]), np.uint64(sizes[place + 1])
        size_2, size_3 = np.uint64(sizes[place + 2]), np.uint64(sizes[place + 3])
        worth_0, worth_1, worth_2, worth_3 = worth[place], worth[place + 1], worth[place + 2], worth[place + 3]
        for cell in range(start, stop):
            one, two = before[cell - size_0] + worth_0, before[cell - size_1] + worth_1
            three, four = before[cell - size_2] + worth_2, before[cell - size_3] + worth_3
            one = one if one > two else two
            three = three if three > four else four
            one = one if one > three else three
            after[cell] = one if one > after[cell] else after[cell]


@kernel()
def _best_end(before, first, sizes, worth, count, slots, width):
    """The size of the last domain and the number of items before it; of the best ones those with the fewest items."""
    best, best_size, best_used = -np.inf, 0, 0
    ahead, ahead_at, seen = -np.inf, first, first  # the best so far of before[first:seen], and where it stands
    for place in range(count - 1, -1, -1):  # large sizes first, so that the room before only grows
        while seen <= slots - sizes[place]:
            if before[width + seen] > ahead:
                ahead, ahead_at = before[width + seen], seen
            seen += 1
        total = ahead + worth[place]
        if total > best or (total == best and ahead_at + sizes[place] < best_used + best_size):
            best, best_size, best_used = total, sizes[place], ahead_at
    return best_size, best_used


@kernel()
def _share_row(counts, concave, sizes, worth, slots, group, taken, gains, tables, picks, shares):
    """Sizes of one user's domains. Concave domains are shared out first and together, the others one by one."""
    n_domains, width = counts.shape[0], sizes.shape[1] - _SPARE
    wanted = 0
    for domain in range(n_domains):
        shares[domain] = sizes[domain, counts[domain] - 1]
        wanted += shares[domain]
    if wanted <= slots:  # the page has room for the best of every domain
        return
    n_group, n_others = 0, 0
    for domain in range(n_domains):  # concave ones to the front of `group`, the others to its end
        if concave[domain]:
            group[n_group] = domain
            n_group += 1
        else:
            n_others += 1
            group[n_domains - n_others] = domain
    n_base = max(n_group, 1)  # what is shared out first: all concave domains, or one of the others
    if n_group > 0:
        least, used = _share_concave(
            group, n_group, sizes, worth, counts, slots, width, tables[n_base], picks, taken, gains
        )
    else:
        least, used = _lay_out(group[0], sizes, worth, counts, slots, width, tables[n_base])
    first = least
    for place in range(n_base, n_domains - 1):
        domain = group[place]
        _merge(tables[place], sizes[domain], worth[domain], counts[domain], slots, width, tables[place + 1])
        first += sizes[domain, 0]
    if n_base < n_domains:
        domain = group[n_domains - 1]
        shares[domain], used = _best_end(
            tables[n_domains - 1], first, sizes[domain], worth[domain], counts[domain], slots, width
        )
    for place in range(n_domains - 2, n_base - 1, -1):
        domain, record = group[place], 0
        reached = tables[place + 1, width + used]
        while tables[place, width + used - sizes[domain, record]] + worth[domain, record] != reached:
            record += 1  # the sum that was the best is there again, bit by bit
        shares[domain] = sizes[domain, record]
        used -= shares[domain]
    shares[group[0]] = used
    if n_group > 0:
        for place in range(n_group):
            shares[group[place]] = sizes[group[place], 0]
        for item in range(least + 1, used + 1):
            shares[picks[item]] += 1


@kernel(nogil=True)
def _share_block(utilities, slots, lows, highs, lengths, start, stop, shares, values):
    if start == stop:
        return
    n_domains, width = utilities.shape[1:]
    room = min(slots[start:stop].max(), n_domains * width)
    tables = np.full((n_domains + 1, width + room + 1), -np.inf)
    picks = np.empty(room + 1, dtype=np.int64)
    sizes = np.empty((n_domains, width + _SPARE), dtype=np.int64)
    worth, gains = np.empty((n_domains, width + _SPARE)), np.empty(n_domains)
    counts, group, taken = np.empty((3, n_domains), dtype=np.int64)
    concave = np.empty(n_domains, dtype=np.bool_)
    for user in range(start, stop):
        usable = True
        for domain in range(n_domains):
            length = lengths[user, domain]
            high = min(highs[domain], length)
            low = min(lows[domain], high)
            counts[domain], concave[domain], fine = _records(utilities, user, domain, low, high, length, sizes, worth)
            usable &= fine
        if usable:
            own = min(slots[user], room)
            _share_row(counts, concave, sizes, worth, own, group, taken, gains, tables, picks, shares[user])
        for domain in range(n_domains):
            size = shares[user, domain]
            value = 0.0 if size == 0 else np.float64(utilities[user, domain, size - 1])
            values[user, domain] = value if usable else np.nan


def share_slots(utilities, slots, lows, highs, lengths, shares, values):
    """The best sizes of the domains of every user, and what they are worth; NaN if some utilities are unusable."""
    each_stretch(
        lambda *stretch: _share_block(utilities, slots, lows, highs, lengths, *stretch, shares, values),
        len(utilities), utilities.size,
    )  # fmt: skip


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
        len(lows), utilities[0].size,
    )  # fmt: skip


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


# --- trending items -------------------------------------------------------------------------------------------------


@kernel()
def _among(values, start, stop, wanted):
    """Whether a sorted stretch holds a value."""
    while start < stop:
        middle = (start + stop) >> 1
        if values[middle] < wanted:
            start = middle + 1
        elif values[middle] > wanted:
            stop = middle
        else:
            return True
    return False


@kernel()
def fill_pages(items, sizes, trending, rows, starts, seen, pages, personal):
    """Each user's own items, then trending ones that are neither among them nor seen, then -1."""
    n_slots = pages.shape[1]
    for user in range(items.shape[0]):
        filled = 0
        for rank in range(sizes[user]):
            if items[user, rank] >= 0:
                pages[user, filled] = items[user, rank]
                filled += 1
        n_own = filled
        for place in range(trending.shape[0]):
            if filled == n_slots:
                break
            item = trending[place]
            new = not _among(seen, starts[rows[user]], starts[rows[user] + 1], item)
            for own in range(n_own):
                new &= pages[user, own] != item
            if new:
                pages[user, filled] = item
                filled += 1
        pages[user, filled:] = -1
        personal[user, :n_own] = True
        personal[user, n_own:] = False
