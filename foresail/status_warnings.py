"""What `foresail status` warns of: nothing is broken by it, and somebody should look."""

from __future__ import annotations

from bus.events import read_entry
from bus.port import Bus
from foresail.stack.state_folder import StackFile
from projections.mismatch.silent_stage import silent_stage_text
from schemas import subjects
from schemas.mismatch import OutcomeMismatch, mismatch_text
from schemas.observation import Observation
from schemas.run import RunStage


async def warnings(bus: Bus, stack: StackFile, now_ns: int) -> list[str]:
    """Return what does not fit now, a line each."""
    stored = await bus.last(subjects.build(stack.cluster, OutcomeMismatch.PATTERN))
    event = None if stored is None else read_entry(stored).event
    standing = event.data.standing if event and isinstance(event.data, OutcomeMismatch) else ()
    stage = await bus.last(subjects.build(stack.cluster, (*RunStage.PATTERN[:2], "stack")))
    seen = await bus.last(subjects.build(stack.cluster, Observation.PATTERN))
    silent = None
    if stack.running and stage is not None and stack.mode != "replay":
        begun, observed = (
            None if one is None else (now_ns - one.time_ns) / 1e9 for one in (stage, seen)
        )
        silent = silent_stage_text("live", begun or 0.0, observed)
    return [*map(mismatch_text, standing), *([] if silent is None else [silent])]
