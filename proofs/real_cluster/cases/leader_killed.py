"""The leading executor is killed with SIGKILL in the middle: its replica takes over, and nothing is written twice."""

from __future__ import annotations

import subprocess
from collections.abc import Awaitable, Callable
from functools import partial

from proofs.real_cluster.case import Case, CaseGround, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, SHOP, WRITABLE
from proofs.real_cluster.replicas import ReplicatedExecutor, replicas
from schemas.leadership import OutcomeLeadership
from schemas.outcome import ExecutionPhase, Mode
from services.executor.settings import Caps, ExecutorSettings

ROUNDS = 3
SETTINGS = ExecutorSettings(
    mode=Mode.ACTIVE,
    namespaces=(SHOP,),
    writable_nodes=f"{WRITABLE}=true",
    settle_seconds=0,
    cool_down_seconds=0,
    ping_pong_seconds=0,
    stale_cycles=120,  # a cycle is a second here; the plan is to be completed after the Lease has run out
    caps=Caps(per_workload=99, per_namespace=99),
)


async def run(scene: CaseGround) -> None:
    """Three times: have a raise begun, kill whoever began it, and see who completes it."""
    path = f"{DEPLOYMENTS.format(SHOP)}/shop-01"
    first = scene.api.ask("GET", path)["spec"]["replicas"]
    async with replicas(scene.cluster, SETTINGS) as running:
        running.start()
        running.start()
        leader: subprocess.Popen[bytes] = await running.wait("a leader", running.leader, 300)
        await running.wait("its replica", running.somebody_waits, 300)
        for number in range(1, ROUNDS + 1):
            mark = scene.cluster.audit.mark()
            cycle = await running.decide(at_workload("shop-01", first + number))
            await running.wait("its plan", partial(running.executions, cycle))
            leader.kill()
            killed = leader
            leader = await running.wait("another leader", _other(running, killed), 300)
            await running.wait("its end", _ended(running, cycle))
            ends = [
                one
                for one in await running.executions(cycle)
                if one.phase is not ExecutionPhase.STARTED
            ]
            assert [one.succeeded for one in ends] == [True], [one.text for one in ends]
            found = scene.cluster.audit.since(mark, user="foresail-executor")
            written = [one for one in found if one.changed and one.resource == "deployments"]
            assert len(written) == 1, [one.text for one in written]
            assert scene.api.ask("GET", path)["spec"]["replicas"] == first + number
            tried = sum(one.resource == "deployments" and one.writes for one in found)
            scene.notes.append(
                f"round {number}: process {killed.pid} killed, {leader.pid} leads; "
                f"{tried} writes were sent, 1 changed the Deployment; it says {ends[0].text!r}"
            )
            running.start()
            await running.wait("its replica", running.somebody_waits, 300)
        said = await running.newest(OutcomeLeadership)
        assert said is not None
        scene.notes.append(f"at the end: {said.data.text}")
    scene.api.ask("PATCH", path, {"spec": {"replicas": first}})


def _other(
    running: ReplicatedExecutor, killed: subprocess.Popen[bytes]
) -> Callable[[], subprocess.Popen[bytes] | None]:
    def other() -> subprocess.Popen[bytes] | None:
        leader = running.leader()
        return None if leader is killed else leader

    return other


def _ended(running: ReplicatedExecutor, cycle: int) -> Callable[[], Awaitable[bool]]:
    async def ended() -> bool:
        found = await running.executions(cycle)
        return any(one.phase is not ExecutionPhase.STARTED for one in found)

    return ended


CASE = Case(
    "a leader that is killed is followed by its replica, and nothing is written twice", run, 62
)
