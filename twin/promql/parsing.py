"""From text to a tree: promql-parser, behind limits that keep a stranger's text from costing much.

The library recurses with the text's nesting, takes quadratic time over operators, and compiles each
regular expression; so nesting, operators and repetitions are counted before it sees anything.
"""

from __future__ import annotations

import re
from datetime import timedelta
from functools import lru_cache
from typing import Any

import promql_parser as ast
import re2

from twin.promql.failures import QueryFailed

LONGEST_QUERY = 16 << 10
"""Characters."""
DEEPEST = 64
"""Brackets within one another."""
MOST_OPERATORS = 256
"""Signs, brackets and words that join expressions."""
MOST_REPETITION = 128
"""Product of the counted repetitions of a regular expression, times its classes of characters."""
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`[^`]*`', re.DOTALL)
_COMMENT = re.compile(r"#[^\n]*")
_OPERATOR = re.compile(r"[-+*/%^<>=!]|\b(?:and|or|unless|atan2)\b")
_REPEATED = re.compile(r"\{(\d+)?(?:,(\d+)?)?\}")
_CLASS = re.compile(r"\\+[pPwWdDsS]|\[")
_MILLISECOND = timedelta(milliseconds=1)


def parse(text: str) -> Any:
    """Return the tree of an expression; raises QueryFailed bad_data."""
    if not text.strip():
        raise _refusal("unknown position: parse error: no expression found in input")
    if len(text) > LONGEST_QUERY:
        raise _refusal(f"the query is longer than {LONGEST_QUERY} characters")
    # Raw strings are written with escapes, since the library reads escapes in them, too.
    text = "".join(_quote_raw(piece) if piece.startswith("`") else piece for piece in _pieces(text))
    _check_size(text)
    try:
        return ast.parse(text)
    except ValueError as error:
        raise _refusal(f"parse error: {error}") from error


def matching(pattern: str) -> Any:
    """Return a compiled RE2 expression for `fullmatch`; raises QueryFailed bad_data."""
    try:
        return _compiled(pattern)
    except re2.error as error:
        why = error.args[0] if error.args else "unreadable"
        words = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        raise _refusal(f'error parsing regexp "{pattern}": {words}') from error


def milliseconds(duration: timedelta | None) -> int:
    """Return a duration of the tree in whole milliseconds; 0 for none."""
    return 0 if duration is None else duration // _MILLISECOND


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.max_mem = 1 << 20
    options.log_errors = False
    return re2.compile(pattern, options)


def _pieces(text: str) -> list[str]:
    """Split into quoted texts and what stands between them, without comments."""
    pieces: list[str] = []
    at = 0
    while at < len(text):
        quoted = re.compile(r"[\"'`#]").search(text, at)
        if quoted is None:
            pieces.append(text[at:])
            break
        pieces.append(text[at : quoted.start()])
        pattern = _COMMENT if quoted[0] == "#" else _TEXT
        found = pattern.match(text, quoted.start())
        if found is None:
            raise _refusal("parse error: unterminated quoted string")
        pieces.append(" " if quoted[0] == "#" else found[0])
        at = found.end()
    return pieces


def _quote_raw(raw: str) -> str:
    inner = raw[1:-1].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{inner}"'


def _check_size(text: str) -> None:
    depth = operators = 0
    for piece in _pieces(text):
        if piece[:1] in ('"', "'"):
            _check_repetitions(piece)
            continue
        operators += len(_OPERATOR.findall(piece)) + piece.count(",")
        for bracket in piece:
            if bracket in "([{":
                depth += 1
                operators += 1
            elif bracket in ")]}":
                depth -= 1
            if depth > DEEPEST:
                raise _refusal(f"the query nests more than {DEEPEST} brackets")
    if operators > MOST_OPERATORS:
        raise _refusal(f"the query has more than {MOST_OPERATORS} operators, brackets and commas")


def _check_repetitions(quoted: str) -> None:
    """Refuse what would be compiled into a large program, whether or not it is an expression."""
    cost = len(_CLASS.findall(quoted))
    for least, most in _REPEATED.findall(quoted):
        cost = max(cost, 1) * max(int((least or "1")[:9]), int((most or "1")[:9]), 1)
    if cost > MOST_REPETITION:
        raise _refusal(f"a regular expression repeats more than {MOST_REPETITION} times")


def _refusal(message: str) -> QueryFailed:
    return QueryFailed(message, "bad_data")
