"""A log kept by three servers (JetStream R3) while servers are killed and cut off: every acknowledged
event is there afterwards, once, where it was acknowledged.

Cutting a server off needs network namespaces, and so root; without them servers are only killed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from proofs.cluster.network import Network, may_network
from proofs.row import ProofRow, ProofSize

PART = "cluster"
REPOSITORY = Path(__file__).parents[2]
KILLS_A_FAULT = 10
"""Of the kills that a scale asks for, one in ten is of a server of the cluster."""
FAULT_SECONDS = 150.0
"""Longest time of one fault, recovery included: it ends hangs, it does not judge speed."""
START_SECONDS = 900.0


def prove(scale: ProofSize) -> Iterator[ProofRow]:
    """Kill and cut off servers, `scale.kills` / 10 times each."""
    count = max(2, scale.kills // KILLS_A_FAULT)
    kinds = ("killed", "cut off") if may_network() else ("killed",)
    for kind in kinds:
        yield row(kind, count, scale.seed)
    if len(kinds) == 1:
        sys.stderr.write("cluster: servers were not cut off: namespaces need root and ip\n")


def row(kind: str, count: int, seed: int) -> ProofRow:
    """Run one session in a cluster of its own."""
    result = session(kind, count, seed)
    held = count if not result["problems"] else 0
    figures = (
        f"{result['acknowledged']} events acknowledged, {result['read']} read live, "
        f"longest stop {result['longest_stop_seconds']:.1f} s, "
        f"{result['gave_up']} publishes given up and sent again, "
        f"{result['rivals']} of {result['rivals']} stale writers refused"
    )
    problems = "; ".join(result["problems"][:3])
    again = f"python -m proofs.cluster.session --kind {kind!r} --faults {count} --seed {seed}"
    what = f"R3, a server {kind}, leader or follower"
    return ProofRow(PART, what, count, held, f"{problems}; again: {again}" if problems else figures)


def session(kind: str, count: int, seed: int) -> dict[str, Any]:
    """Run one session as a process in the client's namespace; return what it found."""
    with (
        TemporaryDirectory(prefix="foresail-r3-", ignore_cleanup_errors=True) as folder,
        Network.create(3) if may_network() else nullcontext() as network,
    ):
        command = [sys.executable, "-m", "proofs.cluster.session", "--folder", folder, "--json"]
        command += ["--kind", kind, "--faults", str(count), "--seed", str(seed)]
        if network is not None:
            command = [*network.command_prefix(network.client), *command, "--network", network.name]
        ran = subprocess.run(
            command,
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            timeout=START_SECONDS + count * FAULT_SECONDS,
            check=False,
            text=True,
        )
    if ran.returncode not in {0, 1} or not ran.stdout.strip():
        return {**EMPTY, "problems": [f"the session ended with {ran.returncode}"]}
    result: dict[str, Any] = json.loads(ran.stdout.strip().splitlines()[-1])
    return result


EMPTY: dict[str, Any] = {
    "acknowledged": 0,
    "read": 0,
    "longest_stop_seconds": 0.0,
    "gave_up": 0,
    "rivals": 0,
}
