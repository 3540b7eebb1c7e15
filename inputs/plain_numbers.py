"""Numbers in files, variables and annotations that people write."""

from __future__ import annotations

import math
import re

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
LONGEST_TEXT = 400
"""Characters of a number that somebody wrote."""


def parse_number(text: str) -> float:
    """Return a finite number that is written as JSON and Kubernetes read them: ASCII digits and nothing around.

    `float` itself takes `1_000`, digits of any script, blanks, `nan` and `inf`, and makes infinity of `1e400`.

    Raises:
        ValueError: the text is no such number.
    """
    if len(text) > LONGEST_TEXT or not _DECIMAL.fullmatch(text):
        raise ValueError(f"not a number: {text[:LONGEST_TEXT]!r}")
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"too large a number: {text!r}")
    return number
