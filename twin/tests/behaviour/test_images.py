"""Images: policies, pulls one after the other, and back-off as documented."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from twin.behaviour.images import image_bytes
from twin.config.behaviour import KubeletConfig
from twin.engine import Engine
from twin.records import PodRecord

Build = Callable[..., Engine]
Create = Callable[..., PodRecord]
DEAD = "registry.invalid/app:1"


def start_seconds(engine: Engine, pod: PodRecord) -> float:
    """Return the seconds from creation to running."""
    engine.advance(engine.now + 60)
    assert pod.container_state == "running"
    return pod.container_since - pod.created_at


@pytest.mark.parametrize(("serial", "sum_of_both"), [(True, True), (False, False)])
def test_pulls_of_a_node_are_serial_unless_told_otherwise(
    build: Build, create: Create, serial: bool, sum_of_both: bool
) -> None:
    """The second image arrives after the first one, or as if it were alone."""
    quick = {"start_median_seconds": 0.001, "pull_bytes_per_second": 20e6}
    engine = build(kubelet=KubeletConfig(serial_pulls=serial), **quick)
    pods = [create(engine, f"p{i}", "100m", container={"image": f"app:{i}"}) for i in range(2)]
    sizes = [image_bytes(f"app:{i}") / 20e6 for i in range(2)]
    engine.advance(engine.now + 100)
    took = sorted(pod.container_since - pod.created_at for pod in pods)

    assert took[1] == pytest.approx(sizes[0] + sizes[1] if sum_of_both else max(sizes), abs=0.3)


def test_who_comes_during_a_pull_waits_for_it(build: Build, create: Create) -> None:
    """An image is there when its pull ends, not before, and it is pulled once."""
    engine = build(start_median_seconds=0.001, pull_bytes_per_second=10e6)
    pull = image_bytes("app:1") / 10e6
    first = create(engine, "a", "100m")
    engine.advance(engine.now + 1)
    second = create(engine, "b", "100m")
    engine.advance(engine.now + pull - 1.5)
    assert (
        "images" not in engine.store.get("nodes", "", "n0")["status"]
        or not (engine.store.get("nodes", "", "n0")["status"]["images"])
    )
    engine.advance(engine.now + 10)

    assert second.container_since == pytest.approx(first.container_since, abs=0.1)
    reasons = [event["reason"] for event in engine.store.list("events")]
    assert (reasons.count("Pulling"), reasons.count("Pulled")) == (1, 1)


def test_policies(build: Build, create: Create) -> None:
    """Always asks the registry for half a second, Never never pulls, IfNotPresent finds it there."""
    engine = build(start_median_seconds=0.001)
    create(engine, "first", "100m")
    engine.advance(engine.now + 30)
    took = {
        policy: start_seconds(engine, create(engine, policy.lower(), "100m",
                                       container={"imagePullPolicy": policy}))
        for policy in ("IfNotPresent", "Always", "Never")
    }  # fmt: skip
    other = create(engine, "other", "100m",
                   container={"imagePullPolicy": "Never", "image": "else:1"})  # fmt: skip
    engine.advance(engine.now + 60)

    assert took["Always"] == pytest.approx(took["IfNotPresent"] + 0.5, abs=0.1)
    assert took["Never"] == pytest.approx(took["IfNotPresent"], abs=0.1)
    assert (other.phase, other.container_reason) == ("Pending", "ErrImageNeverPull")


def test_a_failing_pull_backs_off_to_300_seconds(build: Build, create: Create) -> None:
    """ErrImagePull, then ImagePullBackOff; tries come 10, 20, 40 ... 300 s after one another."""
    engine = build()
    pod = create(engine, "a", container={"image": DEAD})
    tries: list[float] = []
    previous = ""
    for _ in range(1_800):
        engine.advance(engine.now + 1)
        if pod.container_reason == "ErrImagePull" and previous != "ErrImagePull":
            tries.append(engine.now)
        previous = pod.container_reason
    waits = [after - before for before, after in itertools.pairwise(tries)]

    assert waits[:7] == pytest.approx([11, 21, 41, 81, 161, 301, 301], abs=1.01)
    status = engine.store.get("pods", "default", "a")["status"]
    waiting = status["containerStatuses"][0]["state"]["waiting"]
    assert waiting == {
        "reason": "ImagePullBackOff",
        "message": f'Back-off pulling image "{DEAD}"',
    }
    assert status["phase"] == "Pending"
    engine.store.delete("pods", "default", "a", grace_period_seconds=0)
    engine.advance(engine.now + 400)
    assert not any(engine.kubelet.images.kept().values())


@pytest.mark.parametrize("lasts", [30.0, 230.0])
def test_a_pull_is_lost_with_its_machine(build: Build, create: Create, lasts: float) -> None:
    """A machine that fails during a pull has to pull again, however soon it is back."""
    engine = build(pull_bytes_per_second=1e6)
    pod = create(engine, "a")
    engine.advance(engine.now + 20)
    engine.fail_node("n0", lasts)
    engine.advance(engine.now + lasts - 10)
    assert engine.store.get("nodes", "", "n0")["status"].get("images", []) == []
    back = engine.now + 10
    engine.advance(back + 240)

    assert pod.container_since >= back + image_bytes("app:1") / 1e6
    assert pod.restart_count == 0


def test_one_chain_of_tries_survives_a_machine(build: Build, create: Create) -> None:
    """A pod that backs off is tried anew after its machine was lost, and not twice at a time."""
    engine = build()
    create(engine, "a", container={"image": DEAD})
    for _ in range(3):
        engine.advance(engine.now + 45)
        engine.fail_node("n0", 5.0)
    engine.advance(engine.now + 6)
    planned = [event for event in engine.clock.kept()["_heap"] if event[2].startswith("images.")]
    attempts = {event[3][1] for event in planned}

    assert max(attempts) == engine.kubelet.images.attempt(str(planned[0][3][0])) == 3
    assert sum(event[3][1] == 3 for event in planned) == 1
