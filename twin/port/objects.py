"""What stands in a cluster, and what its annotations, names and amounts mean."""

from __future__ import annotations

from twin.arrivals import APP
from twin.behaviour.pod_work import WORK_SECONDS
from twin.controllers.job_status import finish_time, is_finished, is_succeeded
from twin.controllers.pods_of import FIRST_NAME
from twin.controllers.spot import TAINT
from twin.health.sources import SOURCES
from twin.health.weather import Kind
from twin.kueue.amounts import Amounts, amounts_of, texts
from twin.kueue.objects import (
    API_VERSION,
    CLUSTER_QUEUES,
    FLAVORS,
    LOCAL_QUEUES,
    QUEUE_LABEL,
    WORKLOADS,
)
from twin.node_settings import CLOCK_SCALE, CPU_CAP, MEMORY_CAP, MEMORY_SCALE, POWER_STATE
from twin.provisioners.client import is_daemon
from twin.records import NodeRecord, Object, ObjectRecord, PodRecord, Record
from twin.request_settings import TRAFFIC, read_request_settings

__all__ = [
    "API_VERSION",
    "APP",
    "CLOCK_SCALE",
    "CLUSTER_QUEUES",
    "CPU_CAP",
    "FIRST_NAME",
    "FLAVORS",
    "LOCAL_QUEUES",
    "MEMORY_CAP",
    "MEMORY_SCALE",
    "POWER_STATE",
    "QUEUE_LABEL",
    "SOURCES",
    "TAINT",
    "TRAFFIC",
    "WORKLOADS",
    "WORK_SECONDS",
    "Amounts",
    "Kind",
    "NodeRecord",
    "Object",
    "ObjectRecord",
    "PodRecord",
    "Record",
    "amounts_of",
    "finish_time",
    "is_daemon",
    "is_finished",
    "is_succeeded",
    "read_request_settings",
    "texts",
]
