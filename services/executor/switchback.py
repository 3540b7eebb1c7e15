"""What a switchback's schedule holds: decisions not to be executed, and executions to be taken back."""

from __future__ import annotations

from collections.abc import Iterable

from projections.standing import is_reversible
from projections.switchback.schedule import CLUSTER, SwitchbackSettings
from projections.switchback.text import held_text
from schemas.outcome import Operation
from services.executor.ledger import Execution


def touched_units(settings: SwitchbackSettings, operations: Iterable[Operation]) -> tuple[str, ...]:
    """Return the units that some operations write, each once."""
    if settings.unit != "namespace":
        return (CLUSTER,)
    return tuple(dict.fromkeys(settings.unit_of(operation.namespace) for operation in operations))


def held_cause(settings: SwitchbackSettings, execution: Execution, now_seconds: float) -> str:
    """Return why an execution of an earlier block has to be taken back now; empty where it has not.

    Without that, a block that does not act would still have what acting did: nodes that sleep, replicas that
    were added. What cannot be taken back, such as an eviction, has to fade during the wash-out.
    """
    if not is_reversible(execution):
        return ""
    held = settings.held_units(now_seconds, touched_units(settings, execution.operations))
    return held_text(settings, settings.block_at(now_seconds), held) if held else ""
