"""Compiled steps of the factor models; `FactorNetwork` and `RowAdam` are their readable form and their test."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sureness.numerics.compiling import NO_ARRAYS, kernel

_PAIRS_AHEAD, _ROWS_AHEAD = 4, 4  # how early rows are prefetched: of pairs, of a table that moves
_LINE = 16  # numbers of single precision in a cache line

# Sums in any order, but NaN and infinity stay what they are: the loss must show that training diverged.
_FAST = {"reassoc", "contract", "arcp", "nsz", "afn"}
_OPTIONS = {"fastmath": _FAST, "error_model": "numpy", **NO_ARRAYS}

# Functions within a kernel: part of its code, so that it rounds the same whether they come from the cache or not.
_INSIDE = {"inline": "always", **_OPTIONS}


@intrinsic
def _prefetch(typing, table, row, column):
    """Load an entry of a table into the cache, without waiting for it."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = [
            context.cast(builder, value, kind, types.intp)
            for value, kind in zip(arguments[1:], signature.args[1:], strict=True)
        ]
        pointer = cgutils.get_item_pointer(context, builder, signature.args[0], array, place, wraparound=False)
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(prefetch, [builder.bitcast(pointer, byte), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(table, row, column), generate


@kernel(**_INSIDE)
def _prefetch_row(row, table):
    """Rows lie anywhere in memory: without this an epoch of BPR takes 1.6 to 1.8 times as long on large tables."""
    for column in range(0, table.shape[1], _LINE):
        _prefetch(table, row, column)
    if table.shape[1] > _LINE:  # shorter rows rarely reach into a second line
        _prefetch(table, row, table.shape[1] - 1)


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
                _prefetch_row(later, item_table)
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
def _prefetch_pair(index, of_users, of_items, users, positives, negatives, soft_items):
    """Prefetch the rows of the next pair, and that of a later user."""
    if index + _PAIRS_AHEAD < users.shape[0]:
        _prefetch_row(users[index + _PAIRS_AHEAD], of_users.table)
    if index + 1 < users.shape[0]:
        _prefetch_row(positives[index + 1], of_items.table)
        _prefetch_row(negatives[index + 1, 0], of_items.table)
        for draw in range(soft_items.shape[1]):
            item = soft_items[index + 1, draw]
            if item >= 0:
                _prefetch_row(item, of_items.table)


@kernel(**_INSIDE)
def _begin_step(sums):
    """Free the slots of the step before."""
    sums.counts[0] += sums.counts[1]
    sums.counts[1] = 0


@kernel(**_INSIDE)
def _sum_batch(
    of_users, of_items, users, positives, negatives, weights, soft_items, soft_labels, soft_weights, numbers
):
    """Sums the gradients of a batch of pairs, and of their soft items where they have some; returns the loss.

    Soft items below 0 are left out. The sums will be divided by the number of negatives, not of pairs.
    """
    n_negatives = np.float32(negatives.shape[1])
    l2, slope, shift = numbers
    loss = 0.0
    for index in range(users.shape[0]):
        _prefetch_pair(index, of_users, of_items, users, positives, negatives, soft_items)
        u = users[index]
        for draw in range(negatives.shape[1]):
            weight = np.float32(1.0) if weights.shape[0] == 0 else weights[index, draw]
            loss += _add_pair(of_users, of_items, u, positives[index], negatives[index, draw], weight, l2)
        for draw in range(soft_items.shape[1]):
            j = soft_items[index, draw]
            if j >= 0:
                weight = n_negatives * soft_weights[index, draw]
                loss += _add_soft(of_users, of_items, u, j, soft_labels[index, draw], weight, slope, shift)
    return loss


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


@kernel(**_INSIDE)
def _adam_sums(sums, scale, numbers):
    """One step of Adam on the rows that `RowSums` has gradients for."""
    constants, n_touched = _constants(scale, numbers), sums.counts[1]
    for place in range(n_touched):
        row, later = sums.touched[place], sums.touched[min(place + _ROWS_AHEAD, n_touched - 1)]
        _prefetch_row(later, sums.table)
        _prefetch_row(later, sums.first)
        _prefetch_row(later, sums.second)
        _move(sums.table[row], sums.first[row], sums.second[row], sums.gradient[place], constants)


@kernel(**_OPTIONS)
def pairwise_step(
    of_users,
    of_items,
    users,
    positives,
    negatives,
    weights,
    soft_items,
    soft_labels,
    soft_weights,
    task_numbers,
    scale,
    numbers,
):
    """Sum the gradients of a batch and move both tables; returns the loss.

    Task numbers: the L2, and slope and shift of the soft items' predictions.
    """
    _begin_step(of_users)
    _begin_step(of_items)
    loss = _sum_batch(
        of_users, of_items, users, positives, negatives, weights, soft_items, soft_labels, soft_weights, task_numbers
    )
    _adam_sums(of_users, scale, numbers)
    _adam_sums(of_items, scale, numbers)
    return loss


@kernel(**_OPTIONS)
def sparse_step(sums, rows, values, numbers):
    """One step of Adam on the rows of a sparse gradient, which may come several times."""
    _begin_step(sums)
    for index in range(rows.shape[0]):
        total, value = sums.gradient[_slot(sums, rows[index])], values[index]
        for f in range(total.shape[0]):
            total[f] += value[f]
    _adam_sums(sums, np.float32(1.0), numbers)
