"""Settings of the executor: the mode and every guard rail, in cluster seconds."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from projections.switchback.schedule import OFF, SwitchbackSettings
from schemas.actions import ActionKind
from schemas.model import DataModel
from schemas.outcome import Mode
from schemas.surge import SURGE_PODS
from services.prometheus_settings import PrometheusSettings

DISRUPTIVE = (ActionKind.POWER_STATE, ActionKind.MIGRATE, ActionKind.RESOURCE_CAP)
NODE_LABEL = r"^$|^[A-Za-z0-9][A-Za-z0-9_./-]{0,316}=[A-Za-z0-9_.-]{0,63}$"
NODE_PLACEHOLDER = "{node}"
"""In a command, the name of the node."""
UNREADY_RATIO = 0.55
"""kube-controller-manager's --unhealthy-zone-threshold."""
SETTLE_SECONDS = 60.0
UNSET = ("unready_ratio", "settle_seconds", "move_job_pods")
"""Settings that are announced where they are set."""
_WINDOW = re.compile(r"^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$")


class DisruptionBudget(DataModel):
    """How many nodes may be disrupted within a window; of several that apply, the strictest counts."""

    nodes: str = Field(default="10%", pattern=r"^\d+%?$")
    """A count, or a share of the cluster's nodes (`10%`, rounded up)."""
    reasons: tuple[ActionKind, ...] = DISRUPTIVE
    """Action kinds that it covers."""
    window_seconds: float = Field(default=600.0, gt=0)
    """Executions within so many cluster seconds count."""
    schedule: str = ""
    """`HH:MM-HH:MM` in UTC of the cluster's clock when it applies; empty: always."""

    @model_validator(mode="after")
    def _check_schedule(self) -> Self:
        if self.schedule and _WINDOW.match(self.schedule) is None:
            raise ValueError("write schedule as HH:MM-HH:MM")
        return self

    def limit(self, nodes: int) -> int:
        """Return the number of nodes allowed in a cluster of `nodes`."""
        if self.nodes.endswith("%"):
            return -(-nodes * int(self.nodes[:-1]) // 100)
        return int(self.nodes)


class Caps(DataModel):
    """Most executions within `window_seconds` on one thing, and how far raised workloads may go."""

    window_seconds: float = Field(default=600.0, gt=0)
    """Cluster seconds looked back."""
    per_node: int = Field(default=3, ge=1)
    """On one node; three lets throttle, migrate and replicate follow one another as risk rises."""
    per_namespace: int = Field(default=10, ge=1)
    """On workloads of one namespace."""
    per_workload: int = Field(default=3, ge=1)
    """On one workload, so that repeated replicate cannot run away."""
    surge_ratio: float = Field(default=12.0, ge=1)
    """Most replicas of a raised workload, as a multiple of those that it had before: its owner's number, or
    what its autoscaler had chosen."""
    surge_pods: str = Field(default="80%", pattern=SURGE_PODS)
    """Most pods that all raised workloads together may have beyond that: a count, or a share of the running
    pods, raised ones included (then at least 10): at 80% five times as many as without us."""


BUDGETS_BY_KIND = tuple(DisruptionBudget(reasons=(kind,)) for kind in DISRUPTIVE)
"""A budget for each kind, so that saving never uses up what safety needs."""


class HandBack(StrEnum):
    """Who takes the machine of a node that was put to sleep."""

    NONE = "none"
    CLUSTER_AUTOSCALER = "cluster-autoscaler"
    KARPENTER = "karpenter"
    COMMAND = "command"


class ExecutorSettings(DataModel):
    """Mode and guard rails. Defaults are conservative and documented by the tools they come from."""

    mode: Mode = Mode.SHADOW
    """shadow: every write is a dry run and counts as if it had happened; active: writes are real.
    """
    speed: float = Field(default=1.0, gt=0)
    """Cluster seconds per wall second: 1 for a real cluster, `--speed` for the embedded one."""
    namespaces: tuple[str, ...] | None = None
    """Exact names of the namespaces it may write in. Unset: every one of the simulated cluster, and none
    of any other; a run with a kubeconfig sets it to the run's own namespaces."""
    writable_nodes: str = Field(default="", pattern=NODE_LABEL)
    """Label `key=value` of the nodes it may write (cordon, sleep, limits, taints), where namespaces are
    named; empty: none, because a node serves every namespace."""
    cool_down_seconds: float = Field(default=120.0, ge=0)
    """Cluster seconds before the same kind of action may hit the same target again."""
    cool_down_after_failure_seconds: float = Field(default=180.0, ge=0)
    """After a failed execution on the target (Cluster Autoscaler: 3 min)."""
    ping_pong_seconds: float = Field(default=900.0, ge=0)
    """Memory in which an action may not be undone unless severity rises."""
    budgets: tuple[DisruptionBudget, ...] = (DisruptionBudget(),)
    """Disruption budgets (Karpenter's default is 10% of the nodes). Where `namespaces` are set, the default is one
    of this size for each kind, so that saving never uses up what safety needs."""
    caps: Caps = Caps()
    """Caps per node, namespace and workload, and on added replicas."""
    least_ready_ratio: float = Field(default=0.5, ge=0, le=1)
    """Share of the nodes that must stay ready and schedulable when one is put to sleep."""
    stale_cycles: int = Field(default=2, ge=1)
    """A decision older than so many cycles is refused."""
    unready_ratio: float | None = Field(default=None, ge=0, le=1)
    """Share of the nodes (three at least) that are not ready from which nothing is begun: it is rather the network.
    0: never. Unset: 0.55 where `namespaces` are set (the zone rule of Kubernetes' node controller), else never."""
    settle_seconds: float | None = Field(default=None, ge=0)
    """Cluster seconds of whole observations before anything is begun, after a start and after an outage. Unset: 60
    where `namespaces` are set, else 0."""
    move_job_pods: bool | None = None
    """Whether pods of Jobs are moved, whose work begins anew. Unset: not where `namespaces` are set."""
    pods_per_migration: int = Field(default=2, ge=1)
    """Pods evicted by one migrate."""
    named_pods_per_migration: int = Field(default=4, ge=1)
    """The same where the decision names the pods: so many that a pod of several cores gets a place."""
    node_limits: Literal["kubernetes", "node_agent"] = "kubernetes"
    """How throttle, memory_balloon and resource_cap are done. kubernetes: running pods are resized in place, else
    the node gets a taint, and namespaces get a quota; node_agent: annotations on the node, for an agent of yours
    that reads them (the simulated cluster does)."""
    means_seconds: float = Field(default=600.0, gt=0)
    """Cluster seconds after which it asks again what the API server serves and lets it do."""
    hand_back: HandBack = HandBack.NONE
    """Who takes the machine of a node that power_state puts to sleep. none: nobody, it stays cordoned;
    cluster-autoscaler: it removes a cordoned, empty node by itself; karpenter: its NodeClaim is deleted; command:
    `hand_back_command` is run."""
    hand_back_command: tuple[str, ...] = ()
    """Program, by its whole path, and arguments; `{node}` stands for the node's name. Run without a shell, perhaps
    twice."""
    wake_command: tuple[str, ...] = ()
    """The same for waking a node; empty: it is only uncordoned."""
    command_seconds: float = Field(default=60.0, gt=0)
    """Wall seconds after which such a command is ended."""
    pods_per_resize: int = Field(default=5, ge=1)
    """Pods resized by one throttle or memory_balloon."""
    pods_per_fit: int = Field(default=20, ge=1)
    """Pods resized by one resize, which lowers no limit; the others follow with later statements."""
    limit_seconds: float = Field(default=1800.0, ge=0)
    """Cluster seconds after which a resize, a taint instead of it, or a quota is taken back; 0: never."""
    usage_seconds: float = Field(default=300.0, gt=0)
    """For how long what a pod uses must be known before it is given less."""
    usage_margin_ratio: float = Field(default=0.25, ge=0)
    """By how much what a pod is left with lies above the peak of that time."""
    workloads_per_admission: int = Field(default=5, ge=1)
    """Workloads changed by one admission action."""
    protected_namespaces: tuple[str, ...] = (
        "kube-system",
        "kube-public",
        "kube-node-lease",
        "foresail",
    )
    """Nothing in them is ever touched."""
    object_events: bool = False
    """Write a Kubernetes Event on each object that it has changed, with the decision's id (needs `create
    events.events.k8s.io`); never in shadow mode."""
    verify_cycles: int = Field(default=2, ge=1)
    """Observations after an execution until it is verified."""
    roll_back: bool = True
    """Take an execution back when the cluster got worse in the way it can cause."""
    execute_replays: bool = False
    """Execute decisions of a cluster called replay-*; only for a twin started for that."""
    request_timeout_seconds: float = Field(default=10.0, gt=0)
    """Wall seconds after which a request to the API server is given up."""
    prometheus: PrometheusSettings = PrometheusSettings()
    """Who says what pods use, if not the Metrics Server; `collector.prometheus` sets it."""
    switchback: SwitchbackSettings = OFF
    """Blocks in which nothing is executed; `switchback.*` sets them."""

    @model_validator(mode="after")
    def _check_hand_back(self) -> Self:
        commands = {"hand_back_command": self.hand_back_command, "wake_command": self.wake_command}
        if self.hand_back is not HandBack.COMMAND and any(commands.values()):
            raise ValueError("commands are run with hand_back = command alone")
        if self.hand_back is HandBack.COMMAND and not self.hand_back_command:
            raise ValueError("give hand_back_command, such as /usr/local/bin/return-machine {node}")
        for name, arguments in commands.items():
            named = any(NODE_PLACEHOLDER in one for one in arguments[1:])
            if arguments and not (arguments[0].startswith("/") and named):
                raise ValueError(
                    f"{name}: a whole path first, and {NODE_PLACEHOLDER} in an argument"
                )
        return self

    @property
    def budgets_in_force(self) -> tuple[DisruptionBudget, ...]:
        """Budgets, with the default decided."""
        default = self.budgets == (DisruptionBudget(),)
        return BUDGETS_BY_KIND if default and self.namespaces is not None else self.budgets

    @property
    def brake_ratio(self) -> float:
        """`unready_ratio`, decided."""
        by_default = 0.0 if self.namespaces is None else UNREADY_RATIO
        return by_default if self.unready_ratio is None else self.unready_ratio

    @property
    def settling_seconds(self) -> float:
        """`settle_seconds`, decided."""
        by_default = 0.0 if self.namespaces is None else SETTLE_SECONDS
        return by_default if self.settle_seconds is None else self.settle_seconds

    @property
    def moves_job_pods(self) -> bool:
        """`move_job_pods`, decided."""
        return self.namespaces is None if self.move_job_pods is None else self.move_job_pods

    def announcement(self) -> dict[str, Any]:
        """Return everything that can change a result."""
        unused = {"object_events", *(() if self.switchback.enabled else ("switchback",))}
        unused |= {name for name in UNSET if getattr(self, name) is None}
        return self.model_dump(
            mode="json", exclude=unused if self.prometheus.url else {*unused, "prometheus"}
        )
