"""The subject grammar: `foresail.<cluster>.<layer>...`, built and parsed in this one place.

Kubernetes names contain dots and NATS splits subjects on dots, so every token is escaped: `%` and
every character that NATS treats specially (`.`, `*`, `>`, white space) or that is not printable
ASCII becomes `%XX` of its UTF-8 bytes. Escaping is reversible, and a name that needs none stays
readable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

ROOT = "foresail"
LIVE_PREFIX = "live"
"""Stored events are republished under `live.foresail.>`; taps read those."""
HEALTH = "health"
"""`health.<cluster>.<process>`: heartbeats on core NATS, outside the log."""

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~/:+=@,$")


@dataclass(frozen=True, slots=True)
class Subject:
    """A parsed subject: the cluster and the tokens after it, unescaped."""

    cluster: str
    tokens: tuple[str, ...]

    @property
    def layer(self) -> str:
        """The first token: snapshot, observation, prediction, proposal, decision, outcome or a side
        channel.
        """
        return self.tokens[0]


def escape(token: str) -> str:
    """Escape one name so that it is exactly one subject token.

    Raises:
        ValueError: the token is empty.
    """
    if not token:
        raise ValueError("a subject token must not be empty")
    return "".join(
        char if char in _PLAIN else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in token
    )


def unescape(token: str) -> str:
    """Undo `escape`."""
    return unquote(token)


def build(cluster: str, tokens: Sequence[str]) -> str:
    """Build `foresail.<cluster>.<tokens...>` from unescaped names."""
    return ".".join((ROOT, escape(cluster), *(escape(token) for token in tokens)))


def pattern(cluster: str, tokens: Sequence[str]) -> str:
    """Build a subscription pattern; tokens `*` and `>` stay wildcards."""
    parts = (token if token in {"*", ">"} else escape(token) for token in tokens)
    return ".".join((ROOT, "*" if cluster == "*" else escape(cluster), *parts))


@lru_cache(maxsize=16_384)  # asked for every message; few subjects
def parse(subject: str) -> Subject:
    """Parse a stored or live subject.

    Raises:
        ValueError: it is not of the form `[live.]foresail.<cluster>.<layer>...`.
    """
    tokens = subject.split(".")
    if tokens[0] == LIVE_PREFIX:
        tokens = tokens[1:]
    if len(tokens) < 3 or tokens[0] != ROOT or not all(tokens):
        raise ValueError(f"not a Foresail subject: {subject!r}")
    return Subject(unescape(tokens[1]), tuple(unescape(token) for token in tokens[2:]))


def live(subject: str) -> str:
    """Return the republished form of a stored subject or pattern."""
    return f"{LIVE_PREFIX}.{subject}"


def health(cluster: str, process: str) -> str:
    """Return the core NATS subject of a process' heartbeats (`*` for every process)."""
    return ".".join((HEALTH, escape(cluster), process if process == "*" else escape(process)))


@lru_cache(maxsize=16_384)  # asked for every message; few patterns, few subjects
def matches(subject_pattern: str, subject: str) -> bool:
    """Say whether a subject falls under a pattern with NATS wildcards (`*` one token, `>` the
    rest).
    """
    pattern_tokens, tokens = subject_pattern.split("."), subject.split(".")
    for position, token in enumerate(pattern_tokens):
        if token == ">":
            return len(tokens) > position
        if position >= len(tokens) or token not in {"*", tokens[position]}:
            return False
    return len(pattern_tokens) == len(tokens)
