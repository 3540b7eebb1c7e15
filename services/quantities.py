"""Kubernetes quantities: `250m`, `1.5Gi`, `3e2`, `12345n` to exact numbers and back.

Every suffix of the API is understood (n, u, m, none, k, M, G, T, P, E, Ki to Ei, and an exponent);
anything else is an error, never a guess. Arithmetic is decimal, so no amount is off by a rounding
of binary fractions.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

_SUFFIXES: dict[str, Decimal] = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "P": Decimal(10) ** 15,
    "E": Decimal(10) ** 18,
    "Ki": Decimal(2) ** 10,
    "Mi": Decimal(2) ** 20,
    "Gi": Decimal(2) ** 30,
    "Ti": Decimal(2) ** 40,
    "Pi": Decimal(2) ** 50,
    "Ei": Decimal(2) ** 60,
}
_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400}))"
    r"(?:([eE][+-]?[0-9]{1,10})|(n|u|m|k|[KMGTPE]i|[MGTPE]|))"
)
MOST = (1 << 63) - 1
"""The largest number that an amount is, as in apimachinery: `100E` is that many."""
_LARGEST = Decimal("1e27")
"""Beyond it, texts mean the same."""
_MOST_CORES = Decimal(MOST) / 1_000


@lru_cache(maxsize=8192)
def parse_quantity(text: str) -> Decimal:
    """Return the exact amount of a quantity (cores for CPU, bytes for memory).

    Raises:
        ValueError: the text is not a Kubernetes quantity.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"not a Kubernetes quantity: {text!r}")
    number, exponent, suffix = match.groups()
    value = Decimal(number + exponent) if exponent else Decimal(number) * _SUFFIXES[suffix]
    return max(-_LARGEST, min(_LARGEST, value))


@lru_cache(maxsize=8192)
def parse_cores(text: str) -> float:
    """Return a CPU quantity in cores, to six decimals (a micro-core), at most 2^63-1 millicores."""
    return round(float(max(-_MOST_CORES, min(_MOST_CORES, parse_quantity(text)))), 6)


@lru_cache(maxsize=8192)
def parse_whole(text: str) -> int:
    """Return a quantity of bytes, pods or devices, rounded up as the API server does, at most 2^63-1."""
    return max(-MOST, min(MOST, int(parse_quantity(text).to_integral_value(ROUND_CEILING))))


def millicores_text(millicores: int) -> str:
    """Write CPU as the API prefers it: `2` for 2000 millicores, else `250m`."""
    return str(millicores // 1000) if millicores % 1000 == 0 else f"{millicores}m"


def bytes_text(amount_bytes: int) -> str:
    """Write memory in the largest binary unit that divides it exactly."""
    for suffix, factor in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if amount_bytes and amount_bytes % factor == 0:
            return f"{amount_bytes // factor}{suffix}"
    return str(amount_bytes)
