"""What one pod waits for, in the order of its life: a node, volumes, init containers, containers, gates."""

from __future__ import annotations

from collections.abc import Iterator

from lab.explanations.container_waits import container_wait
from lab.explanations.frozen_cluster import Object, unix_seconds
from lab.explanations.waits import (
    Surroundings,
    Wait,
    Words,
    changed_seconds,
    condition,
    set_by,
    template_path,
    words_of,
)
from projections.figures import duration
from schemas.wording import count_text

ENDED = frozenset({"Succeeded", "Failed"})
_BEGUN = ("Pulling", "Pulled", "Created", "Started")
"""Of events of a pod whose volumes and sandbox are there."""
_MOUNTING = ("FailedMount", "FailedAttachVolume", "FailedMapVolume")


def pod_waits(pod: Object, around: Surroundings) -> tuple[Wait, ...]:
    """Return what a pod waits for, what comes first in its life first; nothing where it is ready.

    What comes later in its life is not looked at before the earlier is there: a pod without a node has no images.
    """
    status = pod.get("status") or {}
    if status.get("phase") in ENDED:
        return (_ended(pod, status),)
    if pod["metadata"].get("deletionTimestamp"):
        return (_going(pod, around),)
    if not pod["spec"].get("nodeName"):
        return tuple(_unplaced(pod, around))
    waits = [*_node(pod, around), *_volumes(pod, around)]
    if not waits:
        waits += _containers(pod, around)
    return tuple(waits) or tuple(_gates(pod))


def _ended(pod: Object, status: Object) -> Wait:
    reason = f" ({status['reason']})" if status.get("reason") else ""
    words = Words(str(status["message"])) if status.get("message") else None
    ends = [
        unix_seconds(((one.get("state") or {}).get("terminated") or {}).get("finishedAt"))
        for one in status.get("containerStatuses") or ()
    ]
    since = max((end for end in ends if end is not None), default=None)
    text = f"it has ended: {status['phase']}{reason}; a pod that has ended does not start again"
    return Wait("end", text, since, who=_controller(pod), words=words)


def _going(pod: Object, around: Surroundings) -> Wait:
    metadata = pod["metadata"]
    at = unix_seconds(metadata["deletionTimestamp"])
    since = None if at is None else at - float(metadata.get("deletionGracePeriodSeconds") or 0)
    if finalizers := metadata.get("finalizers"):
        text = f"it is being deleted, and finalizers hold it: {', '.join(finalizers)}"
        return Wait("end", text, since, who="the controllers of these finalizers")
    text = "it is being deleted"
    if at is not None and at < around.now_seconds:
        text += ", and its kubelet has not said that its containers have ended"
    node = pod["spec"].get("nodeName")
    return Wait("end", text, since, at, f"the kubelet of {node}" if node else "the API server")


def _unplaced(pod: Object, around: Surroundings) -> Iterator[Wait]:
    """Yield why a pod has no node, as far as the scheduler's own words go."""
    spec, placed = pod["spec"], condition(pod, "PodScheduled")
    since = changed_seconds(placed) or unix_seconds(pod["metadata"].get("creationTimestamp"))
    if gates := spec.get("schedulingGates"):
        names = ", ".join(gate["name"] for gate in gates)
        yield Wait("gate", f"scheduling gates hold it: {names}", since, who="who set these gates")
        return
    yield from _lost_claims(pod, around)
    scheduler = spec.get("schedulerName") or "default-scheduler"
    if placed is None or not placed.get("message"):
        text = f"scheduler {scheduler} has not looked at it yet"
        yield Wait("node", text, since, who=f"scheduler {scheduler}, if it runs")
        return
    words = Words(str(placed["message"]))
    said = around.newest_event(pod, "FailedScheduling")
    if said is not None and said.get("message") == words.text:
        words = words_of(said) or words
    name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    who = f"`foresail explain pod {name} --why-not schedule` says what would help"
    yield Wait("node", "no node takes it", since, who=who, words=words)


def _node(pod: Object, around: Surroundings) -> Iterator[Wait]:
    """Yield what is wrong with the node that a pod is on: nothing else moves before that."""
    if not around.nodes_read:
        return
    name = pod["spec"]["nodeName"]
    node = around.named(around.nodes, name)
    if node is None:
        yield Wait(
            "node", f"its node {name} is not there any more", who="garbage collection of pods"
        )
        return
    ready = condition(node, "Ready")
    if ready is not None and ready["status"] == "True":
        return
    if ready is not None and ready["status"] == "Unknown":
        text = f"its node {name} does not report"
    else:
        text = f"its node {name} is not ready"
    words = None if ready is None or not ready.get("message") else Words(str(ready["message"]))
    who = f"who looks after node {name}"
    yield Wait("node", text, changed_seconds(ready), who=who, words=words)


