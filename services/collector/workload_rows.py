"""Deployments and Jobs in a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from services.kube_objects import Deployment, Job, parse_time


def deployment_rows(items: Sequence[Deployment]) -> dict[str, dict[str, Any]]:
    """Return rows of `schemas.snapshot.WorkloadTable`.

    Raises:
        ValueError: a time stamp cannot be read.
    """
    return {
        f"{one.metadata.namespace}/Deployment/{one.metadata.name}": {
            "wanted": one.spec.replicas,
            "ready": one.status.ready_replicas,
            "succeeded": 0,
            "failed": 0,
            "suspended": one.spec.paused,
            "created_time_seconds": parse_time(one.metadata.creation_timestamp or ""),
        }
        for one in items
    }


def job_rows(items: Sequence[Job]) -> dict[str, dict[str, Any]]:
    """Return rows of `schemas.snapshot.WorkloadTable`.

    Raises:
        ValueError: a time stamp cannot be read.
    """
    return {
        f"{one.metadata.namespace}/Job/{one.metadata.name}": {
            "wanted": one.spec.parallelism,
            "ready": one.status.ready or 0,
            "succeeded": one.status.succeeded,
            "failed": one.status.failed,
            "suspended": one.spec.suspend,
            "created_time_seconds": parse_time(one.metadata.creation_timestamp or ""),
        }
        for one in items
    }
