"""The compiled gradients of CDAE; its torch network is the readable form."""

from __future__ import annotations

import numpy as np

from sureness.models.networks.prefetching import FAST, ITEMS_AHEAD, ask_for_row
from sureness.numerics.compiling import NO_ARRAYS, kernel

_PAIRS_AHEAD = 2  # how early the items of a pair are asked for

# Part of whatever calls it, however that is compiled: from the cache on disk or anew, sums are rounded alike.
_OPTIONS = {"fastmath": FAST, "error_model": "numpy", **NO_ARRAYS}
_INSIDE = {"inline": "always", **_OPTIONS}


@kernel(error_model="numpy")
def read_histories(users, row_starts, item_rows, by_root):
    """Users of a batch whose pairs stand together: who they are, where their pairs and their histories begin, these.

    Each item of a history has a weight of 1, or of 1 divided by the root of the length of the history.
    """
    n_users, n_items = 0, 0
    some, pairs, starts = np.empty_like(users), np.empty(len(users) + 1, np.int64), np.empty(len(users) + 1, np.int64)
    for pair in range(users.shape[0]):
        user = users[pair]
        if pair == 0 or user != users[pair - 1]:
            some[n_users], pairs[n_users], starts[n_users] = user, pair, n_items
            n_users, n_items = n_users + 1, n_items + row_starts[user + 1] - row_starts[user]
    pairs[n_users], starts[n_users] = users.shape[0], n_items
    items, weights = np.empty(n_items, np.int64), np.ones(n_items, np.float32)
    for place in range(n_users):
        first, start, stop = row_starts[some[place]], starts[place], starts[place + 1]
        items[start:stop] = item_rows[first : first + stop - start]
        if by_root and stop > start:
            weights[start:stop] = np.float32(1.0) / np.sqrt(np.float32(stop - start))
    return some[:n_users], pairs[: n_users + 1], starts[: n_users + 1], items, weights


@kernel(**_INSIDE)
def _entropy(logit, label):
    """Cross-entropy between a label and the sigmoid of a logit, and its slope in the logit."""
    one, zero = np.float32(1.0), np.float32(0.0)
    shrunk = np.float32(np.exp(-abs(logit)))  # one exponential serves both
    chance = one / (one + shrunk) if logit > 0 else shrunk / (one + shrunk)
    return (logit if logit > 0 else zero) - label * logit + np.log(one + shrunk), chance - label


@kernel(**_INSIDE)
def _encode(user, bias, inputs, histories, start, stop, hidden):
    """The hidden layer of a user: the sigmoid of user, bias and weighted history."""
    one, items = np.float32(1.0), histories.items
    for f in range(hidden.shape[0]):
        hidden[f] = user[f] + bias[f]
    for entry in range(start, stop):
        if entry + ITEMS_AHEAD < items.shape[0]:
            ask_for_row(inputs, items[entry + ITEMS_AHEAD])
        weight, values = histories.weights[entry], inputs[items[entry]]
        if weight != 0:
            for f in range(hidden.shape[0]):
                hidden[f] += weight * values[f]
    for f in range(hidden.shape[0]):
        hidden[f] = one / (one + np.exp(-hidden[f]))


@kernel(**_INSIDE)
def _decode(task, place, pair, hidden, outputs, levels, of_outputs, of_levels, of_hidden):
    """The loss of one pair; adds its gradients to those of the hidden layer, of the items and of their levels.

    `place` is where each entry's item stands in the gradients.
    """
    n_items, slope, shift = task.items.shape[1], np.float32(task.slope), np.float32(task.shift)
    loss = 0.0
    for draw in range(n_items):
        later = task.items[min(pair + _PAIRS_AHEAD, task.items.shape[0] - 1), draw]
        if later >= 0:
            ask_for_row(outputs, later)
        j, entry = task.items[pair, draw], pair * n_items + draw
        if j >= 0:
            item, of_item, score = outputs[j], of_outputs[place[entry]], levels[j, 0]
            for f in range(hidden.shape[0]):
                score += hidden[f] * item[f]
            weight = task.weights[pair, draw]
            entropy, pull = _entropy(slope * score + shift, task.labels[pair, draw])
            loss += weight * entropy
            pull *= weight * slope
            of_levels[place[entry], 0] += pull
            for f in range(hidden.shape[0]):
                of_hidden[f] += pull * item[f]
                of_item[f] += pull * hidden[f]
    return loss


@kernel(**_OPTIONS)
def history_gradients(
    users, inputs, outputs, levels, bias, histories, user_places, input_places, task, output_places, of_users,
    of_inputs, of_outputs, of_levels, of_bias, hidden, of_hidden,
):  # fmt: skip
    """Adds the gradients of weight * cross-entropy(label, slope * score + shift) of CDAE; returns the loss.

    The gradients of a table have a row for each of the distinct rows that the step touches; the places say where those
    of the users and items of the histories stand, and those of the task's items. `hidden` and its gradient (d,) are
    overwritten.
    """
    zero, one = np.float32(0.0), np.float32(1.0)
    n_factors = bias.shape[0]
    loss = 0.0
    for place in range(histories.users.shape[0]):
        start, stop = histories.starts[place], histories.starts[place + 1]
        _encode(users[histories.users[place]], bias, inputs, histories, start, stop, hidden)
        of_hidden[:] = zero
        for pair in range(histories.pairs[place], histories.pairs[place + 1]):
            loss += _decode(task, output_places, pair, hidden, outputs, levels, of_outputs, of_levels, of_hidden)
        of_user = of_users[user_places[place]]
        for f in range(n_factors):
            of_hidden[f] *= hidden[f] * (one - hidden[f])
            of_user[f] += of_hidden[f]
            of_bias[f] += of_hidden[f]
        for entry in range(start, stop):
            weight, of_values = histories.weights[entry], of_inputs[input_places[entry]]
            if weight != 0:
                for f in range(n_factors):
                    of_values[f] += weight * of_hidden[f]
    return loss