def _volumes(pod: Object, around: Surroundings) -> Iterator[Wait]:
    """Yield the claims that are not bound, and what the kubelet says that it cannot mount."""
    if _any_began(pod):
        return
    yield from _lost_claims(pod, around)
    for name in _claim_names(pod):
        claim = around.named(around.claims, name)
        phase = "Bound" if claim is None else (claim.get("status") or {}).get("phase") or "Pending"
        if claim is not None and phase != "Bound":
            made = unix_seconds(claim["metadata"].get("creationTimestamp"))
            storage = claim["spec"].get("storageClassName") or "no class"
            who = f"the provisioner of storage class {storage}"
            yield Wait("volume", f"its claim {name} is {phase}, not Bound", made, who=who)
    said = words_of(around.newest_event(pod, *_MOUNTING))
    if said is not None and not around.is_overcome(pod, said, *_BEGUN):
        holder = around.root_of(pod) or pod
        template = set_by(holder, (*template_path(holder), "f:volumes"))
        since = changed_seconds(condition(pod, "PodScheduled"))
        who = f"who makes what is missing, or {template}"
        yield Wait("volume", "a volume of it cannot be mounted", since, who=who, words=said)


def _lost_claims(pod: Object, around: Surroundings) -> Iterator[Wait]:
    """Yield the claims that are not there."""
    for name in _claim_names(pod):
        if around.claims_read and around.named(around.claims, name) is None:
            yield Wait("volume", f"its claim {name} is not there", who=f"who makes claim {name}")


def _claim_names(pod: Object) -> Iterator[str]:
    """Yield the names of a pod's claims; an ephemeral one is called after pod and volume."""
    for volume in pod["spec"].get("volumes") or ():
        if claimed := volume.get("persistentVolumeClaim"):
            yield claimed["claimName"]
        elif "ephemeral" in volume:
            yield f"{pod['metadata']['name']}-{volume['name']}"


def _any_began(pod: Object) -> bool:
    """Say whether a container has run, so that volumes and sandbox are there."""
    status = pod.get("status") or {}
    statuses = (
        *(status.get("containerStatuses") or ()),
        *(status.get("initContainerStatuses") or ()),
    )
    return any(
        one.get("restartCount") or {"running", "terminated"} & set(one.get("state") or ())
        for one in statuses
    )


def _containers(pod: Object, around: Surroundings) -> Iterator[Wait]:
    spec, status = pod["spec"], pod.get("status") or {}
    said = words_of(around.newest_event(pod, "FailedCreatePodSandBox"))
    began = said is None or _any_began(pod) or around.is_overcome(pod, said, *_BEGUN)
    if said is not None and not began:
        who = f"the container runtime and network plugin of {spec['nodeName']}"
        yield Wait("sandbox", "its sandbox cannot be made", said.seconds, who=who, words=said)
        return
    first = {one["name"]: one for one in status.get("initContainerStatuses") or ()}
    for container in spec.get("initContainers") or ():
        wait = container_wait(pod, container, first.get(container["name"]), around, first=True)
        if wait is not None:
            yield wait
            return  # the next begins when this one is done
    statuses = {one["name"]: one for one in status.get("containerStatuses") or ()}
    for container in spec["containers"]:
        wait = container_wait(pod, container, statuses.get(container["name"]), around, first=False)
        if wait is not None:
            yield wait


def _gates(pod: Object) -> Iterator[Wait]:
    """Yield the readiness gates that are not open."""
    for gate in pod["spec"].get("readinessGates") or ():
        kind = gate["conditionType"]
        found = condition(pod, kind)
        if found is None:
            yield Wait(
                "gate", f"readiness gate {kind} has no condition yet", who=f"who sets {kind}"
            )
        elif found["status"] != "True":
            words = Words(str(found["message"])) if found.get("message") else None
            text = f"readiness gate {kind} is {found['status']}"
            yield Wait("gate", text, changed_seconds(found), who=f"who sets {kind}", words=words)


def pod_state(pod: Object, now_seconds: float) -> str:
    """Return where a pod is in its life, in a few words."""
    status = pod.get("status") or {}
    statuses = status.get("containerStatuses") or ()
    ready = sum(bool(one.get("ready")) for one in statuses)
    count = len(pod["spec"]["containers"])
    phase = status.get("phase") or "Pending"
    since = changed_seconds(condition(pod, "Ready"))
    where = f" on {pod['spec']['nodeName']}" if pod["spec"].get("nodeName") else ""
    age = "" if since is None else f" for {duration(max(0.0, now_seconds - since))}"
    is_ready = (condition(pod, "Ready") or {}).get("status") == "True"
    said = "ready" if is_ready else f"{ready} of {count_text(count, 'container')} ready"
    return f"{phase}{where}, {said}{age}"


def _controller(pod: Object) -> str:
    for reference in pod["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return f"{reference['kind']} {reference['name']}"
    return "who made it: nothing replaces it"
