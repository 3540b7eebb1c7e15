"""The arm `oracle`: it tries its choices on the true future and takes the best one.

What it knows: everything. Every few minutes it copies the simulated cluster with its chance, its arrivals, its
requests and its faults, and plays each choice for the next quarter of an hour; with the same seed that future
comes true if it goes on as chosen. It prices each by the outcome score's prices (`lab.experiments.worth`).

What it may do: scale Deployments whose Service has traffic, put empty nodes to sleep and wake them; all at once,
with no guard, budget or cool-down, as the executor's own writes. It does not evict, hold, reject or slow work, rents no
machine, and leaves alone what an HPA scales.

What it is: a score that somebody who knew the future reached. The best possible one is at least as high, since
the oracle looks no further than its horizon and chooses among few. So regret against it is a lower bound of what
an arm leaves behind, and an arm that does other things may beat it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from foresail.experiment.controllers import DeploymentControllers
from inputs.quantities import parse_millicores
from lab.experiments.arms import Arm, Foresight
from lab.experiments.worth import PeriodCounts, play
from projections.score.prices import ScorePrices
from services.collector.settings import CollectorSettings
from services.executor.plans.power_state import POWER_STATE
from twin.port.engine import Engine
from twin.port.objects import (
    NodeRecord,
    ObjectRecord,
    PodRecord,
    is_daemon,
    read_request_settings,
)

_CHOOSE = "experiments.oracle"
FIRST_SECONDS = 60.0
"""When it chooses first: what arrives at the start has found its place by then."""
USES = (0.5, 0.8)
"""CPU use of replicas at the most requests to come, that it tries to scale Deployments to."""


@dataclass(frozen=True, slots=True)
class SwitchPower:
    """Put a node to sleep, or wake it."""

    node: str
    asleep: bool


@dataclass(frozen=True, slots=True)
class ScaleDeployment:
    """Give a Deployment so many replicas."""

    namespace: str
    name: str
    replicas: int


Choice = tuple[SwitchPower | ScaleDeployment, ...]
"""What is done at once; empty: nothing."""


class Oracle:
    """Looks after a cluster whose future it knows."""

    def __init__(
        self, engine: Engine, arm: Arm, foresight: Foresight, prices: ScorePrices | None = None
    ) -> None:
        """Look after an engine that has not begun to play."""
        self._engine = engine
        self._arm = arm
        self._foresight = foresight
        self._prices = prices or ScorePrices()
        engine.clock.handle(_CHOOSE, self._choose)
        engine.clock.after(FIRST_SECONDS, _CHOOSE)

    def _choose(self) -> None:
        untouched = self.try_out(())
        best: Choice = ()
        most = self._money(untouched)
        for choice in choices(self._engine, untouched):
            money = self._money(self.try_out(choice))
            if money > most:  # what gains nothing is not done
                best, most = choice, money
        apply(self._engine, best)
        self._engine.clock.after(self._foresight.every_seconds, _CHOOSE)

    def try_out(self, choice: Choice) -> PeriodCounts:
        """Return what would come of a choice, from a copy; the cluster itself notices nothing."""
        copy = self._engine.clone()
        DeploymentControllers(copy, self._arm)
        copy.clock.pass_over(self._engine.clock)  # who looks on in this world does not in that one
        apply(copy, choice)
        return play(copy, self._foresight.ahead_seconds)

    def _money(self, stretch: PeriodCounts) -> float:
        return stretch.money(self._prices, CollectorSettings().energy_price)


def choices(engine: Engine, untouched: PeriodCounts) -> Iterator[Choice]:
    """Yield what is worth trying, given what will happen if nothing is done."""
    empty = tuple(SwitchPower(name, asleep=True) for name in _unused(engine, untouched.used_nodes))
    asleep = _asleep(engine)
    scalings = list(dict.fromkeys(tuple(_scalings(engine, untouched, use)) for use in USES))
    if empty:
        yield empty
    for count in sorted({-(-len(asleep) // 2), len(asleep)} - {0}):
        yield tuple(SwitchPower(name, asleep=False) for name in asleep[:count])
    for scaling in filter(None, scalings):
        yield scaling
        if empty:
            yield (*scaling, *empty)


def apply(engine: Engine, choice: Choice) -> None:
    """Write a choice into a cluster, as the executor would."""
    store = engine.store
    for part in choice:
        if isinstance(part, SwitchPower):
            node = store.get("nodes", "", part.node)
            state = "sleep" if part.asleep else "on"
            annotations = {**node["metadata"].get("annotations", {}), POWER_STATE: state}
            spec = {**node.get("spec", {}), "unschedulable": part.asleep}
            changed = {
                **node,
                "metadata": {**node["metadata"], "annotations": annotations},
                "spec": spec,
            }
            store.replace("nodes", "", part.node, changed)
        else:
            deployment = store.get("deployments", part.namespace, part.name)
            spec = {**deployment["spec"], "replicas": part.replicas}
            store.replace("deployments", part.namespace, part.name, {**deployment, "spec": spec})


def _unused(engine: Engine, used: set[str]) -> Iterator[str]:
    """Yield awake nodes that are empty now and that no pod will come to."""
    occupied = {
        pod.node_name
        for pod in engine.store.records("pods")
        if isinstance(pod, PodRecord) and not pod.terminal and not is_daemon(pod)
    }
    for node in engine.store.records("nodes"):
        assert isinstance(node, NodeRecord)
        if node.name in used or node.name in occupied or node.unschedulable:
            continue
        if engine.world.up(node.name):
            yield node.name


def _asleep(engine: Engine) -> list[str]:
    names = [node.name for node in engine.store.records("nodes")]
    return [name for name in names if engine.nodes.settings[engine.nodes.row_of[name]].asleep]


def _scalings(engine: Engine, untouched: PeriodCounts, use: float) -> Iterator[ScaleDeployment]:
    """Yield the replicas that the most requests to come need at a CPU use; where they are so many already: none."""
    scaled = {
        (record.namespace, record.body["spec"]["scaleTargetRef"]["name"])
        for record in engine.store.records("horizontalpodautoscalers")
        if isinstance(record, ObjectRecord)
    }
    for service in engine.store.records("services"):
        settings = read_request_settings(service.annotations)
        most = untouched.most_requests.get(f"{service.namespace}/{service.name}")
        names = [str(owner["name"]) for owner in service.owners if owner["kind"] == "Deployment"]
        if settings is None or most is None or not names:
            continue
        deployment = engine.store.find("deployments", service.namespace, names[0])
        if not isinstance(deployment, ObjectRecord) or (service.namespace, names[0]) in scaled:
            continue
        cores = _cores(deployment)
        if cores:
            replicas = max(1, math.ceil(most * settings.cpu_seconds / (cores * use)))
            if replicas != deployment.body["spec"].get("replicas", 1):
                yield ScaleDeployment(service.namespace, names[0], replicas)


def _cores(deployment: ObjectRecord) -> float:
    """Return the CPU that a replica asks for."""
    containers = deployment.body["spec"]["template"]["spec"]["containers"]
    asked = [one.get("resources", {}).get("requests", {}).get("cpu", "0") for one in containers]
    return math.fsum(parse_millicores(cpu) for cpu in asked) / 1_000.0
