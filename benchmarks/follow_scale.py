"""A large cluster's pods: the official client's typed list beside ours, then changes by a watch.

A server of one file answers lists in pages and a watch, from pods made beforehand, so that what is measured is
the reader. Each reader is a process of its own. `--pods 150000` is a cluster of 5,000 nodes; the
typed list needs minutes and gigabytes there, so its share is measured with as many as `--typed-pods` says and
reported per pod.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

from benchmarks.machine import parser, progress, report
from bus.clock import SystemClock
from services.kube_follow import ClusterTime, FollowedList, FollowTimes
from services.kube_objects import Pod
from services.official_client import OfficialClientTransport

PODS = "/api/v1/pods"
SETTLE_SECONDS = 5.0
SENT = "benchmarks.foresail.dev/sent"
"""Label with the time at which a change was written, in nanoseconds."""


def pod(number: int, version: int, sent_ns: int = 0) -> dict[str, Any]:
    """Return a pod as a server writes it: 3.5 kB, a third of it managed fields."""
    name = f"web-7c5ddbdf54-{number:06d}"
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7c5ddbdf54",
             "uid": f"owner-{number // 50}", "controller": True, "blockOwnerDeletion": True}  # fmt: skip
    fields = {f"f:{word}{place}": {".": {}, "f:name": {}} for word in ("env", "volume", "port")
              for place in range(12)}  # fmt: skip
    container = {
        "name": "web", "image": "web:1", "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}},
        "env": [{"name": f"SETTING_{place}", "value": "value"} for place in range(10)],
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets", "readOnly": True}],
    }  # fmt: skip
    moment = "2026-01-01T00:00:00Z"
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "metadata": {
            "name": name, "namespace": f"team-{number % 40}", "uid": f"uid-{number}",
            "resourceVersion": str(version), "creationTimestamp": moment,
            "labels": {"app": "web", "pod-template-hash": "7c5ddbdf54", SENT: str(sent_ns)},
            "ownerReferences": [owner],
            "managedFields": [{"manager": "kubelet", "operation": "Update", "apiVersion": "v1",
                               "time": moment, "fieldsType": "FieldsV1", "fieldsV1": fields}],
        },
        "spec": {
            "nodeName": f"node-{number % 5_000}", "containers": [container],
            "restartPolicy": "Always", "serviceAccountName": "default", "priority": 0,
            "volumes": [{"name": "token", "projected": {"sources": []}}],
        },
        "status": {
            "phase": "Running", "podIP": "10.0.0.1", "startTime": moment,
            "conditions": [{"type": kind, "status": "True", "lastTransitionTime": moment}
                           for kind in kinds],
            "containerStatuses": [{"name": "web", "ready": True, "restartCount": 0, "started": True,
                                   "image": "web:1", "imageID": "sha256:0",
                                   "state": {"running": {"startedAt": moment}}}],
        },
    }  # fmt: skip


class _Served(BaseHTTPRequestHandler):
    """Answers lists in pages, and a watch that changes pods at a rate."""

    protocol_version = "HTTP/1.1"
    pods: list[bytes]
    per_second: float

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if "watch" in query:
            self._watch()
            return
        first = int(query.get("continue", ["0"])[0])
        limit = int(query.get("limit", [str(len(self.pods))])[0])
        last = min(first + limit, len(self.pods))
        going_on = str(last) if last < len(self.pods) else ""
        meta = {"resourceVersion": "1000000", "continue": going_on}
        head = f'{{"kind":"PodList","apiVersion":"v1","metadata":{json.dumps(meta)},"items":['
        body = head.encode() + b",".join(self.pods[first:last]) + b"]}"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _watch(self) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        began, sent = time.monotonic(), 0
        while True:
            due = int((time.monotonic() - began) * self.per_second)
            lines = []
            for number in range(sent, due):
                changed = pod(number % len(self.pods), 1_000_001 + number, time.monotonic_ns())
                lines.append(json.dumps({"type": "MODIFIED", "object": changed}).encode() + b"\n")
            sent = due
            try:
                self.wfile.write(b"".join(lines))
            except OSError:
                return
            time.sleep(0.01)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Print nothing."""


