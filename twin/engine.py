"""The engine of the embedded cluster: one clock, and everything that happens in it.

Guarantees: the same configuration, seed, nodes, arrivals and API writes (at the same cluster times)
give the same state, however `advance` is sliced and whatever is read in between. Nothing here reads
a wall clock. Reads see the cluster as of the last `advance`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from structlog.typing import FilteringBoundLogger

from inputs.quantities import cpu_text, memory_text
from twin.arrivals import Arrivals
from twin.behaviour.contention import Contention
from twin.behaviour.impairments import Impairments
from twin.behaviour.kubelet import Kubelet
from twin.behaviour.memory import OomKiller
from twin.behaviour.metrics import Metrics
from twin.behaviour.power import Power
from twin.behaviour.prometheus import PrometheusMetrics
from twin.behaviour.resize import Resizer
from twin.behaviour.usage_table import UsageTable
from twin.bootstrap.server_objects import ServerObjects
from twin.chance import Chance
from twin.changes import Change
from twin.clock import Clock
from twin.config import TwinConfig
from twin.controllers.node_lifecycle import NodeLifecycle
from twin.controllers.node_registry import NodeRegistry
from twin.controllers.node_shutdown import NodeShutdown
from twin.controllers.plane import ControlPlane
from twin.controllers.priority import PriorityGate, add_system_classes
from twin.controllers.runtime_classes import RuntimeClasses
from twin.controllers.service_accounts import ServiceAccounts
from twin.controllers.service_addresses import ServiceAddresses
from twin.controllers.spot import Spot
from twin.copying import Copier
from twin.encoding import json_of, state_lines
from twin.faults.effects import FaultTargets
from twin.faults.player import Faults
from twin.health.machines import MachineHealth
from twin.health.probes import ProbeHealth
from twin.health.programs import ProgramHealth
from twin.health.weather import WeatherLevel
from twin.intake import DEFAULT_PODS_PER_NODE, GPU
from twin.kube_events import Reporter
from twin.kueue.controllers import Kueue
from twin.machines.catalogue import catalogue_of
from twin.machines.cloud import Cloud
from twin.part import Kept, parts_of
from twin.provisioners import build_provisioner
from twin.rbac.aggregation import RoleAggregation
from twin.rbac.default_roles import add_default_roles
from twin.rbac.extension import add_extension_trust
from twin.records import NodeRecord, Object
from twin.scheduling.node_table import NodeTable
from twin.scheduling.scheduler import Scheduler
from twin.serving.request_metrics import RequestMetrics
from twin.serving.serving import Serving
from twin.store import Store
from twin.system_objects import add_system_objects
from twin.vertical.autoscaler import VerticalAutoscaler
from twin.volumes.admission import VolumeAdmission
from twin.volumes.binding import STORAGE
from twin.workloads.arrival import NodeShape, WorkloadArrival
from twin.world import World

METRICS: Mapping[str, type[Metrics]] = {
    "metrics-server": Metrics,
    "prometheus": PrometheusMetrics,
}
SIMULATED = "foresail.dev/simulated"
_ROUTING = frozenset({"services", "endpointslices"})
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


class Engine:
    """One simulated cluster."""

    def __init__(self, config: TwinConfig | None = None, seed: int = 0) -> None:
        config = config or TwinConfig()
        self.config = config
        self.seed = seed
        self.clock = Clock(config.start_time)
        self.failed_steps = 0
        self.store = Store(lambda: self.clock.now, seed=seed, log_size=config.change_log_size)
        self.world = World(
            config, seed, self.clock, self.store, Chance(seed), Reporter(self.store, config, seed)
        )
        self._build_behaviour()
        self._build_controllers()
        self.arrivals = Arrivals(self.world)
        self.faults = self._build_faults()
        self._build_health()
        self.cloud = Cloud(self.world, catalogue_of(config.provisioning), self.spot)
        self.provisioner = build_provisioner(self.world, self.cloud, self.plane.budgets.evict)
        self.power.range_of = self.cloud.power_range
        self.vertical = VerticalAutoscaler(
            self.world, self.metrics.sample, self.plane.budgets.evict
        )
        self.store.subscribe(self._follow)
        self.store.gates.insert(0, ServiceAddresses(self.store))
        self.store.gates.insert(0, VolumeAdmission(self.store))
        self.store.gates.insert(0, RuntimeClasses(self.store))
        self.store.gates.insert(0, PriorityGate(self.store))  # quotas count resolved priorities
        if self.accounts is not None and config.access.rbac:
            self.store.gates.insert(0, self.accounts)
        self.parts = parts_of(self)
        for name in NAMESPACES:
            self.store.create("namespaces", "", {"metadata": {"name": name}})
        add_system_classes(self.store)
        add_system_objects(self.store)
        if self.accounts is not None:
            add_default_roles(self.store)
            add_extension_trust(self.store, config.access.authority_pem)
        if self.server_objects is not None:
            self.server_objects.begin()
        if self.kueue is not None:
            self.kueue.begin()
        if self.provisioner is not None:
            self.provisioner.begin()

    def _build_behaviour(self) -> None:
        world = self.world
        self.nodes = NodeTable()
        self.usage = UsageTable()
        self.impairments = wrong = Impairments()
        source = METRICS[world.config.metrics.source]
        self.metrics = source(world, self.nodes, self.usage, wrong)
        self.power = Power(world, self.nodes, self.usage)
        self.kubelet = kubelet = Kubelet(world, self.nodes, self.usage, wrong)
        memory = OomKiller(world, self.nodes, self.usage, kubelet.kill_for_memory, kubelet.evict)
        self.contention = Contention(world, self.nodes, self.usage, self.metrics, memory, wrong)
        self.kubelet.contention = self.contention
        self.cpu_counters = self.contention.counters
        self.job_work = self.contention.job_work
        self.serving = self.contention.serving = Serving(world, self.usage)
        self.request_metrics = RequestMetrics(self.serving, world.config.scrape_seconds)
        self.usage.on_start, self.usage.on_stop = self.serving.pod_started, self._pod_stops
        self.resizer = Resizer(world, self.usage, kubelet)
        self.scheduler = Scheduler(world, self.nodes)

    def _build_controllers(self) -> None:
        world = self.world
        self.plane = ControlPlane(world, self.metrics.sample, self.request_metrics)
        self.lifecycle = NodeLifecycle(world, self.kubelet)
        self.registry = NodeRegistry(world)
        access = world.config.access
        kept = access.rbac or access.server_objects
        self.role_aggregation = RoleAggregation(world) if kept else None
        self.accounts = ServiceAccounts(world) if kept else None
        self.server_objects = ServerObjects(world) if access.server_objects else None
        self.kueue = Kueue(world) if world.config.kueue.served else None

    def _build_health(self) -> None:
        world, sky = self.world, self.sky
        MachineHealth(world, sky, self.nodes, self.lifecycle, self.impairments)
        ProgramHealth(world, sky, self.usage, self.kubelet)
        waits = self.serving.waits
        self.contention.after_step = ProbeHealth(world, sky, self.usage, self.kubelet, waits).look

    def _build_faults(self) -> Faults:
        world = self.world
        self.sky = WeatherLevel(world)
        self.shutdown = NodeShutdown(world, self.kubelet, self.lifecycle)
        self.spot = Spot(world, self.lifecycle)
        levers = FaultTargets(
            self.impairments,
            self.lifecycle,
            self.shutdown,
            self.spot,
            world.config.machines.spot_notice_seconds,
            self.sky,
            self.serving,
        )
        return Faults(world, levers, self.arrivals)

    # ---- what drives it

    @property
    def now(self) -> float:
        """Cluster time in unix seconds, exact to the microsecond."""
        return self.clock.now

    def step(self, events: int = 1) -> int:
        """Let at most so many events happen; return how many did."""
        return self.clock.step(events)

    def advance(self, until: float) -> None:
        """Let everything happen up to and including `until` (unix seconds); never goes back."""
        self.clock.run(until)

    def advance_some(self, until: float, events: int) -> bool:
        """Let at most so many events happen of those up to `until`; return whether that was all of them."""
        return self.clock.run_some(until, events)

    def add_nodes(self, shapes: Sequence[NodeShape]) -> None:
        """Add ready nodes; raises ApiError 409 for a name that is taken, 422 for a bad one."""
        for shape in shapes:
            obj: Object = {
                "metadata": {
                    "name": shape.name,
                    "labels": _node_labels(shape),
                    "annotations": dict(shape.annotations),
                },
                "spec": {"unschedulable": True} if shape.cordoned else {},
                "status": {
                    "allocatable": {
                        "cpu": cpu_text(shape.cpu_millicores),
                        "memory": memory_text(shape.memory_bytes),
                        "pods": str(DEFAULT_PODS_PER_NODE),
                        GPU: str(shape.gpus),
                    }
                },
            }
            self.store.create("nodes", "", obj)

    def load(self, arrivals: Iterator[WorkloadArrival]) -> None:
        """Play arrivals from now on; they are pulled one at a time, in order of time."""
        self.arrivals.load(arrivals)

    def fail_node(self, name: str, duration_seconds: float) -> None:
        """Stop a machine now and start it again later; raises ApiError 404."""
        self.lifecycle.fail(name, duration_seconds)

    def evict(
        self,
        namespace: str,
        name: str,
        *,
        dry_run: bool = False,
        uid: str | None = None,
        grace_period_seconds: int | None = None,
    ) -> Object:
        """Evict a pod within its PodDisruptionBudget; see `Budgets.evict`."""
        return self.plane.budgets.evict(
            namespace, name, dry_run=dry_run, uid=uid, grace_period_seconds=grace_period_seconds
        )

    def power_watts(self, node: str) -> float:
        """Return the electrical power of a node now; raises KeyError for an unknown one."""
        return self.power.watts(node)

    def survive(self, log: FilteringBoundLogger) -> None:
        """Go on from now on when a step raises: it is logged, counted in `failed_steps` and tried again."""

        def told(kind: str, arguments: tuple[object, ...], error: Exception) -> None:
            self.failed_steps += 1
            log.error("a step failed", step=kind, of=arguments, exc_info=error)

        self.clock.survive(told)

    # ---- what can be checked

    def state_hash(self) -> str:
        """Return the SHA-256 of the whole state: equal hashes mean equal futures, given the same
        arrivals ahead.
        """
        return self.hash_of(state_lines(self.seed, self.config, self.parts))

    def hash_of(self, lines: Iterable[bytes]) -> str:
        """Return the state hash of the lines of a state, without the random certificate of the API
        server's authority, which is in each namespace where RBAC is on.
        """
        digest = hashlib.sha256()
        certificate = json_of(self.config.access.authority_pem)[1:-1]
        for line in lines:
            digest.update(line.replace(certificate, b"") if certificate else line)
        return digest.hexdigest()

    # ---- what it can be continued from

    def clone(self) -> Engine:
        """Return an engine whose future equals this one's; neither notices the other.

        Watches have to list again there: its change logs are empty.
        """
        other, copier = type(self)(self.config, self.seed), Copier()
        other.arrivals.share(self.arrivals)
        other.take({name: copier.copy(part.kept()) for name, part in self.parts.items()})
        return other

    def take(self, kept: Mapping[str, Kept]) -> None:
        """Become the engine whose parts kept this; it has to have been built and loaded alike.

        Raises ValueError when the loaded workload is another.
        """
        for name, part in self.parts.items():
            part.restore(kept[name])
        for part in self.parts.values():
            part.restored()

    # ---- what it hears

    def _pod_stops(self, uid: str) -> None:
        """A container ends now."""
        self.job_work.pod_stops(uid)
        self.serving.pod_stops(uid)

    def _follow(self, change: Change) -> None:
        """Pass one change on; nobody writes to the store from here (see `World`)."""
        record, resource = change.record, change.resource
        if resource == "events":  # nobody else reads KubeEvents, and there are many
            if change.type == "DELETED":
                self.plane.follow(change)
            return
        if resource == "pods" or resource == "nodes":
            self.world.follow(change)
            self.nodes.follow(change)
            self.scheduler.follow(change)
            self.kubelet.follow(change)
            if resource == "pods":
                self.resizer.follow(change)
            else:
                self.registry.follow(change)
            self.lifecycle.follow(change)
        elif resource == "services" or resource in STORAGE:
            self.scheduler.follow(change)
        if resource in _ROUTING:
            self.serving.follow(change)
        self.plane.follow(change)
        self.vertical.follow(change)
        for part in (self.role_aggregation, self.accounts, self.kueue, self.server_objects):
            if part is not None:
                part.follow(change)
        if self.provisioner is not None:
            if resource == "nodes":
                self.cloud.follow(change)
            self.provisioner.follow(change)
        if isinstance(record, NodeRecord) and change.type == "ADDED":
            self.lifecycle.expect_failures(record)


def _node_labels(shape: NodeShape) -> dict[str, str]:
    return {
        "kubernetes.io/hostname": shape.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        **shape.labels,
        SIMULATED: "true",
    }
