"""Figures of a recording, each a function of its name in a scenario's promises.

Times are seconds; a figure that cannot be had (what it is about never happened) is None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from math import fsum

from lab.fidelity.recording import NodeLife, PodLife, Recording
from lab.fidelity.scenario import STEP_SECONDS

Value = float | str | None


def measure(metric: str, recording: Recording) -> Value:
    """Return a figure by its name and arguments; raises ValueError for one that is unknown."""
    name, *arguments = metric.split()
    if name not in METRICS:
        raise ValueError(f"unknown metric {name}: choose from {', '.join(sorted(METRICS))}")
    return METRICS[name](recording, *arguments)


def node_counts(recording: Recording) -> list[float]:
    """Return the mean number of rented nodes in each whole minute."""
    rented = _rented_nodes(recording)
    return [
        fsum(_overlap(one, minute * 60.0, recording.seconds) for one in rented) / 60.0
        for minute in range(int(recording.seconds / 60.0))
    ]


# ---- pods


def most_pods(recording: Recording, app: str, since: str) -> Value:
    """Most pods at once that were not ending."""
    return float(max(
        sum(one.created <= at and not _is_reached(one.terminating, at) and not _is_reached(one.gone, at)
            for one in _of(recording, app))
        for at in _moments(recording, float(since))
    ))  # fmt: skip


def fewest_ready(recording: Recording, app: str, since: str) -> Value:
    """Fewest pods at once that were ready and not ending."""
    moments = _moments(recording, float(since))
    return float(min(sum(_is_ready(one, at) for one in _of(recording, app)) for at in moments))


def ready_at(recording: Recording, app: str, at: str) -> Value:
    """Ready pods at a moment."""
    return float(sum(_is_ready(one, float(at)) for one in _of(recording, app)))


def ready_of_version(recording: Recording, app: str, version: str) -> Value:
    """Ready pods of a version at the end."""
    pods = [one for one in _of(recording, app) if one.version == version]
    return float(sum(_is_ready(one, recording.seconds) for one in pods))


def left_of_version(recording: Recording, app: str, version: str) -> Value:
    """Pods of a version that are left at the end."""
    return float(sum(one.version == version and one.gone is None for one in _of(recording, app)))


def ready_elsewhere(recording: Recording, app: str, node: str) -> Value:
    """Pods that are ready at the end, on other nodes than this."""
    pods = [one for one in _of(recording, app) if one.node != node]
    return float(sum(_is_ready(one, recording.seconds) for one in pods))


def made_between(recording: Recording, app: str, since: str, until: str) -> Value:
    """Pods that came between two moments."""
    return float(sum(float(since) <= one.created <= float(until) for one in _of(recording, app)))


def done_after(recording: Recording, app: str, version: str, since: str) -> Value:
    """Seconds until all pods were of a version and ready, and the others gone."""
    pods = _of(recording, app)
    ends = [one.ready if one.version == version else one.gone for one in pods]
    known = [end for end in ends if end is not None]
    return max(known) - float(since) if known and len(known) == len(ends) else None


def all_ready_after(recording: Recording, app: str, count: str, since: str) -> Value:
    """Seconds until so many pods were ready for the first time."""
    times = sorted(one.ready for one in _of(recording, app) if one.ready is not None)
    return times[int(count) - 1] - float(since) if len(times) >= int(count) else None


def bound_after(recording: Recording, name: str) -> Value:
    """Seconds from a pod's creation to its binding."""
    pod = _pod_by_name(recording, name)
    return None if pod is None or pod.bound is None else pod.bound - pod.created


def node_of(recording: Recording, name: str) -> Value:
    """Node of a pod."""
    pod = _pod_by_name(recording, name)
    return pod.node if pod is not None and pod.node else None


