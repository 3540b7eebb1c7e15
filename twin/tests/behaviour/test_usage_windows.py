"""Usage windows: what a pod uses changes over its life as its trace says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from twin.behaviour.pod_work import USAGE_WINDOWS, WORK_SECONDS
from twin.engine import Engine
from twin.records import PodRecord

Build = Callable[..., Engine]
Create = Callable[..., PodRecord]
WINDOWS = {USAGE_WINDOWS: "300:0.2:0.1;600:0.8:0.5;60:0.4:0.9"}


def means(engine: Engine, pod: PodRecord) -> tuple[float, float]:
    """Return mean CPU in cores and memory in GiB now."""
    row = engine.usage.row_of[pod.uid]
    cpu, memory = engine.usage["cpu_mean"][row], engine.usage["memory_mean"][row]
    return round(float(cpu) / 1000, 6), round(float(memory) / 2**30, 6)


def test_windows_follow_one_another_and_the_last_one_stays(build: Build, create: Create) -> None:
    """Each window holds for its time, a border turns within one step of 15 s."""
    engine = build()
    pod = create(engine, "a", "1", "1Gi", notes=WINDOWS)
    engine.advance(engine.now + 20)
    start = pod.container_since
    for at, expected in (
        (290, (0.2, 0.1)), (316, (0.8, 0.5)), (890, (0.8, 0.5)), (916, (0.4, 0.9)),
        (5_000, (0.4, 0.9)),
    ):  # fmt: skip
        engine.advance(start + at)
        assert means(engine, pod) == expected, at


def test_a_slowed_pod_stays_longer_in_its_window(build: Build, create: Create) -> None:
    """Windows count work done: at half the speed the first one lasts twice as long."""
    engine = build()
    engine.impairments.begin(1, "speed", ("n0",), 0.5)
    engine.advance(engine.now + 16)
    pod = create(engine, "a", "1", "1Gi", notes=WINDOWS)
    engine.advance(engine.now + 20)
    engine.advance(pod.container_since + 590)
    assert means(engine, pod) == (0.2, 0.1)
    engine.advance(pod.container_since + 616)

    assert means(engine, pod) == (0.8, 0.5)


def test_a_restart_begins_with_the_first_window(build: Build, create: Create) -> None:
    """A container that runs again does what it did at first."""
    engine = build()
    notes = {**WINDOWS, WORK_SECONDS: "400"}
    pod = create(engine, "a", notes=notes)
    engine.advance(engine.now + 380)
    assert means(engine, pod) == (0.8, 0.5)
    engine.advance(engine.now + 50)

    assert pod.restart_count == 1
    assert means(engine, pod) == (0.2, 0.1)


@pytest.mark.parametrize("text", ["", "nonsense", "300:0.2", "-1:1:1"])
def test_an_unreadable_text_is_ignored(build: Build, create: Create, text: str) -> None:
    """The pod then uses what its ratios say for life."""
    engine = build()
    pod = create(engine, "a", "1", "1Gi", notes={USAGE_WINDOWS: text})
    engine.advance(engine.now + 60)

    assert means(engine, pod) == (0.3, 0.5)


def test_what_will_be_wanted_is_what_is_then_used(build: Build, create: Create) -> None:
    """Nobody is short: an hour later each pod uses what was said that it will want, cores and memory."""
    engine = build()
    for name in ("a", "b"):
        create(engine, name, "1", "1Gi")
    engine.advance(engine.now + 900)
    rows, millicores, memory = engine.contention.wanted_ahead((60.0, 3_600.0))
    assert millicores.shape == memory.shape == (2, 2)
    for place, later in enumerate((60.0, 3_540.0)):
        engine.advance(engine.now + later)
        assert engine.usage["cpu_now"][rows].tolist() == pytest.approx(millicores[place].tolist())
        assert engine.usage["memory_now"][rows].tolist() == pytest.approx(memory[place].tolist())
