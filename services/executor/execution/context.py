"""Context of every side effect, and the write that executing and rolling back share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bus.errors import Permanent, Temporary
from bus.follow import Publisher
from schemas.capabilities import OutcomeCapabilities
from schemas.envelope import NewEvent
from schemas.outcome import (
    ExecutionPhase,
    Mode,
    OutcomeExecution,
    OutcomeVerification,
)
from schemas.reasons import Reason
from services.cluster import Transport
from services.executor.ledger import Execution, Ledger
from services.executor.reading.pod_amounts import PodReader
from services.executor.settings import ExecutorSettings
from services.executor.writing.object_events import ObjectEvents
from services.executor.writing.writer import OperationWriter


@dataclass(frozen=True, slots=True)
class SideEffectContext:
    """The executor's settings and its ways out: to the cluster, to the log, to its log lines."""

    settings: ExecutorSettings
    publisher: Publisher
    transport: Transport
    writer: OperationWriter
    pod_reader: PodReader
    log: Any
    """A structlog logger."""
    object_events: ObjectEvents | None = None
    """Who writes events on the objects; None: nobody."""

    def mode(self, state: Ledger) -> Mode:
        """Return the mode in force: the operator's goes before the settings'."""
        return state.mode or self.settings.mode

    def mode_for(self, state: Ledger, execution: Execution) -> Mode:
        """Return how an earlier plan may be written now: for real only while both modes say so."""
        modes = {execution.mode, self.mode(state)}
        return Mode.SHADOW if Mode.SHADOW in modes else Mode.ACTIVE

    async def publish(
        self,
        data: OutcomeExecution | OutcomeVerification | OutcomeCapabilities,
        causes: tuple[str, ...],
    ) -> str:
        """Publish one event and return its id once it is stored."""
        new_event = NewEvent(data, data.cycle, data.cluster_time_seconds, causes)
        return (await self.publisher.publish([new_event]))[0].id

    async def write_plan(self, state: Ledger, started: OutcomeExecution, started_id: str) -> None:
        """Write the operations of a stored plan and publish how it ended."""
        results, checks = await self.writer.write(state, started)
        succeeded = all(result.status in {"applied", "unchanged"} for result in results)
        failed = next(
            (result for result in results if result.status in {"refused", "failed"}), None
        )
        finished = started.model_copy(
            update={
                "phase": ExecutionPhase.FINISHED,
                "results": results,
                "succeeded": succeeded,
                "guards": checks,
                "reason": None if failed is None else failed.reason,
                "text": started.text if failed is None else f"{started.text}: {failed.message}",
            }
        )
        await self.publish(finished, (started_id,))
        if self.object_events is not None:
            await self.object_events.tell(finished)
        self.log.info(
            "executed",
            cycle=started.cycle,
            part=started.part,
            kind=started.action.kind,
            succeeded=succeeded,
            mode=started.mode,
        )


def reason_for(error: Temporary | Permanent) -> Reason:
    """Return the reason to publish when the cluster could not be read."""
    return Reason.API_UNREACHABLE if isinstance(error, Temporary) else Reason.API_ERROR
