"""Compiled steps of the models with cross-entropy, CDAE and NeuMF; their torch networks are the readable form."""

from __future__ import annotations

import numpy as np

from sureness.models.networks.prefetching import FAST, ITEMS_AHEAD, LINE, ask_for
from sureness.numerics.compiling import kernel

# Part of whatever calls it, however that is compiled: from the cache on disk or anew, sums are rounded alike.
_INSIDE = {"inline": "always"}


@kernel(error_model="numpy")
def _ask_for_row(row, *tables):
    """Rows lie anywhere in memory; waiting for them is most of a step, unless they are asked for in time."""
    for table in tables:
        for column in range(0, table.shape[1], LINE):
            ask_for(table, row, column)
        ask_for(table, row, table.shape[1] - 1)


@kernel(fastmath=FAST, error_model="numpy")
def _touch(rows, row, stamp):
    """Note a row on its first touch in this step, and clear its gradient; whether it was the first."""
    if rows.stamps[row] == stamp:
        return False
    rows.stamps[row] = stamp
    rows.touched[rows.n_touched[0]] = row
    rows.n_touched[0] += 1
    rows.gradient[row, :] = np.float32(0.0)
    return True


@kernel(fastmath=FAST, error_model="numpy", **_INSIDE)
def _entropy(logit, label):
    """Cross-entropy between a label and the sigmoid of a logit, and its slope in the logit."""
    one, zero = np.float32(1.0), np.float32(0.0)
    shrunk = np.float32(np.exp(-abs(logit)))  # one exponential serves both
    chance = one / (one + shrunk) if logit > 0 else shrunk / (one + shrunk)
    return (logit if logit > 0 else zero) - label * logit + np.log(one + shrunk), chance - label


@kernel(fastmath=FAST, error_model="numpy", **_INSIDE)
def _encode(user, bias, inputs, items, weights, hidden):
    """The hidden layer of a user: the sigmoid of user, bias and weighted history."""
    one = np.float32(1.0)
    for f in range(hidden.shape[0]):
        hidden[f] = user[f] + bias[f]
    for entry in range(items.shape[0]):
        weight, values = weights[entry], inputs[items[entry]]
        if weight != 0:
            for f in range(hidden.shape[0]):
                hidden[f] += weight * values[f]
    for f in range(hidden.shape[0]):
        hidden[f] = one / (one + np.exp(-hidden[f]))


@kernel(fastmath=FAST, error_model="numpy", **_INSIDE)
def _decode(task, pair, hidden, outputs, levels, of_levels, l2, stamp, of_hidden):
    """The loss of one pair; adds its gradients to those of the hidden layer, of the items and of their levels."""
    every, n_items = task.items.ravel(), task.items.shape[1]
    slope, shift = np.float32(task.slope), np.float32(task.shift)
    loss = 0.0
    for draw in range(n_items):
        later = pair * n_items + draw + ITEMS_AHEAD
        if later < every.shape[0] and every[later] >= 0:
            _ask_for_row(every[later], outputs.table, outputs.gradient)
        j = task.items[pair, draw]
        if j < 0:
            continue
        if _touch(outputs, j, stamp):
            of_levels[j, 0] = np.float32(0.0)
        item, of_item = outputs.table[j], outputs.gradient[j]
        score = levels[j, 0]
        for f in range(hidden.shape[0]):
            score += hidden[f] * item[f]
        entropy, pull = _entropy(slope * score + shift, task.labels[pair, draw])
        loss += task.weights[pair, draw] * entropy
        pull *= task.weights[pair, draw] * slope
        of_levels[j, 0] += pull
        for f in range(hidden.shape[0]):
            of_hidden[f] += pull * item[f]
            of_item[f] += pull * hidden[f] + l2 * item[f]
    return loss


