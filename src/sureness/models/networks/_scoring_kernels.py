"""Compiled scores of all items by NeuMF: tiles of items go through all layers while they are in the cache.

The last layer is written in vector instructions. The BLAS library would store what comes out of it, to be read again
for the score; here a few outputs at a time stay in registers until they are part of it, which saves a fifth of all.
"""

from __future__ import annotations

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sureness.models.networks.prefetching import FAST
from sureness.numerics.compiling import kernel

TILE = 48  # items at a time; with those before and after the rectifier they fit into the smallest cache
OUTPUTS = 5  # of the last layer at a time; it is filled up to a multiple of it
_SMALL = 262_144  # multiplications that OpenBLAS makes where they lie and on the calling thread

# Vectors of each output whose sums are kept in registers.
_LANES, _VECTORS = (16, 3) if binding.get_host_cpu_features().get("avx512f") else (8, 2)
_VECTOR = ir.VectorType(ir.FloatType(), _LANES)
_ZEROS = ir.Constant(_VECTOR, [0.0] * _LANES)


@intrinsic
def add_last_layer(typing, sums, inputs, levels, rectified, weight, biases, last):
    """Add last @ relu(weight.T @ relu(inputs + levels) + biases) to `sums` (t,); t is `TILE`.

    Inputs (w, t), levels (w,), weight (w, v), biases and last (v,) are contiguous and of single precision, and v is a
    multiple of `OUTPUTS`. `rectified` (w, t) is overwritten.
    """

    def generate(context, builder, signature, arguments):
        arrays = [context.make_array(kind)(context, builder, value)
                  for kind, value in zip(signature.args, arguments, strict=True)]  # fmt: skip
        layer = _LastLayer(builder, arrays[4].shape, [array.data for array in arrays])
        for column in range(0, TILE, _LANES * _VECTORS):
            layer.add(column)
        return context.get_dummy_value()

    return types.void(sums, inputs, levels, rectified, weight, biases, last), generate