def on_node_at(recording: Recording, app: str, node: str, at: str) -> Value:
    """Pods on a node at a moment."""
    moment = float(at)
    pods = [
        one for one in _of(recording, app) if one.node == node and _is_reached(one.bound, moment)
    ]
    return float(sum(not _is_reached(one.gone, moment) for one in pods))


def terminated_between(recording: Recording, since: str, until: str) -> Value:
    """Names of the pods that were deleted between two moments, in order."""
    return ", ".join(one.name for one in _terminated_pods(recording, since, until)) or "none"


def terminated_count_between(recording: Recording, since: str, until: str) -> Value:
    """How many pods were deleted between two moments."""
    return float(len(_terminated_pods(recording, since, until)))


def terminating_at_end(recording: Recording) -> Value:
    """Pods that were deleted and are still there."""
    return float(sum(one.terminating is not None and one.gone is None for one in recording.pods))


def between_terminations(recording: Recording, app: str, since: str) -> Value:
    """Seconds between the first and the last deletion."""
    times = [one.terminating for one in _of(recording, app) if one.terminating is not None]
    late = [one for one in times if one >= float(since)]
    return max(late) - min(late) if len(late) > 1 else None


def first_termination_after(recording: Recording, app: str, since: str) -> Value:
    """Seconds until the first pod was deleted."""
    times = [one.terminating for one in _of(recording, app) if one.terminating is not None]
    return min(times) - float(since) if times else None


def second_pod_after(recording: Recording, app: str, since: str) -> Value:
    """Seconds until the second pod was made."""
    times = sorted(one.created for one in _of(recording, app))
    return times[1] - float(since) if len(times) > 1 else None


def sizes_up(recording: Recording, app: str) -> Value:
    """How many pods there were after each creation, until the first deletion; same looks are one step."""
    pods = _of(recording, app)
    ends = [one.terminating for one in pods if one.terminating is not None]
    first_end = min(ends, default=recording.seconds)
    times = sorted(one.created for one in pods if one.created < first_end)
    steps = [at for at in sorted(set(times)) if not any(0 < other - at <= 1.0 for other in times)]
    return " ".join(str(sum(other <= at for other in times)) for at in steps)


def pending_at_end(recording: Recording) -> Value:
    """Pods without a node at the end."""
    return float(sum(one.bound is None and one.gone is None for one in recording.pods))


# ---- answers and events


def answers(recording: Recording, what: str, since: str, until: str) -> Value:
    """HTTP statuses of what was asked between two moments, in order."""
    wanted = what.replace("_", " ")
    codes = [str(code) for at, text, code in recording.answers
             if text == wanted and float(since) <= at <= float(until)]  # fmt: skip
    return " ".join(codes) or None


def answers_of(recording: Recording, what: str, status: str) -> Value:
    """How many answers had this HTTP status."""
    return float(sum(text == what and code == int(status) for _, text, code in recording.answers))


def event(recording: Recording, kind: str, reason: str) -> Value:
    """Whether a KubeEvent with this reason was seen on an object of this kind."""
    return "yes" if f"{kind} {reason}" in recording.events else "no"


# ---- nodes


def not_ready_after(recording: Recording, node: str, since: str) -> Value:
    """Seconds until a node was not Ready."""
    found = [one.not_ready for one in recording.nodes if one.name == node]
    return found[0] - float(since) if found and found[0] is not None else None


def evicted_after_not_ready(recording: Recording, node: str, app: str) -> Value:
    """Seconds from a node's being not Ready to the first deletion of a pod on it."""
    failed = [one.not_ready for one in recording.nodes if one.name == node]
    ends = [one.terminating for one in _of(recording, app)
            if one.node == node and one.terminating is not None]  # fmt: skip
    return min(ends) - failed[0] if ends and failed and failed[0] is not None else None


def machines_chosen(recording: Recording) -> Value:
    """Machines that were rented over the whole scenario, with their number."""
    return _machine_counts(one.machine for one in _rented_nodes(recording))


