"""Compiled loops over the rows of a block: ranks of entries, and draws weighted by ranks.

A rank is kept as the code of an entry and the rank of each code; code 0 is an entry that does not count.
"""

from __future__ import annotations

import numpy as np

from sureness.numerics.compiling import kernel
from sureness.numerics.threads import row_loop

_LOWEST = np.float32(-np.inf)
_GROUP = 16  # entries that are proposed, or whose weights are summed, together
_SMALLEST = 1e-30  # weights that far apart can still be multiplied in single precision
_FAST = {"reassoc", "contract", "nsz"}  # sums in any order
_GLANCE = 64  # proposals from which the number still needed is estimated
_DEAR, _CHEAP, _PER_DRAW = 2, 4, 10  # beyond one try per 2 or 4 entries and 10 per draw, summing weights is faster


# -- ranks ------------------------------------------------------------------------------------------------------------


@kernel(error_model="numpy")
def code_rows(scores, high, scale, n_bins, start, codes):
    """The bins of the columns from `start` on; 1 for the highest scores and all above the range, 0 for -inf."""
    first, last, nowhere = np.float32(1.0), np.float32(n_bins), np.float32(0.0)
    for row in range(scores.shape[0]):  # too short for threads to pay off
        some, code = scores[row], codes[row, start : start + scores.shape[1]]
        top, step = high[row], scale[row]
        for i in range(some.shape[0]):
            place = (top - some[i]) * step + first
            place = first if place < first else place
            place = place if place < last else last
            code[i] = np.int32(place if some[i] > _LOWEST else nowhere)


@row_loop(error_model="numpy")
def place_rows(start, stop, codes, rows, starts, seen, allowed, places, done):
    """The middle rank of each code; a row is not done if a code has more than `allowed` entries."""
    size = places.shape[1]
    for row in range(start, stop):
        code, place = codes[row], places[row]
        for k in range(starts[rows[row]], starts[rows[row] + 1]):
            code[seen[k]] = 0
        place[:] = 0
        for i in range(code.shape[0]):
            place[np.uint32(code[i])] += 1  # unsigned, so no check for negative indices
        before, most = 0, 0
        place[0] = 0
        for b in range(1, size):
            count = place[b]
            most = max(most, count)
            place[b] = before + (count + 1) // 2
            before += count
        done[row] = most <= allowed


# -- draws ------------------------------------------------------------------------------------------------------------


