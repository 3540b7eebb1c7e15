"""The loop of Cluster Autoscaler: every ten seconds, at once when a pod finds no node, and again at
once after a loop that did something (core/static_autoscaler.go, loop/trigger.go).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from twin.chance import Chance
from twin.changes import Change
from twin.config.provisioning import NodeGroup
from twin.machines.cloud import Cloud, CloudRefusal
from twin.part import Part
from twin.provisioners.client import Client, waits_for_room
from twin.provisioners.cluster_autoscaler.actuation import Actuator
from twin.provisioners.cluster_autoscaler.groups import Groups, Readiness
from twin.provisioners.cluster_autoscaler.scale_down import ScaleDown
from twin.provisioners.cluster_autoscaler.scale_up import (
    BACKED_OFF,
    MOST_REACHED,
    Estimator,
    Option,
    ScalableGroup,
    best_options,
)
from twin.provisioners.cluster_autoscaler.status import (
    NAME,
    NAMESPACE,
    UPDATED,
    ClusterState,
    GroupState,
    status_text,
)
from twin.provisioners.cluster_autoscaler.view import View
from twin.provisioners.daemons import daemon_templates, runs_on
from twin.provisioners.placement import ClusterSnapshot, NodeInfo
from twin.records import NodeRecord, PodRecord
from twin.world import World

COMPONENT = "cluster-autoscaler"
_AGAIN_SECONDS = 0.1  # of a loop after a productive one: our own choice for the time that it takes
_NEVER = -1e18


class ClusterAutoscaler(Part):
    """One autoscaler over all node groups."""

    KEEPS = ("_number", "_last_up", "_last_down", "_choices", "_healthy")
    LEAVES = ("_view",)

    def __init__(
        self, world: World, cloud: Cloud, client: Client, groups: tuple[NodeGroup, ...]
    ) -> None:
        self._world = world
        self._config = config = world.config.provisioning.cluster_autoscaler
        self._cloud = cloud
        self._client = client
        self.groups = Groups(world.config.provisioning, groups, cloud, client, world.seed)
        self._view = View(config, client)
        self.scale_down = ScaleDown(config, client, self.groups)
        self.actuator = Actuator(world, config, client, cloud)
        self.actuator.announce = self._announce
        self._draws = Chance(world.seed).draws("expander ties")
        self._turns = Chance(world.seed).draws("pod order")
        self._number = 0  # of the planned loop; another one replaces it
        self._last_up = _NEVER
        self._last_down = _NEVER
        self._choices = 0  # expander decisions so far
        self._healthy = True
        world.clock.handle("autoscaler.scan", self._scan)

    def begin(self) -> None:
        """Let the machines run that groups start with, and plan the first loop."""
        for name, group in self.groups.groups.items():
            for _ in range(group.start):
                self.groups.order(name, booted=True)
        metadata = {"name": NAME, "annotations": {UPDATED: ""}}
        self._client.create(
            "configmaps",
            NAMESPACE,
            {"metadata": metadata, "data": {"status": "autoscalerStatus: Initializing\n"}},
        )
        self._plan(self._config.scan_seconds)

    def restored(self) -> None:
        """Forget what was seen of another world."""
        self._view.forget()

    def follow(self, change: Change) -> None:
        """Loop at once when a pod has just found no node."""
        self._view.follow(change)
        record = change.record
        if not isinstance(record, PodRecord) or not waits_for_room(record):
            return
        before = change.before
        if isinstance(before, PodRecord) and before.unschedulable:
            return
        self._plan(_AGAIN_SECONDS)

    def _plan(self, delay: float) -> None:
        self._number += 1
        self._world.clock.after(delay, "autoscaler.scan", self._number)

    def _scan(self, number: int) -> None:
        if number != self._number:
            return
        began = self._client.now
        self._loop()
        productive = began in (self._last_up, self._last_down)
        self._plan(_AGAIN_SECONDS if productive else self._config.scan_seconds)

    # ---- one loop

    def _loop(self) -> None:
        view = self._view
        view.refresh()
        readiness = {name: view.readiness(name) for name in self.groups.groups}
        self._update_requests(readiness)
        unready = sum(entry.unready for entry in readiness.values())
        share = self._config.most_unready_percent / 100.0 * len(view)
        self._healthy = unready <= self._config.allowed_unready or unready <= share
        if self._healthy:
            snapshot = view.snapshot()
            self._act(snapshot, readiness)
            view.spoil(snapshot)
        else:
            self.scale_down.forget()
            self._announce("ClusterUnhealthy", "Cluster is unhealthy")
        self._write_status(readiness)

    def _act(self, snapshot: ClusterSnapshot, readiness: dict[str, Readiness]) -> None:
        pods, waited, starting = self._pending(), False, dict[str, None]()
        if pods or self.groups.requests:
            starting = self._add_upcoming(snapshot, readiness)
            places = list(snapshot.places.values())
            # within a priority the order is that of an informer's map, which is another in every loop
            loop = int(self._client.now * 1e6)
            pods.sort(key=lambda pod: (-pod.shape.priority, self._turns.bits(pod.uid, loop)))
            pods = [pod for pod in pods if not _place(snapshot, pod, places)]
            youngest = self._client.now - self._config.young_pod_seconds
            if pods and min(pod.created_at for pod in pods) > youngest:
                waited = True
            elif pods:
                self._scale_up(snapshot, pods)
        self._scale_down(snapshot, starting, waited=waited)

    def _pending(self) -> list[PodRecord]:
        cutoff = self._config.priority_cutoff
        return [pod for pod in self._view.waiting() if pod.shape.priority >= cutoff]

    def _add_upcoming(
        self, snapshot: ClusterSnapshot, readiness: dict[str, Readiness]
    ) -> dict[str, None]:
        """Add the machines on their way as if they were ready; return the nodes they stand for."""
        daemons = daemon_templates(self._client)
        starting: dict[str, None] = {}
        for name, group in self.groups.groups.items():
            count = self.groups.upcoming(name, readiness[name])
            if not count:
                continue
            starting.update(dict.fromkeys(readiness[name].starting))
            for number in range(count):
                node = self.groups.template(group, f"upcoming-{name}-{number}")
                place = NodeInfo.of(node, template=True)
                snapshot.add(place)
                for pod in daemons:
                    if runs_on(pod, node):
                        place.shift(pod, -1)
        for node_name in starting:
            snapshot.remove(node_name)
        return starting

    # ---- scale-up

    def _scale_up(self, snapshot: ClusterSnapshot, pods: list[PodRecord]) -> None:
        candidates, skipped = self._candidates()
        estimator = Estimator(snapshot, self.groups.template, daemon_templates(self._client))
        proposal = estimator.propose(pods, candidates, skipped, self._choose)
        best = proposal.best
        if best is None:
            for pod, reasons in proposal.unhelped():
                text = f"pod didn't trigger scale-up: {reasons}"
                self._client.report(pod, "Pod", "NotTriggerScaleUp", text)
            return
        done = []
        for group, count in self._split(best):
            entry = self._grow(group, count)
            if entry:
                done.append(entry)
        if not done:
            return
        self._last_up = self._client.now
        text = f"pod triggered scale-up: [{' '.join(done)}]"
        for pod in best.pods:
            self._client.report(pod, "Pod", "TriggeredScaleUp", text)

    def _candidates(self) -> tuple[list[ScalableGroup], dict[str, str]]:
        found, skipped = [], {}
        for name, group in self.groups.groups.items():
            target = self.groups.target(name)
            if self.groups.backed_off(name):
                skipped[name] = BACKED_OFF
            elif target >= group.most:
                skipped[name] = MOST_REACHED
            else:
                found.append(ScalableGroup(group, target, self.groups.offering(group).price))
        return found, skipped

    def _choose(self, options: list[Option]) -> Option:
        best = best_options(options, self._config.expander)
        if len(best) == 1:
            return best[0]
        self._choices += 1
        return best[int(self._draws.uniform("expander", self._choices) * len(best))]

    def _split(self, option: Option) -> list[tuple[NodeGroup, int]]:
        """Return how many machines each group gets: the chosen one, or all that are like it."""
        group, count = option.candidate.group, option.nodes
        if not self._config.balance_similar_node_groups:
            return [(group, count)]
        candidates, _ = self._candidates()
        alike = [entry.group for entry in candidates if _is_similar(entry.group, group)]
        sizes = {one.name: self.groups.target(one.name) for one in alike}
        added = dict.fromkeys(sizes, 0)
        for _ in range(count):
            open_ = [one for one in alike if sizes[one.name] < one.most]
            if not open_:
                break
            least = min(open_, key=lambda one: (sizes[one.name], one.name))
            sizes[least.name] += 1
            added[least.name] += 1
        return [(one, added[one.name]) for one in alike if added[one.name]]

    def _grow(self, group: NodeGroup, count: int) -> str:
        """Order machines for a group; return `{small 0->1 (max: 10)}`, or nothing when refused."""
        before = self.groups.target(group.name)
        wanted = min(before + count, group.most)
        self._announce(
            "ScaledUpGroup",
            f"Scale-up: setting group {group.name} size to {wanted} instead of {before} "
            f"(max: {group.most})",
        )
        try:
            granted = self.groups.increase(group.name, wanted - before)
        except CloudRefusal as refusal:
            text = f"Scale-up failed for group {group.name}: {refusal}"
            self._announce("FailedToScaleUpGroup", text)
            self.groups.back_off(group.name)
            return ""
        now_size = before + granted
        self._announce(
            "ScaledUpGroup",
            f"Scale-up: group {group.name} size set to {now_size} instead of {before} "
            f"(max: {group.most})",
        )
        return f"{{{group.name} {before}->{now_size} (max: {group.most})}}"

    def _update_requests(self, readiness: dict[str, Readiness]) -> None:
        """End scale-ups that are done, and give up those that take too long."""
        for name, request in list(self.groups.requests.items()):
            entry = readiness[name]
            if self.groups.target(name) <= entry.ready + entry.unready:
                del self.groups.requests[name]
            elif request.expected < self._client.now:
                took = _go_duration(self._client.now - request.at)
                self._announce(
                    "ScaleUpTimedOut",
                    f"Nodes added to group {name} failed to register within {took}",
                )
                self.groups.back_off(name)
                self.groups.give_up_unregistered(name)
                del self.groups.requests[name]

    # ---- scale-down

    def _scale_down(
        self, snapshot: ClusterSnapshot, starting: dict[str, None], *, waited: bool
    ) -> None:
        view, absent = self._view, starting.keys()
        leaving = self.actuator.deletions.keys() | view.leaving.keys()
        self.scale_down.look(view, snapshot, leaving, absent)
        if not waited and not self._is_cooling_down():
            empty, occupied = self.scale_down.removable(self.actuator.in_progress())
            if self.actuator.start(empty, occupied, self._group_name):
                self._last_down = self._client.now
        unneeded = self.scale_down.unneeded.keys()
        needed = self._grouped(view.soft.keys() - unneeded - absent)
        self.actuator.set_soft_taints(needed, self._grouped(unneeded))

    def _grouped(self, names: Iterable[str]) -> list[NodeRecord]:
        """Return those of the nodes that belong to a group, by name."""
        nodes = [self._view.node(name) for name in sorted(names)]
        return [node for node in nodes if self.groups.group_of(node)]

    def _is_cooling_down(self) -> bool:
        now, config = self._client.now, self._config
        return (
            self._last_up + config.delay_after_add_seconds > now
            or self.actuator.failed_at + config.delay_after_failure_seconds > now
        )

    def _group_name(self, node: NodeRecord) -> str:
        group = self.groups.group_of(node)
        return "" if group is None else group.name

    # ---- what it says

    def _announce(self, reason: str, message: str) -> None:
        """Write a KubeEvent about the status ConfigMap, as its LogRecorder does."""
        record = self._client.find("configmaps", NAMESPACE, NAME)
        if record is not None:
            self._client.report(record, "ConfigMap", reason, message)

    def _write_status(self, readiness: dict[str, Readiness]) -> None:
        record = self._client.find("configmaps", NAMESPACE, NAME)
        if record is None:
            return
        unneeded = Counter(self._view.group_of.get(name, "") for name in self.scale_down.unneeded)
        states = [
            GroupState(
                group,
                readiness[name],
                self.groups.target(name),
                name in self.groups.requests,
                self.groups.backed_off(name),
                unneeded[name],
            )
            for name, group in self.groups.groups.items()
        ]
        growing = "InProgress" if self.groups.requests else "NoActivity"
        state = ClusterState(self._healthy, growing, states, {})
        text = status_text(state, self._client.now)
        self._client.set_object("configmaps", record, data={"status": text})


def _place(snapshot: ClusterSnapshot, pod: PodRecord, places: list[NodeInfo]) -> bool:
    """Put a pending pod where it fits in thought; False when it fits nowhere."""
    place = snapshot.any_fit(pod, places)
    if place is None:
        return False
    snapshot.place(pod, place)
    return True


def _is_similar(node_group: NodeGroup, other: NodeGroup) -> bool:
    """True for groups of equal machines with equal labels and taints, whatever their zone."""
    return (node_group.machine, node_group.spot, node_group.labels, node_group.taints) == (
        other.machine,
        other.spot,
        other.labels,
        other.taints,
    )


def _go_duration(seconds: float) -> str:
    """Return a duration as Go prints it: `15m10.1s`."""
    minutes, rest = divmod(seconds, 60.0)
    text = f"{rest:.9g}s"
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text
