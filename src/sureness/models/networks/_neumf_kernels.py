"""Compiled passes of NeuMF's step between its matrix products."""

from __future__ import annotations

import numpy as np

from sureness.models.networks.prefetching import FAST, ITEMS_AHEAD, ask_for_row
from sureness.numerics.compiling import NO_ARRAYS, kernel

_OPTIONS = {"fastmath": FAST, "error_model": "numpy", **NO_ARRAYS}


@kernel(**_OPTIONS)
def add_pairs(of_users, of_items, owners, places, hidden):
    """relu(of_users[owner] + of_items[place]) of each entry into `hidden`."""
    zero = np.float32(0.0)
    for entry in range(hidden.shape[0]):
        user, item, sums = of_users[owners[entry]], of_items[places[entry]], hidden[entry]
        for f in range(sums.shape[0]):
            total = user[f] + item[f]
            sums[f] = zero if total < zero else total  # NaN stays NaN


@kernel(**_OPTIONS)
def split_pairs(gradient, hidden, owners, places, of_users, of_items):
    """Add the gradients of the two summands of `add_pairs`, from that of its result."""
    zero = np.float32(0.0)
    for entry in range(hidden.shape[0]):
        value, mine = gradient[entry], hidden[entry]
        user, item = of_users[owners[entry]], of_items[places[entry]]
        for f in range(value.shape[0]):
            passed = value[f] if mine[f] > zero else zero
            user[f] += passed
            item[f] += passed


@kernel(**_OPTIONS)
def weigh_rows(table, rows, weights, weighted):
    """Rows of a table times a weight for each column."""
    for place in range(rows.shape[0]):
        row, product = table[rows[place]], weighted[place]
        for f in range(row.shape[0]):
            product[f] = weights[f] * row[f]


@kernel(**_OPTIONS)
def _scores(weighted, items, rows, owners, places, deep, last, level, scores):
    """Products of weighted users (U, d) with rows of the items' table, and the last layer `deep` (E, h)."""
    for entry in range(scores.shape[0]):
        if entry + ITEMS_AHEAD < scores.shape[0]:
            ask_for_row(items, rows[places[entry + ITEMS_AHEAD]])
        user, item, hidden, score = weighted[owners[entry]], items[rows[places[entry]]], deep[entry], level
        for f in range(user.shape[0]):
            score += user[f] * item[f]
        for f in range(hidden.shape[0]):
            score += last[f] * hidden[f]
        scores[entry] = score


@kernel(**_OPTIONS)
def _slopes(task, scores):
    """Replace scores by the slopes of weight * cross-entropy(label, slope * score + shift); returns the loss."""
    one, zero, slope, shift = np.float32(1.0), np.float32(0.0), np.float32(task.slope), np.float32(task.shift)
    n_items, loss = task.items.shape[1], 0.0
    for entry in range(scores.shape[0]):
        pair, draw = entry // n_items, entry % n_items
        if task.items[pair, draw] < 0:
            scores[entry] = zero
            continue
        logit, label, weight = slope * scores[entry] + shift, task.labels[pair, draw], task.weights[pair, draw]
        shrunk = np.float32(np.exp(-abs(logit)))  # one exponential serves both
        chance = one / (one + shrunk) if logit > 0 else shrunk / (one + shrunk)
        loss += weight * ((logit if logit > 0 else zero) - label * logit + np.log(one + shrunk))
        scores[entry] = weight * slope * (chance - label)
    return loss


@kernel(**_OPTIONS)
def product_gradients(
    task, weighted, items, rows, owners, places, deep, last, level, of_users, of_items, of_last, of_deep, slopes
):
    """Adds the gradients of the users' weighted factors (U, d), of the items' (V, d) and of the last weights (h,).

    Writes those of the last layer (E, h); where a value is 0 its gradient is too, so it is the one before the
    rectifier. `slopes` (E,) are overwritten. Returns the loss and the gradient of the level.
    """
    zero = np.float32(0.0)
    _scores(weighted, items, rows, owners, places, deep, last, level, slopes)
    loss, of_level = _slopes(task, slopes), zero
    for entry in range(slopes.shape[0]):
        owner, place, pull = owners[entry], places[entry], slopes[entry]
        user, item, of_user, of_item = weighted[owner], items[rows[place]], of_users[owner], of_items[place]
        for f in range(user.shape[0]):
            of_user[f] += pull * item[f]
            of_item[f] += pull * user[f]
        hidden, of_hidden = deep[entry], of_deep[entry]
        for f in range(last.shape[0]):
            of_last[f] += pull * hidden[f]
            of_hidden[f] = pull * last[f] if hidden[f] > zero else zero
        of_level += pull
    return loss, of_level


@kernel(**_OPTIONS)
def unweigh_gradients(table, rows, weights, gradient, of_weights):
    """From the gradients of `weigh_rows` those of the rows, in place, and those of the weights, which are added."""
    for place in range(rows.shape[0]):
        row, slopes = table[rows[place]], gradient[place]
        for f in range(row.shape[0]):
            of_weights[f] += row[f] * slopes[f]
            slopes[f] *= weights[f]
