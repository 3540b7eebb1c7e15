"""The proof that each kind of action shares: in shadow nothing changes, active it does, and undo takes it back."""

from __future__ import annotations

import asyncio
from typing import Any

from proofs.real_cluster.case import CaseEnvironment
from proofs.real_cluster.session import FLUSH_SECONDS, INTERVAL_SECONDS, Session, Step
from schemas.actions import Action
from schemas.outcome import Mode
from schemas.reasons import Reason

KNOWN_SECONDS = 180.0
"""Within so long what pods use is known."""


async def shadow_then_active(
    scene: CaseEnvironment, action: Action, **options: Any
) -> tuple[Step, Step]:
    """Have an action done in shadow, in active mode and taken back; return the last two steps.

    Raises:
        AssertionError: shadow mode changed something, or active mode or the undo did not succeed.
    """
    mark = scene.cluster.audit.mark()  # first: what is written while versions are read counts, too
    before = await asyncio.to_thread(scene.versions)
    async with scene.session(Mode.SHADOW, **options) as session:
        shadow = await _decide_when_known(session, action)
    await asyncio.sleep(FLUSH_SECONDS)
    compared, changed = await asyncio.to_thread(scene.changed_by_us, before, mark)
    assert not changed, f"shadow mode changed {changed}"
    assert shadow.outcome.succeeded, shadow.said
    assert shadow.requests, shadow.said
    assert all(one.dry for one in shadow.requests), shadow.requests
    scene.notes.append(
        f"shadow: {compared} objects compared, none changed by us; {len(shadow.requests)} dry runs"
    )
    async with scene.session(Mode.ACTIVE, **options) as session:
        done = await _decide_when_known(session, action)
        assert done.outcome.succeeded, done.said
        assert all(one.manager == "foresail" for one in done.changed if one.verb != "delete")
        back = await session.undo(done)
    assert back.outcome.succeeded, back.said
    return done, back


async def _decide_when_known(session: Session, action: Action) -> Step:
    """Have an action done as soon as what pods use is known; a first wish makes the executor look at them."""
    loop = asyncio.get_running_loop()
    end = loop.time() + KNOWN_SECONDS
    step = await session.decide(action)
    while step.outcome.reason is Reason.USAGE_UNKNOWN:
        assert loop.time() < end, step.said
        await asyncio.sleep(5 * INTERVAL_SECONDS)
        again = await session.decide(action)
        if again.outcome.reason is Reason.USAGE_UNKNOWN:
            session.steps.pop()
        step = again
    return step
