"""hpa_change: what an autoscaler of the cluster did, from its status to the published event."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from bus.clock import LoopClock
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.virtual_loop import run_virtual
from schemas.identity import Origin
from schemas.reaction import Reaction, ReactionItem, ReactionKind
from schemas.registry import decode
from services.collector.reaction import LastTables, find_reactions, update_last_tables
from services.collector.service import run
from services.collector.settings import CollectorSettings
from services.twin_transport import TwinTransport
from tests.builders import START_SECONDS
from tests.collector.conftest import Look
from tests.collector.scripted_cluster import ScriptedCluster, stamp
from twin.port.api import InProcessTwin
from twin.port.engine import Engine
from twin.port.workloads import NodeShape

ORIGIN = Origin("test", "1")


def _autoscaler(desired: int, current: int, scaled: float | None) -> dict[str, Any]:
    status: dict[str, Any] = {"currentReplicas": current, "desiredReplicas": desired}
    if scaled is not None:
        status["lastScaleTime"] = stamp(scaled)
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 9}
    return {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec, "status": status}


def _reactions(look: Look, before: dict[str, Any], after: dict[str, Any]) -> list[ReactionItem]:
    first, second = ScriptedCluster(autoscalers=[before]), ScriptedCluster(autoscalers=[after])
    second.now = first.now + 10
    items, _ = find_reactions(update_last_tables(LastTables(), look(first)), look(second), 100)
    return list(items)


def test_a_rescale_is_told_with_its_own_time(look: Look) -> None:
    """A new lastScaleTime is an hpa_change at that time, with the replicas before and after."""
    at = START_SECONDS + 7
    (item,) = _reactions(look, _autoscaler(2, 2, START_SECONDS - 60), _autoscaler(4, 2, at))

    assert (item.kind, item.object) == (
        ReactionKind.HPA_CHANGE,
        "shop/HorizontalPodAutoscaler/web",
    )
    assert (item.time_seconds, item.before, item.after) == (at, 2, 4)
    assert item.workload == "shop/Deployment/web"


def test_no_rescale_is_no_reaction(look: Look) -> None:
    """An autoscaler that only looked, and one that never rescaled, are silent."""
    same = START_SECONDS - 60
    assert _reactions(look, _autoscaler(4, 4, same), _autoscaler(4, 3, same)) == []
    assert _reactions(look, _autoscaler(0, 2, None), _autoscaler(2, 2, None)) == []


def test_a_cluster_without_autoscaling_is_no_failure_of_others(look: Look) -> None:
    """A 404 or 403 of the autoscaler list is named and hides nothing else."""
    cluster = ScriptedCluster(autoscalers=[_autoscaler(4, 2, START_SECONDS)])
    cluster.failures["autoscalers"] = 403
    snapshot = look(cluster)

    assert [source.source for source in snapshot.sources if not source.ok] == ["autoscalers"]
    assert find_reactions(update_last_tables(LastTables(), snapshot), snapshot, 100) == ((), 0)


def _busy_cluster() -> Engine:
    engine = Engine(seed=3)
    engine.add_nodes([NodeShape(f"n{i}", 8_000, 32 * 2**30, 0, {}) for i in range(2)])
    container = {"name": "c", "image": "a:1", "resources": {"requests": {"cpu": "200m"}}}
    head = {"labels": {"app": "web"}, "annotations": {"foresail.dev/cpu-usage-ratio": "1.0"}}
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": head, "spec": {"containers": [container]}},
    }
    engine.store.create("deployments", "default", {"metadata": {"name": "web"}, "spec": spec})
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaling = {"scaleTargetRef": target, "maxReplicas": 6}
    engine.store.create("horizontalpodautoscalers", "default",
                        {"metadata": {"name": "web"}, "spec": scaling})  # fmt: skip
    return engine


def test_an_autoscaler_of_the_twin_reaches_the_log() -> None:
    """The collector publishes hpa_change when the twin's autoscaler acts, then the scale-up."""
    log, engine = MemoryLog(), _busy_cluster()

    async def main() -> None:
        bus, clock = MemoryBus(log, ORIGIN.cluster, None), LoopClock(round(START_SECONDS * 1e9))
        settings = CollectorSettings(interval_seconds=5.0)
        cluster = InProcessTwin(engine, clock=clock)
        with suppress(TimeoutError):
            async with asyncio.timeout(120.0):
                await run(settings, bus, clock, ORIGIN, TwinTransport(cluster))

    run_virtual(main)
    events = [decode(message.subject, message.headers, message.data) for message in log.messages]
    looks = [event.data for event in events if event.type == Reaction.TYPE]
    items = [item for look in looks for item in look.reactions]
    changes = [item for item in items if item.kind is ReactionKind.HPA_CHANGE]

    assert changes, "the autoscaler's rescale never reached the log"
    assert (changes[0].object, changes[0].before) == ("default/HorizontalPodAutoscaler/web", 2)
    assert changes[0].after is not None
    assert changes[0].after > 2
    kinds = [item.kind for item in items]
    first = kinds.index(ReactionKind.HPA_CHANGE)
    assert ReactionKind.SCALE_UP in kinds[first:]
