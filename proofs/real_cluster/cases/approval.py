"""approve: nothing of an action reaches the server before a yes, after a no, or when time is over."""

from __future__ import annotations

import asyncio
from typing import Any

from proofs.real_cluster.case import Case, CaseGround, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, SHOP
from proofs.real_cluster.session import TOLD, OpenQuestion
from schemas.approval import Answer
from schemas.reasons import Reason

PATH = f"{DEPLOYMENTS.format(SHOP)}/shop-02"
LOOK_SECONDS, EXPIRY_SECONDS = 5.0, 8.0


async def run(scene: CaseGround) -> None:
    """Wish for a raise: look, approve and take back; deny one; let one run out."""
    now = scene.api.ask("GET", PATH)["spec"]["replicas"]
    free: dict[str, Any] = {"cool_down_seconds": 0, "ping_pong_seconds": 0, "approval": True}
    async with scene.session(**free) as session:
        asked = await session.ask(at_workload("shop-02", now + 1))
        await asyncio.sleep(LOOK_SECONDS)
        _nothing_written(scene, asked)
        done = await session.answer(asked, Answer.APPROVE)
        assert done.outcome.succeeded, done.said
        assert [one.resource for one in done.changed] == ["deployments"], done.changed
        assert scene.api.ask("GET", PATH)["spec"]["replicas"] == now + 1
        await session.undo(done)

        asked = await session.ask(at_workload("shop-02", now + 1))
        denied = await session.answer(asked, Answer.DENY)
        assert denied.outcome.reason is Reason.APPROVAL_DENIED, denied.said
        _nothing_written(scene, asked)
    async with scene.session(**free, approval_seconds=EXPIRY_SECONDS) as session:
        asked = await session.ask(at_workload("shop-02", now + 1))
        over = await session.end_of(asked, "nobody answers")
        assert over.outcome.reason is Reason.APPROVAL_EXPIRED, over.said
        _nothing_written(scene, asked)
    assert scene.api.ask("GET", PATH)["spec"]["replicas"] == now


def _nothing_written(scene: CaseGround, asked: OpenQuestion) -> None:
    """Assert that nothing of it was changed since it was decided; its plan may have been tried as a dry run."""
    found = scene.cluster.audit.since(asked.mark, user="foresail-executor")
    changed = [one.text for one in found if one.changed and one.resource not in TOLD]
    assert not changed, changed


CASE = Case("an action waits for a person, and is done, denied or over", run, 39)
