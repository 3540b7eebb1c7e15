"""What one hostile client can do to the others of a twin, and what each of its inputs is answered.

    python -m benchmarks.twin_hostile [--nodes 200] [--only WORD]

A twin with thirty pods a node runs as a process of its own. A well-behaved client, a process too, reads
one pod over and over on one connection; while it does so each hostile input is sent three times. A stop
is the longest wait of that client during one try; the shortest of the three tries counts, since what a
request does to others it does every time, and other work on the machine does not. Exit code 1: a stop of
more than 100 ms by one request, or an answer of 5xx (503 with Retry-After is one of too many connections)
or none.
"""

from __future__ import annotations

import select
import subprocess
import sys
import tempfile
import time
from base64 import b64decode
from pathlib import Path
from ssl import create_default_context
from typing import Any
from urllib.parse import urlsplit

import psutil
import yaml

from benchmarks.hostile_inputs import CROWD, Hostile, Target
from benchmarks.hostile_requests import all_inputs
from benchmarks.layers import REPOSITORY
from benchmarks.machine import parser, progress, report
from benchmarks.twin_api import start_twin

CLIENT = "--well-behaved-client"
POD = "/api/v1/namespaces/default/pods/app-00000-5d4f8c7b9-00007"
TRIES = 3
MOST_MS = 100.0
SETTLE_SECONDS = 0.2
STOPPED_SECONDS = 15.0


def main() -> int:
    """Send everything, print one row an input."""
    flags = parser(__doc__)
    flags.add_argument("--nodes", type=int, default=200, help="size of the twin")
    flags.add_argument("--only", default="", help="only inputs with this word in door or name")
    options = flags.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="foresail-hostile-") as folder:
        twin, _, ready = start_twin(options.nodes, options.seed, Path(folder))
        kubeconfig = ready["admin_kubeconfig"]
        client = Client(kubeconfig)
        try:
            target, process = target_of(Path(kubeconfig)), psutil.Process(twin.pid)
            rows.append(quiet(client))
            chosen = [
                hostile
                for hostile in all_inputs()
                if options.only in f"{hostile.door} {hostile.name}"
            ]
            with progress(quiet=options.json) as bar:
                track = bar.track(chosen, description="hostile inputs")
                rows.extend(try_input(hostile, target, client, process) for hostile in track)
            rows.append(end_twin(twin, target))
        finally:
            client.close()
            twin.kill()
            twin.wait()
    report("one hostile client beside a well-behaved one", options, rows, notes_of(rows))
    return 1 if any(is_bad(row) for row in rows[1:]) else 0


class Client:
    """The well-behaved client's process."""

    def __init__(self, kubeconfig: str) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.twin_hostile", CLIENT, kubeconfig],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.longest_ms()

    def longest_ms(self) -> float:
        """Return its longest wait since the last call, ms."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


def behave(kubeconfig: str) -> None:
    """Ask for a pod until stdin ends; at each line of stdin print the longest wait since the last."""
    target = target_of(Path(kubeconfig))
    request, longest = target.head("GET", POD), 0.0
    connection = target.open()
    while True:
        began = time.perf_counter()
        connection.sendall(request)
        answer = connection.recv(1 << 16)
        while b"\r\n\r\n" not in answer or not answer.endswith(b"}"):
            answer += connection.recv(1 << 16)
        longest = max(longest, time.perf_counter() - began)
        if select.select([sys.stdin], [], [], 0.002)[0]:
            if not sys.stdin.readline():
                return
            print(longest * 1e3, flush=True)
            longest = 0.0


def quiet(client: Client) -> dict[str, Any]:
    """Return the row of the client alone, over as long as some tries take."""
    client.longest_ms()
    waits = []
    for _ in range(10):
        time.sleep(0.5)
        waits.append(client.longest_ms())
    stops = f"{min(waits):.0f} to {max(waits):.0f}"
    return _row("nobody", "no hostile request, 10 times 0.5 s", stops, 0.0, 0.0)


def try_input(
    hostile: Hostile, target: Target, client: Client, process: psutil.Process
) -> dict[str, Any]:
    """Send an input; return its row."""
    before = process.memory_info().rss
    stops, answers, took = [], set(), 0.0
    for _ in range(1 if hostile.slow else TRIES):
        client.longest_ms()
        began = time.monotonic()
        answers.add(hostile.send(target))
        took = time.monotonic() - began
        time.sleep(SETTLE_SECONDS)
        stops.append(client.longest_ms())
    grown = (process.memory_info().rss - before) / 1e6
    return _row(hostile.door, hostile.name, " / ".join(sorted(answers)), min(stops), grown, took)


def end_twin(twin: subprocess.Popen[str], target: Target) -> dict[str, Any]:
    """Send SIGTERM while a long list is under way; return the row."""
    connection = target.open()
    connection.sendall(target.head("GET", "/api/v1/pods"))
    connection.recv(100)
    began = time.monotonic()
    twin.terminate()
    try:
        twin.wait(STOPPED_SECONDS)
        answer = f"ended after {time.monotonic() - began:.1f} s"
    except subprocess.TimeoutExpired:
        answer = "none: it goes on"
    connection.close()
    return _row("process", "SIGTERM with a list under way", answer, 0.0, 0.0)


def _row(
    door: str, name: str, answer: str, stop: float, grown: float, took: float = 0.0
) -> dict[str, Any]:
    return {
        "door": door,
        "input": name,
        "answer": answer,
        "stop of others ms": round(stop, 1),
        "took s": round(took, 1),
        "memory MB": round(grown, 1),
    }


def is_bad(row: dict[str, Any]) -> bool:
    """Say whether a row is one that must not be."""
    answer = str(row["answer"])
    served = answer.startswith(("5", "none")) and answer[:3] != "503"
    return served or (row["door"] != CROWD and row["stop of others ms"] > MOST_MS)


def notes_of(rows: list[dict[str, Any]]) -> str:
    """Return the sentence below the table."""
    bad = [f"{row['door']}: {row['input']}" for row in rows[1:] if is_bad(row)]
    return f"beyond the limits: {'; '.join(bad)}" if bad else "every row is within the limits"


def target_of(path: Path) -> Target:
    """Read a kubeconfig of a twin."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
    trust = create_default_context(cadata=b64decode(cluster["certificate-authority-data"]).decode())
    address = urlsplit(cluster["server"])
    return Target(str(address.hostname), int(address.port or 443), trust, user["token"])


if __name__ == "__main__":
    if sys.argv[1:2] == [CLIENT]:
        behave(sys.argv[2])
        sys.exit(0)
    sys.exit(main())
