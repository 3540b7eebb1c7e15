"""Learned policies: what each could choose, its scores, its choice and the runner-up, and how it stands."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from foresail.explanation.section import Section, number
from projections.cycle_record import CycleRecord
from schemas.agents import letter_of
from schemas.learned import LearnedChoice


def learned_sections(record: CycleRecord) -> Iterator[Section]:
    """Yield a section for each policy that was asked in the cycle."""
    scores = {event.data.agent: event.data for event in record.learned_scores}
    for event in record.learned:
        choice = event.data
        how = "in force" if choice.acts else "in shadow"
        lines = [Text(f"{letter_of(choice.agent)} {choice.agent}, {how}: {choice.line()}")]
        if choice.ranks:
            lines.append(Text(f"  {_ranks(choice)}"))
        if choice.rules is not None:
            lines.append(Text(f"  the rules wanted {choice.rules.wanted}"))
        score = scores.get(choice.agent)
        if score is not None:
            reward = (
                f"{number(score.policy_reward)} against {number(score.rules_reward)} of the rules"
            )
            lines.append(Text(f"  paid {reward}; {score.line()}", style="dim"))
        yield Section("LEARNED", lines, "cyan")


def _ranks(choice: LearnedChoice) -> str:
    """Return every action with its score; what may not be chosen says so."""
    words = []
    for place, rank in enumerate(choice.ranks):
        mark = {choice.choice: " (chosen)", choice.runner_up: " (runner-up)"}.get(place, "")
        mark = mark if rank.allowed else " (masked)"
        words.append(f"{rank.action} {number(rank.score)}{mark}")
    return ", ".join(words)
