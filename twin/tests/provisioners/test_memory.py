"""What provisioners remember of nodes from one look to the next is what a fresh look would give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twin.engine import Engine
from twin.provisioners.cluster_autoscaler.autoscaler import ClusterAutoscaler
from twin.provisioners.karpenter.candidate import DisruptionCandidate, is_consolidatable
from twin.provisioners.karpenter.controller import Karpenter
from twin.provisioners.placement import NodeInfo

Build = Callable[..., Engine]


def describe_place(place: NodeInfo) -> Any:
    """Return what pods see of a node."""
    return place.name, place.free, place.extra, list(place.pods)


def describe_view(engine: Engine) -> Any:
    """Return everything that Cluster Autoscaler remembers."""
    autoscaler = engine.provisioner
    assert isinstance(autoscaler, ClusterAutoscaler)
    view = autoscaler._view
    view.refresh()
    return (
        [describe_place(place) for place in view.snapshot().places.values()],
        {name: count for name, count in view.members.items() if count},
        [sorted(facts) for facts in (view.unready, view.leaving, view.soft)],
        view.low,
        view.group_of,
        [pod.uid for pod in view.waiting()],
    )


def describe_state(engine: Engine) -> Any:
    """Return everything that Karpenter remembers."""
    karpenter = engine.provisioner
    assert isinstance(karpenter, Karpenter)
    state = karpenter.state
    solver, entries = state.solver(), state._refresh().existing
    return (
        [describe_place(place) for _, place in sorted(solver.snapshot.places.items())],
        [(one.place.name, one.taints, one.requirements, one.initialized) for one in entries],
        state._memory.free.tolist(),
        state.counts(),
        [one.name for one in state.leaving()],
        [one.name for one in state.disrupted()],
        [pod.uid for pod in state.waiting_pods()],
    )


def test_cluster_autoscaler_knows_the_nodes_as_they_are(build: Build) -> None:
    """At any moment its view is that of a clone, which has seen nothing yet."""
    engine = build("cluster-autoscaler")
    for _ in range(24):
        engine.advance(engine.now + 53.0)
        assert describe_view(engine.clone()) == describe_view(engine)


def test_karpenter_knows_the_cluster_as_it_is(build: Build) -> None:
    """At any moment its state of the cluster is that of a clone, and a simulation leaves it as it was."""
    engine, moved = build("karpenter"), 0
    for _ in range(24):
        engine.advance(engine.now + 53.0)
        assert describe_state(engine.clone()) == describe_state(engine)
        karpenter = engine.provisioner
        assert isinstance(karpenter, Karpenter)
        before = describe_state(engine)
        for node in karpenter.state.nodes():
            solution = karpenter.state.solver([node.name]).solve(karpenter.state.movable(node.name))
            moved += sum(len(entry.added) for entry in solution.existing)
        assert describe_state(engine) == before
    assert moved


def candidates_of(engine: Engine) -> tuple[Karpenter, list[DisruptionCandidate]]:
    """Return Karpenter and the nodes that it may disrupt, by name."""
    karpenter = engine.provisioner
    assert isinstance(karpenter, Karpenter)
    pools = {pool.name: pool for pool in karpenter.state.pools()}
    found = karpenter.disruption._candidates.find(karpenter.state.nodes(), pools, eventual=False)
    return karpenter, found


def test_karpenter_remembers_only_what_still_fails(build: Build) -> None:
    """Why nodes could not be consolidated is, as long as it is remembered, what a clone finds out anew."""
    engine, compared = build("karpenter"), 0
    for _ in range(150):
        engine.advance(engine.now + 9.7)
        karpenter, _ = candidates_of(engine)
        failures = dict(karpenter.state.failures() or {})
        other, found = candidates_of(engine.clone())
        by_name, consolidation = {one.name: one for one in found}, other.disruption._consolidation
        for names, why in failures.items():
            plan = consolidation.simulate([by_name[name] for name in names])
            assert consolidation._objection(plan) == why
            compared += 1
    assert compared


def test_candidates_as_columns_are_those_of_one_by_one(build: Build) -> None:
    """Who may be consolidated by price, and in which order, is what each candidate says of itself."""
    engine, moved = build("karpenter"), 0
    for _ in range(60):
        engine.advance(engine.now + 19.3)
        karpenter, found = candidates_of(engine)
        for now in (engine.now, engine.now - 15.0, engine.now + 400 * 3_600.0):
            ranked = karpenter.state.candidates.ranking(found).by_cost(now)
            plain = [one for one in found if one.is_plain and is_consolidatable(one, now)]
            assert ranked == sorted(plain, key=lambda one: (one.cost(now), one.name))
            moved += ranked != plain
    assert moved
