"""Compiled loops over the rows of a block: where each entry stands, and draws by what that is worth.

A rank is kept as the code of an entry and the rank of each code; code 0 is an entry that does not count.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

_LOWEST, _HIGHEST = np.float32(-np.inf), np.float32(np.inf)
_LANES = 32
_TRIES = 12  # proposals for each draw made so far, before the weights of all entries are summed instead
_FEW = 8  # with more draws than one for so many columns, the sums pay at once


# -- ranks ------------------------------------------------------------------------------------------------------------


@njit(cache=True, error_model="numpy")
def _range(scores):
    """The lowest score that is not -inf, and the highest; in lanes, which the processor takes all at once."""
    low, high = np.full(_LANES, _HIGHEST), np.full(_LANES, _LOWEST)
    whole = scores.shape[0] - scores.shape[0] % _LANES
    for start in range(0, whole, _LANES):
        part = scores[start : start + _LANES]
        for lane in range(_LANES):
            s = part[lane]
            known = _HIGHEST if s == _LOWEST else s
            high[lane] = s if s > high[lane] else high[lane]
            low[lane] = known if known < low[lane] else low[lane]
    for i in range(whole, scores.shape[0]):
        high[0] = max(high[0], scores[i])
        low[0] = min(low[0], _HIGHEST if scores[i] == _LOWEST else scores[i])
    return low.min(), high.max()


@njit(cache=True, error_model="numpy")
def _code(scores, high, scale, n_bins, codes):
    """The bin of every score, counted from the highest, plus one; 0 for -inf, which lies beyond all bins."""
    beyond, zero, one = np.float32(n_bins + 1), np.float32(0.0), np.float32(1.0)
    for i in range(scores.shape[0]):
        place = (high - scores[i]) * scale + one
        codes[i] = np.int32(place if place < beyond else zero)


@njit(cache=True, error_model="numpy")
def _count(codes, even, odd):
    """How many entries have each code; two counters, since equal neighbours would wait for each other."""
    even[:] = 0
    odd[:] = 0
    last = codes.shape[0] - 1
    for i in range(0, last, 2):
        even[np.uint32(codes[i])] += 1  # unsigned: no question whether it counts from the end
        odd[np.uint32(codes[i + 1])] += 1
    if last % 2 == 0:
        even[codes[last]] += 1


@njit(cache=True, error_model="numpy")
def _sketch_row(scores, hidden, allowed, codes, places, even, odd):
    """Codes of one row and the middle rank of each; False if one would stand for more than `allowed` entries."""
    n_bins = places.shape[0] - 1
    low, high = _range(scores)
    span = np.float32(high - low)  # infinite where single precision does not hold it
    scale = np.float32((n_bins - 1) / span) if span > 0 else _HIGHEST
    if not np.isfinite(span) or not np.isfinite(scale):
        return False
    _code(scores, high, scale, n_bins, codes)
    for k in range(hidden.shape[0]):
        codes[hidden[k]] = 0
    _count(codes, even, odd)
    before = 0
    places[0] = 0
    for b in range(1, n_bins + 1):
        count = even[b] + odd[b]
        if count > allowed:
            return False
        places[b] = before + (count + 1) // 2
        before += count
    return True


@njit(cache=True, parallel=True, error_model="numpy")
def sketch_rows(scores, rows, starts, hidden, allowed, codes, places, done):
    for row in prange(scores.shape[0]):
        size = places.shape[1]
        even, odd = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
        mine = hidden[starts[rows[row]] : starts[rows[row] + 1]]
        done[row] = _sketch_row(scores[row], mine, allowed, codes[row], places[row], even, odd)


# -- draws ------------------------------------------------------------------------------------------------------------


@njit(cache=True)
def _next(state):
    """The next state of a generator and 64 random bits (splitmix64)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@njit(cache=True, error_model="numpy")
