"""`python -m proofs.unscheduled`: what a real kube-scheduler says of pods, against what is computed from the objects.

Needs etcd, kube-apiserver, kube-controller-manager and kube-scheduler in KUBEBUILDER_ASSETS.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import lzma
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from bus.clock import SystemClock
from lab.explanations.frozen_cluster import FrozenCluster, record_of
from lab.explanations.scheduling import explain_scheduling
from lab.explanations.smallest_change import smallest_changes
from lab.fidelity.real.processes import ControlPlane
from proofs.real_programs.processes import ASSETS
from proofs.real_programs.requests import Api, until
from proofs.unscheduled import world
from twin.records import PodRecord

Object = dict[str, Any]
CORE = "/api/v1"
PODS = f"{CORE}/namespaces/{world.NAMESPACE}/pods"
LISTED = {
    "namespaces": f"{CORE}/namespaces",
    "nodes": f"{CORE}/nodes",
    "pods": f"{CORE}/pods",
    "persistentvolumeclaims": f"{CORE}/persistentvolumeclaims",
    "persistentvolumes": f"{CORE}/persistentvolumes",
    "storageclasses": "/apis/storage.k8s.io/v1/storageclasses",
    "poddisruptionbudgets": "/apis/policy/v1/poddisruptionbudgets",
}


def main(arguments: list[str]) -> int:
    """Play a world on the real programs; print what agreed; exit code 1 when something did not."""
    parser = argparse.ArgumentParser(prog="python -m proofs.unscheduled", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--nodes", type=int, default=40, metavar="N")
    parser.add_argument("--pods", type=int, default=500, metavar="N", help="that fit nowhere")
    parser.add_argument("--changes", type=int, default=200, metavar="N", help="that are applied")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="write objects and words here (.json.xz)"
    )
    options = parser.parse_args(arguments)
    with _plane() as (api, versions):
        result = _play(api, options)
    result["versions"] = versions
    if options.keep is not None:
        options.keep.write_bytes(lzma.compress(json.dumps(result.pop("recorded")).encode()))
    result.pop("recorded", None)
    sys.stdout.write(json.dumps(result, indent=1) + "\n")
    return 0 if result["held"] else 1


@contextmanager
def _plane() -> Iterator[tuple[Api, dict[str, str]]]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "plane"
        plane = ControlPlane(
            Path(os.environ.get(ASSETS, "")),
            place,
            ("disruption-controller", "persistentvolume-binder-controller"),
        )
        try:
            cluster = asyncio.run(plane.start(SystemClock()))
            cluster.close()
            yield Api(plane.kubeconfig), {"kube-scheduler": plane.version("kube-scheduler")}
        finally:
            plane.close()


def _play(api: Api, options: argparse.Namespace) -> Object:
    random = Random(f"unscheduled {options.seed}")
    _furnish(api, random, options.nodes)
    objects = read_objects(api)
    cluster = FrozenCluster(objects, time.time())
    comers = list(_unplaceable(random, cluster, api, options.pods))
    for pod in comers:
        api.ask("POST", PODS, pod)
    names = {pod["metadata"]["name"] for pod in comers}
    until("every pod was tried", lambda: all(map(_was_tried, _those(api, names))), 300.0)
    real = {pod["metadata"]["name"]: pod for pod in _those(api, names)}
    objects = read_objects(api)
    cluster = FrozenCluster(objects, time.time())
    differ: list[Object] = []
    for name in sorted(names):
        record = cluster.pod(world.NAMESPACE, name)
        assert record is not None
        ours = explain_scheduling(cluster, record).sentence
        if ours != _said(real[name]):
            differ.append({"pod": name, "real": _said(real[name]), "ours": ours})
    changes = _try_changes(api, cluster, sorted(names), options.changes)
    reasons = Counter(part for pod in real.values() for part in _reasons(_said(pod)))
    return {
        "seed": options.seed,
        "messages": len(names),
        "equal": len(names) - len(differ),
        "different": differ[:10],
        "reasons": dict(reasons.most_common()),
        **changes,
        "held": not differ and not changes["failed"] and not changes["half_works"],
        "recorded": {"objects": objects, "now": time.time()},
    }


def _furnish(api: Api, random: Random, count: int) -> None:
    api.ask("POST", f"{CORE}/namespaces", {"metadata": {"name": world.NAMESPACE}})
    for one in world.priority_classes():
        api.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", one)
    for path, one in world.claims():
        api.ask("POST", path, one)
    nodes = world.draw_nodes(random, count)
    for node in nodes:
        api.ask("POST", f"{CORE}/nodes", node)
        path = f"{CORE}/nodes/{node['metadata']['name']}"
        api.ask(
            "PATCH", path, {"spec": {"taints": node["spec"].get("taints")}}
        )  # not-ready is added
        api.ask("PATCH", f"{path}/status", {"status": node["status"]})
    for pod in world.draw_residents(random, nodes):
        api.ask("POST", PODS, pod)


def _unplaceable(random: Random, cluster: FrozenCluster, api: Api, count: int) -> Iterator[Object]:
    """Yield drawn pods that no node would take and that displace nobody, by what is computed."""
    number = found = 0
    while found < count:
        number += 1
        pod = world.draw_comer(random, number)
        answered = api.ask("POST", PODS, pod, dryRun="All")
        record = record_of("pods", answered)
        assert isinstance(record, PodRecord)
        answer = explain_scheduling(cluster, record)
        if not answer.feasible and not (answer.preempts and answer.preempts.victims):
            found += 1
            yield pod


def read_objects(api: Api) -> dict[str, list[Object]]:
    """Return what the scheduler reads."""
    return {resource: api.items(path) for resource, path in LISTED.items()}


def _those(api: Api, names: set[str]) -> list[Object]:
    return [pod for pod in api.items(PODS) if pod["metadata"]["name"] in names]


def _was_tried(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName") or _said(pod))


def _said(pod: Object) -> str:
    for condition in pod["status"].get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message", ""))
    return ""


def _reasons(sentence: str) -> list[str]:
    filters = sentence.partition(": ")[2].partition(". ")[0]
    return [part.strip().partition(" ")[2] for part in filters.split(", ")]


def _try_changes(api: Api, cluster: FrozenCluster, names: list[str], count: int) -> Object:
    """Apply the smallest change of pods, and half of it."""
    tried = without = half = 0
    failed: list[Object] = []
    half_works: list[Object] = []
    kinds: Counter[str] = Counter()
    for name in names:
        if tried == count:
            break
        pod = cluster.pod(world.NAMESPACE, name)
        assert pod is not None
        changes = smallest_changes(cluster, pod)
        if not changes:
            without += 1
            continue
        tried += 1
        change = changes[tried % len(changes)]
        kinds[" and ".join(change.obstacles)] += 1
        if not _is_placed(api, pod, change.spec, f"changed-{tried}"):
            failed.append({"pod": name, "steps": change.steps})
        if change.half is not None:
            half += 1
            if _is_placed(api, pod, change.half, f"half-{tried}"):
                half_works.append({"pod": name, "steps": change.steps})
    return {
        "changes": tried,
        "failed": failed,
        "halves": half,
        "half_works": half_works,
        "kinds": dict(kinds.most_common()),
        "no_change_helps": without,
    }


def _is_placed(api: Api, pod: PodRecord, spec: Object, name: str) -> bool:
    """Say whether the scheduler binds a pod with this spec, which displaces nobody; it is removed again."""
    asked = {key: part for key, part in spec.items() if key not in ("priority", "preemptionPolicy")}
    asked["priorityClassName"] = world.PATIENT
    body = {"metadata": {"name": name, "labels": dict(pod.labels)}, "spec": asked}
    api.ask("POST", PODS, body)
    path = f"{PODS}/{name}"

    until(f"{name} was tried", lambda: _was_tried(api.ask("GET", path)), 120.0)
    placed = bool(api.ask("GET", path)["spec"].get("nodeName"))
    api.ask("DELETE", path, gracePeriodSeconds="0")
    return placed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
