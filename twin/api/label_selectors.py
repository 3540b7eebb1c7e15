"""Label selectors: read as a real server reads them, with its words for what it cannot read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from twin.admission.findings import shown
from twin.admission.metadata import LABEL_VALUE, MAX_LABEL, VALUE_RULE, key_problems
from twin.api.limits import LONGEST_NUMBER
from twin.errors import ApiError, bad_request

Labels = Mapping[str, str]
Requirement = Callable[[Labels], bool]
LONGEST = 16 << 10
"""Characters of a selector."""
SHOWN = 500
"""Characters of a malformed value that a refusal repeats."""
MOST_TERMS = 100
"""Terms of a selector; each is looked at for every object that there is."""
_TOKENS = re.compile(r"\s*(==|!=|[=!(),<>]|[^=!(),<>\s]+)")
_SIGNS = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">", ""})
_OPERATORS = frozenset({"in", "notin", "=", "==", "!=", ">", "<"})
_WHOLE = re.compile(r"[+-]?\d+")
END = ""


def label_requirements(text: str) -> list[Requirement]:
    """Read a label selector; raises ApiError 400 when it cannot be read."""
    if not text.strip():
        return []
    if len(text) > LONGEST:
        raise bad_request(f"a selector has at most {LONGEST} characters, this one {len(text)}")
    return _Reader(text).requirements()


class _Reader:
    """Reads the words of a selector, from the first to the last."""

    def __init__(self, text: str) -> None:
        """Begin before the first word."""
        self._words: list[str] = [*_TOKENS.findall(text), END]
        self._at = 0

    def requirements(self) -> list[Requirement]:
        """Return all terms; raises ApiError 400."""
        found: list[Requirement] = []
        while (word := self._peek()) != END:
            if word in _SIGNS and word != "!":
                raise _wrong(word, "!, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except ApiError as error:
                raise bad_request(f"unable to parse requirement: {error.message}") from None
            if len(found) > MOST_TERMS:
                raise bad_request(f"unable to parse requirement: more than {MOST_TERMS} terms")
            following = self._next()
            if following == END:
                break
            if following != ",":
                raise _wrong(following, "',' or 'end of string'")
            word = self._peek()
            if word in _SIGNS and word != "!":
                raise _wrong(word, "identifier after ','")
        return found

    def _requirement(self) -> Requirement:
        absent = self._peek() == "!"
        if absent:
            self._next()
        name = self._next()
        if name in _SIGNS:
            raise _wrong(name, "identifier")
        for problem in key_problems(name):
            raise bad_request(f"<nil>: Invalid value: {shown(name[:SHOWN])}: {problem}")
        if absent:
            return lambda labels: name not in labels
        if self._peek() in (END, ","):
            return lambda labels: name in labels
        operator = self._next()
        if operator not in _OPERATORS:
            raise _wrong(operator, "in, notin, =, ==, !=, gt, lt")
        if operator in ("in", "notin"):
            return _membership(name, self._alternatives(), inside=operator == "in")
        value = self._value()
        if operator in "<>":
            return _comparison(name, operator, value)
        _check_values(name, [value])
        if operator == "!=":
            return lambda labels: labels.get(name) != value
        return lambda labels: labels.get(name) == value

    def _value(self) -> str:
        if self._peek() in (END, ","):
            return ""
        word = self._next()
        if word in _SIGNS:
            raise _wrong(word, "identifier")
        return word

    def _alternatives(self) -> set[str]:
        word = self._next()
        if word != "(":
            raise bad_request(f"found '{word[:SHOWN]}' expected: '('")
        if self._peek() == ")":
            self._next()
            return {""}
        if self._peek() in _SIGNS and self._peek() != ",":
            raise _wrong(self._peek(), "',', ')' or identifier")
        values = self._listed()
        word = self._next()
        if word != ")":
            raise _wrong(word, "')'")
        return values

    def _listed(self) -> set[str]:
        """Return the values between brackets; none between commas is an empty one."""
        values: set[str] = set()
        while True:
            word = self._next()
            if word == ",":
                if not values:
                    values.add("")
                if self._peek() == ")":
                    values.add("")
                    return values
                if self._peek() == ",":
                    self._next()
                    values.add("")
            elif word in _SIGNS:
                raise _wrong(word, "',', or identifier")
            else:
                values.add(word)
                if self._peek() == ")":
                    return values
                if self._peek() != ",":
                    raise _wrong(self._peek(), "',' or ')'")

    def _peek(self) -> str:
        return self._words[self._at]

    def _next(self) -> str:
        word = self._words[self._at]
        self._at = min(self._at + 1, len(self._words) - 1)
        return word


def _wrong(word: str, expected: str) -> ApiError:
    return bad_request(f"found '{word[:SHOWN]}', expected: {expected}")


def _check_values(name: str, values: list[str]) -> None:
    for index, value in enumerate(values):
        why = ""
        if len(value) > MAX_LABEL:
            why = f"must be no more than {MAX_LABEL} characters"
        elif not LABEL_VALUE.match(value):
            why = VALUE_RULE
        if why:
            raise bad_request(
                f"values[{index}][{name}]: Invalid value: {shown(value[:SHOWN])}: {why}"
            )


def _membership(name: str, values: set[str], *, inside: bool) -> Requirement:
    if not values:
        why = "for 'in', 'notin' operators, values set can't be empty"
        raise bad_request(f"values: Invalid value: []: {why}")
    _check_values(name, sorted(values))
    known = frozenset(values)
    if inside:
        return lambda labels: labels.get(name) in known
    return lambda labels: labels.get(name) not in known


def _comparison(name: str, sign: str, value: str) -> Requirement:
    if not _WHOLE.fullmatch(value) or len(value) > LONGEST_NUMBER:
        why = "for 'Gt', 'Lt' operators, the value must be an integer"
        raise bad_request(f"values[0]: Invalid value: {shown(value[:SHOWN])}: {why}")
    limit = int(value)

    def meets(labels: Labels) -> bool:
        label_value = labels.get(name, "")
        if not _WHOLE.fullmatch(label_value):
            return False
        return int(label_value) > limit if sign == ">" else int(label_value) < limit

    return meets
