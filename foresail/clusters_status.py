"""`foresail status` over all clusters of a stack that serves several: one line each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from bus.clock import Clock, SystemClock
from bus.errors import ForesailError
from bus.port import Bus
from foresail.log_source import connect
from foresail.output import page
from foresail.stack.state_folder import StackFile, StateFolder
from projections.figures import duration, size
from schemas.cluster_standing import ClusterStanding

Gather = Callable[[Bus, StackFile, Clock], Awaitable[dict[str, Any]]]


async def gather_clusters(
    places: Sequence[tuple[str, Path]], standings: Mapping[str, ClusterStanding], gather: Gather
) -> dict[str, Any]:
    """Return the status of each cluster by its name, all asked at once; `gather` is `foresail.status.gather`."""
    found = await asyncio.gather(*(_status_of(path, gather) for _, path in places))
    statuses: dict[str, Any] = {}
    for (name, _), status in zip(places, found, strict=True):
        ended = standings[name].trouble if not status["running"] else ""
        troubles = list(dict.fromkeys([*status["troubles"], *([ended] if ended else [])]))
        statuses[name] = {**status, "troubles": troubles}
    return statuses


async def _status_of(path: Path, gather: Gather) -> dict[str, Any]:
    state = StateFolder(path)
    try:
        stack = state.read()
        if not stack.running:  # its log would need a server of its own to be read
            return {"running": False, "cluster": stack.cluster, "troubles": []}
        async with connect(stack, state) as bus:
            return await gather(bus, stack, SystemClock())
    except ForesailError as error:
        return {"running": False, "cluster": path.name, "troubles": [str(error)]}


def is_well(status: Mapping[str, Any]) -> bool:
    """Say whether nobody has to look after a cluster's stack."""
    processes = status.get("processes", {}).values()
    up = all(process["state"] != "down" for process in processes)
    return bool(status["running"]) and up and not status["troubles"]


def print_clusters(statuses: Mapping[str, Any]) -> None:
    """Print a line for each cluster, then what is wrong."""
    table = Table(box=None)
    for column in ("cluster", "state", "mode", "newest decision", "processes", "memory"):
        table.add_column(column)
    table.add_column("dashboard", no_wrap=True)
    for name, status in statuses.items():
        table.add_row(name, *_cells(status))
    out = page()
    out.print(table)
    for name, status in statuses.items():
        if status.get("hold"):
            out.print(f"{name}: {status['hold']['text']}", style="bold red", markup=False)
        for line in status.get("waiting", ()):
            out.print(f"{name} waits for approval: {line}", style="yellow", markup=False)
        for line in status["troubles"]:
            out.print(f"trouble in {name}: {line}", style="red", markup=False)
    out.print("one of them: foresail status --cluster NAME", style="dim")


def _cells(status: Mapping[str, Any]) -> tuple[str, ...]:
    if not status["running"]:
        return ("not running", "", "", "", "", "")
    processes = status["processes"].values()
    ready = sum(process["state"] != "down" for process in processes)
    memory = sum(process.get("rss_bytes") or 0 for process in processes)
    decision = status["newest"].get("decision")
    return (
        "well" if is_well(status) else "trouble",
        status["mode"],
        "none yet" if decision is None else f"{duration(decision['age_seconds'])} ago",
        f"{ready} of {len(processes)}",
        size(memory),
        status["dashboard_url"],
    )
