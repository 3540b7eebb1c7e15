"""Images on nodes: pulls by size over bandwidth, what is there already, and pulls that fail.

A pull that fails is tried again after 10, 20, 40 ... 300 s; the pod shows ErrImagePull, then
ImagePullBackOff. An image is on its node from the end of its first pull; nothing removes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from twin.behaviour.impairments import Impairments
from twin.part import Part
from twin.records import NodeRecord, Object, PodRecord
from twin.world import World

_LEAST_IMAGE_BYTES, _IMAGE_SPREAD_BYTES = 40_000_000, 360_000_000
_NEVER = "ErrImageNeverPull"
_FAILED = "ErrImagePull"
_COMPONENT = "kubelet"
Start = Callable[[PodRecord, float], None]
"""(pod, seconds until its images are there)"""


def image_bytes(image: str) -> int:
    """Return the size of an image: 40 to 400 MB, decided by its name."""
    digest = hashlib.blake2b(image.encode(), digest_size=8).digest()
    return _LEAST_IMAGE_BYTES + int.from_bytes(digest, "big") % _IMAGE_SPREAD_BYTES


class Images(Part):
    """Gets the images of pods; `start` is called once nothing stands in the way."""

    KEEPS = ("_busy_until", "_done_at", "_failures", "_attempts")

    def __init__(self, world: World, impairments: Impairments, start: Start) -> None:
        self._world = world
        self._impairments = impairments
        self._start = start
        self._busy_until: dict[str, float] = {}  # serial pulls of a node
        self._done_at: dict[tuple[str, str], float] = {}  # (node, image) that is being pulled
        self._failures: dict[str, int] = {}  # in a row, by pod uid
        self._attempts: dict[str, int] = {}  # how often a machine was lost while a pod waited
        world.clock.handle("images.pulled", self._finish_pull)
        world.clock.handle("images.back_off", self._back_off)
        world.clock.handle("images.retry", self._retry)

    def prepare(self, pod: PodRecord, node: NodeRecord) -> None:
        """Get what `pod` needs, or begin to back off."""
        world, present = self._world, {name for name, _ in node.images}
        wait = 0.0
        for image, policy in _wanted_images(pod.shape.spec):
            if image == world.config.kubelet.local_image:
                continue  # it is on every node
            here = image in present
            if policy == "Never":
                if not here:
                    text = f'Container image "{image}" is not present with pull policy of Never'
                    self._fail(pod, _NEVER, text)
                    return
            elif not here or policy == "Always":
                if self._impairments.unpullable(image, node.name):
                    self._fail(pod, _FAILED, f'failed to pull image "{image}": no answer')
                    return
                wait = max(wait, self._pull(image, node.name, pod, here=here))
        self._failures.pop(pod.uid, None)
        self._start(pod, wait)

    def forget(self, uid: str) -> None:
        """Drop what is known of a pod that is gone."""
        self._failures.pop(uid, None)
        self._attempts.pop(uid, None)

    def lose(self, node_name: str, waiting: list[str]) -> None:
        """The machine is gone: its pulls, and what was planned for the pods that wait there."""
        self._busy_until.pop(node_name, None)
        for key in [key for key in self._done_at if key[0] == node_name]:
            del self._done_at[key]
        for uid in waiting:
            self._failures.pop(uid, None)
            self._attempts[uid] = self.attempt(uid) + 1

    def attempt(self, uid: str) -> int:
        """Return the number of the attempt to start a pod; plans of earlier ones are void."""
        return self._attempts.get(uid, 0)

    def _pull(self, image: str, node: str, pod: PodRecord, *, here: bool) -> float:
        """Return the seconds until an image is there; begin to pull it if nobody does."""
        world, config = self._world, self._world.config
        if here:
            return config.kubelet.pull_check_seconds
        done = self._done_at.get((node, image))
        if done is None:
            begin = world.now
            if config.kubelet.serial_pulls:
                begin = max(begin, self._busy_until.get(node, 0.0))
            done = begin + image_bytes(image) / config.pull_bytes_per_second
            self._done_at[node, image] = self._busy_until[node] = done
            world.clock.at(done, "images.pulled", node, image, pod.uid, done - begin, done)
            world.reporter.report(pod, "Pod", "Pulling", f'Pulling image "{image}"', _COMPONENT)
        return done - world.now

    def _finish_pull(
        self, node_name: str, image: str, uid: str, seconds: float, done: float
    ) -> None:
        world, node = self._world, self._world.node(node_name)
        if node is None or self._done_at.get((node_name, image)) != done:
            return  # what was pulled is lost with the machine
        del self._done_at[node_name, image]
        if self._busy_until.get(node_name) == done:
            del self._busy_until[node_name]
        size, before = image_bytes(image), node.clone()
        node.images = (*node.images, (image, size))
        world.store.touch("nodes", node, before)
        pod = world.pods.get(uid)
        if pod is not None:
            text = (
                f'Successfully pulled image "{image}" in {seconds:.3f}s. Image size: {size} bytes.'
            )
            world.reporter.report(pod, "Pod", "Pulled", text, _COMPONENT)

    # ---- pulls that fail

    def _fail(self, pod: PodRecord, reason: str, message: str) -> None:
        self._show(pod, reason, message)
        text = f"Error: {reason}" if reason == _NEVER else message
        self._world.reporter.report(pod, "Pod", "Failed", text, _COMPONENT)
        config = self._world.config.kubelet
        if reason == _NEVER:  # looked at again, but not a pull to back off from
            self._plan(config.pull_backoff_seconds, "images.retry", pod.uid)
        else:
            self._plan(config.pull_error_seconds, "images.back_off", pod.uid)

    def _plan(self, delay: float, kind: str, uid: str) -> None:
        self._world.clock.after(delay, kind, uid, self.attempt(uid))

    def _back_off(self, uid: str, attempt: int) -> None:
        pod = self._waiting(uid, attempt)
        if pod is None:
            return
        config, count = self._world.config.kubelet, self._failures.get(uid, 0)
        self._failures[uid] = count + 1
        delay = min(config.pull_backoff_seconds * 2.0**count, config.pull_backoff_max_seconds)
        image = pod.container_message.partition('"')[2].partition('"')[0]
        text = f'Back-off pulling image "{image}"'
        self._show(pod, "ImagePullBackOff", text)
        self._world.reporter.report(pod, "Pod", "BackOff", text, _COMPONENT)
        self._plan(delay, "images.retry", uid)

    def _retry(self, uid: str, attempt: int) -> None:
        pod = self._waiting(uid, attempt)
        if pod is None:
            return
        node = self._world.node(pod.node_name)
        if node is not None and self._world.up(pod.node_name):
            self.prepare(pod, node)

    def _waiting(self, uid: str, attempt: int) -> PodRecord | None:
        pod = self._world.pods.get(uid)
        if attempt != self.attempt(uid):
            return None
        if pod is None or pod.terminal or pod.deletion_at is not None:
            return None
        return pod if pod.container_state == "waiting" and pod.started_at is not None else None

    def _show(self, pod: PodRecord, reason: str, message: str) -> None:
        before = pod.clone()
        pod.container_reason, pod.container_message = reason, message
        self._world.store.touch("pods", pod, before)


def _wanted_images(spec: Object) -> Iterator[tuple[str, str]]:
    """Yield (image, pull policy) of each container, init containers first."""
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        yield container["image"], container.get("imagePullPolicy", "IfNotPresent")
