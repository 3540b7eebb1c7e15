"""What Go's JSON decoder says of a text that is none: clients see these words in a real server's refusals."""

from __future__ import annotations

_SPACES = frozenset(" \t\r\n")
_DIGITS = frozenset("0123456789")
_LITERALS = {"t": "true", "f": "false", "n": "null"}
_HEX = frozenset("0123456789abcdefABCDEF")
_ESCAPES = frozenset('bfnrt\\/"')
_NAMED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_END = "unexpected end of JSON input"
_HEADER = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
SUMMARY = 30
"""Bytes of a body that a refusal repeats."""
_NAMES = {
    str: "string",
    bool: "bool",
    list: "array",
    dict: "object",
    int: "number",
    float: "number",
}


class _Wrong(Exception):
    """The sentence about the first character that does not fit."""


def syntax_error(body: bytes) -> str:
    """Return what is wrong with a text that is no JSON, as Go says it."""
    try:
        _Scanner(body.decode("latin-1")).scan()
    except _Wrong as wrong:
        return str(wrong)
    return _END


def wrong_value(value: object, wanted: str) -> str:
    """Return what Go says of a whole text that has another type than it reads."""
    return f"json: cannot unmarshal {type_name(value)} into Go value of type {wanted}"


def type_name(value: object) -> str:
    """Return the name of a value's type in JSON."""
    return _NAMES.get(type(value), "object")


def header_error(body: bytes, content: object, *, readable: bool) -> str:
    """Return why neither version nor kind can be read from a body; empty when they can."""
    why = ""
    if not readable:
        why = syntax_error(body)
    elif not isinstance(content, dict):
        why = wrong_value(content, _HEADER)
    else:
        for name in ("apiVersion", "kind"):
            value = content.get(name)
            if value is not None and not isinstance(value, str):
                found = type_name(value)
                why = f"json: cannot unmarshal {found} into Go struct field .{name} of type string"
                break
    return f"couldn't get version/kind; json parse error: {why}" if why else ""


def unrecognized(body: bytes, kind: str, why: str) -> str:
    """Return the sentence about a body of which nobody knows what it is."""
    return f"the object provided is unrecognized (must be of type {kind}): {why} ({_summary(body)})"


def go_text(value: object) -> str:
    """Return a value as Go prints what it has read from JSON."""
    if isinstance(value, dict):
        inside = " ".join(f"{name}:{go_text(each)}" for name, each in sorted(value.items()))
        return f"map[{inside}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    cut = " ..." if len(body) > SUMMARY else ""
    head = body[:SUMMARY]
    return (head.decode("utf-8", "replace") if head[:1] == b"{" else head.hex()) + cut


class _Scanner:
    """Reads a text as Go's scanner does, up to the first character that does not fit."""

    def __init__(self, text: str) -> None:
        """Begin before the first character."""
        self._text = text
        self._at = 0
        self._inside: list[str] = []

    def scan(self) -> None:
        """Raise _Wrong at the first character that does not fit, or at the end of a part."""
        self._value(self._skip())
        while True:
            self._pass_space()
            if self._at >= len(self._text):
                if self._inside:
                    raise _Wrong(_END)
                return
            character = self._text[self._at]
            self._at += 1
            if not self._inside:
                raise self._wrong(character, "after top-level value")
            if self._inside[-1] == "[":
                self._after_element(character)
            else:
                self._after_member(character)

    def _after_element(self, character: str) -> None:
        if character == "]":
            self._inside.pop()
        elif character == ",":
            self._value(self._skip())
        else:
            raise self._wrong(character, "after array element")

    def _after_member(self, character: str) -> None:
        if character == "}":
            self._inside.pop()
        elif character == ",":
            self._member(self._skip())
        else:
            raise self._wrong(character, "after object key:value pair")

    def _value(self, character: str) -> None:
        """Read a value that begins with a character: a list or an object up to its first part."""
        if character == "{":
            self._inside.append("{")
            following = self._skip()
            if following == "}":
                self._inside.pop()
            else:
                self._member(following)
        elif character == "[":
            self._inside.append("[")
            following = self._skip()
            if following == "]":
                self._inside.pop()
            else:
                self._value(following)
        elif character == '"':
            self._string()
        elif character in _LITERALS:
            self._literal(_LITERALS[character])
        elif character == "-" or character in _DIGITS:
            self._number(character)
        else:
            raise self._wrong(character, "looking for beginning of value")

    def _member(self, character: str) -> None:
        if character != '"':
            raise self._wrong(character, "looking for beginning of object key string")
        self._string()
        character = self._skip()
        if character != ":":
            raise self._wrong(character, "after object key")
        self._value(self._skip())

    def _string(self) -> None:
        while (character := self._next()) != '"':
            if character < " ":
                raise self._wrong(character, "in string literal")
            if character != "\\":
                continue
            escaped = self._next()
            if escaped == "u":
                for _ in range(4):
                    digit = self._next()
                    if digit not in _HEX:
                        raise self._wrong(digit, "in \\u hexadecimal character escape")
            elif escaped not in _ESCAPES:
                raise self._wrong(escaped, "in string escape code")

    def _literal(self, word: str) -> None:
        for expected in word[1:]:
            character = self._next()
            if character != expected:
                raise self._wrong(character, f"in literal {word} (expecting '{expected}')")

    def _number(self, character: str) -> None:
        if character == "-":
            character = self._next()
            if character not in _DIGITS:
                raise self._wrong(character, "in numeric literal")
        if character != "0":
            self._digits()
        if self._follows("."):
            self._some_digits("after decimal point in numeric literal")
        if self._follows("eE"):
            if not self._follows("+-") and self._peek() not in _DIGITS:
                raise self._wrong(self._next(), "in exponent of numeric literal")
            self._some_digits("in exponent of numeric literal")

    def _some_digits(self, where: str) -> None:
        character = self._next()
        if character not in _DIGITS:
            raise self._wrong(character, where)
        self._digits()

    def _digits(self) -> None:
        while self._peek() in _DIGITS:
            self._at += 1

    def _follows(self, characters: str) -> bool:
        """Step over one of these characters, if one is next."""
        found = self._peek()
        if found and found in characters:
            self._at += 1
            return True
        return False

    def _skip(self) -> str:
        """Return the next character that is no space; raises _Wrong at the end."""
        self._pass_space()
        return self._next()

    def _pass_space(self) -> None:
        while self._peek() in _SPACES:
            self._at += 1

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise _Wrong(_END)
        self._at += 1
        return self._text[self._at - 1]

    @staticmethod
    def _wrong(character: str, where: str) -> _Wrong:
        if character == "'":
            shown = "\\'"
        elif character == "\\":
            shown = "\\\\"
        elif character.isprintable() or character == '"':
            shown = character
        elif character in _NAMED:
            shown = _NAMED[character]
        else:
            code = ord(character)
            shown = f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}"
        return _Wrong(f"invalid character '{shown}' {where}")
