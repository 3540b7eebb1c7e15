"""`python -m proofs.unscaled`: what a real HPA controller decides, against what is computed from what it read.

Needs etcd, kube-apiserver and kube-controller-manager in KUBEBUILDER_ASSETS.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

from bus.clock import SystemClock
from lab.explanations.scaling import Target
from lab.explanations.why_not_scaled import why_not_scaled
from lab.fidelity.real.metrics_server import MetricsServer
from lab.fidelity.real.processes import ControlPlane
from proofs.real_programs.grounds import front_proxy_flags
from proofs.real_programs.processes import ASSETS
from proofs.real_programs.requests import Api, until
from proofs.unscaled import world

Object = dict[str, Any]
HPAS = "/apis/autoscaling/v2/namespaces/crowd/horizontalpodautoscalers"
DEPLOYMENTS = "/apis/apps/v1/namespaces/crowd/deployments"
PODS = "/api/v1/namespaces/crowd/pods"
CHANGEOVER_SECONDS, ROUND_SECONDS = 16.0, 50.0
"""A decision so soon after the metrics changed may rest on the ones before; then they stay for so long."""


SILENT = "nothing"
"""What is concluded where no metric says anything."""


class Shown(MetricsServer):
    """metrics.k8s.io with rows of our own."""

    def show(self, rows: list[Object]) -> None:
        """Answer with these from now on."""
        self._rows = rows


class Decisions:
    """Follows the autoscalers; each change of a status is a decision."""

    def __init__(self, api: Api) -> None:
        self._api, self.seen, self.ended = api, list[tuple[float, Object]](), False
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        while not self.ended:
            with suppress(OSError, ValueError):
                for line in self._api.stream(f"{HPAS}?watch=true"):
                    change = json.loads(line)
                    if change["type"] == "MODIFIED":
                        self.seen.append((time.time(), change["object"]))


def main(arguments: list[str]) -> int:
    """Let a real controller decide; print what agreed; exit code 1 when something did not."""
    parser = argparse.ArgumentParser(prog="python -m proofs.unscaled", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--autoscalers", type=int, default=200, metavar="N")
    parser.add_argument(
        "--decisions", type=int, default=1_000, metavar="N", help="that are compared"
    )
    options = parser.parse_args(arguments)
    with _plane() as (api, metrics, versions):
        result = _play(api, metrics, options)
    sys.stdout.write(json.dumps({**result, "versions": versions}, indent=1) + "\n")
    return 0 if result["decisions"] == result["equal"] >= options.decisions else 1


@contextmanager
def _plane() -> Iterator[tuple[Api, Shown, dict[str, str]]]:
    with tempfile.TemporaryDirectory() as name:
        folder, assets = Path(name), Path(os.environ.get(ASSETS, ""))
        controllers = ("horizontal-pod-autoscaler-controller",)
        flags = front_proxy_flags(folder)
        plane = ControlPlane(
            assets, folder / "plane", controllers, scheduler=False, server_flags=flags
        )
        metrics = None
        try:
            cluster = asyncio.run(plane.start(SystemClock()))
            metrics = Shown(plane.folder / "certificates")
            metrics.register(cluster)
            cluster.close()
            version = plane.version("kube-controller-manager")
            yield Api(plane.kubeconfig), metrics, {"kube-controller-manager": version}
        finally:
            plane.close()
            if metrics is not None:
                metrics.close()


def _play(api: Api, metrics: Shown, options: argparse.Namespace) -> Object:
    random, now = Random(f"unscaled {options.seed}"), time.time()
    api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": world.NAMESPACE}})
    all_drawn = [world.draw(random, number, now) for number in range(options.autoscalers)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: _furnish(api, one), all_drawn))
    until("metrics are served", lambda: api.serves("/apis/metrics.k8s.io/v1beta1/pods"), 180.0)
    by_name = {one.name: one for one in all_drawn}
    pods = {one.name: [] for one in all_drawn}  # type: dict[str, list[Object]]
    for pod in api.items(PODS):
        pods[pod["metadata"]["labels"]["app"]].append(pod)
    compared: list[Object] = []
    kinds: Counter[str] = Counter()
    decisions = Decisions(api)
    while len(compared) < options.decisions:
        rows = {one.name: world.draw_metrics(random, one, time.time()) for one in all_drawn}
        for one in all_drawn:
            replicas = max(1, len(one.pods) + random.randrange(-1, 3))
            api.ask("PATCH", f"{DEPLOYMENTS}/{one.name}", {"spec": {"replicas": replicas}})
        metrics.show([row for each in rows.values() for row in each])
        changed, before = time.time(), len(decisions.seen)
        time.sleep(ROUND_SECONDS)
        for at, hpa in decisions.seen[before:]:
            if at > changed + CHANGEOVER_SECONDS:
                drawn = by_name[hpa["metadata"]["name"]]
                found = _compare(hpa, pods[drawn.name], rows[drawn.name], at)
                if found is not None:
                    compared.append(found)
                    kinds[found["kind"]] += 1
    decisions.ended = True
    different = [one for one in compared if one["ours"] != one["real"]]
    return {
        "seed": options.seed,
        "decisions": len(compared),
        "equal": len(compared) - len(different),
        "kinds": dict(kinds.most_common()),
        "different": different[:10],
    }


def _furnish(api: Api, drawn: world.Drawn) -> None:
    api.ask("POST", DEPLOYMENTS, drawn.deployment)
    for pod in drawn.pods:
        api.ask("POST", PODS, pod)
        path = f"{PODS}/{pod['metadata']['name']}/status"
        api.ask("PATCH", path, {"status": pod["status"]})
    api.ask("POST", HPAS, drawn.autoscaler)


def _compare(hpa: Object, pods: list[Object], rows: list[Object], at: float) -> Object | None:
    """Return what both say; None for an autoscaler whose controller remembers earlier recommendations."""
    if "behavior" not in hpa["spec"]:  # five minutes of scale-down stabilisation
        return None
    status = hpa["status"]
    current = int(status.get("currentReplicas", 0))
    metrics = {row["metadata"]["name"]: row for row in rows}
    found = why_not_scaled(
        hpa, Target("Deployment", hpa["metadata"]["name"], current), pods, metrics, at
    )
    outside = not found.minimum <= current <= found.maximum
    conditions = {one["type"]: one["status"] for one in status.get("conditions") or ()}
    ours: int | str = SILENT if found.allowed is None else found.allowed
    silent = conditions.get("ScalingActive") == "False" and not outside
    real: int | str = SILENT if silent else int(status.get("desiredReplicas", 0))
    if found.asked is None and found.allowed is None and not silent:
        ours = current  # one metric is silent, and the others would take away
    if outside or ours == SILENT:
        word = "outside" if outside else SILENT
    else:
        word = "same" if ours == current else "up" if int(ours) > current else "down"
    return {
        "name": hpa["metadata"]["name"],
        "kind": word,
        "current": current,
        "ours": ours,
        "real": real,
        "metrics": [
            f"{one.name}: {one.reads or one.problem} -> {one.replicas}" for one in found.metrics
        ],
        "conditions": list(found.own_conditions),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
