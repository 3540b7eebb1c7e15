"""Settings of a run and of the log: what `foresail up` itself decides. Every field says its unit,
default and reason.
"""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field, model_validator

from schemas.model import DataModel
from twin.port.settings import Provisioner, Weather

NameToken = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,40}$")


class RunSettings(DataModel):
    """Run settings: processes, on which cluster, for how long."""

    cluster: str = Field(default="twin", pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,40}$")
    """Name of the cluster in every subject; letters, digits, `-` and `_`."""
    workload: str = "openb"
    """What the simulated cluster runs: openb, google2011, azure, philly, surf, idle, or a file
    (docs/workloads.md).
    """
    nodes: int = Field(default=100, ge=1, le=5_000)
    """Simulated nodes; the workload is scaled with them, so that the load per node stays that of the trace."""
    seed: int = Field(default=7, ge=0)
    """Random seed of the run; the same seed gives the same simulated cluster."""
    speed: float | None = Field(default=None, gt=0, le=3_600)
    """Cluster seconds per wall second; unset: fast enough that a pod arrives every few seconds.
    """
    interval_seconds: float = Field(default=5.0, ge=0.2, le=600)
    """Wall time between two cycles; at speed N a cycle covers N times as much cluster time.
    """
    for_seconds: float | None = Field(default=None, gt=0)
    """Stop after this much wall time (with virtual time: cluster time divided by the speed); unset: at Ctrl-C.
    """
    max_cycles: int | None = Field(default=None, ge=1)
    """Stop after so many cycles; unset: however many there are."""
    exercise: bool = False
    """Let the exerciser create load in nine phases, so that every agent has something to decide. They are made for
    profile `baseline-rules`, which acts then unless a profile is named.
    """
    mode: Literal["shadow", "active"] | None = None
    """shadow: every write is a dry run; active: writes are real. Unset: active on the twin, shadow
    with a kubeconfig.
    """
    virtual_time: bool = False
    """Run everything in one process on a simulated clock, as fast as possible; same seed, same
    recording.
    """
    record: str | None = None
    """Write a recording of the whole log to this file."""
    trace_out: str | None = None
    """Write each cycle to this file as a row of the first predecessor's trace, JSON Lines (docs/predecessors.md)."""
    frozen_seconds: float = Field(default=8.0, ge=0, le=3_600)
    """Time without a sign of life after which a process that was ready counts as frozen and is replaced, not counting
    what it waits for a processor; 0: never, for example while one is stopped in a debugger.
    """
    state_folder: str = ".foresail"
    """Folder in which the stack keeps everything; one stack uses it at a time."""
    kubeconfig: str | None = None
    """Watch the cluster of this kubeconfig instead of a simulated one; in shadow mode unless told otherwise."""
    keep: bool = False
    """With a kubeconfig: leave what stands on the cluster at the end; unset: an orderly end takes it back."""
    context: str | None = None
    """Context of the kubeconfig; unset: its current one."""
    namespaces: tuple[str, ...] = ()
    """Prefixes of the namespaces to watch; empty: all but kube-system. With a kubeconfig in active mode they
    must also be exact names: nothing is written to other namespaces."""
    namespace_prefixes: tuple[str, ...] = ()
    """The same by prefixes alone: in active mode on a cluster of yours, those of its namespaces that begin so when
    the run starts are written, and printed; namespaces that come later are watched only."""
    data: str | None = None
    """Folder of the real trace files (FORESAIL_DATA); unset: the shipped models of the traces are played.
    """

    scenario: str | None = None
    """File of what goes wrong in the simulated cluster, and when (docs/twin.md)."""
    provisioner: Provisioner = "none"
    """What adds and removes nodes of the simulated cluster: none, cluster-autoscaler, karpenter or warm-pool
    (docs/twin/machines.md)."""
    machines: str | None = None
    """File of machine types, node groups and cloud limits (docs/twin/machines.md); unset: the built-in table."""

    weather: Weather = "mild"
    """How much goes wrong in the simulated cluster by itself: off, mild or rough (docs/twin/health.md)."""
    untouched: Literal["on", "off"] = "on"
    """on: the simulated cluster also runs without the executor, and `outcome.counterfactual` says what acting
    changed (docs/outcome-score.md); a real cluster has no such world."""
    start_time: AwareDatetime | None = None
    """Cluster time at the start of the simulated cluster, such as 2026-01-01T00:00:00Z; unset: now, and
    2026-01-01T00:00:00Z with virtual time. What was chosen is in the log."""

    @model_validator(mode="after")
    def _check_combination(self) -> RunSettings:
        if self.scenario is not None and self.kubeconfig is not None:
            raise ValueError("a scenario needs the twin; leave out kubeconfig")
        if (self.provisioner != "none" or self.machines) and self.kubeconfig is not None:
            raise ValueError("provisioner and machines need the twin; leave out kubeconfig")
        if self.keep and self.kubeconfig is None:
            raise ValueError("keep is for a cluster of yours; the simulated one ends with the run")
        if self.virtual_time and self.kubeconfig is not None:
            raise ValueError("virtual_time needs the twin; leave out kubeconfig")
        if self.virtual_time and self.end_seconds is None:
            raise ValueError(
                "virtual_time never ends by itself; give for_seconds (--for) or max_cycles"
            )
        if self.namespaces and self.namespace_prefixes:
            raise ValueError("namespaces and namespace_prefixes exclude one another; give one")
        return self

    @property
    def end_seconds(self) -> float | None:
        """Wall time after which the run ends, cycles being as long as they are meant to be; None: never."""
        of_cycles = None if self.max_cycles is None else self.max_cycles * self.interval_seconds
        return min((one for one in (self.for_seconds, of_cycles) if one is not None), default=None)


class NatsSettings(DataModel):
    """The log and the server that keeps it."""

    url: str | None = None
    """An existing nats-server (nats://host:port) with JetStream, 2.12 or newer; several servers of
    one cluster with commas between them; unset: an embedded one.
    """
    replicas: Literal[1, 3, 5] = 1
    """Servers of that cluster that keep a copy of the log each; more than 1 needs url."""
    port: int = Field(default=0, ge=0, le=65_535)
    """Loopback port of the embedded server; 0: a free one."""
    sync_interval: str | None = None
    """How often the embedded server fsyncs: `always`, or a duration such as `1s`. Unset: 1s on the
    twin, whose world dies with the machine; always with a kubeconfig."""
    max_bytes: int = Field(default=2 * 1024**3, ge=1024**2)
    """Size of the log in bytes after which the oldest events go."""
    max_age_seconds: float = Field(default=24 * 3600.0, ge=60)
    """Age in seconds after which events go."""

    @model_validator(mode="after")
    def _check_replicas(self) -> NatsSettings:
        if self.replicas > 1 and self.url is None:
            raise ValueError("replicas above 1 need url: the embedded server is a single one")
        return self
