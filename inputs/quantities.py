"""Kubernetes quantities: `100m`, `1.5`, `2Gi`, `1e3`, read exactly and rounded up like the API.

As in apimachinery, an amount has no bound as text, and at most 2^63-1 as a number: `100E` is such an amount. The
reader of the `kubernetes` package takes `NaN`, ` 1`, `1_0` and `1K`, too, which an API server refuses.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

_PATTERN = re.compile(
    r"([+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400}))"
    r"(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]{1,10})?"
)
MOST = (1 << 63) - 1
"""The largest number that an amount is."""
_MOST_CORES = Decimal(MOST) / 1_000
_LARGEST = Decimal("1e27")
"""Beyond it, texts mean the same."""
_KIBI = 1_024
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_FACTORS: dict[str, Decimal] = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", start=1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", start=1)},
}


@lru_cache(maxsize=65_536)
def parse_quantity(text: str | float) -> Decimal:
    """Return the exact amount (cores for CPU, bytes for memory); raises ValueError with the bad text."""
    match = _PATTERN.fullmatch(str(text))
    if match is None:
        raise ValueError(f"not a Kubernetes quantity: {text!r}")
    number, unit = match[1], match[2] or ""
    factor = _FACTORS.get(unit)
    value = Decimal(number + unit) if factor is None else Decimal(number) * factor
    return max(-_LARGEST, min(_LARGEST, value))


@lru_cache(maxsize=8_192)
def parse_cores(text: str) -> float:
    """Return a CPU quantity in cores, to six decimals (a micro-core), at most 2^63-1 millicores."""
    return round(float(max(-_MOST_CORES, min(_MOST_CORES, parse_quantity(text)))), 6)


@lru_cache(maxsize=8_192)
def parse_millicores(text: str | float) -> int:
    """Return a CPU quantity in millicores, rounded up, at most 2^63-1."""
    return _number(parse_quantity(text) * 1000)


@lru_cache(maxsize=8_192)
def parse_whole(text: str | float) -> int:
    """Return a quantity in whole units (bytes, devices, pods), rounded up, at most 2^63-1."""
    return _number(parse_quantity(text))


def _number(value: Decimal) -> int:
    return max(-MOST, min(MOST, int(value.to_integral_value(ROUND_CEILING))))


def cpu_text(amount_millicores: int) -> str:
    """Return the canonical text of a CPU amount: `2` or `1500m`."""
    cores, rest = divmod(amount_millicores, 1000)
    return f"{amount_millicores}m" if rest else str(cores)


def memory_text(amount_bytes: int) -> str:
    """Return the canonical text of a memory amount: the largest binary unit without a fraction."""
    for unit, shift in (("Gi", 30), ("Mi", 20), ("Ki", 10)):
        if amount_bytes and amount_bytes % (1 << shift) == 0:
            return f"{amount_bytes >> shift}{unit}"
    return str(amount_bytes)


@lru_cache(maxsize=65_536)
def canonical_text(text: str | float, *, milli: bool = False) -> str:
    """Return a quantity as the API server writes it back: `1` for `1000m`, `1Gi` for `1024Mi`.

    The largest unit without a fraction, of the kind (decimal, binary, exponent) that was given; a fraction of a
    binary unit is written in decimal ones. Rounded up to nano, or to `milli`. Raises ValueError with the bad text.
    """
    value = parse_quantity(text)
    match = _PATTERN.fullmatch(str(text))
    unit = (match[2] if match else "") or ""
    sign, size = ("-" if value < 0 else ""), abs(value)
    if size > MOST:  # only the text says how much
        return str(text).removeprefix("+")
    nano = int((size * 1_000_000_000).to_integral_value(ROUND_CEILING))
    if milli:
        nano = -(-nano // 1_000_000) * 1_000_000
    if not nano:
        return "0"
    amount, fraction = divmod(nano, 1_000_000_000)
    if unit.endswith("i") and not fraction and amount >= _KIBI:
        power = 0
        while amount % _KIBI == 0 and power < len(_BINARY) - 1:
            amount, power = amount // _KIBI, power + 1
        return f"{sign}{amount}{_BINARY[power]}"
    power = -3
    while nano % 1_000 == 0 and power < len(_DECIMAL) - 4:
        nano, power = nano // 1_000, power + 1
    if len(unit) > 1 and unit[0] in "eE":
        return f"{sign}{nano}e{3 * power}" if power else f"{sign}{nano}"
    return f"{sign}{nano}{_DECIMAL[power + 3]}"