@contextmanager
def serving(pods: int, per_second: float, folder: Path) -> Iterator[Path]:
    """Serve pods on a loopback port; yields a kubeconfig."""

    class Served(_Served):
        pass

    Served.pods = [json.dumps(pod(number, number + 1)).encode() for number in range(pods)]
    Served.per_second = per_second
    server = ThreadingHTTPServer(("127.0.0.1", 0), Served)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    file = folder / f"kubeconfig-{pods}"
    content = {
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    try:
        yield file
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _used() -> tuple[float, float]:
    """Return this process' CPU seconds and what of its memory is resident, MiB."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return usage.ru_utime + usage.ru_stime, pages * resource.getpagesize() / 2**20


def read_typed(kubeconfig: Path) -> dict[str, float]:
    """List all pods by the official client's own models; what it cost."""
    from kubernetes import client, config  # noqa: PLC0415 - belongs to this reader's cost alone

    config.load_kube_config(str(kubeconfig))
    api = client.CoreV1Api()
    cpu, memory = _used()
    began = time.monotonic()
    pods: list[Any] = []
    going_on = ""
    while True:
        page = api.list_pod_for_all_namespaces(limit=500, _continue=going_on or None)
        pods.extend(page.items)
        going_on = page.metadata._continue  # noqa: SLF001 - the client's name for a reserved word
        if not going_on:
            break
    return _cost(began, cpu, memory, len(pods))


def _cost(began: float, cpu: float, memory: float, pods: int) -> dict[str, float]:
    now_cpu, now_memory = _used()
    return {
        "pods": pods,
        "wall_seconds": time.monotonic() - began,
        "cpu_seconds": now_cpu - cpu,
        "memory_mib": now_memory - memory,
    }


async def follow(kubeconfig: Path, seconds: float) -> dict[str, float]:
    """List all pods and follow them for some time; what it cost, and how late changes came."""
    transport = OfficialClientTransport(kubeconfig, timeout_seconds=60.0)
    clock = SystemClock()
    followed = FollowedList(
        PODS, Pod, transport, clock, ClusterTime(clock), Random(1), FollowTimes()
    )
    delays: list[float] = []
    apply = followed.index.apply

    def timed(line: bytes) -> None:
        apply(line)
        at = line.find(SENT.encode()) + len(SENT) + 4
        delays.append((time.monotonic_ns() - int(line[at : line.index(b'"', at)])) / 1e6)

    followed.index.apply = timed  # type: ignore[method-assign]
    cpu, memory = _used()
    began = time.monotonic()
    task = asyncio.create_task(followed.run())
    await followed.settled.wait()
    first = _cost(began, cpu, memory, len(followed.index.objects()))
    await asyncio.sleep(SETTLE_SECONDS)
    delays.clear()
    cpu, memory = _used()
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        await asyncio.sleep(5.0)
        followed.index.objects()  # a cycle looks at all of them
    later = _cost(began, cpu, memory, len(delays))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await transport.close()
    delays.sort()
    return {
        **first,
        "changes": len(delays),
        "changes_per_second": len(delays) / later["wall_seconds"],
        "cores": later["cpu_seconds"] / later["wall_seconds"],
        "p99_ms": delays[int(0.99 * (len(delays) - 1))] if delays else 0.0,
        "grown_mib": later["memory_mib"],
    }


def _in_a_process(part: str, kubeconfig: Path, seconds: float) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.follow_scale", "--part", part]
    done = subprocess.run(
        [*command, "--kubeconfig", str(kubeconfig), "--seconds", str(seconds)],
        check=True,
        capture_output=True,
        text=True,
    )
    read: dict[str, float] = json.loads(done.stdout)
    return read


def rows(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure both readers and return one row each."""
    with TemporaryDirectory() as name, progress(quiet=options.json) as shown:
        bar = shown.add_task("pods", total=2)
        with serving(options.typed_pods, options.rate, Path(name)) as kubeconfig:
            typed = _in_a_process("typed", kubeconfig, 0.0)
        shown.advance(bar)
        with serving(options.pods, options.rate, Path(name)) as kubeconfig:
            ours = _in_a_process("ours", kubeconfig, options.seconds)
        shown.advance(bar)
    found = []
    for reader, read in (("official client's typed list", typed), ("followed list", ours)):
        found.append(
            {
                "reader": reader,
                "pods": round(read["pods"]),
                "first view s": read["wall_seconds"],
                "CPU ms/pod": 1000 * read["cpu_seconds"] / read["pods"],
                "KiB/pod": 1024 * read["memory_mib"] / read["pods"],
                "changes/s": read.get("changes_per_second"),
                "cores": read.get("cores"),
                "p99 ms": read.get("p99_ms"),
                "grown MiB": read.get("grown_mib"),
            }
        )
    cpu, memory = (found[0][name] / found[1][name] for name in ("CPU ms/pod", "KiB/pod"))
    found[1]["reader"] += f" ({cpu:.0f} times less CPU, {memory:.0f} times less memory a pod)"
    return found


def main() -> None:
    """Run one reader, or both in processes of their own."""
    made = parser(__doc__)
    made.add_argument("--pods", type=int, default=150_000, help="pods that are followed")
    made.add_argument("--typed-pods", type=int, default=10_000, help="pods of the typed list")
    made.add_argument("--rate", type=float, default=500.0, help="pod changes a second")
    made.add_argument("--seconds", type=float, default=60.0, help="how long changes are followed")
    made.add_argument("--part", choices=("typed", "ours"), help=argparse.SUPPRESS)
    made.add_argument("--kubeconfig", type=Path, help=argparse.SUPPRESS)
    options = made.parse_args()
    if options.part == "typed":
        print(json.dumps(read_typed(options.kubeconfig)))
    elif options.part == "ours":
        print(json.dumps(asyncio.run(follow(options.kubeconfig, options.seconds))))
    else:
        report("a large cluster's pods", options, rows(options))


if __name__ == "__main__":
    main()
