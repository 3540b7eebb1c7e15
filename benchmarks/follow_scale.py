"""A large cluster's pods: the official client's typed list beside ours, then changes by a watch.

A server of one file answers lists in pages and watches over TLS, from pods made beforehand, so that what is measured is
the reader. Each reader is a process of its own. `--pods 150000` is a cluster of 5,000 nodes; the
typed list needs minutes and gigabytes there, so its share is measured with as many as `--typed-pods` says and
reported per pod. Changes happen at fixed times, whether or not somebody watches, and their delay counts from then: what
comes between two watches (each is ended after 5 to 10 minutes, as a real server does) comes late. `--seconds 3600` is
an hour; memory is sampled each minute.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import ssl
import statistics
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
"""Label with the time at which a change happened, in nanoseconds."""
LISTED_VERSION = 1_000_000
"""Version of the list; the first change has the next one."""
SLOWEST_MS = 60_000
"""Longer delays count as this."""
SAMPLE_SECONDS = 60.0


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


def _version(version: int) -> bytes:
    return f'"resourceVersion": "{version}"'.encode()


def _sent(sent_ns: int) -> bytes:
    return f'"{SENT}": "{sent_ns}"'.encode()


class _Served(BaseHTTPRequestHandler):
    """Answers lists in pages, and watches of pods that change at a rate."""

    protocol_version = "HTTP/1.1"
    pods: list[bytes]
    per_second: float
    began_ns: int | None = None
    """When changes began: with the first watch."""

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if "watch" in query:
            seconds = float(query.get("timeoutSeconds", ["3600"])[0])
            self._watch(int(query["resourceVersion"][0]) - LISTED_VERSION, seconds)
            return
        first = int(query.get("continue", ["0"])[0])
        limit = int(query.get("limit", [str(len(self.pods))])[0])
        last = min(first + limit, len(self.pods))
        going_on = str(last) if last < len(self.pods) else ""
        meta = {"resourceVersion": str(LISTED_VERSION), "continue": going_on}
        head = f'{{"kind":"PodList","apiVersion":"v1","metadata":{json.dumps(meta)},"items":['
        body = head.encode() + b",".join(self.pods[first:last]) + b"]}"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _watch(self, sent: int, seconds: float) -> None:
        """Send changes from number `sent` on until the watch's time is over."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        served = type(self)
        opened = time.monotonic_ns()
        began = served.began_ns = served.began_ns or opened
        while (now := time.monotonic_ns()) - opened < seconds * 1e9:
            due = int((now - began) / 1e9 * self.per_second)
            lines = []
            for number in range(sent, due):
                happened = began + round((number + 1) / self.per_second * 1e9)
                place = number % len(self.pods)
                changed = self.pods[place]
                for before, after in (
                    (_version(place + 1), _version(LISTED_VERSION + 1 + number)),
                    (_sent(0), _sent(happened)),
                ):
                    changed = changed.replace(before, after, 1)
                lines.append(b'{"type":"MODIFIED","object":' + changed + b"}\n")
            sent = max(sent, due)
            try:
                self.wfile.write(b"".join(lines))
            except OSError:
                return
            time.sleep(0.01)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Print nothing."""


@contextmanager
def serving(pods: int, per_second: float, folder: Path) -> Iterator[Path]:
    """Serve pods on a loopback port over TLS; yields a kubeconfig."""

    class Served(_Served):
        pass

    Served.pods = [json.dumps(pod(number, number + 1)).encode() for number in range(pods)]
    Served.per_second = per_second
    server = ThreadingHTTPServer(("127.0.0.1", 0), Served)
    server.daemon_threads = True
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1"]
    files = [
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        str(key),
        "-out",
        str(certificate),
    ]
    subprocess.run([*command, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = f"https://127.0.0.1:{server.server_address[1]}"
    file = folder / f"kubeconfig-{pods}"
    content = {
        "clusters": [
            {"name": "c", "cluster": {"server": url, "certificate-authority": str(certificate)}}
        ],
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
    delays = [0] * (SLOWEST_MS + 1)
    apply = followed.index.apply

    def timed(line: bytes) -> None:
        apply(line)
        at = line.find(SENT.encode())
        if at >= 0:  # not a bookmark
            at += len(SENT) + 4
            late = (time.monotonic_ns() - int(line[at : line.index(b'"', at)])) // 1_000_000
            delays[min(late, SLOWEST_MS)] += 1

    followed.index.apply = timed  # type: ignore[method-assign]
    cpu, memory = _used()
    began = time.monotonic()
    task = asyncio.create_task(followed.run())
    await followed.settled.wait()
    first = _cost(began, cpu, memory, len(followed.index.objects()))
    await asyncio.sleep(SETTLE_SECONDS)
    delays[:] = [0] * len(delays)
    cpu, memory = _used()
    samples = [memory]
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        await asyncio.sleep(5.0)
        followed.index.objects()  # a cycle looks at all of them
        if passed >= SAMPLE_SECONDS * len(samples):
            samples.append(_used()[1])
    later = _cost(began, cpu, memory, sum(delays))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await transport.close()
    quarter = max(1, len(samples) // 4)
    return {
        **first,
        "changes": sum(delays),
        "changes_per_second": sum(delays) / later["wall_seconds"],
        "cores": later["cpu_seconds"] / later["wall_seconds"],
        "p99_ms": _quantile(delays, 0.99),
        "slowest_ms": _quantile(delays, 1.0),
        "grown_mib": later["memory_mib"],
        "drift_mib": statistics.median(samples[-quarter:]) - statistics.median(samples[:quarter]),
        "lists": followed.lists,
        "watches": followed.watches,
    }


def _quantile(delays: list[int], share: float) -> float:
    """Return the delay below or at which this share of the changes came, ms; 0 without any."""
    left = share * sum(delays)
    for delay, count in enumerate(delays):
        left -= count
        if left <= 0:
            return float(delay)
    return float(SLOWEST_MS)


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
                "slowest ms": read.get("slowest_ms"),
                "grown MiB": read.get("grown_mib"),
                "last quarter over first MiB": read.get("drift_mib"),
                "lists": read.get("lists"),
                "watches": read.get("watches"),
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
