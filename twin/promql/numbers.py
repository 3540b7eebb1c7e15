"""Numbers and times as Prometheus writes them in JSON and labels."""

from __future__ import annotations

import math

import numpy as np

_LEAST_PLAIN, _MOST_PLAIN = 1e-6, 1e21
_LEAST_REPR, _MOST_REPR = 1e-4, 1e16


def number_text(value: float) -> str:
    """Return the shortest text that reads back as the same number, as Go's 'f' format with precision -1."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if _LEAST_REPR <= abs(value) < _MOST_REPR:  # what Python writes without an exponent
        return repr(value).removesuffix(".0")
    return str(np.format_float_positional(value, trim="-")) if value else _zero(value)


def json_number(value: float) -> str:
    """Return a sample's value as it stands in an answer: with an exponent where it is far from 1."""
    size = abs(value)
    if size and not math.isinf(size) and (size < _LEAST_PLAIN or size >= _MOST_PLAIN):
        return str(np.format_float_scientific(value, trim="-", exp_digits=2))
    return number_text(value)


def seconds(milliseconds: int) -> float | int:
    """Return unix seconds; whole ones without a point."""
    whole, rest = divmod(milliseconds, 1_000)
    return whole if not rest else milliseconds / 1_000.0


def _zero(value: float) -> str:
    return "-0" if math.copysign(1.0, value) < 0 else "0"
