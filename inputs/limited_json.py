"""JSON from others, read within limits of size, depth and digits, as RFC 8259 has it.

The standard library's reader takes NaN, half characters and integers of 4,300 digits, and what it
reads at a depth of 900 overflows the stack when it is written again.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NoReturn

MOST_BYTES: Final = 16 * 1024**2
"""Bytes of one text, unless the caller says less."""
DEEPEST: Final = 200
"""Arrays and objects inside one another; the same as the parser of events allows."""
LONGEST_NUMBER: Final = 300
"""Characters of a number: an integer of more digits fits no float."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]|[-+.0-9eE]{' + str(LONGEST_NUMBER + 1) + ",}")


class BadJson(ValueError):
    """A text is no JSON, or is beyond the limits; one sentence."""


def load_json(text: str | bytes, *, most_bytes: int = MOST_BYTES, deepest: int = DEEPEST) -> Any:
    """Read one JSON value.

    Raises:
        BadJson: it is no JSON, or is beyond the limits.
    """
    size = len(text)
    if size > most_bytes:
        raise BadJson(f"it has {size} bytes; at most {most_bytes} are read")
    try:
        plain = text if isinstance(text, str) else text.decode()
        _check_limits(plain, deepest)
        value = json.loads(plain, parse_constant=_no_number, parse_float=_parse_finite)
        if "\\u" in plain:  # half a character cannot be written again
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError as error:
        raise BadJson("it is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise BadJson(f"{error.msg} (line {error.lineno} column {error.colno})") from error
    except RecursionError as error:
        raise BadJson(f"nested deeper than {deepest}") from error
    return value


def _check_limits(text: str, deepest: int) -> None:
    """Raise BadJson for too deep a text or too long a number, without building anything."""
    depth = 0
    for match in _TOKEN.finditer(text):
        first = match[0][0]
        if first in "[{":
            depth += 1
            if depth > deepest:
                raise BadJson(f"nested deeper than {deepest}")
        elif first in "]}":
            depth -= 1
        elif first != '"':
            raise BadJson(f"a number has more than {LONGEST_NUMBER} characters")


def _no_number(text: str) -> NoReturn:
    raise BadJson(f"{text} is no number in JSON")


def _parse_finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadJson(f"{text} is no finite number")
    return value
