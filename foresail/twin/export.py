"""`foresail twin export`: a start state, from a recording, the running twin or any cluster.

The file is a workload file: `foresail twin up --workload FILE` and `foresail up --workload FILE`
begin with its nodes and its pods where they were.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from bus.errors import InputError
from bus.events import event_of
from bus.exit_codes import ExitCode, verdict
from bus.port import StoredMessage
from bus.recording import open_recording
from foresail.flags import seconds
from foresail.output import console, print_json
from foresail.twin.place import find_kubeconfig
from lab.rerun.start_state import ClusterTables, start_state
from schemas.envelope import attributes_of
from schemas.frames import FullState, apply_frame
from schemas.registry import UnknownEvent
from schemas.snapshot import SnapshotNodes, SnapshotPlacements, SnapshotWorkloads
from services.collector.assemble import assemble
from services.collector.cluster import read_every_list
from services.collector.pod_rows import SnapshotLimits
from services.collector.snapshot import Snapshot
from services.official_client import OfficialClientTransport
from twin.port.workloads import write_trace_file

SNAPSHOTS = {kind.TYPE: kind for kind in (SnapshotNodes, SnapshotPlacements, SnapshotWorkloads)}
ALL_PODS = SnapshotLimits(since_seconds=0.0, failed_pod_seconds=0.0, listed_pods=10**9)
NEEDED = ("nodes", "pods", "deployments", "jobs")

EXAMPLES = (
    ("twin export --from run.fslog --output start.jsonl", "the state at the end of a recording"),
    (
        "twin export --kubeconfig ~/.kube/config --output start.jsonl",
        "a copy of your cluster to try things on",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    origin = parser.add_mutually_exclusive_group()
    origin.add_argument(
        "--from",
        dest="recording",
        metavar="RECORDING",
        help="take the newest snapshot of this recording",
    )
    origin.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="take the current state of this cluster (default: the running simulated one)",
    )
    parser.add_argument(
        "--context", metavar="NAME", help="context of the kubeconfig (default: its current one)"
    )
    parser.add_argument("--output", metavar="FILE", required=True, help="a new .jsonl file")
    parser.add_argument(
        "--task-seconds",
        type=seconds,
        metavar="DURATION",
        help="how long running Jobs still have to run, which no snapshot says (default: forever)",
    )
    parser.add_argument(
        "--state", default=".foresail", metavar="FOLDER", help="state folder (default: %(default)s)"
    )


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Write the start state and say what it holds and what it does not."""
    out = Path(arguments.output)
    _check_output(out)
    if arguments.recording is not None:
        origin, tables, damage = from_recording(Path(arguments.recording))
    else:
        origin, tables = await _from_cluster(arguments)
        damage = ""
    code = verdict(cut_off=bool(damage))
    state = start_state(tables, task_seconds=arguments.task_seconds)
    if not state.nodes:
        raise InputError("snapshot", origin, "it holds no node; export from another one")
    notes = [f"start state of {origin}", *state.notes]
    if damage:
        notes.append(f"read up to the damage: {damage}")
    write_trace_file(out, state.nodes, state.arrivals, notes)
    if arguments.json:
        counts = {"nodes": len(state.nodes), "workloads": len(state.arrivals)}
        print_json({"file": str(out), **counts, "notes": notes})
        return code
    for line in (*notes, f"written to {out}; play it with --workload {out}"):
        console().print(line, markup=False)
    return code


def _check_output(path: Path) -> None:
    if path.suffix != ".jsonl":
        raise InputError("--output", path, "give a name that ends in .jsonl")
    if path.exists():
        raise InputError("--output", path, "give a new file name; nothing is written over")
    if not path.parent.is_dir():
        raise InputError("--output", path, "give a file in a folder that exists")


def from_recording(path: Path) -> tuple[str, ClusterTables, str]:
    """Return what to call the newest snapshot of a recording, its tables, and why reading ended early.


    Raises:
        InputError: it is no recording, or holds no snapshot that can be read.
    """
    recording = open_recording(path)
    frames: dict[str, list[StoredMessage]] = {}
    for message in recording:
        kind = attributes_of(message.headers).get("type", "")
        if kind in SNAPSHOTS:
            known = frames.setdefault(kind, [])
            if _is_keyframe(message.data):
                known.clear()
            known.append(message)
    states = {kind: _full_state_of(path, messages) for kind, messages in frames.items()}
    cycles = {state.cycle for state in states.values()}
    if len(states) < len(SNAPSHOTS) or len(cycles) != 1:
        raise InputError("--from", path, "it holds no whole snapshot; record at least one cycle")
    tables: dict[str, Any] = {}
    for state in states.values():
        tables.update(state.tables)
    cluster = recording.header.get("cluster", "unknown")
    return (
        f"cluster {cluster}, cycle {cycles.pop()} of a recording",
        ClusterTables(**tables),
        recording.damage,
    )


def _is_keyframe(data: bytes) -> bool:
    try:
        return bool(orjson.loads(data)["frame"]["frame"] == "keyframe")
    except (ValueError, KeyError, TypeError):
        return False


def _full_state_of(path: Path, messages: Iterable[StoredMessage]) -> FullState:
    state: FullState | None = None
    try:
        for message in messages:
            event = event_of(message)
            assert isinstance(event.data, SnapshotNodes | SnapshotPlacements | SnapshotWorkloads)
            state = apply_frame(state, event.data)
    except (UnknownEvent, ValueError) as error:
        raise InputError("--from", path, f"its snapshots cannot be read ({error})") from error
    assert state is not None, "a kind is only there with a message"
    return state


async def _from_cluster(arguments: argparse.Namespace) -> tuple[str, ClusterTables]:
    """Read a live cluster as the collector does; see `from_recording`."""
    kubeconfig = arguments.kubeconfig
    path = Path(kubeconfig) if kubeconfig else find_kubeconfig(Path(arguments.state), admin=False)
    transport = OfficialClientTransport(path, arguments.context)
    try:
        reading = await read_every_list(transport, 0.0)
    finally:
        await transport.close()
    read_at = reading.nodes.source.read_time_seconds
    snapshot = assemble(reading, read_at, ALL_PODS, simulated=False)
    for name in NEEDED:
        source = snapshot.source(name)
        if not source.ok:
            raise InputError("cluster", name, f"it could not be read: {source.message}")
    return f"the cluster of {path.name}", _tables(snapshot)


def _tables(snapshot: Snapshot) -> ClusterTables:
    return ClusterTables(snapshot.nodes, snapshot.placements, snapshot.workloads, snapshot.pods)
