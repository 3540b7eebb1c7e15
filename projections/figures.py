"""Numbers as people read them: three significant digits, no exponents, durations with their unit."""

from __future__ import annotations

SIGNIFICANT_DIGITS = 3
SMALLEST = 0.0001
"""What is smaller, and not nothing, is called smaller than this."""
NOTHING = 1e-6
"""Events hold six decimals; what is smaller is nothing."""
MOST_DECIMALS = 6
MINUTE_SECONDS, HOUR_SECONDS = 60, 3600
LONGEST_IN_SECONDS = 1000.0


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
