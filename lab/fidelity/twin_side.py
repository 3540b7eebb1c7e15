"""Plays a scenario in the twin, in virtual time, with the latencies that the real side's nodes have."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from lab.fidelity.cluster import JSON, Object, items
from lab.fidelity.player import Player
from lab.fidelity.recording import Observer, Recording
from lab.fidelity.scenario import STEP_SECONDS, Scenario, rented_machines
from twin.port.api import Request, Response, Router
from twin.port.engine import Engine
from twin.port.settings import (
    ClusterAutoscalerConfig,
    KarpenterConfig,
    NodeGroup,
    ProvisioningConfig,
    TwinConfig,
)

FOR_GOOD = 1e6
BOOT_SECONDS = 0.5
"""The kwok providers make their Nodes at once, and the node keeper finds them at its next look."""


def play_in_twin(scenario: Scenario, seed: int) -> Recording:
    """Play it from its begin to its end and return what happened."""
    config = TwinConfig(
        start_sigma=0.0,  # the node keeper of the real side starts and stops pods in a fixed time
        pull_bytes_per_second=1e15,  # and pulls no image
        provisioning=_provisioning(scenario),
    )
    cluster = TwinCluster(Engine(config, seed))
    observer = Observer(scenario.name, scenario.seconds)
    for pool in scenario.pools:
        cluster.add_pool(pool)
    player = Player(scenario, cluster, cluster)
    begin = cluster.engine.now
    for tick in range(int(scenario.seconds / STEP_SECONDS) + 1):
        now = tick * STEP_SECONDS
        cluster.engine.advance(begin + now)
        pods, nodes = items(cluster, "pods"), items(cluster, "nodes")
        events = [
            one for space in ("default", "kube-system") for one in items(cluster, "events", space)
        ]
        observer.look(now, pods, nodes, events)
        player.play(now)
    return observer.recording({"twin": "this checkout"}, player.answers)


class TwinCluster:
    """The twin's API, asked in process."""

    def __init__(self, engine: Engine) -> None:
        """Ask this engine's API."""
        self.engine = engine
        self._router = Router(engine)

    def request(
        self, method: str, path: str, body: Object | None = None, content_type: str = JSON
    ) -> tuple[int, Object]:
        """Send one request; see `Cluster.request`."""
        text = b"" if body is None else json.dumps(body).encode()
        answer = self._router.handle(
            Request(method, path, {}, {"content-type": content_type}, text)
        )
        if isinstance(answer, Response):
            return answer.status, json.loads(answer.body)
        raw = b"".join(answer.chunks)  # type: ignore[union-attr]
        return 200, json.loads(raw)

    def fail(self, node: str) -> None:
        """Stop a node's signs of life for good."""
        self.engine.fail_node(node, FOR_GOOD)

    def add_pool(self, pool: Any) -> None:
        """Make a NodePool, over the NodeClass that the twin has from the start."""
        status, answer = self.request("POST", "/apis/karpenter.sh/v1/nodepools", pool_object(pool))
        if status >= 300:
            raise RuntimeError(str(answer.get("message", answer)))


def pool_object(pool: Any) -> Object:
    """Return the NodePool of a scenario's row, over the KWOKNodeClass `default`."""
    reference = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    template: Object = {"requirements": [dict(one) for one in pool["requirements"]]}
    template |= {"nodeClassRef": reference, **pool.get("template", {})}
    spec = {"template": {"spec": template}, **pool.get("spec", {})}
    kind = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}
    return {**kind, "metadata": {"name": pool["name"]}, "spec": spec}


def _provisioning(scenario: Scenario) -> ProvisioningConfig:
    if scenario.kind == "control-plane":
        return ProvisioningConfig()
    settings = dict(scenario.settings)
    autoscaler = scenario.kind == "cluster-autoscaler"
    return ProvisioningConfig(
        provisioner=scenario.kind,
        machines=tuple(
            replace(one, boot_median_seconds=BOOT_SECONDS, boot_sigma=0.0)
            for one in rented_machines(scenario)
        ),
        groups=tuple(
            NodeGroup(one["name"], one["machine"], one.get("min", 0), one.get("max", 10))
            for one in scenario.groups
        ),
        cluster_autoscaler=ClusterAutoscalerConfig(**(settings if autoscaler else {})),
        karpenter=KarpenterConfig(default_pool=False, **({} if autoscaler else settings)),
    )
