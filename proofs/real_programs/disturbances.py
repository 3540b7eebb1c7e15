"""What happens to a program while it works: it is killed, another one takes over, or its API server is restarted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from proofs.real_programs import (
    cluster_autoscaler,
    control_plane,
    karpenter,
    kueue,
    kueue_scenarios,
)
from proofs.real_programs.cluster import Cluster
from proofs.real_programs.requests import until

Scenario = Callable[[Cluster], None]
Leases = Mapping[int, str]
"""By the number of a program: the path of the Lease that it leads by."""
WITHIN_SECONDS = 2.0
"""After so long of a scenario something happens."""
TAKE_OVER_SECONDS = 900.0
CAUSED = {
    r"connection refused|connection reset by peer|EOF\b|http2: client connection": "its server was killed",
    r"[Ee]rror retrieving (resource|lease) lock|[Ff]ailed to (update|renew) lease": "the same",
    r"lost master|leader election lost": "it could not renew its Lease, ended, and was started again",
    r"too old resource version|Expired|apiserver not ready|the server is currently unable": "the same",
}
"""Patterns of what programs say of a server that is not there for a while, with the reason."""


def program_killed(cluster: Cluster, scenario: Scenario, leases: Leases) -> None:
    """Kill every program in mid-scenario and start it again; the scenario has to hold."""
    del leases

    def kill() -> None:
        for one in cluster.programs:
            one.restart()

    _during(scenario, cluster, kill)


def taken_over(cluster: Cluster, scenario: Scenario, leases: Leases) -> None:
    """Start a second program beside each and kill the first in mid-scenario; the second one leads and goes on."""
    before = {number: _holder(cluster, path) for number, path in leases.items()}

    def take_over() -> None:
        for number, one in enumerate(cluster.programs):
            one.replace(partial(_waits, cluster, leases.get(number)))
        for number, path in leases.items():
            others = partial(_led_by_another, cluster, path, before[number])
            until(f"another leader of {path}", others, TAKE_OVER_SECONDS)

    _during(scenario, cluster, take_over)


def server_restarted(cluster: Cluster, scenario: Scenario, leases: Leases) -> None:
    """Kill the API server in mid-scenario and start it again: watches are cut, and their versions are too old."""
    del leases
    restart = cluster.api.restart_server
    assert restart is not None, "nobody can restart this server"
    _during(scenario, cluster, restart)


DISTURBANCES: tuple[Callable[[Cluster, Scenario, Leases], None], ...] = (
    program_killed, taken_over, server_restarted,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Disturbed:
    """What is disturbed."""

    executable: str
    run: Callable[..., AbstractContextManager[tuple[Cluster, Sequence[Path]]]]
    scenario: Scenario
    clear: Scenario
    leases: Leases
    allowed: Mapping[str, str]


def _lease(name: str, namespace: str = "kube-system") -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"


DISTURBED: dict[str, Disturbed] = {
    "cluster-autoscaler": Disturbed(
        cluster_autoscaler.NAME,
        cluster_autoscaler.real,
        cluster_autoscaler.scale_up,
        cluster_autoscaler.clear,
        {},  # its name as a leader is that of its machine: two on one machine lead both
        cluster_autoscaler.ALLOWED,
    ),
    "control-plane": Disturbed(
        control_plane.SCHEDULER,
        control_plane.real,
        control_plane.rollout,
        control_plane.clear,
        {0: _lease(control_plane.SCHEDULER), 1: _lease(control_plane.MANAGER)},
        control_plane.ALLOWED,
    ),
    "karpenter": Disturbed(
        karpenter.NAME,
        karpenter.real,
        karpenter.cheapest,
        karpenter.clear,
        {0: _lease("karpenter-leader-election")},
        karpenter.ALLOWED,
    ),
    "kueue": Disturbed(
        kueue.NAME,
        kueue.real,
        kueue_scenarios.in_turn,
        kueue_scenarios.clear,
        {0: _lease(kueue.LEASE, kueue.HOME)},
        kueue.ALLOWED,
    ),
}


def _during(scenario: Scenario, cluster: Cluster, act: Callable[[], None]) -> None:
    """Play a scenario, and act when it is under way; raises what either raises."""
    failed: list[BaseException] = []

    def play() -> None:
        try:
            scenario(cluster)
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread that waits
            failed.append(error)

    thread = threading.Thread(target=play, daemon=True)
    thread.start()
    time.sleep(WITHIN_SECONDS)
    try:
        act()
    finally:
        thread.join()
    if failed:
        raise failed[0]


def _holder(cluster: Cluster, path: str) -> str:
    found: Any = cluster.api.find(path)
    return str(found["spec"].get("holderIdentity") or "") if found else ""


def _led_by_another(cluster: Cluster, path: str, before: str) -> bool:
    return _holder(cluster, path) not in ("", before)


def _waits(cluster: Cluster, path: str | None) -> None:
    """Look on for a moment: the second program asks for the Lease and does not get it."""
    before = "" if path is None else _holder(cluster, path)
    time.sleep(4.0)
    assert path is None or _holder(cluster, path) == before, "the second one leads beside the first"
