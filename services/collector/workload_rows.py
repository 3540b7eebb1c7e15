"""Deployments and Jobs in a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from services.kept_results import kept
from services.kube_objects import parse_time
from services.kube_workloads import Deployment, Job


def deployment_rows(items: Sequence[Deployment]) -> dict[str, dict[str, Any]]:
    """Return rows of `schemas.snapshot.WorkloadTable`.

    Raises:
        ValueError: a time stamp cannot be read.
    """
    return dict(map(_deployment_row, items))


def job_rows(items: Sequence[Job]) -> dict[str, dict[str, Any]]:
    """Return rows of `schemas.snapshot.WorkloadTable`.

    Raises:
        ValueError: a time stamp cannot be read.
    """
    return dict(map(_job_row, items))


@kept
def _deployment_row(item: Deployment) -> tuple[str, dict[str, Any]]:
    return f"{item.metadata.namespace}/Deployment/{item.metadata.name}", {
        "wanted": item.spec.replicas,
        "ready": item.status.ready_replicas,
        "succeeded": 0,
        "failed": 0,
        "suspended": item.spec.paused,
        "created_time_seconds": parse_time(item.metadata.creation_timestamp or ""),
    }


@kept
def _job_row(item: Job) -> tuple[str, dict[str, Any]]:
    return f"{item.metadata.namespace}/Job/{item.metadata.name}", {
        "wanted": item.spec.parallelism,
        "ready": item.status.ready or 0,
        "succeeded": item.status.succeeded,
        "failed": item.status.failed,
        "suspended": item.spec.suspend,
        "created_time_seconds": parse_time(item.metadata.creation_timestamp or ""),
    }
