"""What arrives on which nodes: the workloads that ship, files of one's own, fitted models."""

from __future__ import annotations

from twin.workloads import FITTED, IDLE, NAMES, open_workload, suggest_speed
from twin.workloads.arrival import NodeShape, UsageWindow, WorkloadArrival, windows_text
from twin.workloads.attempts import (
    FAILED,
    GIVEN_UP,
    MOST_ATTEMPTS,
    RUNS_ON,
    SUCCEEDED,
    Attempt,
    attempts_text,
    read_attempts,
)
from twin.workloads.catalog import load_model, plain_nodes
from twin.workloads.largest_node import LargestNode
from twin.workloads.model import (
    HOURS_PER_DAY,
    BatchRow,
    Ending,
    FittedModel,
    LifeProfile,
    NodeRow,
    Provenance,
    RequestRow,
    RunningClass,
    SourceFile,
    Usage,
    WorkClass,
)
from twin.workloads.node_mix import allot
from twin.workloads.quantiles import at_rank
from twin.workloads.row_files import (
    CSV_SUFFIX,
    JSON_LINES_SUFFIX,
    PARQUET_SUFFIX,
    Complain,
    PlacedRow,
    header_problems,
)
from twin.workloads.row_place import RowPlace
from twin.workloads.rows import ALL_FIELDS
from twin.workloads.trace_file import (
    FileContent,
    check_trace_file,
    collect,
    read_trace_file,
    write_trace_file,
)
from twin.workloads.workload import CARRIED_IN_SECONDS, carried_in_time

__all__ = [
    "ALL_FIELDS",
    "CARRIED_IN_SECONDS",
    "CSV_SUFFIX",
    "FAILED",
    "FITTED",
    "GIVEN_UP",
    "HOURS_PER_DAY",
    "IDLE",
    "JSON_LINES_SUFFIX",
    "MOST_ATTEMPTS",
    "NAMES",
    "PARQUET_SUFFIX",
    "RUNS_ON",
    "SUCCEEDED",
    "Attempt",
    "BatchRow",
    "Complain",
    "Ending",
    "FileContent",
    "FittedModel",
    "LargestNode",
    "LifeProfile",
    "NodeRow",
    "NodeShape",
    "PlacedRow",
    "Provenance",
    "RequestRow",
    "RowPlace",
    "RunningClass",
    "SourceFile",
    "Usage",
    "UsageWindow",
    "WorkClass",
    "WorkloadArrival",
    "allot",
    "at_rank",
    "attempts_text",
    "carried_in_time",
    "check_trace_file",
    "collect",
    "header_problems",
    "load_model",
    "open_workload",
    "plain_nodes",
    "read_attempts",
    "read_trace_file",
    "suggest_speed",
    "windows_text",
    "write_trace_file",
]
