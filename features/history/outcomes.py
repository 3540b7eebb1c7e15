"""The outcomes of a key's last 64 ends as one 64-bit number, and the rate they amount to.

An exponentially weighted rate, updated end by end, depends on the order of roundings. Bits do not:
the rate is computed from them when it is asked for. Weights halve every five ends; what lies
further back than 64 ends would have weighed less than 0.02 %.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from features.history.tables import F64, I8, I64, U64, quotient

ENDS = 64
HALF_LIFE_ENDS = 5
DECAY = 0.8705505632961241
"""Half to the power of one fifth: the weight of an end against the one after it."""
_PIECE = 16


def outcome_bits(outcome: I8, first: I64, number: I64, carried: U64) -> U64:
    """Return, per row, the outcomes of the run's newest 64 ends so far, the newest in bit 0.

    Args:
        outcome: -1 no end, 0 an end without failure, 1 a failure; rows sorted by run.
        first: the row at which each run starts.
        number: the run of each row.
        carried: each run's bits before its first row.
    """
    is_end = outcome >= 0
    ends = np.flatnonzero(is_end)
    before: I64 = np.cumsum(is_end) - is_end
    ends_before: I64 = before + is_end - before[first][number]
    place: I64 = ends_before[ends]
    bits = outcome[ends].astype(np.uint64)
    for shift in (1, 2, 4, 8, 16, 32):
        earlier = np.zeros_like(bits)
        earlier[shift:] = bits[:-shift] << np.uint64(shift)
        bits = np.where(place > shift, bits | earlier, bits)
    older = carried[number[ends]] << np.minimum(place, ENDS - 1).astype(np.uint64)
    bits |= np.where(place < ENDS, older, np.uint64(0))
    if not len(bits):
        return carried[number]
    newest = np.maximum(before + is_end - 1, 0)
    return np.where(ends_before > 0, bits[newest], carried[number])


def recent_rate(outcomes: U64, ends: I64) -> F64:
    """Return the weighted share of failures of the last 64 ends; NaN before the first end."""
    weighted = np.zeros(len(outcomes))
    for piece, table in enumerate(_weights()):
        weighted += table[(outcomes >> np.uint64(_PIECE * piece)).astype(np.uint16)]
    total = _total_weights()[np.minimum(ends, ENDS)]
    return quotient(weighted, total, ends > 0)


@cache
def _powers() -> tuple[float, ...]:
    powers = [1.0]
    for _ in range(ENDS - 1):
        powers.append(powers[-1] * DECAY)
    return tuple(powers)


@cache
def _total_weights() -> F64:
    """Return the weight of the last n ends together, for n from 0 to 64."""
    totals = [0.0]
    for power in _powers():
        totals.append(totals[-1] + power)
    return np.array(totals)


@cache
def _weights() -> tuple[F64, ...]:
    """Return, per piece of 16 bits, the weight of the failures that each value of it holds."""
    values = np.arange(1 << _PIECE)
    tables = []
    for piece in range(0, ENDS, _PIECE):
        table = np.zeros(1 << _PIECE)
        for bit, power in enumerate(_powers()[piece : piece + _PIECE]):
            table += np.where(values >> bit & 1, power, 0.0)
        tables.append(table)
    return tuple(tables)
