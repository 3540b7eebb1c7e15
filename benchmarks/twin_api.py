"""How fast the embedded cluster's API answers, and what it weighs, from 100 to 10,000 nodes.

    python -m benchmarks.twin_api [--nodes 100,1000,5000,10000] [--seconds 5]

The twin runs as a process of its own (`benchmarks.twin_api_server`, thirty running pods a node) and is
asked over TLS. The client counts bytes and decodes nothing while the clock runs: eight connections
ask for one pod, each with one request under way and then with eight; one connection lists all pods at
once, in pages of 500, and as a watch's initial events, and drains every byte. Targets: 10,000 GET/s of
one object, 150,000 pods (5,000 nodes) listed in under 5 s, 0.6 kB a pod or less.
"""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
import psutil
import uvicorn
import yaml

from benchmarks.layers import REPOSITORY
from benchmarks.machine import parser, report
from benchmarks.wire import Door, rate

CONNECTIONS = 8
DEEP = 8
PAGE = 500
PODS = "/api/v1/pods"


class _Items(msgspec.Struct):
    items: list[msgspec.Raw]


class _Page(msgspec.Struct):
    class _Metadata(msgspec.Struct):
        token: str = msgspec.field(name="continue", default="")

    metadata: _Metadata
    items: list[msgspec.Raw]


def main() -> int:
    """Measure each size in a twin of its own and print one row a size."""
    flags = parser(__doc__)
    flags.add_argument("--nodes", default="100,1000,5000,10000", help="sizes, comma-separated")
    flags.add_argument("--seconds", type=float, default=5.0, help="how long GETs are counted")
    options = flags.parse_args()
    loop = uvicorn.Config("twin").get_loop_factory()
    rows = []
    for nodes in (int(word) for word in options.nodes.split(",")):
        with tempfile.TemporaryDirectory(prefix="foresail-api-") as folder:
            process, facts, ready = start_twin(nodes, options.seed, Path(folder))
            try:
                with asyncio.Runner(loop_factory=loop) as runner:
                    row = runner.run(measure(ready, options.seconds, process.pid))
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
        rows.append({"nodes": nodes, "pods": facts.pop("pods"), **row, **facts})
    notes = (
        "targets: 10,000 GET/s of one object; 150,000 pods listed with bytes drained in under "
        f"5 s; 0.6 kB a pod. GET/s: {CONNECTIONS} connections, TLS, one request under way on "
        f"each, then {DEEP}. kB a pod: one more replica in the store, and the whole twin's memory"
    )
    report("the embedded cluster's API", options, rows, notes)
    return 0


def start_twin(
    nodes: int, seed: int, folder: Path
) -> tuple[subprocess.Popen[str], dict[str, Any], dict[str, str]]:
    """Start a filled twin; return its process, what it said of the filling, and its ready line."""
    words = ["--nodes", str(nodes), "--seed", str(seed), "--kubeconfig-dir", str(folder)]
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.twin_api_server", *words],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    facts = json.loads(process.stdout.readline())
    return process, facts, json.loads(process.stdout.readline())


async def measure(ready: dict[str, str], seconds: float, pid: int) -> dict[str, Any]:
    """Ask for everything in turn; return the figures of one size."""
    door = door_of(Path(ready["admin_kubeconfig"]))
    name = "app-00000-5d4f8c7b9-00007"
    pod = f"/api/v1/namespaces/default/pods/{name}"
    shallow = await rate(door, pod, CONNECTIONS, 1, seconds)
    deep = await rate(door, pod, CONNECTIONS, DEEP, seconds)
    began = time.perf_counter()
    whole = await door.fetch(PODS)
    listing = time.perf_counter() - began
    pods = len(msgspec.json.decode(whole, type=_Items).items)
    size = len(whole)
    del whole
    paging, paged = await pages(door)
    began = time.perf_counter()
    streamed = await door.fetch(
        f"{PODS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        "&allowWatchBookmarks=true&resourceVersion=0",
        until=b"k8s.io/initial-events-end",
    )
    streaming = time.perf_counter() - began
    assert pods == paged <= streamed.count(b'{"type":"ADDED"'), "lists of different lengths"
    return {
        "GET/s": round(shallow),
        f"GET/s x{DEEP}": round(deep),
        "list s": round(listing, 2),
        "list MB": round(size / 1e6),
        "us a pod": round(listing / pods * 1e6, 1),
        "paged s": round(paging, 2),
        "watch s": round(streaming, 2),
        "twin MB": round(psutil.Process(pid).memory_info().rss / 1e6),
    }


async def pages(door: Door) -> tuple[float, int]:
    """List all pods in pages; return the seconds and how many there were."""
    began, count, token = time.perf_counter(), 0, ""
    while True:
        tail = f"&continue={quote(token)}" if token else ""
        page = msgspec.json.decode(await door.fetch(f"{PODS}?limit={PAGE}{tail}"), type=_Page)
        count += len(page.items)
        token = page.metadata.token
        if not token:
            return time.perf_counter() - began, count


def door_of(kubeconfig: Path) -> Door:
    """Return the way in that a kubeconfig describes."""
    content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
    address = urlsplit(cluster["server"])
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    trust = ssl.create_default_context(cadata=authority)
    return Door(str(address.hostname), int(address.port or 443), trust, user["token"])


if __name__ == "__main__":
    sys.exit(main())
