"""Nodes as node-exporter shows them, and containers as the kubelet's cAdvisor does.

Counters are as of the newest step of contention (15 s), memory as of now. All cores of a node are equally
busy: nothing in the twin says which core a thread runs on. A machine that is down shows nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from twin.engine import Engine
from twin.exporters.family import KUBELET, NODE_EXPORTER, EngineFamilies, Family, Row
from twin.records import NodeRecord, PodRecord
from twin.scheduling.node_table import node_sums

_JOB = (("job", NODE_EXPORTER),)
POWER_METER = "lnxsybus:00_acpi000d:00"
"""The chip, as node-exporter names the device ACPI000D."""
_CONTAINER = ("namespace", "pod", "container", "node", "instance", "image")
NODE_FAMILIES = (
    Family("node_cpu_seconds_total", "counter", "CPU seconds of each core, by mode.",
           ("instance", "cpu", "mode"), _JOB),
    Family("node_memory_MemTotal_bytes", "gauge", "Memory of a node.", ("instance",), _JOB),
    Family("node_memory_MemAvailable_bytes", "gauge", "Memory that no pod uses.", ("instance",), _JOB),
    Family("node_memory_MemFree_bytes", "gauge", "The same; there is no cache.", ("instance",), _JOB),
    Family("node_load1", "gauge", "Cores that are busy.", ("instance",), _JOB),
    Family("node_boot_time_seconds", "gauge", "When a node began, unix seconds.", ("instance",), _JOB),
    Family("node_time_seconds", "gauge", "Cluster time, unix seconds.", ("instance",), _JOB),
    Family("node_hwmon_power_average_watt", "gauge", "Power of a whole machine, by its ACPI power meter.",
           ("instance",), (*_JOB, ("chip", POWER_METER), ("sensor", "power1"))),
    Family("node_uname_info", "gauge", "Name of a node.", ("instance", "nodename"), _JOB),
)  # fmt: skip
CONTAINER_FAMILIES = (
    Family("container_cpu_usage_seconds_total", "counter", "CPU seconds of a container.",
           _CONTAINER, KUBELET),
    Family("container_memory_working_set_bytes", "gauge", "Memory of a container.", _CONTAINER, KUBELET),
    Family("container_memory_usage_bytes", "gauge", "The same; there is no cache.", _CONTAINER, KUBELET),
    Family("container_memory_rss", "gauge", "The same; there is no cache.", _CONTAINER, KUBELET),
    Family("container_start_time_seconds", "gauge", "When a container began, unix seconds.",
           _CONTAINER, KUBELET),
    Family("machine_cpu_cores", "gauge", "Cores of a node.", ("node", "instance"), KUBELET),
    Family("machine_memory_bytes", "gauge", "Memory of a node.", ("node", "instance"), KUBELET),
)  # fmt: skip
UP = Family("up", "gauge", "Whether a target answers.", ("instance", "job"))


def _nodes(engine: Engine) -> Iterator[tuple[NodeRecord, int, bool]]:
    """Yield each node, its row, and whether it answers."""
    for record in list(engine.store.records("nodes")):  # others may write between two rows
        assert isinstance(record, NodeRecord)
        row = engine.nodes.row_of.get(record.name)
        if row is not None and row < engine.nodes.count:
            yield record, row, record.name not in engine.world.down


def _node_rows(engine: Engine) -> Iterator[Row]:
    started, usage = engine.config.start_time, engine.usage
    elapsed = engine.serving.stepped_at - started
    busy_seconds, count = engine.cpu_counters.node_seconds, engine.nodes.count
    rows = np.flatnonzero(usage.active)
    held = node_sums(usage.node[rows], usage["memory_now"][rows], count)
    load = node_sums(usage.node[rows], usage["cpu_now"][rows], count)
    spare = engine.config.memory.eviction_bytes
    for node, row, up in _nodes(engine):
        name = node.name
        if not up or row >= len(held):
            continue
        cores = node.allocatable_cpu_millicores / 1_000.0
        shown = max(1, math.ceil(cores))
        busy = float(busy_seconds[row]) if row < len(busy_seconds) else 0.0
        alive = max(0.0, elapsed - max(0.0, node.created_at - started))
        idle = max(0.0, cores * alive - busy)
        yield "node_cpu_seconds_total", (name, shown, "user"), busy / shown
        yield "node_cpu_seconds_total", (name, shown, "idle"), idle / shown
        total = float(node.allocatable_memory_bytes + spare)
        free = max(0.0, total - float(held[row]))
        yield "node_memory_MemTotal_bytes", (name,), total
        yield "node_memory_MemAvailable_bytes", (name,), free
        yield "node_memory_MemFree_bytes", (name,), free
        yield "node_load1", (name,), float(load[row]) / 1_000.0
        watts = engine.power.watts_under(name, float(load[row]), float(held[row]))
        yield "node_hwmon_power_average_watt", (name,), watts
        yield "node_boot_time_seconds", (name,), float(int(max(started, node.created_at)))
        yield "node_time_seconds", (name,), engine.now
        yield "node_uname_info", (name, name), 1.0


def _container_rows(engine: Engine) -> Iterator[Row]:
    memory, spare = engine.usage["memory_now"], engine.config.memory.eviction_bytes
    for node, _, up in _nodes(engine):
        if up:
            key = (node.name, node.name)
            yield "machine_cpu_cores", key, node.allocatable_cpu_millicores / 1_000.0
            yield "machine_memory_bytes", key, float(node.allocatable_memory_bytes + spare)
    for pod in list(engine.store.records("pods")):
        assert isinstance(pod, PodRecord)
        if pod.node_name in engine.world.down:
            continue
        seconds = engine.cpu_counters.of_pod(pod.uid)
        if seconds is None:
            continue
        names = pod.shape.containers
        held = float(memory[engine.usage.row_of[pod.uid]]) / len(names)
        for container, image in zip(names, pod.shape.images, strict=True):
            key5 = (pod.namespace, pod.name, container, pod.node_name, pod.node_name, image)
            yield "container_cpu_usage_seconds_total", key5, seconds / len(names)
            yield "container_memory_working_set_bytes", key5, held
            yield "container_memory_usage_bytes", key5, held
            yield "container_memory_rss", key5, held
            yield "container_start_time_seconds", key5, float(int(pod.container_since))


NODE_EXPORTERS = EngineFamilies(NODE_FAMILIES, _node_rows)
CADVISOR = EngineFamilies(CONTAINER_FAMILIES, _container_rows)
