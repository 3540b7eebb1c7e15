"""The page of all traps; docs/traps.md is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.traps.results import CheckResult, PlayedTrap, bounds_text
from lab.traps.trap import Trap

HEAD = """# Traps

Small scripted worlds in which a controller is tempted to do the wrong thing: each with what a good operator does
in it, and what must not be done. Made by

    foresail experiment traps --markdown docs/traps.md

which plays the files of [experiments/traps](../experiments/traps) in virtual time, each beside the same world
untouched; `pytest tests/traps` holds every check for the profile `foresail`. A trap passes when all its checks hold,
so a profile that does nothing passes none in which something has to be done. The prices are the
[outcome score's](outcome-score.md)."""


def markdown(traps: Sequence[Trap], played: Mapping[str, Sequence[PlayedTrap]]) -> str:
    """Return the page; `played` holds each profile's results in the order of the traps."""
    parts = [HEAD, _counts(played), _overview(traps, played)]
    parts += [
        _section(trap, {profile: ones[place] for profile, ones in played.items()})
        for place, trap in enumerate(traps)
    ]
    return "\n\n".join(parts) + "\n"


def _counts(played: Mapping[str, Sequence[PlayedTrap]]) -> str:
    return " ".join(
        f"`{profile}` passes {sum(one.passes for one in ones)} of {len(ones)}."
        for profile, ones in played.items()
    )


def _overview(traps: Sequence[Trap], played: Mapping[str, Sequence[PlayedTrap]]) -> str:
    lines = [
        f"| trap | {' | '.join(f'`{profile}`' for profile in played)} |",
        f"|---|{'---|' * len(played)}",
    ]
    for place, trap in enumerate(traps):
        cells = " | ".join(_cell(ones[place]) for ones in played.values())
        lines.append(f"| [{trap.title}](#{_anchor(trap.title)}) | {cells} |")
    return "\n".join(lines)


def _anchor(title: str) -> str:
    kept = "".join(sign for sign in title.lower() if sign.isalnum() or sign in " -")
    return kept.replace(" ", "-")


def _cell(one: PlayedTrap) -> str:
    word = "passes" if one.passes else "**fails**"
    return f"{word}; {one.executed} actions, {one.refused} refused, {one.gain:+.3g} {one.currency}"


def _section(trap: Trap, played: Mapping[str, PlayedTrap]) -> str:
    lines = [
        f"## {trap.title}",
        "",
        " ".join(trap.situation.split()),
        "",
        f"*A good operator:* {' '.join(trap.operator.split())}",
        "",
    ]
    if trap.known_failure:
        lines += [f"*Known failure:* {' '.join(trap.known_failure.split())}", ""]
    lines += [
        f"| | check | bounds | {' | '.join(f'`{profile}`' for profile in played)} |",
        f"|---|---|---|{'---|' * len(played)}",
    ]
    for place, first in enumerate(next(iter(played.values())).results):
        cells = " | ".join(_measured(one.results[place]) for one in played.values())
        duty = "must" if first.must else "must not"
        lines.append(f"| {duty} | {first.check.text} | {bounds_text(first.check)} | {cells} |")
    return "\n".join(lines)


def _measured(result: CheckResult) -> str:
    text = f"{result.value:.4g}"
    return text if result.holds else f"**{text}**"
