"""Kubernetes quantities: `100m`, `1.5`, `2Gi`, `1e3`, read exactly and rounded up like the API."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

_PATTERN = re.compile(
    r"([+-]?(?:[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20}))"
    r"(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]{1,2})?"
)
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
    """Return the exact value; raises ValueError with the bad text."""
    match = _PATTERN.fullmatch(str(text))
    if match is None:
        raise ValueError(f"not a quantity: {text!r}")
    number, unit = match[1], match[2] or ""
    factor = _FACTORS.get(unit)
    return Decimal(number + unit) if factor is None else Decimal(number) * factor


def millicores(text: str | float) -> int:
    """Return a CPU quantity in millicores, rounded up."""
    return int((parse_quantity(text) * 1000).to_integral_value(ROUND_CEILING))


def whole(text: str | float) -> int:
    """Return a quantity in whole units (bytes, devices, pods), rounded up."""
    return int(parse_quantity(text).to_integral_value(ROUND_CEILING))


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
