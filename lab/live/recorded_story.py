"""What two recordings say beside each other, in sentences and as plain data, and what it is no evidence of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from lab.experiments.report import without_nan
from lab.experiments.wording import signed_amount
from lab.live.markdown import BOUNDARY
from lab.live.recorded import WINDOW_SECONDS, RecordedPair, RecordedRun, lanes_json
from lab.live.scorecards import LEAST_WINDOWS, PairedLine, difference_rows, scorecards
from lab.live.sections import shown_text, verdict_text
from lab.rerun.diff import Diff, DiffSide
from projections.figures import duration, number
from schemas.agents import agent_manifests
from schemas.score import score_text
from schemas.wording import count_text

NAMED_ACTIONS = 3
NAMED_SETTINGS = 4
OF_BOTH = (BOUNDARY[1], BOUNDARY[3], BOUNDARY[4])
"""What holds of recordings as it does of two clusters that are watched."""


def pair_json(pair: RecordedPair, difference: Diff) -> dict[str, Any]:
    """Return everything as plain data; NaN as null."""
    names = pair.comparison.names
    content: dict[str, Any] = without_nan(
        {
            "names": names,
            "by_cluster_time": pair.by_cluster_time,
            "window_seconds": WINDOW_SECONDS,
            "windows": len(pair.comparison.windows),
            "sides": [
                _side(run, side, offset)
                for run, side, offset in zip(pair.runs, difference.sides, pair.offsets, strict=True)
            ],
            "scorecards": [
                {
                    "name": card.name,
                    "verdict": verdict_text(card.verdict, names),
                    "lines": [_line(line, names) for line in card.lines],
                }
                for card in scorecards(pair.comparison)
            ],
            "differences": [asdict(line) for line in difference_rows(pair.comparison)],
            "goals": list(_goals(pair, difference)),
            "narrative": list(narrative(pair, difference)),
            "boundary": list(boundary(pair, difference)),
        }
    )
    return content | lanes_json(pair)


def narrative(pair: RecordedPair, difference: Diff) -> Iterator[str]:
    """Yield what both did and what came of it, in sentences."""
    names = pair.comparison.names
    for run, side in zip(pair.runs, difference.sides, strict=True):
        yield f"{run.name} {_did(side)}."
    yield from _decided(difference, names)
    for lane, what in (("pods_pending", "pods waited"), ("unhealthy", "pods were unhealthy")):
        if text := _highest(pair, lane):
            yield f"Most {what}: {text}."
    for run in pair.runs:
        if run.score is not None:
            yield f"Outcome score of {run.name}: {score_text(run.score)}."
    for card in scorecards(pair.comparison):
        shown = [line for line in card.lines if line.verdict in ("first", "second")]
        if shown:
            lines = "; ".join(
                f"{line.name.replace('_', ' ')} {signed_amount(line.difference.value, line.unit)}".rstrip()
                for line in shown
            )
            verdict = verdict_text(card.verdict, names)
            yield f"{card.name.capitalize()}: {verdict} ({lines}; {names[0]} minus {names[1]})."
    if len(pair.comparison.windows) < LEAST_WINDOWS:
        yield (
            f"Both were watched for {count_text(len(pair.comparison.windows), 'window')} of "
            f"{duration(WINDOW_SECONDS)}: with fewer than {LEAST_WINDOWS} there are no intervals, and nobody is "
            "called better."
        )


def boundary(pair: RecordedPair, difference: Diff) -> Iterator[str]:
    """Yield what these two recordings are no evidence of."""
    first, second = pair.runs
    if difference.settings:
        names = [name for name, _, _ in difference.settings]
        more = len(names) - NAMED_SETTINGS
        listed = ", ".join(names[:NAMED_SETTINGS]) + (f" and {more} more" if more > 0 else "")
        yield f"They ran with other settings ({listed}); every figure holds all of that."
    sources = [one.source and (one.source.kind, one.source.name) for one in pair.runs]
    if sources[0] != sources[1]:
        yield "They did not get the same work: what is asked of a cluster is in every figure, too."
    if not pair.by_cluster_time:
        yield (
            "They are not of the same time: each begins at 0 here, and what happened meanwhile outside is in "
            "every figure."
        )
    yield (
        "Two recordings are one pair: another seed or another day may come out otherwise. `foresail experiment run` "
        "plays arms over many."
    )
    if any(run.simulated for run in (first, second)):
        yield (
            "A simulated cluster is what it models (docs/twin.md, docs/limits.md); a real one may answer otherwise."
        )
    yield from OF_BOTH


def _side(run: RecordedRun, side: DiffSide, offset: float) -> dict[str, Any]:
    return {
        "name": run.name,
        "file": side.file,
        "cluster": run.cluster,
        "simulated": run.simulated,
        "source": None if run.source is None else f"{run.source.kind} {run.source.name}",
        "begin": run.begin,
        "end": run.end,
        "offset": offset,
        "cycles": len(run.history.samples),
        "messages": side.events,
        "alone": side.alone,
        "damage": side.damage,
        "grows": side.grows,
        "decisions": side.totals.decisions,
        "acted": side.totals.wanted,
        "by_action": dict(side.totals.actions.most_common()),
        "reward": side.totals.reward("total"),
        "rewarded": side.totals.rewarded,
        "money_per_hour": None if run.score is None else run.score.total_money_per_hour,
        "currency": "" if run.score is None else run.score.currency,
    }


def _line(line: PairedLine, names: tuple[str, str]) -> dict[str, Any]:
    return {**asdict(line), "shown": shown_text(line, names)}


def _goals(pair: RecordedPair, difference: Diff) -> Iterator[dict[str, Any]]:
    """Yield each agent with its goal, what shows how far it is met, and what it was rewarded with."""
    names = pair.comparison.names
    cards = {card.name: card for card in scorecards(pair.comparison)}
    for agent in agent_manifests().values():
        card = cards.get(agent.name)
        yield {
            "agent": agent.name,
            "letter": agent.letter,
            "purpose": agent.purpose,
            "verdict": "" if card is None else verdict_text(card.verdict, names),
            "lines": [] if card is None else [_line(line, names) for line in card.lines],
            "rewards": [side.totals.reward(agent.name) for side in difference.sides],
            "actions": [_actions_of(side, agent.letter) for side in difference.sides],
        }


def _actions_of(side: DiffSide, letter: str) -> int:
    return sum(
        count
        for label, count in side.totals.actions.items()
        if label.startswith(f"Agent{letter}:") and not label.endswith(":noop")
    )


def _did(side: DiffSide) -> str:
    acted = Counter(
        {
            label: count
            for label, count in side.totals.actions.items()
            if not label.endswith(":noop")
        }
    )
    if not acted:
        return f"never acted (decisions: {side.totals.decisions:,})"
    listed = ", ".join(
        f"{_action_text(label)} {count_text(count, 'time')}"
        for label, count in acted.most_common(NAMED_ACTIONS)
    )
    more = sum(acted.values()) - sum(count for _, count in acted.most_common(NAMED_ACTIONS))
    rest = f" and {more} more" if more else ""
    return f"acted in {side.totals.wanted:,} of {count_text(side.totals.decisions, 'decision')}: {listed}{rest}"


def _action_text(label: str) -> str:
    """Return a label such as `AgentB:power_state:sleep` in words."""
    agent, _, action = label.partition(":")
    return f"{action.rpartition(':')[2].replace('_', ' ')} by {agent.replace('Agent', 'agent ')}"


def _choice_text(choice: str) -> str:
    """Return a decision such as `AgentB:power_state:sleep on n00` in words."""
    label, _, target = choice.partition(" ")
    return (
        "does nothing"
        if label.endswith(":noop")
        else f"chooses {_action_text(label)} {target}".rstrip()
    )


def _decided(difference: Diff, names: tuple[str, str]) -> Iterator[str]:
    if not difference.compared:
        yield "No cycle is decided in both, so decisions cannot be held beside each other."
        return
    same = difference.classes["same"]
    alike = f"{same:,}" if same else "none"
    yield f"Of {count_text(difference.compared, 'cycle')} that both decided, {alike} came out alike."
    if difference.listed:
        one = difference.listed[0]
        yield (
            f"They part first in cycle {one.cycle}: {names[0]} {_choice_text(one.before)}, "
            f"{names[1]} {_choice_text(one.after)}."
        )


def _highest(pair: RecordedPair, lane: str) -> str:
    """Return when a lane was highest in each; empty where it was never above 0 in either."""
    found = []
    for run, offset in zip(pair.runs, pair.offsets, strict=True):
        known = [(value, -at) for at, value in run.lane(lane) if not math.isnan(value)]
        value, at = max(known, default=(0.0, 0.0))
        when = f" after {duration(-at - offset)}" if value else ""
        found.append((value, f"{number(value)} in {run.name}{when}"))
    return ", ".join(text for _, text in found) if any(value for value, _ in found) else ""