def machines_removed(recording: Recording) -> Value:
    """Machines that were given back."""
    return _machine_counts(one.machine for one in _rented_nodes(recording) if one.gone is not None)


def machines_at_end(recording: Recording) -> Value:
    """Machines that are there at the end."""
    return _machine_counts(one.machine for one in _rented_nodes(recording) if one.gone is None)


def machines_at(recording: Recording, at: str) -> Value:
    """Machines that are there at a moment."""
    return _machine_counts(
        one.machine for one in _rented_nodes(recording) if _is_there(one, float(at))
    )


def first_node_after(recording: Recording, since: str) -> Value:
    """Seconds until the first node was registered after a moment."""
    times = [one.registered for one in _rented_nodes(recording) if one.registered >= float(since)]
    return min(times) - float(since) if times else None


def first_bound_after_node(recording: Recording) -> Value:
    """Seconds from the first node's being Ready until the first pod was bound."""
    nodes = [one.ready for one in _rented_nodes(recording) if one.ready is not None]
    pods = [one.bound for one in recording.pods if one.bound is not None]
    return min(pods) - min(nodes) if nodes and pods else None


def first_removal_after(recording: Recording, since: str) -> Value:
    """Seconds until the first node was gone."""
    times = [one.gone for one in _rented_nodes(recording) if one.gone is not None]
    late = [one for one in times if one >= float(since)]
    return min(late) - float(since) if late else None


METRICS: dict[str, Callable[..., Value]] = {
    one.__name__: one
    for one in (
        most_pods, fewest_ready, ready_at, ready_of_version, left_of_version, ready_elsewhere,
        made_between, done_after, all_ready_after, bound_after, node_of, on_node_at, terminated_between,
        terminated_count_between, terminating_at_end, between_terminations, pending_at_end, first_termination_after,
        second_pod_after, sizes_up, answers,
        answers_of, event, not_ready_after, evicted_after_not_ready, machines_chosen, machines_removed,
        machines_at_end, machines_at, first_node_after, first_removal_after,
        first_bound_after_node,
    )
}  # fmt: skip


def _of(recording: Recording, app: str) -> list[PodLife]:
    return [one for one in recording.pods if one.app == app]


def _pod_by_name(recording: Recording, name: str) -> PodLife | None:
    return next((one for one in recording.pods if one.name == name), None)


def _rented_nodes(recording: Recording) -> list[NodeLife]:
    return [one for one in recording.nodes if one.machine]


def _terminated_pods(recording: Recording, since: str, until: str) -> list[PodLife]:
    found = [(one.terminating, one) for one in recording.pods if one.terminating is not None]
    late = [(at, one) for at, one in found if float(since) <= at <= float(until)]
    return [one for _, one in sorted(late, key=lambda pair: (pair[0], pair[1].name))]


def _is_reached(when: float | None, at: float) -> bool:
    return when is not None and when <= at


def _is_ready(one: PodLife, at: float) -> bool:
    lost = (
        _is_reached(one.unready, at)
        or _is_reached(one.terminating, at)
        or _is_reached(one.gone, at)
    )
    return _is_reached(one.ready, at) and not lost


def _is_there(one: NodeLife, at: float) -> bool:
    return one.registered <= at and not _is_reached(one.gone, at)


def _overlap(one: NodeLife, begin: float, end_of_all: float) -> float:
    """Return for how many seconds of a minute a node was there."""
    end = end_of_all if one.gone is None else one.gone
    return max(0.0, min(end, begin + 60.0) - max(one.registered, begin))


def _machine_counts(machines: Iterable[str]) -> str:
    counts = sorted(Counter(machines).items())
    return ", ".join(f"{count} {name}" for name, count in counts) or "none"


def _moments(recording: Recording, since: float) -> list[float]:
    count = int((recording.seconds - since) / STEP_SECONDS) + 1
    return [since + number * STEP_SECONDS for number in range(count)]