@kernel(fastmath=FAST, error_model="numpy")
def history_gradients(users, inputs, outputs, levels, of_levels, bias, of_bias, histories, task, l2, stamp):
    """Adds the gradients of weight * cross-entropy(label, slope * score + shift) of CDAE, and of its L2.

    Levels are touched where outputs are. Where l2 is not 0, the first item of a pair is its positive.
    """
    zero, one = np.float32(0.0), np.float32(1.0)
    n_factors = bias.shape[0]
    hidden, of_hidden = np.empty(n_factors, dtype=np.float32), np.empty(n_factors, dtype=np.float32)
    loss = 0.0
    for place in range(histories.users.shape[0]):
        u = histories.users[place]
        start, stop = histories.starts[place], histories.starts[place + 1]
        items, weights = histories.items[start:stop], histories.weights[start:stop]
        _touch(users, u, stamp)
        user, of_user = users.table[u], users.gradient[u]
        _encode(user, bias, inputs.table, items, weights, hidden)
        of_hidden[:] = zero
        for pair in range(histories.pairs[place], histories.pairs[place + 1]):
            loss += _decode(task, pair, hidden, outputs, levels, of_levels, l2, stamp, of_hidden)
            if l2 > 0:
                i = task.items[pair, 0]
                _touch(inputs, i, stamp)
                values, of_values = inputs.table[i], inputs.gradient[i]
                for f in range(n_factors):
                    of_user[f] += l2 * user[f]
                    of_values[f] += l2 * values[f]
        for f in range(n_factors):
            of_hidden[f] *= hidden[f] * (one - hidden[f])
            of_user[f] += of_hidden[f]
            of_bias[f] += of_hidden[f]
        for entry in range(items.shape[0]):
            weight = weights[entry]
            _touch(inputs, items[entry], stamp)
            of_values = inputs.gradient[items[entry]]
            if weight != 0:
                for f in range(n_factors):
                    of_values[f] += weight * of_hidden[f]
    return loss


@kernel(fastmath=FAST, error_model="numpy")
def product_gradients(users, items, of_users, task, deep, output, level, l2, stamp, of_output, of_deep):
    """Scores of NeuMF from products of factors and its last layer; adds the gradients of both, and of the factors' L2.

    `deep` (B * n, h) is the last layer. Its gradient is written into `of_deep`; where a value is 0 it is 0 too, so it
    is the gradient before the rectifier. Returns the loss and the gradient of the level.
    """
    n_factors, n_items = users.table.shape[1], task.items.shape[1]
    slope, shift, zero = np.float32(task.slope), np.float32(task.shift), np.float32(0.0)
    products, last = output[:n_factors], output[n_factors:]
    of_products, of_last = of_output[:n_factors], of_output[n_factors:]
    every = task.items.ravel()
    loss, of_level = 0.0, zero
    for pair in range(task.items.shape[0]):
        u = of_users[pair]
        _touch(users, u, stamp)
        user, of_user = users.table[u], users.gradient[u]
        for f in range(n_factors):
            of_user[f] += l2 * user[f]
        for draw in range(n_items):
            place = pair * n_items + draw
            if place + ITEMS_AHEAD < every.shape[0] and every[place + ITEMS_AHEAD] >= 0:
                _ask_for_row(every[place + ITEMS_AHEAD], items.table, items.gradient)
            j, hidden, of_hidden = every[place], deep[place], of_deep[place]
            if j < 0:
                of_hidden[:] = zero
                continue
            _touch(items, j, stamp)
            item, of_item = items.table[j], items.gradient[j]
            score = level
            for f in range(n_factors):
                score += products[f] * user[f] * item[f]
            for f in range(last.shape[0]):
                score += last[f] * hidden[f]
            entropy, pull = _entropy(slope * score + shift, task.labels[pair, draw])
            loss += task.weights[pair, draw] * entropy
            pull *= task.weights[pair, draw] * slope
            of_level += pull
            for f in range(n_factors):
                mine, theirs = user[f], item[f]
                of_user[f] += pull * products[f] * theirs
                of_item[f] += pull * products[f] * mine + l2 * theirs
                of_products[f] += pull * mine * theirs
            for f in range(last.shape[0]):
                of_last[f] += pull * hidden[f]
                of_hidden[f] = pull * last[f] if hidden[f] > 0 else zero
    return loss, of_level


@kernel(fastmath=FAST, error_model="numpy")
def gather_rows(table, rows, values):
    """Copy rows of a table; one below 0 stands for the first."""
    for index in range(rows.shape[0]):
        if index + ITEMS_AHEAD < rows.shape[0]:
            _ask_for_row(max(rows[index + ITEMS_AHEAD], 0), table)
        row, copied = table[max(rows[index], 0)], values[index]
        for f in range(row.shape[0]):
            copied[f] = row[f]


@kernel(fastmath=FAST, error_model="numpy")
def scatter_rows(rows, of_rows, values, l2, stamp):
    """Add gradients and L2 to rows of a table; rows below 0 are left out."""
    for index in range(of_rows.shape[0]):
        if index + ITEMS_AHEAD < of_rows.shape[0] and of_rows[index + ITEMS_AHEAD] >= 0:
            _ask_for_row(of_rows[index + ITEMS_AHEAD], rows.table, rows.gradient)
        row = of_rows[index]
        if row < 0:
            continue
        _touch(rows, row, stamp)
        mine, total, value = rows.table[row], rows.gradient[row], values[index]
        for f in range(mine.shape[0]):
            total[f] += value[f] + l2 * mine[f]


