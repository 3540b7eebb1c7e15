"""A token that is rotated is read again; one that is revoked ends writing until there is a new one."""

from __future__ import annotations

import asyncio

from proofs.real_cluster.case import Case, CaseEnvironment, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, SHOP
from proofs.real_cluster.session import Session
from schemas.reasons import Reason

AUTHENTICATION_SECONDS = 15.0
"""The server remembers that a token was good for 10 s."""


async def run(scene: CaseEnvironment) -> None:
    """Rotate, revoke, and renew the executor's token; each time wish for a raise."""
    now = scene.api.ask("GET", f"{DEPLOYMENTS.format(SHOP)}/shop-00")["spec"]["replicas"]
    async with scene.session(cool_down_seconds=0, ping_pong_seconds=0) as session:
        old = session.token.renew()
        session.token.revoke(old)
        await asyncio.sleep(AUTHENTICATION_SECONDS)
        await _raise_and_undo(session, now + 1)
        session.token.revoke()
        await asyncio.sleep(AUTHENTICATION_SECONDS)
        refused = await session.decide(at_workload("shop-00", now + 1))
        assert refused.outcome.reason in {Reason.UNAUTHENTICATED, Reason.API_ERROR}, refused.said
        assert "401" in refused.outcome.text or "nauthorized" in refused.outcome.text, refused.said
        assert not refused.changed
        session.token.renew()
        await asyncio.sleep(AUTHENTICATION_SECONDS)
        await _raise_and_undo(session, now + 2)
    assert scene.api.ask("GET", f"{DEPLOYMENTS.format(SHOP)}/shop-00")["spec"]["replicas"] == now


async def _raise_and_undo(session: Session, replicas: int) -> None:
    done = await session.decide(at_workload("shop-00", replicas))
    assert done.outcome.succeeded, done.said
    back = await session.undo(done)
    assert back.outcome.succeeded, back.said


CASE = Case("a rotated token is read again, and a revoked one is said", run, 36)
