"""What would other policies, models or rules have decided? The layers chained, beside the recording.

Open-loop: the cluster that they see is the recorded one, whatever they decide. So an effect that an
action would have had on later observations is not in the result, and every result says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bus.port import StoredMessage
from bus.recording import open_recording
from lab.rerun.changes import WINDOW_SECONDS, Changes, first_layer
from lab.rerun.engine import LAYERS, Plan, Rerun
from lab.rerun.garbage import rare_collections
from lab.rerun.stage import AnyEvent
from projections.policy_totals import PolicyTotals, comparison_rows
from schemas.agents import action_label
from schemas.decision import Decision
from services.referee.rule import Rule

CLASSES = ("same", "changed", "appeared", "vanished")
LISTED = 200
"""Differing decisions kept in full; all are counted."""
OPEN_LOOP = (
    "open-loop: decisions were computed on the recorded observations; "
    "what they would have changed in the cluster is not in these figures"
)


@dataclass(frozen=True, slots=True)
class DecisionChange:
    """A decision that comes out differently."""

    cycle: int
    seq: int
    time_seconds: float
    kind: str
    """One of `CLASSES`, never `same`."""
    before: str
    after: str
    before_why: str
    after_why: str


@dataclass(slots=True)
class Result:
    """A what-if beside the recording it was computed from."""

    file: str
    changes: dict[str, Any]
    rules: tuple[str, ...]
    """The referee's rules in order, when they were changed."""
    from_layer: str
    baseline: PolicyTotals
    changed: PolicyTotals
    classes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CLASSES, 0))
    listed: list[DecisionChange] = field(default_factory=list)
    cycles: tuple[int, int] = (0, 0)
    recorded_seconds: float = 0.0
    damage: str = ""
    not_computed: int = 0
    """Recorded decisions that stand for themselves: what they were made from is not in the recording."""
    unreadable: int = 0
    """Messages that are no events of today's schemas."""
    loop: str = OPEN_LOOP
    notes: tuple[str, ...] = ()
    """What else must be known of it."""
    baseline_name: str = "recorded"

    @property
    def compared(self) -> int:
        """Decisions that were computed and compared."""
        return sum(self.classes.values()) - self.not_computed

    @property
    def first(self) -> DecisionChange | None:
        """The first divergence."""
        return self.listed[0] if self.listed else None

    @property
    def empty(self) -> bool:
        """Whether every decision is the same."""
        return not any(count for name, count in self.classes.items() if name != "same")

    def names(self) -> dict[str, Any]:
        """Return what an assertion may speak of."""
        return {
            **self.changed.as_names(),
            **self.classes,
            "baseline": {**self.baseline.as_names(), **dict.fromkeys(CLASSES[1:], 0)},
        }

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "file": self.file,
            "changes": self.changes,
            "rules": list(self.rules),
            "from_layer": self.from_layer,
            "loop": self.loop,
            "notes": list(self.notes),
            "cycles": list(self.cycles),
            "recorded_seconds": round(self.recorded_seconds, 3),
            "damage": self.damage,
            "not_computed": self.not_computed,
            "unreadable": self.unreadable,
            "decisions": self.classes,
            "figures": [
                {"name": name, "before": before, "after": after}
                for name, before, after in comparison_rows(self.baseline, self.changed)
            ],
            "baseline": self.baseline.as_json(),
            "changed": self.changed.as_json(),
            "first_divergence": None if self.first is None else _as_json(self.first),
            "differing": [_as_json(change) for change in self.listed],
        }


def what_if(
    path: Path,
    changes: Changes,
    rules: Sequence[Rule] | None = None,
    *,
    from_layer: str | None = None,
    window_seconds: float = WINDOW_SECONDS,
    on_message: Callable[[StoredMessage], None] | None = None,
) -> Result:
    """Compute a recording's decisions again with changes.

    Args:
        path: the recording.
        changes: by full setting name (`lab.rerun.changes.full_name`).
        rules: the referee's rules in order; None: today's.
        from_layer: compute from this layer on; None: from the first that the changes touch.
        window_seconds: an action undone within so many cluster seconds counts as churn.
        on_message: called with every message, for progress.

    Raises:
        InputError: the recording or a change cannot be used.
    """
    recording = open_recording(path)
    layer = from_layer or first_layer(changes, LAYERS, rules=rules is not None)
    plan = Plan(frozenset(LAYERS[LAYERS.index(layer) :]), changes, rules, chained=True)
    result = Result(
        path.name,
        dict(changes),
        tuple(rule.name.value for rule in rules or ()),
        layer,
        PolicyTotals(window_seconds=window_seconds),
        PolicyTotals(window_seconds=window_seconds),
    )
    rerun = Rerun(recording.header, plan)

    def on_event(recorded: AnyEvent, used: AnyEvent) -> None:
        result.baseline.add(recorded.data)
        result.changed.add(used.data)
        if isinstance(recorded.data, Decision):
            _compare(result, recorded, used.data)

    def messages() -> Any:
        for message in recording:
            if on_message is not None:
                on_message(message)
            yield message

    with rare_collections():
        for pair in rerun.pairs(messages(), on_event):
            result.not_computed += pair.layer == "decision" and not pair.grounded
    result.recorded_seconds = (rerun.last_ns - rerun.first_ns) / 1e9
    result.damage, result.unreadable = recording.damage, rerun.unreadable.total()
    return result


def class_of(before: Decision, after: Decision) -> str:
    """Return how a decision came out: by its actions, whatever was said for them."""
    if before.actions == after.actions:
        return "same"
    if not before.wants and after.wants:
        return "appeared"
    if before.wants and not after.wants:
        return "vanished"
    return "changed"


def decision_text(decision: Decision) -> str:
    """Return a decision's actions and targets in words."""
    return ", ".join(
        f"{action_label(action)} on {action.aim}" if action.aim else action_label(action)
        for action in decision.actions
    )


def change_between(seq: int, before: Decision, after: Decision) -> DecisionChange | None:
    """Return how two decisions of one cycle differ; None when they do not."""
    kind = class_of(before, after)
    if kind == "same":
        return None
    return DecisionChange(
        before.cycle,
        seq,
        before.cluster_time_seconds,
        kind,
        decision_text(before),
        decision_text(after),
        before.rationale,
        after.rationale,
    )


def _compare(result: Result, recorded: AnyEvent, used: Decision) -> None:
    first = result.cycles[0] or recorded.cycle
    result.cycles = (first, recorded.cycle)
    change = change_between(recorded.seq, recorded.data, used)
    result.classes["same" if change is None else change.kind] += 1
    if change is not None and len(result.listed) < LISTED:
        result.listed.append(change)


def _as_json(change: DecisionChange) -> dict[str, Any]:
    return {
        "cycle": change.cycle,
        "seq": change.seq,
        "cluster_time_seconds": change.time_seconds,
        "kind": change.kind,
        "before": change.before,
        "after": change.after,
        "before_why": change.before_why,
        "after_why": change.after_why,
    }