@kernel()
def _next(state):
    """The next state of a generator and 64 random bits (splitmix64)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@kernel(error_model="numpy")
def _weight(i, mine, my_places, other, their_places, table, compared):
    """The weight of one entry: the table at my rank minus theirs; 0 if either is left out."""
    my_rank, their_rank = my_places[np.uint32(mine[i])], their_places[np.uint32(other[i])]
    if my_rank == 0 or their_rank == 0:
        return np.float32(0.0)
    return table[np.uint32((my_rank if compared else 0) - their_rank + table.shape[0] // 2)]


@kernel(error_model="numpy")
def _propose(mine, my_places, other, their_places, table, compared, state, most, drawn):
    """Draw by rejection; returns how many entries were accepted in `most` tries.

    Tries go in groups, each step for all of a group, so that the processor waits for many entries at once.
    """
    n_columns = np.uint64(mine.shape[0])
    columns, weights = np.empty(_GROUP, dtype=np.uint32), np.empty(_GROUP, dtype=np.float32)
    chances = np.empty(_GROUP, dtype=np.float32)
    made, tries = 0, 0
    while tries < most:
        tries += _GROUP
        for k in range(_GROUP):
            state, bits = _next(state)
            columns[k] = np.uint32(((bits >> np.uint64(32)) * n_columns) >> np.uint64(32))
            chances[k] = np.float32(np.int32(bits & np.uint64(0x7FFFFFFF))) * np.float32(1.0 / 2147483648.0)
        for k in range(_GROUP):
            weights[k] = _weight(columns[k], mine, my_places, other, their_places, table, compared)
        for k in range(_GROUP):
            if made < drawn.shape[0]:
                drawn[made] = columns[k]  # kept only if accepted; avoids an unpredictable branch
                made += np.int64(chances[k] < weights[k])
        if made == drawn.shape[0] or (tries == _GLANCE and made * most < drawn.shape[0] * _GLANCE):
            break
    return made, state


@kernel(error_model="numpy")
def _largest_gap(mine, my_places, other, their_places):
    top = -mine.shape[0]
    for i in range(mine.shape[0]):
        my_rank, their_rank = my_places[np.uint32(mine[i])], their_places[np.uint32(other[i])]
        if my_rank > 0 and their_rank > 0 and my_rank - their_rank > top:
            top = my_rank - their_rank
    return top


@kernel(error_model="numpy")
def _sum_relative(mine, my_places, other, their_places, table, sums):
    """Running sums of weights by the distance to the row's largest gap, which has the table's last weight."""
    last = table.shape[0] - 1
    top = _largest_gap(mine, my_places, other, their_places)
    total = 0.0
    for i in range(mine.shape[0]):
        my_rank, their_rank = my_places[np.uint32(mine[i])], their_places[np.uint32(other[i])]
        if my_rank > 0 and their_rank > 0:
            total += table[last - (top - (my_rank - their_rank))]
        sums[i] = total
    return total


@kernel(error_model="numpy")
def _sum_weights(mine, my_places, other, their_places, table, compared, relative, sums):
    """Running sums of all weights, or of equal weights if none is above zero."""
    if relative:
        return _sum_relative(mine, my_places, other, their_places, table, sums)
    total = 0.0
    for i in range(mine.shape[0]):
        total += _weight(i, mine, my_places, other, their_places, table, compared)
        sums[i] = total
    if total > 0.0:
        return total
    for i in range(mine.shape[0]):
        total += 1.0 if my_places[mine[i]] > 0 and their_places[other[i]] > 0 else 0.0
        sums[i] = total
    return total


@kernel(error_model="numpy")
def _starts_of(sums, first):
    """An index into the sums: for each of equal parts of the total, the first sum beyond its start."""
    i, last = 0, sums.shape[0] - 1
    for part in range(first.shape[0]):
        start = sums[last] * part / first.shape[0]
        while sums[i] <= start and i < last:
            i += 1
        first[part] = i


@kernel(error_model="numpy")
def _find(sums, first, state):
    """The first sum beyond a random point below the total."""
    state, bits = _next(state)
    share = np.float64(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)
    i, last, point = first[int(share * first.shape[0])], sums.shape[0] - 1, share * sums[sums.shape[0] - 1]
    while sums[i] <= point and i < last:
        i += 1
    return state, i, point


@kernel(error_model="numpy")
def _without_tail(sums):
    """The sums without trailing entries of weight 0, which must never be drawn."""
    n = sums.shape[0]
    while n > 1 and sums[n - 1] == sums[n - 2]:
        n -= 1
    return sums[:n]


@kernel(error_model="numpy")
def _draw_sums(mine, my_places, other, their_places, table, compared, relative, state, drawn):
    """Draw by the running sums of all weights; uniform if none is above zero, -1 if no entry counts."""
    sums, first = np.empty(mine.shape[0]), np.empty(max(1, mine.shape[0] // 8), dtype=np.int32)
    if _sum_weights(mine, my_places, other, their_places, table, compared, relative, sums) == 0.0:
        drawn[:] = -1
        return
    kept = _without_tail(sums)
    _starts_of(kept, first)
    for draw in range(drawn.shape[0]):
        state, drawn[draw], _ = _find(kept, first, state)


@kernel(error_model="numpy", fastmath=_FAST)
def _sum_group(mine, mine_weigh, other, others_weigh):
    total = np.float32(0.0)
    for i in range(_GROUP):
        total += mine_weigh[np.uint32(mine[i])] * others_weigh[np.uint32(other[i])]
    return total


@kernel(error_model="numpy")
def _draw_products(mine, my_places, other, their_places, table, state, drawn):
    """Draw where the table is exponential: the weight of a difference is the product of one weight per code.

    Weights are summed in groups; a draw finds its group by the sums, and its entry by the weights of the group.
    """
    n_columns = mine.shape[0]
    mine_weigh = np.empty(my_places.shape[0], dtype=np.float32)
    others_weigh = np.empty(their_places.shape[0], dtype=np.float32)
    for code in range(my_places.shape[0]):
        mine_weigh[code] = table[n_columns + my_places[code]] if my_places[code] > 0 else 0.0
    for code in range(their_places.shape[0]):
        others_weigh[code] = table[2 * n_columns - their_places[code]] if their_places[code] > 0 else 0.0
    n_whole = n_columns // _GROUP
    sums, total = np.empty(n_whole + 1), 0.0
    for group in range(n_whole):
        part = slice(group * _GROUP, (group + 1) * _GROUP)
        total += _sum_group(mine[part], mine_weigh, other[part], others_weigh)
        sums[group] = total
    for i in range(n_whole * _GROUP, n_columns):
        total += mine_weigh[mine[i]] * others_weigh[other[i]]
    sums[n_whole] = total
    if total == 0.0:
        drawn[:] = -1
        return
    kept, first = _without_tail(sums), np.empty(n_whole + 1, dtype=np.int32)
    _starts_of(kept, first)
    for draw in range(drawn.shape[0]):
        state, group, left = _find(kept, first, state)
        left -= kept[group - 1] if group > 0 else 0.0
        for i in range(group * _GROUP, min((group + 1) * _GROUP, n_columns)):
            weight = mine_weigh[mine[i]] * others_weigh[other[i]]
            if weight > 0.0:  # rounding may leave a remainder, which goes to the last of them
                drawn[draw] = i
                left -= weight
                if left < 0.0:
                    break


@row_loop(error_model="numpy")
def draw_rows(start, stop, mine, my_places, other, their_places, table, compared, relative, starts, seeds, drawn):
    """Fill draws starts[r] to starts[r + 1] for row r; uniform if no entry has weight, -1 if no entry counts.

    The largest weight of the table is 1, or 0.
    """
    products = relative and table[0] > _SMALLEST
    tries = mine.shape[1] // (_CHEAP if products else _DEAR)
    for row in range(start, stop):
        part = drawn[starts[row] : starts[row + 1]]
        if part.shape[0] > 0:
            my_ranks, their_ranks = my_places[row % my_places.shape[0]], their_places[row % their_places.shape[0]]
            ranks = (mine[row], my_ranks, other[row], their_ranks)
            most = tries + _PER_DRAW * part.shape[0]
            made, state = _propose(*ranks, table, compared, seeds[row], most, part)
            if made == part.shape[0]:
                continue
            if products:
                _draw_products(*ranks, table, state, part[made:])
            else:
                _draw_sums(*ranks, table, compared, relative, state, part[made:])