def _weight(i, mine, my_places, other, their_places, table, compared):
    """The weight of one entry: the table at my rank minus theirs; nothing if either does not count."""
    my_rank, their_rank = my_places[np.uint32(mine[i])], their_places[np.uint32(other[i])]
    if my_rank == 0 or their_rank == 0:
        return 0.0
    return table[np.uint32((my_rank if compared else 0) - their_rank + table.shape[0] // 2)]


@njit(cache=True, error_model="numpy")
def _propose(mine, my_places, other, their_places, table, peak, compared, state, drawn):
    """Draw by proposing any entry and accepting it by its weight; returns how many draws were made in time."""
    n_columns = np.uint64(mine.shape[0])
    made, tries = 0, 0
    if drawn.shape[0] * _FEW > mine.shape[0]:
        return made, state
    while tries < _TRIES * (made + 8):
        tries += 1
        state, bits = _next(state)
        i = np.int64(((bits >> np.uint64(32)) * n_columns) >> np.uint64(32))
        chance = np.float64(np.int64(bits & np.uint64(0xFFFFFFFF))) * (1.0 / 4294967296.0)
        drawn[made] = i  # stays if it is accepted: no branch that cannot be foreseen
        made += np.int64(chance * peak < _weight(np.uint64(i), mine, my_places, other, their_places, table, compared))
        if made == drawn.shape[0]:
            break
    return made, state


@njit(cache=True, error_model="numpy")
def _largest_gap(mine, my_places, other, their_places):
    top = -mine.shape[0]
    for i in range(mine.shape[0]):
        my_rank, their_rank = my_places[np.uint32(mine[i])], their_places[np.uint32(other[i])]
        if my_rank > 0 and their_rank > 0 and my_rank - their_rank > top:
            top = my_rank - their_rank
    return top


@njit(cache=True, error_model="numpy")
def _sum_relative(mine, my_places, other, their_places, table, sums):
    """Running sums of weights that depend on the distance to the row's largest gap, which has the table's last."""
    last = table.shape[0] - 1
    top = _largest_gap(mine, my_places, other, their_places)
    total = 0.0
    for i in range(mine.shape[0]):
        my_rank, their_rank = my_places[np.uint32(mine[i])], their_places[np.uint32(other[i])]
        if my_rank > 0 and their_rank > 0:
            total += table[last - (top - (my_rank - their_rank))]
        sums[i] = total
    return total


@njit(cache=True, error_model="numpy")
def _sum_weights(mine, my_places, other, their_places, table, compared, relative, sums):
    """Running sums of all weights; of equal ones where none is above zero."""
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


@njit(cache=True, error_model="numpy")
def _draw_from(sums, total, state, first, drawn):
    """Entries as likely as their share of the sums; `first` cuts the search short."""
    n_cells = first.shape[0]
    i = 0
    for cell in range(n_cells):
        start = total * cell / n_cells
        while sums[i] <= start and i < sums.shape[0] - 1:
            i += 1
        first[cell] = i
    for draw in range(drawn.shape[0]):
        state, bits = _next(state)
        share = np.float64(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)
        i = first[int(share * n_cells)]
        while sums[i] <= share * total and i < sums.shape[0] - 1:
            i += 1
        drawn[draw] = i


@njit(cache=True, parallel=True, error_model="numpy")
def draw_rows(mine, my_places, other, their_places, table, peak, compared, relative, starts, seeds, drawn):
    """For row r the draws starts[r] to starts[r + 1]; uniform where nothing has weight, -1 where nothing counts."""
    n_columns = mine.shape[1]
    for row in prange(mine.shape[0]):
        part = drawn[starts[row] : starts[row + 1]]
        if part.shape[0] > 0:
            my_rank, their_rank = my_places[row % my_places.shape[0]], their_places[row % their_places.shape[0]]
            made, state = _propose(mine[row], my_rank, other[row], their_rank, table, peak, compared, seeds[row], part)
            if made < part.shape[0]:
                sums, first = np.empty(n_columns), np.empty(max(1, n_columns // 8), dtype=np.int32)
                total = _sum_weights(mine[row], my_rank, other[row], their_rank, table, compared, relative, sums)
                if total > 0.0:
                    _draw_from(sums, total, state, first, part[made:])
                else:
                    part[made:] = -1