class _LastLayer:
    """Writes the instructions of `add_last_layer` for some columns of a tile."""

    def __init__(self, builder, shape, pointers):
        self.builder = builder
        self.n_inputs, self.n_outputs = cgutils.unpack_tuple(builder, shape)
        self.sums, self.inputs, self.levels, self.rectified, self.weight, self.biases, self.last = pointers

    def add(self, column):
        """The first outputs rectify the inputs and store them for the others."""
        builder, number = self.builder, self.n_inputs.type
        sums = [self.at(self.sums, number(column + vector * _LANES)) for vector in range(_VECTORS)]
        totals = [self.variable(self.load(place)) for place in sums]
        self.add_outputs(column, number(0), totals, self.rectify)
        with cgutils.for_range_slice(builder, number(OUTPUTS), self.n_outputs, number(OUTPUTS)) as (output, _):
            self.add_outputs(column, output, totals, self.read)
        for place, total in zip(sums, totals, strict=True):
            self.store(builder.load(total), place)

    def add_outputs(self, column, first, totals, inputs_of):
        """The share of some outputs in the score."""
        builder = self.builder
        outputs = [builder.add(first, first.type(output)) for output in range(OUTPUTS)]
        products = [[self.variable(self.spread(self.biases, output)) for _ in totals] for output in outputs]
        with cgutils.for_range(builder, self.n_inputs) as loop:
            inputs = inputs_of(loop.index, column)
            weights = builder.mul(loop.index, self.n_outputs)
            for output, sums in zip(outputs, products, strict=True):
                weight = self.spread(self.weight, builder.add(weights, output))
                for sum_, value in zip(sums, inputs, strict=True):
                    self.accumulate(sum_, weight, value)
        for output, sums in zip(outputs, products, strict=True):
            weight = self.spread(self.last, output)
            for total, sum_ in zip(totals, sums, strict=True):
                self.accumulate(total, weight, self.relu(builder.load(sum_)))

    def rectify(self, number, column):
        """An input of all items, rectified and stored."""
        level = self.spread(self.levels, number)
        values = [self.relu(self.builder.fadd(self.load(place), level))
                  for place in self.places(self.inputs, number, column)]  # fmt: skip
        for value, place in zip(values, self.places(self.rectified, number, column), strict=True):
            self.store(value, place)
        return values

    def read(self, number, column):
        """An input of all items, as `rectify` stored it."""
        return [self.load(place) for place in self.places(self.rectified, number, column)]

    def places(self, pointer, row, column):
        start = self.builder.add(self.builder.mul(row, row.type(TILE)), row.type(column))
        return [self.at(pointer, self.builder.add(start, row.type(vector * _LANES))) for vector in range(_VECTORS)]

    def at(self, pointer, index):
        return self.builder.gep(pointer, [index])

    def load(self, place):
        loaded = self.builder.load(self.builder.bitcast(place, _VECTOR.as_pointer()))
        loaded.align = 4  # any address
        return loaded

    def store(self, value, place):
        self.builder.store(value, self.builder.bitcast(place, _VECTOR.as_pointer())).align = 4

    def variable(self, value):
        """A place for a vector, which the compiler keeps in a register."""
        place = cgutils.alloca_once(self.builder, _VECTOR)
        self.builder.store(value, place)
        return place

    def spread(self, pointer, index):
        """One number in all lanes of a vector."""
        single = self.builder.insert_element(_ZEROS, self.builder.load(self.at(pointer, index)), ir.IntType(32)(0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
        return self.builder.shuffle_vector(single, _ZEROS, lanes)

    def accumulate(self, total, weight, value):
        product = self.builder.fmul(weight, value, flags=("contract",))  # one instruction with the sum
        self.builder.store(self.builder.fadd(product, self.builder.load(total), flags=("contract",)), total)

    def relu(self, value):
        return self.builder.select(self.builder.fcmp_ordered("<", value, _ZEROS), _ZEROS, value)


@kernel(fastmath=FAST, error_model="numpy", inline="always")
def _rectify(values, levels, result):
    """Write relu(values (w, t) + levels (w,)) into `result`."""
    zero = np.float32(0.0)
    for k in range(levels.shape[0]):
        before, level, after = values[k], levels[k], result[k]
        for t in range(TILE):
            total = before[t] + level
            after[t] = zero if total < zero else total  # NaN stays NaN


@kernel(fastmath=FAST, error_model="numpy")
def score_rows(weighted, factors, of_users, of_items, weights, biases, widths, last_layer, level, buffers, scores):
    """Scores (U, I) of users with weighted factors (U, d) and first layers (U, w).

    Factors (n, d, t) and first layers (n, w, t) of items stand in tiles. The weights (v, w) of the layers between the
    first and the last stand one after the other, as do their biases; `widths` are those of all layers but the last,
    which is given as weight (w, v), biases (v,) and their weights in the score (v,). Without one, its weight is empty
    and the weights in the score are those of the first layer.
    """
    (n_users, n_items), (weight_of_last, biases_of_last, output) = scores.shape, last_layer
    first, second = buffers[0], buffers[1]
    n_rows = max(1, _SMALL // (weighted.shape[1] * TILE))
    products = np.empty((n_rows, TILE), np.float32)
    for tile in range(of_items.shape[0]):
        n_columns = min(TILE, n_items - tile * TILE)
        for row in range(n_users):
            if row % n_rows == 0:
                some = weighted[row : row + n_rows]
                np.dot(some, factors[tile], products[: some.shape[0]])
            values, levels, weight_place, bias_place = of_items[tile], of_users[row], 0, 0
            for layer in range(widths.shape[0] - 1):
                n_inputs, n_outputs = widths[layer], widths[layer + 1]
                weight = weights[weight_place : weight_place + n_outputs * n_inputs].reshape(n_outputs, n_inputs)
                _rectify(values, levels, first)
                np.dot(weight, first[:n_inputs], second[:n_outputs])
                values, levels = second, biases[bias_place : bias_place + n_outputs]
                weight_place, bias_place = weight_place + weight.size, bias_place + n_outputs
            sums = products[row % n_rows]
            if weight_of_last.size > 0:
                add_last_layer(sums, values, levels, first, weight_of_last, biases_of_last, output)
            else:
                _rectify(values, levels, first)
                for k in range(output.shape[0]):
                    hidden, of_hidden = first[k], output[k]
                    for t in range(TILE):
                        sums[t] += of_hidden * hidden[t]
            column = scores[row, tile * TILE : tile * TILE + n_columns]
            for t in range(n_columns):
                column[t] = sums[t] + level
