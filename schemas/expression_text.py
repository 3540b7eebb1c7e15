"""The words of an expression, and how its mistakes are shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

LONGEST = 500
"""Characters of an expression."""
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<text>'[^']*'|"[^"]*")
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<sign>==|!=|<=|>=|[<>~+\-*/().,\[\]])
    )""",
    re.VERBOSE,
)
_WORDS = ("and", "or", "not", "in")
_CONSTANTS = {"true": True, "false": False, "null": None}


class ExpressionError(ValueError):
    """An expression cannot be read; says what is wrong and where."""

    def __init__(self, text: str, position: int, what: str) -> None:
        """Name the expression, the place (characters from its beginning) and what is wrong there."""
        super().__init__(f"{what} at character {position + 1} of `{text}`")
        self.text = text
        self.position = position
        self.what = what


@dataclass(frozen=True, slots=True)
class Token:
    """One word: `word` is its kind, or the sign or keyword itself."""

    word: str
    value: Any
    text: str
    position: int

    @property
    def error_text(self) -> str:
        """The token for an error."""
        return "the end" if self.word == "end" else f"`{self.text}`"


def tokens_of(text: str) -> list[Token]:
    """Return the words, with one of kind `end` behind them.

    Raises:
        ExpressionError: it is too long, empty, or has a character that means nothing.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"{text[:60]}...", LONGEST, f"longer than {LONGEST} characters")
    if not text.strip():
        raise ExpressionError(text, 0, "it is empty; write a comparison such as score > 0.8")
    tokens: list[Token] = []
    position = 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            raise _meaningless(text, position)
        kind = match.lastgroup or ""
        tokens.append(_token(kind, match[kind], match.start(kind)))
        position = match.end()
    return [*tokens, Token("end", None, "", len(text))]


def _token(kind: str, word: str, position: int) -> Token:
    if kind == "number":
        value: Any = int(word) if word.isdigit() else float(word)
        return Token("number", value, word, position)
    if kind == "text":
        return Token("text", word[1:-1], word, position)
    if kind == "sign" or word in _WORDS:
        return Token(word, None, word, position)
    if word in _CONSTANTS:
        return Token("constant", _CONSTANTS[word], word, position)
    return Token("name", word, word, position)


def _meaningless(text: str, position: int) -> ExpressionError:
    at = position + len(text[position:]) - len(text[position:].lstrip())
    character = text[at]
    remedies = {
        "=": "write == to compare",
        "&": "write `and`",
        "|": "write `or`",
        "!": "write `not`",
    }
    quote = character in "'\""
    remedy = "the text has no closing quote" if quote else remedies.get(character, "")
    what = remedy or f"{character!r} means nothing here"
    return ExpressionError(text, at, what)
