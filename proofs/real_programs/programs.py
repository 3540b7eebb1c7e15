"""The programs by name: how each is run, and what it has to decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from proofs.real_programs import (
    cluster_autoscaler,
    control_plane,
    karpenter,
    kueue,
    kueue_scenarios,
)
from proofs.real_programs.cluster import Cluster

Run = Callable[..., AbstractContextManager[tuple[Cluster, Sequence[Path]]]]


@dataclass(frozen=True, slots=True)
class Program:
    """One program."""

    executable: str
    """Its name on PATH or in KUBEBUILDER_ASSETS."""
    real: Run
    """Runs it in a folder, on a ground (by default a twin); yields the cluster and the program's logs."""
    built_in: Run
    """Runs a twin whose own part does its work."""
    scenarios: tuple[Callable[[Cluster], None], ...]
    clear: Callable[[Cluster], None]
    """Takes everything away that a scenario made."""
    allowed: Mapping[str, str]
    """Patterns of log lines that a real cluster would cause as well, with the reason."""
    own: tuple[Callable[[Cluster], None], ...] = ()
    """Scenarios of the program alone: the twin's own part cannot do that."""


PROGRAMS: dict[str, Program] = {
    "cluster-autoscaler": Program(
        "cluster-autoscaler",
        cluster_autoscaler.real,
        cluster_autoscaler.built_in,
        cluster_autoscaler.SCENARIOS,
        cluster_autoscaler.clear,
        cluster_autoscaler.ALLOWED,
        cluster_autoscaler.OWN,
    ),
    "control-plane": Program(
        "kube-scheduler",
        control_plane.real,
        control_plane.built_in,
        control_plane.SCENARIOS,
        control_plane.clear,
        control_plane.ALLOWED,
    ),
    "karpenter": Program(
        "karpenter-kwok",
        karpenter.real,
        karpenter.built_in,
        karpenter.SCENARIOS,
        karpenter.clear,
        karpenter.ALLOWED,
    ),
    "kueue": Program(
        kueue.NAME,
        kueue.real,
        kueue.built_in,
        kueue_scenarios.SCENARIOS,
        kueue_scenarios.clear,
        kueue.ALLOWED,
    ),
}
