"""Compiled steps of the factor models; `FactorNetwork` and `RowAdam` are their readable form and their test."""

from __future__ import annotations

import numpy as np

from sureness.models.networks.prefetching import FAST, ITEMS_AHEAD, LINE, ask_for
from sureness.numerics.compiling import kernel

_PAIRS_AHEAD, _ROWS_AHEAD = 4, 3  # how early rows are asked for: of pairs, of a step


@kernel(error_model="numpy")
def _ask_for_row(row, *tables):
    """Rows lie anywhere in memory; waiting for them is most of a step, unless they are asked for in time."""
    for table in tables:
        for column in range(0, table.shape[1], LINE):
            ask_for(table, row, column)
        ask_for(table, row, table.shape[1] - 1)


@kernel(fastmath=FAST, error_model="numpy")
def _touch(row, stamp, stamps, touched, count, gradient):
    """Note a row on its first touch in this step, and clear its gradient."""
    if stamps[row] != stamp:
        stamps[row] = stamp
        touched[count] = row
        gradient[row, :] = np.float32(0.0)
        return count + 1
    return count


@kernel(fastmath=FAST, error_model="numpy")
def pairwise_gradients(
    user_table, item_table, users, positives, negatives, weights, l2, stamp,
    user_gradient, item_gradient, user_stamps, item_stamps, users_touched, items_touched,
):  # fmt: skip
    """Gradients of weight * softplus(s_j - s_i) + l2 / 2 * |rows|², summed over a batch; returns loss and counts."""
    one = np.float32(1.0)
    n_factors = user_table.shape[1]
    n_users, n_items = 0, 0
    loss = 0.0
    for index in range(users.shape[0]):
        later = index + _PAIRS_AHEAD
        if later < users.shape[0]:
            _ask_for_row(users[later], user_table, user_gradient)
            _ask_for_row(positives[later], item_table, item_gradient)
            _ask_for_row(negatives[later, 0], item_table, item_gradient)
        u, i = users[index], positives[index]
        n_users = _touch(u, stamp, user_stamps, users_touched, n_users, user_gradient)
        n_items = _touch(i, stamp, item_stamps, items_touched, n_items, item_gradient)
        user, liked = user_table[u], item_table[i]
        of_user, of_liked = user_gradient[u], item_gradient[i]
        for draw in range(negatives.shape[1]):
            j = negatives[index, draw]
            n_items = _touch(j, stamp, item_stamps, items_touched, n_items, item_gradient)
            other, of_other = item_table[j], item_gradient[j]
            margin = np.float32(0.0)
            for f in range(n_factors):
                margin += user[f] * (liked[f] - other[f])
            weight = one if weights.shape[0] == 0 else weights[index, draw]
            shrunk = np.float32(np.exp(-abs(margin)))  # one exponential serves softplus and sigmoid
            slope = -weight * (shrunk / (one + shrunk) if margin > 0 else one / (one + shrunk))
            loss += weight * (max(-margin, 0.0) + np.log(one + shrunk))
            for f in range(n_factors):
                mine, theirs, against = user[f], liked[f], other[f]
                of_user[f] += slope * (theirs - against) + l2 * mine
                of_liked[f] += slope * mine + l2 * theirs
                of_other[f] += l2 * against - slope * mine
    return loss, n_users, n_items


@kernel(fastmath=FAST, error_model="numpy")
def soft_gradients(
    user_table, item_table, users, items, labels, weights, slope, shift, stamp, n_users, n_items,
    user_gradient, item_gradient, user_stamps, item_stamps, users_touched, items_touched,
):  # fmt: skip
    """Adds the gradients of weight * cross-entropy(label, slope * score + shift); items below 0 are left out."""
    one, zero = np.float32(1.0), np.float32(0.0)
    n_factors, every = user_table.shape[1], items.ravel()
    loss = 0.0
    for index in range(users.shape[0]):
        u = users[index]
        n_users = _touch(u, stamp, user_stamps, users_touched, n_users, user_gradient)
        user, of_user = user_table[u], user_gradient[u]
        for draw in range(items.shape[1]):
            later = index * items.shape[1] + draw + ITEMS_AHEAD
            if later < every.shape[0] and every[later] >= 0:
                _ask_for_row(every[later], item_table, item_gradient)
            j = items[index, draw]
            if j < 0:
                continue
            n_items = _touch(j, stamp, item_stamps, items_touched, n_items, item_gradient)
            item, of_item = item_table[j], item_gradient[j]
            score = zero
            for f in range(n_factors):
                score += user[f] * item[f]
            logit = slope * score + shift
            shrunk = np.float32(np.exp(-abs(logit)))
            chance = one / (one + shrunk) if logit > 0 else shrunk / (one + shrunk)
            weight, label = weights[index, draw], labels[index, draw]
            loss += weight * ((logit if logit > 0 else zero) - label * logit + np.log(one + shrunk))
            pull = weight * slope * (chance - label)
            for f in range(n_factors):
                mine, theirs = user[f], item[f]
                of_user[f] += pull * theirs
                of_item[f] += pull * mine
    return loss, n_users, n_items


@kernel(fastmath=FAST, error_model="numpy")
def row_products(user_table, item_table, users, items, scores):
    """Inner products of each user with its items; an item below 0 scores 0."""
    n_factors, every = user_table.shape[1], items.ravel()
    for index in range(users.shape[0]):
        user = user_table[users[index]]
        for place in range(items.shape[1]):
            later = index * items.shape[1] + place + ITEMS_AHEAD
            if later < every.shape[0] and every[later] >= 0:
                _ask_for_row(every[later], item_table)
            j = items[index, place]
            total = np.float32(0.0)
            if j >= 0:
                item = item_table[j]
                for f in range(n_factors):
                    total += user[f] * item[f]
            scores[index, place] = total


@kernel(fastmath=FAST, error_model="numpy")
def sum_rows(rows, values, stamp, gradient, stamps, touched):
    """Sum the rows of a sparse gradient that belong to the same row of the table; returns how many rows there are."""
    count = 0
    for index in range(rows.shape[0]):
        row = rows[index]
        count = _touch(row, stamp, stamps, touched, count, gradient)
        total, value = gradient[row], values[index]
        for f in range(total.shape[0]):
            total[f] += value[f]
    return count


@kernel(fastmath=FAST, error_model="numpy")
def adam_rows(table, first, second, gradient, touched, scale, numbers):
    """One step of Adam on the touched rows, their summed gradients multiplied by `scale`.

    Numbers: the learning rate, the two corrections, the decay of the two moments, and what keeps the division finite.
    """
    one = np.float32(1.0)
    learning_rate, of_first, of_second, keep_first, keep_second, small = numbers
    of_slope, of_square = (one - keep_first) * scale, (one - keep_second) * scale * scale
    rate, root = learning_rate / of_first, one / np.sqrt(of_second)
    for place in range(touched.shape[0]):
        row = touched[place]
        if place + _ROWS_AHEAD < touched.shape[0]:
            _ask_for_row(touched[place + _ROWS_AHEAD], table, first, second, gradient)
        values, mean, square, slope = table[row], first[row], second[row], gradient[row]
        for f in range(values.shape[0]):
            moved = keep_first * mean[f] + of_slope * slope[f]
            spread = keep_second * square[f] + of_square * slope[f] * slope[f]
            mean[f], square[f] = moved, spread
            values[f] -= rate * moved / (np.sqrt(spread) * root + small)
