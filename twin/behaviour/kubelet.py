"""The kubelet of every node: from a bound pod to running containers, and to their end.

Start-up latency is log-normal, after images (`images.py`) and init containers. A container that
ends is started again as its restart policy says, after 10, 20, 40 ... 300 s; a deleted pod gets its
grace. A machine that has failed does nothing until it is back, and its containers are lost then.
Times that a kubelet writes are those of its machine's clock (`impairments.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from twin.behaviour.images import Images, image_bytes
from twin.behaviour.impairments import Impairments
from twin.behaviour.mounts import CONFIG_RETRY_SECONDS, Mounts
from twin.behaviour.pod_work import exit_code_of, is_local, read_work
from twin.behaviour.probes import probe_fate
from twin.behaviour.readiness import gates_changed, set_ready
from twin.behaviour.usage_table import UsageTable
from twin.changes import Change
from twin.part import Part
from twin.records import Ended, PodRecord
from twin.scheduling.node_table import NodeTable
from twin.world import World

if TYPE_CHECKING:
    from twin.behaviour.contention import Contention

__all__ = ["KILLED", "Kubelet", "image_bytes"]

KILLED = 137
_CRASHED = 1
_COMPONENT = "kubelet"
_TERMINATED = "TerminationByKubelet"
_ADMIT_SECONDS = 0.1  # the kubelet's watch sees the binding


class Kubelet(Part):
    """Runs pods. `contention` is set once both exist: each needs the other."""

    KEEPS = ("_crashes", "_stopping")

    contention: Contention
    answer_seconds: Callable[[PodRecord], float]
    """How long a container takes from its start until it answers its probes."""
    started: Callable[[PodRecord, int], None] | None
    """Called with a pod and its row of the usage table when a container has started."""

    def __init__(
        self, world: World, nodes: NodeTable, usage: UsageTable, impairments: Impairments
    ) -> None:
        self._world = world
        self._skew = impairments
        self.images = Images(world, impairments, self._plan_first_start)
        self.mounts = Mounts(world, self.images.prepare, self.images.attempt)
        self._nodes = nodes
        self._usage = usage
        self.answer_seconds = lambda _: world.config.kubelet.probe_answer_seconds
        self.started = None
        self._crashes: dict[str, int] = {}  # restarts in a row, by pod uid
        self._stopping: dict[str, object] = {}  # deadlines already planned for, by pod uid
        self._starts = world.chance.draws("start latency")
        self._stops = world.chance.draws("stop latency")
        for name, handler in (
            ("admit", self._admit),
            ("start", self._start),
            ("ready", self._ready),
            ("unhealthy", self._unhealthy),
            ("finish", self._finish),
            ("stop", self._stop),
            ("gates", self._look_at_gates),
        ):
            world.clock.handle(f"kubelet.{name}", handler)

    def follow(self, change: Change) -> None:
        """Plan what a change of a pod asks for."""
        pod = change.record
        if not isinstance(pod, PodRecord):
            return
        if change.type == "DELETED":
            self._usage.drop(pod.uid)
            self.images.forget(pod.uid)
            self._crashes.pop(pod.uid, None)
            self._stopping.pop(pod.uid, None)
        elif pod.node_name and pod.started_at is None and self._newly_bound(change):
            self._world.clock.after(_ADMIT_SECONDS, "kubelet.admit", pod.uid)
        elif pod.containers_ready is not None and gates_changed(pod):
            self._world.clock.after(_ADMIT_SECONDS, "kubelet.gates", pod.uid)
        deadline = (pod.deletion_at, pod.finalizers)
        ending = change.type == "MODIFIED" and pod.deletion_at is not None
        if ending and self._stopping.get(pod.uid) != deadline:
            self._stopping[pod.uid] = deadline
            self._plan_stop(pod)

    def recover(self, node_name: str) -> None:
        """The machine is back: its containers are lost, deleted pods go, others start again."""
        for pod in list(self._world.pods_on.get(node_name, {}).values()):
            if pod.deletion_at is not None:
                self._world.clock.after(0.0, "kubelet.stop", pod.uid)
            elif pod.container_state == "running":
                self._exit(pod, KILLED, "Error", "The node was restarted", backs_off=False)
            elif pod.started_at is None:
                self._world.clock.after(_ADMIT_SECONDS, "kubelet.admit", pod.uid)
            elif pod.container_state == "waiting" and not pod.terminal:
                node = self._world.node(node_name)
                assert node is not None, "a machine that is back is a node"
                self.mounts.prepare(pod, node)

    def lose(self, node_name: str) -> None:
        """The machine fails: nothing of it runs any more, though nobody knows yet."""
        here = self._world.pods_on.get(node_name, {})
        for uid in here:
            self._usage.drop(uid)
        waiting = [uid for uid, pod in here.items() if pod.container_state == "waiting"]
        self.images.lose(node_name, waiting)

    def kill_for_memory(self, uid: str, sentence: str) -> None:
        """Kill a running container for want of memory."""
        pod = self._running(uid)
        if pod is None:
            return
        self._report(pod, "OOMKilling", f"{sentence}: killed container {pod.shape.containers[0]}")
        self._exit(pod, KILLED, "OOMKilled", "", backs_off=True)

    def restart_for_resize(self, pod: PodRecord) -> None:
        """Kill a running container whose resizePolicy asks for it; it starts again at once."""
        name = pod.shape.containers[0]
        self._report(pod, "Killing", f"Container {name} resize requires restart")
        self._exit(pod, KILLED, "Error", "", backs_off=False)

    def crash(self, uid: str) -> None:
        """Let a running container end by itself with an error."""
        pod = self._running(uid)
        if pod is not None and not is_local(pod, self._world.config):  # a real program has its own
            self._exit(pod, _CRASHED, "Error", "", backs_off=True)

    def end_process(self, uid: str, restarts: int, code: int, reason: str, message: str) -> bool:
        """The process of a local pod's container has ended; False when that is no news any more.

        `restarts` says which run of the container it was, `message` is its termination message.
        """
        pod = self._running(uid)
        if pod is None or pod.restart_count != restarts or not is_local(pod, self._world.config):
            return False
        if pod.deletion_at is None:
            self._exit(pod, code, reason, message, backs_off=True)
        else:
            self._world.clock.after(0.0, "kubelet.stop", uid)
        return True

    def answer_probes(self, uid: str, *, ready: bool) -> None:
        """Let a running pod's readiness probe succeed or fail from now on."""
        pod = self._running(uid)
        if pod is None or pod.containers_are_ready == ready:
            return
        if not ready:
            self._report(pod, "Unhealthy", "Readiness probe failed: no answer in time")
        before = pod.clone()
        set_ready(pod, ready, self._clock(pod.node_name))
        self._world.store.touch("pods", pod, before)

    def fail_liveness(self, uid: str) -> None:
        """Kill a running container that no longer answers its liveness probe."""
        row = self._usage.row_of.get(uid)
        if row is not None:
            self._unhealthy(uid, float(self._usage["started_at"][row]), "liveness")

    def evict(self, uid: str, sentence: str) -> None:
        """End a pod for good under node pressure, whatever its budget and grace say."""
        pod = self._world.pods.get(uid)
        if pod is not None:
            self._report(pod, "Evicted", sentence)
            self.end(pod, "Evicted", sentence)

    def end(self, pod: PodRecord, reason: str, message: str) -> None:
        """Let a pod fail for good, by the kubelet's own decision."""
        if pod.terminal or pod.deletion_at is not None:
            return
        self._usage.drop(pod.uid)
        before = pod.clone()
        self._fail(pod, "Error" if pod.container_state == "running" else "ContainerStatusUnknown")
        pod.reason, pod.message = reason, message
        pod.disruption = _TERMINATED
        self._world.store.touch("pods", pod, before)

    def _fail(self, pod: PodRecord, why: str) -> None:
        """Let a pod's container have been killed, and the pod have failed."""
        now = self._clock(pod.node_name)
        if pod.container_state == "running" or pod.ended is None:
            pod.ended = Ended(KILLED, why, pod.container_since or now, now)
        pod.container_state, pod.container_reason, pod.container_message = "terminated", "", ""
        pod.phase = "Failed"
        if pod.containers_are_ready:
            set_ready(pod, False, now)

    # ---- one handler per event

    def _admit(self, uid: str) -> None:
        pod = self._world.pods.get(uid)
        if pod is None or pod.started_at is not None or pod.terminal:
            return
        node = self._world.node(pod.node_name)
        if node is None or not self._world.up(pod.node_name):
            return
        before = pod.clone()
        pod.started_at = self._clock(pod.node_name)
        if pod.scheduled_at is None:
            pod.scheduled_at = self._world.now
        pod.host_ip = node.internal_ip
        self._world.store.touch("pods", pod, before)
        self.mounts.prepare(pod, node)

    def _plan_first_start(self, pod: PodRecord, delay: float) -> None:
        """Plan the start of a pod whose images are there after `delay`."""
        inits = pod.shape.spec.get("initContainers") or ()
        self._plan_start(
            pod, delay + len(inits) * self._world.config.kubelet.init_container_seconds
        )

    def _plan_start(self, pod: PodRecord, delay: float) -> None:
        config = self._world.config
        attempt = self.images.attempt(pod.uid)
        number = (pod.restart_count << 32) + attempt
        latency = self._starts.lognormal(
            config.start_median_seconds, config.start_sigma, pod.uid, number
        )
        self._world.clock.after(delay + latency, "kubelet.start", pod.uid, attempt)

    def _start(self, uid: str, attempt: int) -> None:
        world, pod = self._world, self._world.pods.get(uid)
        if pod is None or pod.terminal or pod.deletion_at is not None:
            return
        if attempt != self.images.attempt(uid):
            return  # planned on a machine that was lost since
        if pod.container_state == "running" or not world.up(pod.node_name):
            return
        if self.mounts.config_problem(pod):
            world.clock.after(CONFIG_RETRY_SECONDS, "kubelet.start", uid, attempt)
            return
        before = pod.clone()
        if pod.ended is not None:
            pod.restart_count += 1
        now = self._clock(pod.node_name)
        pod.phase, pod.container_state, pod.container_since = "Running", "running", now
        pod.container_reason = pod.container_message = ""
        pod.pod_ip = pod.pod_ip or _pod_ip(uid)
        fate = probe_fate(pod.shape.spec, pod.annotations, self.answer_seconds(pod))
        set_ready(pod, fate.ready_seconds == 0.0, now)
        world.store.touch("pods", pod, before)
        self._report(pod, "Started", f"Started container {pod.shape.containers[0]}")
        if 0.0 < fate.ready_seconds < math.inf:
            world.clock.after(fate.ready_seconds, "kubelet.ready", uid, world.now)
        if fate.killed_seconds < math.inf:
            last = fate.killed_seconds
            world.clock.after(last, "kubelet.unhealthy", uid, world.now, fate.probe)
        rate = self.contention.rate_on(pod.node_name)
        node_row = self._nodes.row_of[pod.node_name]
        row = self._usage.add(pod, node_row, read_work(pod, world.config), world.now, rate)
        if self.started is not None and not is_local(pod, world.config):
            self.started(pod, row)
        self.contention.plan_finish(row)

    def _ready(self, uid: str, started_at: float) -> None:
        pod = self._running_since(uid, started_at)
        if pod is not None and not pod.containers_are_ready:
            before = pod.clone()
            set_ready(pod, True, self._clock(pod.node_name))
            self._world.store.touch("pods", pod, before)

    def _look_at_gates(self, uid: str) -> None:
        pod = self._world.pods.get(uid)
        if pod is not None and self._world.up(pod.node_name) and gates_changed(pod):
            before = pod.clone()
            set_ready(pod, pod.containers_are_ready, self._clock(pod.node_name))
            self._world.store.touch("pods", pod, before)

    def _unhealthy(self, uid: str, started_at: float, probe: str) -> None:
        """Kill a container that did not answer its startup or liveness probe in time."""
        pod = self._running_since(uid, started_at)
        if pod is None:
            return
        self._report(pod, "Unhealthy", f"{probe.capitalize()} probe failed: no answer")
        text = f"Container {pod.shape.containers[0]} failed {probe} probe, will be restarted"
        self._report(pod, "Killing", text)
        self._exit(pod, KILLED, "Error", "", backs_off=True)

    def _finish(self, uid: str, started_at: float) -> None:
        pod = self._running_since(uid, started_at)
        if pod is not None:
            code = exit_code_of(pod)
            self._exit(pod, code, "Error" if code else "Completed", "", backs_off=True)

    def _plan_stop(self, pod: PodRecord) -> None:
        assert pod.deletion_at is not None
        if pod.terminal:
            self._world.clock.after(0.0, "kubelet.stop", pod.uid)
            return
        config = self._world.config
        if is_local(pod, config) and pod.container_state == "running":  # its process may end before
            self._world.clock.at(pod.deletion_at, "kubelet.stop", pod.uid)
            return
        took = self._stops.lognormal(config.stop_median_seconds, config.start_sigma, pod.uid)
        when = min(pod.deletion_at, self._world.now + took)
        self._world.clock.at(when, "kubelet.stop", pod.uid)

    def _stop(self, uid: str) -> None:
        pod = self._world.pods.get(uid)
        if pod is None or pod.deletion_at is None:
            return
        node_exists = self._world.node(pod.node_name) is not None
        forced = pod.deletion_grace_seconds == 0 and not pod.finalizers
        if node_exists and not self._world.up(pod.node_name) and not forced:
            return  # nobody there to confirm: it stays Terminating
        if pod.container_state == "running":
            names = pod.shape.containers
            self._report(pod, "Killing", f"Stopping container {names[0]}")
        self._usage.drop(uid)
        before = pod.clone()
        if pod.finalizers:  # it stays, but nothing of it runs any more
            if pod.node_name and not pod.terminal:
                self._fail(pod, "Error")
                self._world.store.touch("pods", pod, before)
            return
        if not pod.disruption:  # the moment of a disruption is read off these
            pod.deletion_at, pod.deletion_grace_seconds = self._world.now, 0
        self._world.store.remove("pods", pod, before)

    # ---- inner parts

    def _exit(
        self, pod: PodRecord, code: int, reason: str, message: str, *, backs_off: bool
    ) -> None:
        world, config = self._world, self._world.config
        row = self._usage.row_of.get(pod.uid)
        ran = 0.0 if row is None else world.now - float(self._usage["started_at"][row])
        self._usage.drop(pod.uid)
        before, now = pod.clone(), self._clock(pod.node_name)
        pod.ended = Ended(code, reason, pod.container_since, now, message)
        if pod.containers_are_ready:
            set_ready(pod, False, now)
        policy = pod.shape.restart_policy
        if policy == "Always" or (policy == "OnFailure" and code):
            delay = self._backoff(pod, ran) if backs_off else 0.0
            pod.container_state, pod.container_since = "waiting", now
            pod.container_reason = "CrashLoopBackOff" if delay else "ContainerCreating"
            name = pod.shape.containers[0]
            where = f"pod={pod.name}_{pod.namespace}({pod.uid})"
            text = f"back-off {delay:g}s restarting failed container={name} {where}"
            pod.container_message = text if delay else ""
            world.store.touch("pods", pod, before)
            if delay:
                self._report(pod, "BackOff", f"Back-off restarting failed container {name}")
                attempt = self.images.attempt(pod.uid)
                world.clock.after(delay, "kubelet.start", pod.uid, attempt)
            else:
                self._plan_start(pod, config.start_median_seconds)
            return
        pod.container_state, pod.container_reason, pod.container_message = "terminated", "", ""
        pod.phase = "Failed" if code else "Succeeded"
        world.store.touch("pods", pod, before)

    def _backoff(self, pod: PodRecord, ran: float) -> float:
        config = self._world.config
        count = 0 if ran >= config.restart_reset_seconds else self._crashes.get(pod.uid, 0)
        self._crashes[pod.uid] = count + 1
        return min(config.restart_backoff_seconds * 2.0**count, config.restart_backoff_max_seconds)

    def _running(self, uid: str) -> PodRecord | None:
        pod = self._world.pods.get(uid)
        return pod if pod is not None and uid in self._usage.row_of else None

    def _running_since(self, uid: str, started_at: float) -> PodRecord | None:
        row = self._usage.row_of.get(uid)
        if row is None or float(self._usage["started_at"][row]) != started_at:
            return None
        return self._world.pods.get(uid)

    def _clock(self, node_name: str) -> float:
        """Return what the clock of a machine says."""
        skews = self._skew.skew_seconds
        return self._world.now + skews[node_name] if node_name in skews else self._world.now

    def _newly_bound(self, change: Change) -> bool:
        return change.previous_fields is None or not change.previous_fields[0]

    def _report(self, pod: PodRecord, reason: str, message: str) -> None:
        self._world.reporter.report(pod, "Pod", reason, message, _COMPONENT)


def _pod_ip(uid: str) -> str:
    number = int(uid[:6], 16)
    return f"10.{128 + (number >> 16) % 127}.{(number >> 8) & 255}.{number & 255}"
