"""Who decides in an arm of a benchmark: plain Kubernetes, Kueue by itself, a rule of ours, or an exported policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bus.errors import InputError
from lab.learning.baselines.rules import Rule, rule_names, rule_of
from lab.learning.comparison.learned_rule import read_rule
from lab.queue.manifests import HELD_QUEUE, LOCAL_QUEUE, Strategy

PLAIN = "kubernetes"
"""What the predecessors called kueue-default: Jobs that no queue holds."""
KUEUE: dict[str, Strategy] = {
    "kueue-strict-fifo": "StrictFIFO",
    "kueue-best-effort-fifo": "BestEffortFIFO",
}
POLICY = "policy:"
"""Begins the name of an arm that an exported policy decides in; its file follows."""
PLAYED = ("sjf+fit", "easy", "first-fit", "wfp3+fit", "random")
DEFAULT = (PLAIN, *KUEUE, *PLAYED)


@dataclass(frozen=True, slots=True)
class QueueArm:
    """One contestant."""

    name: str
    queue: str | None
    """LocalQueue of its Jobs; None: they are not queued."""
    strategy: Strategy = "BestEffortFIFO"
    rule: Rule | None = None
    """Who admits; None: Kueue does by itself."""


def arm_of(name: str, seed: int) -> QueueArm:
    """Return an arm by its name.

    Args:
        name: `kubernetes`, `kueue-strict-fifo`, `kueue-best-effort-fifo`, a rule (`rule_names`), or `policy:FILE`.
        seed: of rules that draw.

    Raises:
        InputError: nothing has that name, or the file holds no policy that admits jobs.
    """
    if name == PLAIN:
        return QueueArm(name, None)
    if name.startswith(POLICY):
        rule = read_rule(Path(name.removeprefix(POLICY)))
        return QueueArm(f"{POLICY}{rule.policy.card.name}", HELD_QUEUE, rule=rule)
    if name in KUEUE:
        return QueueArm(name, LOCAL_QUEUE, KUEUE[name])
    try:
        return QueueArm(name, HELD_QUEUE, rule=rule_of(name, seed))
    except InputError as error:
        names = (PLAIN, *KUEUE, f"{POLICY}FILE", *rule_names())
        raise InputError("--arms", name, f"use some of {', '.join(names)}") from error
