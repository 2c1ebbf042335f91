"""Compiled steps of the factor models; `FactorNetwork` and `RowAdam` are their readable form and their test."""

from __future__ import annotations

import numpy as np

from sureness.models.networks.prefetching import FAST, LINE, ask_for
from sureness.numerics.compiling import NO_ARRAYS, kernel

_PAIRS_AHEAD, _ROWS_AHEAD = 4, 4  # how early rows are asked for: of pairs, of a table that moves
_OPTIONS = {"fastmath": FAST, "error_model": "numpy", **NO_ARRAYS}

# Functions within a kernel: part of its code, so that it rounds the same whether they come from the cache or not.
_INSIDE = {"inline": "always", **_OPTIONS}


@kernel(**_INSIDE)
def _ask_for_row(row, table):
    """Rows lie anywhere in memory; waiting for them is most of a step, unless they are asked for in time."""
    for column in range(0, table.shape[1], LINE):
        ask_for(table, row, column)
    if table.shape[1] > LINE:  # shorter rows rarely reach into a second line
        ask_for(table, row, table.shape[1] - 1)


@kernel(**_INSIDE)
def _product(mine, theirs):
    total = np.float32(0.0)
    for f in range(mine.shape[0]):
        total += mine[f] * theirs[f]
    return total


@kernel(**_OPTIONS)
def row_products(user_table, item_table, users, items, scores):
    """Inner products of each user with its items; an item below 0 scores 0."""
    for index in range(users.shape[0]):
        user = user_table[users[index]]
        for place in range(items.shape[1]):
            later = items[min(index + 1, users.shape[0] - 1), place]
            if later >= 0:
                _ask_for_row(later, item_table)
            j = items[index, place]
            scores[index, place] = _product(user, item_table[j]) if j >= 0 else np.float32(0.0)


# -- gradients of a batch ---------------------------------------------------------------------------------------------


@kernel(**_INSIDE)
def _slot(sums, row):
    """Where the gradient of a row is summed; cleared on its first touch in this step."""
    slot = sums.slots[row] - sums.counts[0]
    if slot < 0:
        slot = sums.counts[1]
        sums.counts[1] = slot + 1
        sums.slots[row] = sums.counts[0] + slot
        sums.touched[slot] = row
        sums.gradient[slot, :] = np.float32(0.0)
    return slot


@kernel(**_INSIDE)
def _chance(logit):
    """sigmoid(logit) and exp(-|logit|): one exponential serves sigmoid and softplus."""
    one = np.float32(1.0)
    shrunk = np.float32(np.exp(-abs(logit)))
    return (one if logit > 0 else shrunk) / (one + shrunk), shrunk


@kernel(**_INSIDE)
def _add_pair(of_users, of_items, u, i, j, weight, l2):
    """Adds the gradients of weight * softplus(s_j - s_i) + l2 / 2 * |rows|²; returns the loss without L2."""
    zero, one = np.float32(0.0), np.float32(1.0)
    user, liked, other = of_users.table[u], of_items.table[i], of_items.table[j]
    of_user, of_liked = of_users.gradient[_slot(of_users, u)], of_items.gradient[_slot(of_items, i)]
    of_other = of_items.gradient[_slot(of_items, j)]
    margin = zero
    for f in range(user.shape[0]):
        margin += user[f] * (liked[f] - other[f])
    chance, shrunk = _chance(-margin)
    pull = -weight * chance
    for f in range(user.shape[0]):
        mine, theirs, against = user[f], liked[f], other[f]
        of_user[f] += pull * (theirs - against) + l2 * mine
        of_liked[f] += pull * mine + l2 * theirs
        of_other[f] += l2 * against - pull * mine
    return weight * (max(-margin, zero) + np.log(one + shrunk))


@kernel(**_INSIDE)
def _add_soft(of_users, of_items, u, j, label, weight, slope, shift):
    """Adds the gradients of weight * cross-entropy(label, slope * score + shift); returns that loss."""
    zero, one = np.float32(0.0), np.float32(1.0)
    user, item = of_users.table[u], of_items.table[j]
    of_user, of_item = of_users.gradient[_slot(of_users, u)], of_items.gradient[_slot(of_items, j)]
    logit = slope * _product(user, item) + shift
    chance, shrunk = _chance(logit)
    pull = weight * slope * (chance - label)
    for f in range(user.shape[0]):
        mine, theirs = user[f], item[f]
        of_user[f] += pull * theirs
        of_item[f] += pull * mine
    return weight * (max(logit, zero) - label * logit + np.log(one + shrunk))


@kernel(**_INSIDE)
def _ask_for_pair(index, of_users, of_items, users, positives, negatives, soft):
    """Ask for the rows of the next pair; and for a later user, and where its soft items stand."""
    later, n_soft = index + _PAIRS_AHEAD, soft.items.shape[1]
    if later < users.shape[0]:
        _ask_for_row(users[later], of_users.table)
        if n_soft > 0:
            ask_for(soft.items, soft.rows[later], 0)
    if index + 1 < users.shape[0]:
        _ask_for_row(positives[index + 1], of_items.table)
        _ask_for_row(negatives[index + 1, 0], of_items.table)
        _ask_for_row(users[index + 1], soft.guide_users)
        for draw in range(n_soft):
            item = soft.items[soft.rows[index + 1], draw]
            if item >= 0:
                _ask_for_row(item, of_items.table)
                _ask_for_row(item, soft.guide_items)


