"""What one container of a pod waits for: its image, its configuration, its program, its probes.

After the kubelet's own states (kubernetes/kubernetes pkg/kubelet/kuberuntime and pkg/kubelet/images, 1.36).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lab.explanations.field_owners import container_key
from lab.explanations.frozen_cluster import Object, unix_seconds
from lab.explanations.waits import (
    Surroundings,
    Wait,
    Words,
    set_by,
    template_path,
    words_of,
)
from projections.figures import duration
from schemas.wording import count_text

IMAGE = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"}
    | {"ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"}
)
CONFIGURATION = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
    | {"PreStartHookError", "PostStartHookError"}
)
BACK_OFF = "CrashLoopBackOff"
OUT_OF_MEMORY = "OOMKilled"
_DELAY = re.compile(r"back-off (?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)? ")
_MISSING = re.compile(r'(configmap|secret) "([^"]+)" not found')
_PROBE_DEFAULTS = {"periodSeconds": 10, "failureThreshold": 3, "initialDelaySeconds": 0}


def container_wait(
    pod: Object, container: Object, status: Object | None, around: Surroundings, *, first: bool
) -> Wait | None:
    """Return what a container waits for; None where it is ready.

    Args:
        pod: the pod.
        container: one of its containers, or init containers.
        status: its status; None where the kubelet has written none.
        around: what else was read.
        first: it is an init container, which has to end (or, restarting always, to have started).
    """
    name = container["name"]
    if status is None:
        text = f"the kubelet has not begun with container {name}"
        return Wait("kubelet", text, who=f"the kubelet of {pod['spec']['nodeName']}")
    state = status.get("state") or {}
    if waiting := state.get("waiting"):
        return _waiting(pod, container, status, waiting, around)
    if ended := state.get("terminated"):
        return _ended(pod, container, ended, around, first=first)
    return _running(pod, container, status, state.get("running") or {}, around, first=first)


def _waiting(
    pod: Object, container: Object, status: Object, waiting: Object, around: Surroundings
) -> Wait:
    name, reason = container["name"], waiting.get("reason") or "ContainerCreating"
    words = Words(str(waiting["message"])) if waiting.get("message") else None
    if reason in IMAGE:
        return _image(pod, container, reason, words, around)
    if reason == BACK_OFF:
        return _back_off(pod, container, status, words, around)
    if reason in CONFIGURATION:
        missing = None if words is None else _MISSING.search(words.text)
        who = _template_of(pod, around, container_key(name))
        if missing:
            kind = {"configmap": "ConfigMap", "secret": "Secret"}[missing[1]]
            who = f"whoever makes {kind} {missing[2]}, or {who}"
            text = f"container {name} needs {kind} {missing[2]}, which is not there"
        else:
            text = f"container {name} cannot be made ({reason})"
        return Wait("configuration", text, _scheduled(pod), who=who, words=words)
    pulling = around.newest_event(pod, "Pulling", containing=f'"{container["image"]}"')
    pulled = around.newest_event(pod, "Pulled", containing=f'"{container["image"]}"')
    if pulling is not None and pulled is None:
        said = words_of(pulling)
        return Wait(
            "image",
            f"the image {container['image']} of container {name} is being pulled",
            None if said is None else said.seconds,
            who=f"the kubelet of {pod['spec']['nodeName']}",
            words=said,
        )
    return Wait(
        "kubelet",
        f"container {name} is being made ({reason})",
        _scheduled(pod),
        who=f"the kubelet of {pod['spec']['nodeName']}",
        words=words,
    )


def _image(
    pod: Object, container: Object, reason: str, words: Words | None, around: Surroundings
) -> Wait:
    image = container["image"]
    failed = around.newest_event(pod, "Failed", containing=f'"{image}"')
    said = words_of(failed) or words
    text = f"the image {image} of container {container['name']} cannot be pulled ({reason})"
    who = _template_of(pod, around, container_key(container["name"]), "f:image")
    return Wait("image", text, _scheduled(pod), who=f"{who}, or the registry", words=said)


def _back_off(
    pod: Object, container: Object, status: Object, words: Words | None, around: Surroundings
) -> Wait:
    name, restarts = container["name"], int(status.get("restartCount") or 0)
    last = (status.get("lastState") or {}).get("terminated") or {}
    finished = unix_seconds(last.get("finishedAt"))
    started = unix_seconds(last.get("startedAt"))
    ran = "" if finished is None or started is None else f" after {duration(finished - started)}"
    how = _ending(last)
    text = f"container {name} ends again and again: {count_text(restarts, 'restart')}, the last {how}{ran}"
    delay = None if words is None else delay_seconds(words.text)
    until = None if finished is None or delay is None else finished + delay
    return Wait("program", text, finished, until, _who_ends(pod, container, last, around), words)


def _who_ends(pod: Object, container: Object, last: Object, around: Surroundings) -> str:
    """Return who could keep a container from ending."""
    limit = ((container.get("resources") or {}).get("limits") or {}).get("memory")
    if last.get("reason") == OUT_OF_MEMORY and limit:
        where = _template_of(pod, around, container_key(container["name"]), "f:resources")
        return f"its memory limit of {limit} in {where}, or its program"
    where = _template_of(pod, around, container_key(container["name"]))
    return f"its program, or its command, arguments and environment in {where}"


def _ending(ended: Object) -> str:
    reason = ended.get("reason") or ""
    if reason == OUT_OF_MEMORY:
        return "killed for want of memory"
    code = ended.get("exitCode")
    kind = f" ({reason})" if reason not in ("", "Error", "Completed") else ""
    return "ended" if code is None else f"with exit code {code}{kind}"


def _ended(
    pod: Object, container: Object, ended: Object, around: Surroundings, *, first: bool
) -> Wait | None:
    if first and ended.get("exitCode") == 0:
        return None
    name = container["name"]
    text = f"container {name} has ended {_ending(ended)}".replace("ended ended", "ended")
    again = pod["spec"].get("restartPolicy", "Always")
    if again == "Never" or (again == "OnFailure" and ended.get("exitCode") == 0):
        text += f", and restartPolicy {again} starts it no more"
    since = unix_seconds(ended.get("finishedAt"))
    words = Words(str(ended["message"])) if ended.get("message") else None
    return Wait("program", text, since, who=_who_ends(pod, container, ended, around), words=words)


def _running(
    pod: Object,
    container: Object,
    status: Object,
    running: Object,
    around: Surroundings,
    *,
    first: bool,
) -> Wait | None:
    name, since = container["name"], unix_seconds(running.get("startedAt"))
    restarts_always = container.get("restartPolicy") == "Always"
    if status.get("started") is False and container.get("startupProbe"):
        return _probe(pod, container, "startup", since, around)
    if first and not restarts_always:
        text = f"init container {name} has not ended"
        who = _template_of(pod, around, container_key(name))
        return Wait("program", text, since, who=f"its program, or {who}")
    if status.get("ready") or (first and restarts_always):
        return None
    return _probe(pod, container, "readiness", since, around)


def _probe(
    pod: Object, container: Object, kind: str, since: float | None, around: Surroundings
) -> Wait:
    name, probe = container["name"], container.get(f"{kind}Probe")
    if not probe:
        return Wait("kubelet", f"container {name} runs and is not ready yet", since)
    period, failures, delay = (
        float(probe.get(field) or default) for field, default in _PROBE_DEFAULTS.items()
    )
    asked = f"{kind.capitalize()} probe"
    unhealthy = around.newest_event(pod, "Unhealthy", containing=asked, container=name)
    said = words_of(unhealthy)
    until = None
    text = f"the {kind} probe of container {name} has not succeeded"
    if since is not None and around.now_seconds < since + delay:
        text += f"; it is asked from {duration(delay)} after the start on"
        until = since + delay
    elif kind == "startup" and since is not None:
        until = since + delay + period * failures
        text += f"; the container is killed after {duration(period * failures)} of failures"
    who = _template_of(pod, around, container_key(name), f"f:{kind}Probe")
    return Wait("probe", text, since, until, f"its program, or the probe in {who}", said)


def delay_seconds(words: str) -> float | None:
    """Return the delay that a kubelet names, such as 160 for `back-off 2m40s restarting ...`."""
    found = _DELAY.search(words)
    if found is None or not any(found.groups()):
        return None
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds


def _scheduled(pod: Object) -> float | None:
    """Return when a pod got its node."""
    for one in (pod.get("status") or {}).get("conditions") or ():
        if one["type"] == "PodScheduled" and one["status"] == "True":
            return unix_seconds(one.get("lastTransitionTime"))
    return unix_seconds((pod.get("status") or {}).get("startTime"))


def _template_of(pod: Object, around: Surroundings, *path: str) -> str:
    """Return the object whose template says what a container is, and who set it."""
    holder = around.root_of(pod) or pod
    keys: Sequence[str] = (*template_path(holder), "f:containers", *path)
    return set_by(holder, keys)
