"""Ask for memory before it is needed: what compiled steps are made with.

Nothing here is compiled on its own: the cache of the compiler holds it inside the functions that use it, in their own
files. Empty the cache after a change here.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sureness.numerics.compiling import kernel

# Sums in any order, but NaN and infinity stay what they are: the loss must show that training diverged.
FAST = {"reassoc", "contract", "arcp", "nsz", "afn"}

LINE = 16  # numbers of single precision in a cache line
ITEMS_AHEAD = 8  # how early rows of drawn items are asked for


@intrinsic
def ask_for(typing, table, row, column):
    """Tell the processor that an entry of a table will be needed soon."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = [context.cast(builder, value, kind, types.intp)
                 for value, kind in zip(arguments[1:], signature.args[1:], strict=True)]  # fmt: skip
        pointer = cgutils.get_item_pointer(context, builder, signature.args[0], array, place, wraparound=False)
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(prefetch, [builder.bitcast(pointer, byte), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(table, row, column), generate


@kernel(error_model="numpy", inline="always")
def ask_for_row(table, row):
    """Rows lie anywhere in memory; waiting for them is most of a step, unless they are asked for in time.

    It is part of whatever calls it: as a call of its own it takes longer than the arithmetic of a row.
    """
    for column in range(0, table.shape[1], LINE):
        ask_for(table, row, column)
    ask_for(table, row, table.shape[1] - 1)