@kernel(**_INSIDE)
def _sum_batch(of_users, of_items, users, positives, negatives, weights, l2, soft):
    """Sums the gradients of a batch of pairs, and of their soft items where they have some; returns the loss.

    Soft items below 0 are left out. The sums will be divided by the number of negatives, not of pairs.
    """
    n_negatives = np.float32(negatives.shape[1])
    steepness, weight_of_all, slope, shift = soft.numbers
    loss = 0.0
    for sums in (of_users, of_items):
        sums.counts[0] += sums.counts[1]
        sums.counts[1] = 0
    for index in range(users.shape[0]):
        _ask_for_pair(index, of_users, of_items, users, positives, negatives, soft)
        u = users[index]
        for draw in range(negatives.shape[1]):
            weight = np.float32(1.0) if weights.shape[0] == 0 else weights[index, draw]
            loss += _add_pair(of_users, of_items, u, positives[index], negatives[index, draw], weight, l2)
        for draw in range(soft.items.shape[1]):
            j = soft.items[soft.rows[index], draw]
            if j < 0:
                continue
            if soft.labels.shape[0] == 0:
                label, _ = _chance(steepness * _product(soft.guide_users[u], soft.guide_items[j]))
            else:
                label = soft.labels[index, draw]
            weight = n_negatives * (weight_of_all if soft.weights.shape[0] == 0 else soft.weights[index, draw])
            loss += _add_soft(of_users, of_items, u, j, label, weight, slope, shift)
    return loss


@kernel(**_OPTIONS)
def pairwise_gradients(of_users, of_items, users, positives, negatives, weights, l2, soft):
    """`_sum_batch` alone, for an optimiser that moves the rows itself."""
    return _sum_batch(of_users, of_items, users, positives, negatives, weights, l2, soft)


@kernel(**_OPTIONS)
def sum_rows(rows, values, stamp, gradient, stamps, touched):
    """Sum the rows of a sparse gradient that belong to the same row of the table; returns how many rows there are."""
    count = 0
    for index in range(rows.shape[0]):
        row = rows[index]
        total, value = gradient[row], values[index]
        if stamps[row] != stamp:  # the first touch in this step
            stamps[row] = stamp
            touched[count] = row
            count += 1
            total[:] = np.float32(0.0)
        for f in range(total.shape[0]):
            total[f] += value[f]
    return count


# -- Adam -------------------------------------------------------------------------------------------------------------


@kernel(**_INSIDE)
def _constants(scale, numbers):
    """What Adam multiplies by in a step whose gradients are multiplied by `scale`.

    Numbers: the learning rate, the two corrections, the decay of the two moments, and what keeps the division finite.
    """
    one = np.float32(1.0)
    learning_rate, of_first, of_second, keep_first, keep_second, small = numbers
    of_slope, of_square = (one - keep_first) * scale, (one - keep_second) * scale * scale
    return keep_first, of_slope, keep_second, of_square, learning_rate / of_first, one / np.sqrt(of_second), small


@kernel(**_INSIDE)
def _move(values, mean, square, slope, constants):
    """One step of Adam on a row."""
    keep_first, of_slope, keep_second, of_square, rate, root, small = constants
    for f in range(values.shape[0]):
        moved = keep_first * mean[f] + of_slope * slope[f]
        spread = keep_second * square[f] + of_square * slope[f] * slope[f]
        mean[f], square[f] = moved, spread
        values[f] -= rate * moved / (np.sqrt(spread) * root + small)


@kernel(**_OPTIONS)
def adam_rows(table, first, second, gradient, touched, scale, numbers):
    """One step of Adam on the touched rows, whose gradients stand in the same rows."""
    constants = _constants(scale, numbers)
    for place in range(touched.shape[0]):
        row = touched[place]
        later = touched[min(place + _ROWS_AHEAD, touched.shape[0] - 1)]
        _ask_for_row(later, table)
        _ask_for_row(later, first)
        _ask_for_row(later, second)
        _ask_for_row(later, gradient)
        _move(table[row], first[row], second[row], gradient[row], constants)


@kernel(**_INSIDE)
def _adam_sums(sums, scale, numbers):
    """One step of Adam on the rows that `RowSums` has gradients for."""
    constants, n_touched = _constants(scale, numbers), sums.counts[1]
    for place in range(n_touched):
        row, later = sums.touched[place], sums.touched[min(place + _ROWS_AHEAD, n_touched - 1)]
        _ask_for_row(later, sums.table)
        _ask_for_row(later, sums.first)
        _ask_for_row(later, sums.second)
        _move(sums.table[row], sums.first[row], sums.second[row], sums.gradient[place], constants)


@kernel(**_OPTIONS)
def pairwise_step(of_users, of_items, users, positives, negatives, weights, l2, soft, scale, numbers):
    """`_sum_batch` and Adam on both tables; returns the loss."""
    loss = _sum_batch(of_users, of_items, users, positives, negatives, weights, l2, soft)
    _adam_sums(of_users, scale, numbers)
    _adam_sums(of_items, scale, numbers)
    return loss
