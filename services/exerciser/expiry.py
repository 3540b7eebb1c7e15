"""An end for the exerciser's load that needs nobody: a Job that owns it and ends by itself.

Kubernetes lets only Jobs expire. This one has no pods; when its `activeDeadlineSeconds` are over it fails, is removed
(`ttlSecondsAfterFinished`), and the garbage collector removes what it owns. So load outlives neither a killed exerciser
nor a machine that is gone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from services.protection import DO_NOT_DISRUPT

JOBS = "/apis/batch/v1/namespaces/{namespace}/jobs"


def expiry_job(name: str, seconds: float, labels: Mapping[str, str], image: str) -> dict[str, Any]:
    """Return the Job that ends after so many seconds of the cluster's time; it is marked do-not-disrupt, since a Job
    that is suspended does not end.
    """
    pod = {"restartPolicy": "Never", "containers": [{"name": "none", "image": image}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "labels": dict(labels),
            "annotations": {DO_NOT_DISRUPT: "true"},
        },
        "spec": {
            "parallelism": 0,
            "completions": 1,
            "backoffLimit": 0,
            "activeDeadlineSeconds": math.ceil(seconds),
            "ttlSecondsAfterFinished": 0,
            "template": {"spec": pod},
        },
    }


def owner_reference(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry by which an object is owned by a Job that was created."""
    metadata = job["metadata"]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
