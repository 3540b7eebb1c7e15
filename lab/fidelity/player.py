"""Carries out a scenario's steps when their time has come, the same way on either side."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from lab.fidelity import objects
from lab.fidelity.cluster import MERGE, STRATEGIC, Cluster, Object, ask, items, path_of
from lab.fidelity.scenario import Scenario

RETRY_SECONDS = 5.0
"""kubectl drain asks again so long after a 429 (kubectl pkg/drain/drain.go)."""
Step = Mapping[str, Any]


class Machines(Protocol):
    """What no request can do: let a machine die."""

    def fail(self, node: str) -> None:
        """Stop a node's signs of life for good."""
        ...


class Player:
    """Plays one scenario on one cluster."""

    def __init__(self, scenario: Scenario, cluster: Cluster, machines: Machines) -> None:
        """Make the scenario's nodes at once; steps follow with `play`."""
        self._cluster = cluster
        self._machines = machines
        self._steps = deque(scenario.steps)
        self._draining: dict[str, float] = {}
        self.answers: list[tuple[float, str, int]] = []
        """(seconds, what was asked, HTTP status) of the steps that record their answer."""
        for row in scenario.nodes:
            _post(cluster, "nodes", objects.node(row))

    def play(self, now: float) -> None:
        """Do what is due `now`, seconds after the scenario's begin."""
        while self._steps and self._steps[0]["t"] <= now:
            step = self._steps.popleft()
            verbs = [verb for verb in (*_REQUESTS, "drain", "fail", "try") if verb in step]
            if len(verbs) != 1:
                raise ValueError(f"unclear step {step}")
            self._do(verbs[0], step, now)
        for node, due in list(self._draining.items()):
            if due <= now:
                self._drain(node, now)

    def _do(self, verb: str, step: Step, now: float) -> None:
        if verb in _REQUESTS:
            _REQUESTS[verb](self._cluster, step)
        elif verb == "drain":
            body = {"spec": {"unschedulable": True}}
            ask(self._cluster, "PATCH", path_of("nodes", step["drain"]), body, MERGE)
            self._drain(step["drain"], now)
        elif verb == "fail":
            self._machines.fail(step["fail"])
        else:  # what may be refused: the status of the answer is what counts
            resource, name, *subresource = step["try"].split("/")
            path = path_of(resource, name, *subresource)
            status, _ = self._cluster.request("PATCH", path, dict(step["with"]), STRATEGIC)
            self.answers.append((now, step["about"], status))

    def _drain(self, node: str, now: float) -> None:
        pods = [one for one in items(self._cluster, "pods") if one["spec"].get("nodeName") == node]
        pods.sort(key=lambda one: str(one["metadata"]["name"]))
        waiting = False
        for one in pods:
            if "deletionTimestamp" in one["metadata"]:
                continue
            name = one["metadata"]["name"]
            path = path_of("pods", name, "eviction")
            status, _ = self._cluster.request("POST", path, objects.eviction(name))
            self.answers.append((now, "eviction", status))
            waiting = waiting or status == 429
        self._draining[node] = now + RETRY_SECONDS
        if not waiting:
            del self._draining[node]


def _post(cluster: Cluster, resource: str, body: Object) -> None:
    ask(cluster, "POST", path_of(resource), body)


def _pods(cluster: Cluster, step: Step) -> None:
    count = step.get("count", 1)
    for number in range(count):
        name = step["pod"] if count == 1 else f"{step['pod']}-{number}"
        _post(cluster, "pods", objects.pod(step, name))


def _deployment(cluster: Cluster, step: Step) -> None:
    _post(cluster, "deployments", objects.deployment(step))


def _budget(cluster: Cluster, step: Step) -> None:
    _post(cluster, "poddisruptionbudgets", objects.budget(step))


def _priority_class(cluster: Cluster, step: Step) -> None:
    _post(cluster, "priorityclasses", objects.priority_class(step))


def _autoscaler(cluster: Cluster, step: Step) -> None:
    _post(cluster, "horizontalpodautoscalers", objects.autoscaler(step))


def _scale(cluster: Cluster, step: Step) -> None:
    body = {"spec": {"replicas": step["replicas"]}}
    ask(cluster, "PATCH", path_of("deployments", step["scale"]), body, MERGE)


def _roll_out(cluster: Cluster, step: Step) -> None:
    body = objects.new_version(step["version"])
    ask(cluster, "PATCH", path_of("deployments", step["roll_out"]), body, STRATEGIC)


def _target(cluster: Cluster, step: Step) -> None:
    aim = {"type": "Utilization", "averageUtilization": step["percent"]}
    body = {"spec": {"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": aim}}]}}
    path = path_of("horizontalpodautoscalers", step["target"])
    ask(cluster, "PATCH", path, body, MERGE)


def _delete(cluster: Cluster, step: Step) -> None:
    resource, _, name = step["delete"].partition("/")
    ask(cluster, "DELETE", path_of(resource, name))


_REQUESTS: dict[str, Callable[[Cluster, Step], None]] = {
    "pod": _pods,
    "deployment": _deployment,
    "budget": _budget,
    "priority_class": _priority_class,
    "autoscaler": _autoscaler,
    "scale": _scale,
    "target": _target,
    "roll_out": _roll_out,
    "delete": _delete,
}
