"""Which subjects a tap means by what the user wrote, and an error where no event can be on them."""

from __future__ import annotations

from collections.abc import Sequence

from bus.errors import InputError
from inputs.close_matches import remedy_for
from schemas import subjects
from schemas.actions import AgentName
from schemas.agents import agent_names
from schemas.model import EventData
from schemas.proposal import Proposal
from schemas.registry import EVENT_TYPES

WILDCARDS = frozenset("*>")


def tap_pattern(layer: str) -> str:
    """Return the pattern after `foresail.<cluster>.` for what the user named: a layer means
    everything below it.

    Raises:
        InputError: it cannot be a subject, or no type of event can be published on it.
    """
    tokens = layer.split(".")
    if not all(tokens):
        raise InputError(
            "LAYER", layer, "name a layer such as `decision` or a subject such as `outcome.*`"
        )
    if tokens[0] == subjects.ROOT and len(tokens) > 2:
        tokens = tokens[2:]
    if len(tokens) == 1 and tokens[0] in _layers_with_subjects():
        tokens.append(">")
    _check_exists(layer, tokens)
    return ".".join(tokens)


def foreign_agent(pattern: str) -> AgentName:
    """Return the one agent whose proposals a pattern means, when it is not installed here; or ""."""
    tokens = pattern.split(".")
    if kinds_on(pattern) != (Proposal,) or tokens[1] in {*WILDCARDS, *agent_names()}:
        return ""
    return tokens[1]


def kinds_on(pattern: str) -> tuple[type[EventData], ...]:
    """Return the types of events that can be on subjects of a pattern (after the cluster)."""
    return tuple(kind for kind in EVENT_TYPES if _meets(pattern.split("."), kind.PATTERN))


def _layers_with_subjects() -> frozenset[str]:
    return frozenset(kind.PATTERN[0] for kind in EVENT_TYPES if len(kind.PATTERN) > 1)


def _check_exists(layer: str, tokens: Sequence[str]) -> None:
    kinds = kinds_on(".".join(tokens))
    if not kinds:
        raise InputError("LAYER", layer, remedy_for(".".join(tokens), _known_subjects(tokens)))


def _known_subjects(tokens: Sequence[str]) -> set[str]:
    """Return the names to choose from: layers for one token, else every subject we know."""
    if len(tokens) == 1:
        return {kind.PATTERN[0] for kind in EVENT_TYPES}
    return {".".join(kind.PATTERN) for kind in EVENT_TYPES}


def _meets(pattern: Sequence[str], tokens: Sequence[str]) -> bool:
    for position, token in enumerate(pattern):
        if token == ">":
            return len(tokens) > position
        if position >= len(tokens) or not (
            "*" in (token, tokens[position]) or token == tokens[position]
        ):
            return False
    return len(pattern) == len(tokens)
