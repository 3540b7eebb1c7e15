"""Which numbers of a screen nobody would write: too many digits, or an exponent."""

from __future__ import annotations

import re

DIGITS = 3
DECIMALS = 2
COMPARED_DIGITS = 6
EXPONENT = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?[eE][-+]?\d+(?![\w-])")
FRACTION = re.compile(r"(?<![\w.:/-])[-+]?(\d[\d,]*)\.(\d+)(?![\d.]*[\w.:]*\.\w)(?![\w:]*[:\w])")
COMPARED = re.compile(r">=|<=|==|>|<|against|below|above|limit|/")


def unreadable_numbers(screen: str) -> list[str]:
    """Return every number with an exponent, or with more digits than three and more decimals than two.

    A number beside the one that it is compared with may have what tells the two apart; an event's own
    text, which is stored, gives six.
    """
    found = [number for line in screen.splitlines() for number in EXPONENT.findall(line)]
    for line in screen.splitlines():
        most = COMPARED_DIGITS if COMPARED.search(line) else DIGITS
        for number in FRACTION.finditer(line):
            whole, decimals = number.groups()
            digits = len((whole.replace(",", "") + decimals).lstrip("0"))
            score = len(decimals) <= DECIMALS and len(whole) < DIGITS
            if digits > most and not score:
                found.append(f"{number.group()} in: {line.strip()}")
    return found
