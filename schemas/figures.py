"""Numbers as people read them: three significant digits, no exponents, units where they belong.

Everything that an event's line or a verb says to people goes through here; `tests/architecture` refuses format
codes for floats elsewhere in `foresail/` and `projections/`.
"""

from __future__ import annotations

import math

SIGNIFICANT_DIGITS = 3
SMALLEST = 0.0001
"""What is smaller, and not nothing, is called smaller than this."""
NOTHING = 1e-6
"""Events hold six decimals; what is smaller is nothing."""
MOST_DECIMALS = 6
MINUTE_SECONDS, HOUR_SECONDS = 60, 3600
LONGEST_IN_SECONDS = 1000.0
MOST_DIGITS = 6
SCORE_DECIMALS = 2
BYTE_UNITS = ("B", "kB", "MB", "GB", "TB")
THOUSAND = 1000
UNKNOWN = "-"


def number(value: float, digits: int = SIGNIFICANT_DIGITS) -> str:
    """Return a number with so many significant digits, all of its whole part, and no exponent."""
    size = abs(value)
    if size < NOTHING:
        return "0"
    sign = "-" if value < 0 else ""
    if size < SMALLEST:
        return f">-{SMALLEST:.4f}" if value < 0 else f"<{SMALLEST:.4f}"
    if size >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    text = f"{size:.{_decimals(size, digits)}f}"
    return sign + (text.rstrip("0").rstrip(".") if "." in text else text)


def number_beside(value: float, *others: float | None) -> str:
    """Return a number with as many digits as tell it from the numbers it is compared with."""
    apart = [other for other in others if other is not None and other != value]
    for digits in range(SIGNIFICANT_DIGITS, MOST_DIGITS):
        text = number(value, digits)
        if all(text != number(other, digits) for other in apart):
            return text
    return number(value, MOST_DIGITS)


def known_number(value: float | None) -> str:
    """Return a number; `-` where there is none."""
    return UNKNOWN if value is None or math.isnan(value) else number(value)


def cell(value: object) -> str:
    """Return a value of a table: numbers as people read them, `-` where there is none."""
    if value is None:
        return UNKNOWN
    return number(value) if isinstance(value, float) and math.isfinite(value) else str(value)


def score(value: float) -> str:
    """Return a score or reward with two decimals, so that those of a column stand under each other."""
    return f"{value:.{SCORE_DECIMALS}f}"


def signed_score(value: float) -> str:
    """Return a score or reward with its sign."""
    return f"{value:+.{SCORE_DECIMALS}f}"


def percent(ratio: float) -> str:
    """Return a share of 1 as a percentage, such as `3.15%`."""
    return UNKNOWN if math.isnan(ratio) else f"{number(100 * ratio)}%"


def size(count_bytes: float) -> str:
    """Return a number of bytes in the decimal unit that fits, such as `4.2 MB`."""
    value, unit = float(count_bytes), 0
    while value >= THOUSAND and unit < len(BYTE_UNITS) - 1:
        value, unit = value / THOUSAND, unit + 1
    return f"{number(value)} {BYTE_UNITS[unit]}"


def age(seconds: float) -> str:
    """Return how long ago something was, to a tenth of a second, never below 0."""
    return duration(round(max(0.0, seconds), 1))


def signed_text(value: float) -> str:
    """Return a difference: a number with its sign; 0 has none."""
    text = number(value)
    return text if text == "0" or value < 0 else f"+{text}"


def duration(seconds: float) -> str:
    """Return a length of time: seconds below a thousand, then minutes or hours."""
    size = abs(seconds)
    if size < LONGEST_IN_SECONDS:
        return f"{number(seconds)} s"
    sign, whole = ("-" if seconds < 0 else ""), round(size)
    minutes, rest = divmod(whole, MINUTE_SECONDS)
    hours, minutes_left = divmod(minutes, MINUTE_SECONDS)
    if whole >= HOUR_SECONDS:
        return f"{sign}{hours} h" + (f" {minutes_left} min" if minutes_left else "")
    return f"{sign}{minutes} min" + (f" {rest} s" if rest else "")


def _decimals(size: float, digits: int) -> int:
    """Return how many decimals give so many significant digits, at most six."""
    decimals = digits - 1
    while size >= 10:
        size, decimals = size / 10, decimals - 1
    while size < 1 and decimals < MOST_DECIMALS:
        size, decimals = size * 10, decimals + 1
    return min(decimals, MOST_DECIMALS)