@kernel(fastmath=FAST, error_model="numpy")
def add_pairs(of_users, of_items, hidden):
    """relu(of_users[pair] + of_items[pair * n + draw]) into `hidden`."""
    n_items, zero = hidden.shape[0] // of_users.shape[0], np.float32(0.0)
    for pair in range(of_users.shape[0]):
        user = of_users[pair]
        for place in range(pair * n_items, (pair + 1) * n_items):
            item, sums = of_items[place], hidden[place]
            for f in range(user.shape[0]):
                total = user[f] + item[f]
                sums[f] = total if total > zero else zero


_TILE = 128  # items at a time, whose hidden values stay in the nearest cache


@kernel(fastmath=FAST, error_model="numpy", **_INSIDE)
def _add_product(weights, inputs, sums):
    """Add weights (v, w) @ inputs (w, t) to sums (v, t), four by four, so that each number read is used four times."""
    n_rows, n_inputs = weights.shape
    for j in range(0, n_rows - n_rows % 4, 4):
        a, b, c, d = sums[j], sums[j + 1], sums[j + 2], sums[j + 3]
        of_a, of_b, of_c, of_d = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        for k in range(0, n_inputs - n_inputs % 4, 4):
            p, q, r, s = inputs[k], inputs[k + 1], inputs[k + 2], inputs[k + 3]
            a0, a1, a2, a3 = of_a[k], of_a[k + 1], of_a[k + 2], of_a[k + 3]
            b0, b1, b2, b3 = of_b[k], of_b[k + 1], of_b[k + 2], of_b[k + 3]
            c0, c1, c2, c3 = of_c[k], of_c[k + 1], of_c[k + 2], of_c[k + 3]
            d0, d1, d2, d3 = of_d[k], of_d[k + 1], of_d[k + 2], of_d[k + 3]
            for t in range(_TILE):
                a[t] += a0 * p[t] + a1 * q[t] + a2 * r[t] + a3 * s[t]
                b[t] += b0 * p[t] + b1 * q[t] + b2 * r[t] + b3 * s[t]
                c[t] += c0 * p[t] + c1 * q[t] + c2 * r[t] + c3 * s[t]
                d[t] += d0 * p[t] + d1 * q[t] + d2 * r[t] + d3 * s[t]
        for k in range(n_inputs - n_inputs % 4, n_inputs):
            for t in range(_TILE):
                a[t] += of_a[k] * inputs[k, t]
                b[t] += of_b[k] * inputs[k, t]
                c[t] += of_c[k] * inputs[k, t]
                d[t] += of_d[k] * inputs[k, t]
    for j in range(n_rows - n_rows % 4, n_rows):
        for k in range(n_inputs):
            weight, values, total = weights[j, k], inputs[k], sums[j]
            for t in range(_TILE):
                total[t] += weight * values[t]


@kernel(fastmath=FAST, error_model="numpy", **_INSIDE)
def _through(weights, bias, before, after):
    """A layer with its rectifier: before (w, t) to after (v, t)."""
    zero = np.float32(0.0)
    for j in range(weights.shape[0]):
        after[j, :] = bias[j]
    _add_product(weights, before, after)
    for j in range(weights.shape[0]):
        total = after[j]
        for t in range(_TILE):
            total[t] = total[t] if total[t] > zero else zero


@kernel(fastmath=FAST, error_model="numpy")
def score_rows(of_users, of_items, weights, biases, widths, last, scores):
    """Adds the network's part to scores (U, I): first layers of users (U, w) and items (w, I), then all the others.

    The layers stand in one array each, filled up with zeros to the widest; `widths` are their real ones.
    """
    zero, n_items = np.float32(0.0), scores.shape[1]
    widest = max(weights.shape[1], of_users.shape[1])
    first, second = np.zeros((widest, _TILE), np.float32), np.zeros((widest, _TILE), np.float32)
    for start in range(0, n_items, _TILE):
        size = min(_TILE, n_items - start)
        for row in range(of_users.shape[0]):
            for k in range(widths[0]):
                user, items, hidden = of_users[row, k], of_items[k, start : start + size], first[k]
                for t in range(size):
                    total = user + items[t]
                    hidden[t] = total if total > zero else zero
            before, after = first, second
            for layer in range(weights.shape[0]):
                _through(weights[layer, : widths[layer + 1], : widths[layer]], biases[layer], before, after)
                before, after = after, before
            column = scores[row, start : start + size]
            for k in range(last.shape[0]):
                weight, hidden = last[k], before[k]
                for t in range(size):
                    column[t] += weight * hidden[t]
