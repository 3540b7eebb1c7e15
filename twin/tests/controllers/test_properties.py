"""What holds whatever happens: rollouts, budgets, quotas and counts under random commands."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twin.controllers.rollout import Size, new_replicas, old_replicas, proportional
from twin.errors import ApiError

Object = dict[str, Any]
Build = Callable[..., Object]
SEEDS = range(8)
SIZES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=4)


@given(SIZES, st.integers(0, 12), st.integers(0, 12), st.integers(1, 12), st.data())
@settings(max_examples=300, deadline=None)
def test_no_step_of_a_rollout_breaks_its_bounds(
    old: list[tuple[int, int]], new: int, available: int, expected: int, data: st.DataObject
) -> None:
    """Growth stops at replicas + surge; no available pod is taken that has to stay."""
    surge = data.draw(st.integers(0, expected))
    unavailable = data.draw(st.integers(0 if surge else 1, expected))
    sizes = [Size(replicas, min(replicas, ready)) for replicas, ready in old]
    current = Size(new, min(new, available))
    total = new + sum(size.replicas for size in sizes)
    grown = new_replicas(expected, surge, new, total)
    assert grown >= new
    assert grown == new or (grown <= expected and total + grown - new <= expected + surge)
    least = expected - unavailable
    left = old_replicas(sizes, current, least)
    ready_before = current.available + sum(size.available for size in sizes)
    ready_after = current.available + sum(
        min(count, size.available) for count, size in zip(left, sizes, strict=True)
    )

    assert all(0 <= count <= size.replicas for count, size in zip(left, sizes, strict=True))
    assert ready_after >= min(ready_before, least)


@given(SIZES, st.integers(0, 20), st.integers(0, 6))
@settings(max_examples=300, deadline=None)
def test_proportional_scaling_hands_everything_out(
    sizes: list[tuple[int, int]], expected: int, surge: int
) -> None:
    """The sum is replicas + surge and no share is negative; a largest set that has nothing left to
    give for what rounding left over (upstream stops there too) still brings the sum down.
    """
    before = sum(replicas for replicas, _ in sizes)
    active = sorted((Size(r, room_before=before) for r, _ in sizes if r),
                    key=lambda size: -size.replicas)  # fmt: skip
    counts = proportional(active, expected, surge)

    assert all(count >= 0 for count in counts)
    if active and (counts[0] or not expected):
        assert sum(counts) == (expected + surge if expected else 0)
    assert sum(counts) <= max(before, expected + surge)


@pytest.mark.parametrize("seed", SEEDS)
def test_rollouts_one_upon_the_other(
    make_cluster: Callable[..., Any], workload: Build, seed: int
) -> None:
    """New templates at any moment, also during a rollout: the bounds hold, the last one wins."""
    random = Random(seed)
    cluster = make_cluster(4, success_events=False)
    wanted, surge = random.randint(1, 9), random.randint(0, 4)
    unavailable = random.randint(0 if surge else 1, wanted)
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    cluster.create("deployments", "web", {**workload("web", wanted), "strategy": strategy})
    cluster.run(60)

    def look() -> None:
        pods = cluster.pods(app="web")
        assert len(pods) <= wanted + surge
        assert sum(pod.ready for pod in pods) >= wanted - unavailable

    for image in range(2, 6):
        fresh = workload("web", wanted, image=f"app:{image}")["template"]
        cluster.write("deployments", "web", template=fresh)
        cluster.watch(random.uniform(0.5, 25.0), look, every=0.25)
    cluster.watch(120, look, every=0.5)

    assert [pod.shape.images[0] for pod in cluster.pods(app="web")] == ["app:5"] * wanted


@pytest.mark.parametrize("seed", SEEDS)
def test_no_eviction_breaks_a_budget(
    make_cluster: Callable[..., Any], workload: Build, seed: int
) -> None:
    """After each eviction that is let through, as many pods are healthy as the budget wants."""
    random = Random(seed)
    cluster = make_cluster(3, success_events=False)
    cluster.create("deployments", "web", workload("web", random.randint(2, 8)))
    amount = random.choice([1, 2, "30%", "60%"])
    field = random.choice(["minAvailable", "maxUnavailable"])
    selector = {"matchLabels": {"app": "web"}}
    cluster.create("poddisruptionbudgets", "b", {"selector": selector, field: amount})
    cluster.run(30)
    granted = 0
    for _ in range(80):
        pods = cluster.pods(app="web")
        if pods:
            name = random.choice(pods).name
            ready_one = cluster.engine.store.record("pods", "default", name).ready
            with suppress(ApiError):
                cluster.engine.evict("default", name)
                granted += 1
                healthy = sum(pod.ready for pod in cluster.pods(app="web"))
                desired = cluster.status("poddisruptionbudgets", "b")["desiredHealthy"]
                assert healthy >= desired or not ready_one
        cluster.run(random.choice([0.0, 0.3, 2.0, 6.0]))

    assert granted
    cluster.run(120)
    assert sum(pod.ready for pod in cluster.pods(app="web")) == len(cluster.pods(app="web"))


@pytest.mark.parametrize("seed", SEEDS)
def test_everything_converges(make_cluster: Callable[..., Any], workload: Build, seed: int) -> None:
    """After any mix of scaling, deleting, evicting and failing nodes, replicas become what the
    specs say, quotas say what is used, and a clone ends in the same state.
    """
    random = Random(seed)
    cluster = make_cluster(4)
    engine, store = cluster.engine, cluster.engine.store
    cluster.create("resourcequotas", "q", {"hard": {"requests.cpu": "2", "pods": "18"}})
    cluster.create("deployments", "web", workload("web", 4))
    cluster.create("statefulsets", "db", workload("db", 3))
    made = workload("agent", 1)
    cluster.create("daemonsets", "agent", {k: made[k] for k in ("selector", "template")})
    cluster.run(60)
    for _ in range(15):
        match random.randrange(5):
            case 0:
                kind = random.choice([("deployments", "web"), ("statefulsets", "db")])
                cluster.write(*kind, replicas=random.randint(0, 6))
            case 1:
                victims = cluster.pods()
                if victims:
                    store.delete("pods", "default", random.choice(victims).name)
            case 2:
                image = f"app:{random.randint(1, 3)}"
                fresh = workload("web", 1, image=image)["template"]
                cluster.write("deployments", "web", template=fresh)
            case 3:
                engine.fail_node(f"n{random.randrange(4)}", random.uniform(5.0, 400.0))
            case _:
                cluster.write("resourcequotas", "q", hard={
                    "requests.cpu": str(random.randint(1, 3)), "pods": "18"})  # fmt: skip
        cluster.run(random.uniform(0.0, 40.0))
    cluster.write("resourcequotas", "q", hard={"requests.cpu": "4", "pods": "40"})
    other = engine.clone()
    for one in (engine, other):
        one.advance(one.now + 3_000)

    assert other.state_hash() == engine.state_hash()
    for resource, name in (("deployments", "web"), ("statefulsets", "db")):
        obj = cluster.get(resource, name)
        expected = obj["spec"]["replicas"]
        status = obj["status"]
        counts = [status.get(f"{word}Replicas", 0) for word in ("ready", "updated", "available")]
        assert [status.get("replicas", 0), *counts] == [expected] * 4
    assert [pod.name for pod in cluster.pods(app="db")] == [
        f"db-{n}" for n in range(cluster.get("statefulsets", "db")["spec"]["replicas"])
    ]
    assert sorted(pod.node_name for pod in cluster.pods(app="agent")) == ["n0", "n1", "n2", "n3"]
    used = cluster.status("resourcequotas", "q")["used"]
    assert used["pods"] == str(len(cluster.pods(deleting=True)))
