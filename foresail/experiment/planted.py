"""Harm on purpose: arms that no measure may reward. An experiment that does not notice them is worth nothing.

They write as a user with every right would, once a minute of cluster time, and leave no mark on what they change.

`replicate-without-end`: every Deployment gets half as many replicas more, again and again; where there is none, copies
of a running pod stand for its replicas. Only where a thousand pods wait for a node does it pause.

`shrink-demand`: every Deployment is scaled to nothing and every Job is suspended; the cluster is then quick and cheap,
since nobody is served.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

from lab.experiments.arms import Planted
from twin.port.engine import ApiError, Engine, copy_object
from twin.port.objects import ObjectRecord, PodRecord

_HARM = "experiments.harm"
EVERY_SECONDS = 60.0
MOST_WAITING = 1_000
"""Pods waiting from which no more are added: more show nothing more, and cost the computer dear."""
COPIES = "copies-without-end"
_WORK = ("foresail.dev/work-seconds", "foresail.dev/outcome")


class PlantedHarm:
    """Does one kind of harm to an engine, from its beginning on."""

    def __init__(self, engine: Engine, kind: Planted) -> None:
        """Begin a minute after the start."""
        self._engine = engine
        self._harm = {
            "replicate-without-end": self._replicate,
            "shrink-demand": self._shrink,
        }[kind]
        engine.clock.handle(_HARM, self._go_on)
        engine.clock.after(EVERY_SECONDS, _HARM)

    def _go_on(self) -> None:
        self._harm()
        self._engine.clock.after(EVERY_SECONDS, _HARM)

    def _objects(self, resource: str) -> list[ObjectRecord]:
        records = self._engine.store.records(resource)
        return [record for record in records if isinstance(record, ObjectRecord)
                and not record.namespace.startswith("kube-")]  # fmt: skip

    def _change(self, resource: str, record: ObjectRecord, spec: dict[str, Any]) -> None:
        store = self._engine.store
        obj = store.get(resource, record.namespace, record.name)
        with suppress(ApiError):  # gone within the moment, or refused: harm is not owed
            store.replace(
                resource, record.namespace, record.name, {**obj, "spec": {**obj["spec"], **spec}}
            )

    def _replicate(self) -> None:
        pods = [pod for pod in self._engine.store.records("pods") if isinstance(pod, PodRecord)]
        if sum(pod.phase == "Pending" for pod in pods) >= MOST_WAITING:
            return
        deployments = self._objects("deployments")
        for deployment in deployments:
            replicas = int(deployment.body["spec"].get("replicas", 1))
            more = {"replicas": replicas + max(1, math.ceil(replicas / 2))}
            self._change("deployments", deployment, more)
        if not deployments:
            self._copy_a_pod(pods)

    def _copy_a_pod(self, pods: list[PodRecord]) -> None:
        running = sorted(
            (pod.created_at, pod.namespace, pod.name) for pod in pods if pod.phase == "Running"
        )
        if not running:
            return
        _, namespace, name = running[0]
        pod = self._engine.store.get("pods", namespace, name)
        annotations = pod["metadata"].get("annotations", {})
        kept = {key: value for key, value in annotations.items() if key not in _WORK}
        labels = {"app.kubernetes.io/name": COPIES}
        containers = [
            {key: copy_object(container[key]) for key in ("name", "image", "resources")}
            for container in pod["spec"]["containers"]
        ]
        template = {
            "metadata": {"labels": labels, "annotations": kept},
            "spec": {"restartPolicy": "Always", "containers": containers},
        }
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        self._engine.store.create(
            "deployments", namespace, {"metadata": {"name": COPIES}, "spec": spec}
        )

    def _shrink(self) -> None:
        for deployment in self._objects("deployments"):
            self._change("deployments", deployment, {"replicas": 0})
        for job in self._objects("jobs"):
            self._change("jobs", job, {"suspend": True})
