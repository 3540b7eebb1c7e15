"""The Kubernetes Job of an attempt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.sessions.engines import pod_script
from lab.sessions.engines.port import RESULT_BYTES, Attempt, environment_of
from lab.sessions.names import object_name

APP = "foresail-tuning"
SESSION_LABEL = "foresail.dev/session"
ATTEMPT_LABEL = "foresail.dev/attempt"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
CONTAINER = "tuning-runner"
FINISHED_SECONDS = 3_600
"""After its end a Job that nobody has collected is deleted by the cluster."""
RESULTS = "/foresail-results"
MESSAGE_PATH = "/dev/termination-log"
LONGEST_ANNOTATION = 60_000


@dataclass(frozen=True, slots=True)
class JobTemplate:
    """What all Jobs of a session share."""

    namespace: str = "default"
    image: str = "foresail:local"
    service_account: str = "default"
    queue: str | None = None
    """Kueue's LocalQueue: Jobs are created suspended, and Kueue starts them."""
    claim: tuple[str, str] | None = None
    """(PersistentVolumeClaim, path where it is mounted), for recordings and data files."""
    cpu_request: str = "500m"
    cpu_limit: str = "2000m"
    memory_request: str = "512Mi"
    memory_limit: str = "2Gi"


def job_name(attempt: Attempt) -> str:
    """Return the Job's name: that of the job, and from the second attempt on its number."""
    name = object_name(attempt.job_id)
    return name if attempt.number == 1 else f"{name}-{attempt.number}"


def result_path() -> str:
    """Return where the job writes its result, in its container."""
    return f"{RESULTS}/result.json"


def job_manifest(
    attempt: Attempt, session: str, template: JobTemplate, created_seconds: int
) -> dict[str, Any]:
    """Return the Job as JSON; `created_seconds` is the time since the Unix epoch."""
    labels = {
        "app": APP,
        "job-id": object_name(attempt.job_id),
        "created-at": str(created_seconds),
        "app.kubernetes.io/managed-by": "foresail",
        SESSION_LABEL: object_name(session),
        ATTEMPT_LABEL: str(attempt.number),
    }
    if template.queue is not None:
        labels[QUEUE_LABEL] = template.queue
    annotations = {"job-id": attempt.job_id, "config": attempt.config[:LONGEST_ANNOTATION]}
    pod = {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {
            "restartPolicy": "Never",
            "serviceAccountName": template.service_account,
            "containers": [_container(attempt, template)],
            "volumes": _volumes(template),
        },
    }
    spec: dict[str, Any] = {
        "backoffLimit": 0,
        "ttlSecondsAfterFinished": FINISHED_SECONDS,
        "activeDeadlineSeconds": max(1, math.ceil(attempt.timeout_seconds)),
        "template": pod,
    }
    if template.queue is not None:
        spec["suspend"] = True
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job_name(attempt),
            "namespace": template.namespace,
            "labels": labels,
            "annotations": annotations,
        },
        "spec": spec,
    }


def _container(attempt: Attempt, template: JobTemplate) -> dict[str, Any]:
    environment = {
        **environment_of(attempt),
        "FORESAIL_OUTPUT": result_path(),
        "FORESAIL_MESSAGE": MESSAGE_PATH,
        "FORESAIL_RESULT_BYTES": str(RESULT_BYTES),
    }
    script = Path(pod_script.__file__).read_text(encoding="utf-8")
    mounts = [{"name": "results", "mountPath": RESULTS}]
    if template.claim is not None:
        mounts.append({"name": "data", "mountPath": template.claim[1]})
    return {
        "name": CONTAINER,
        "image": template.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python", "-c", _literal(script)],
        "args": [_literal(word) for word in attempt.words],
        "env": [{"name": name, "value": _literal(text)} for name, text in environment.items()],
        "resources": {
            "requests": {"cpu": template.cpu_request, "memory": template.memory_request},
            "limits": {"cpu": template.cpu_limit, "memory": template.memory_limit},
        },
        "terminationMessagePath": MESSAGE_PATH,
        "volumeMounts": mounts,
    }


def _volumes(template: JobTemplate) -> list[dict[str, Any]]:
    volumes: list[dict[str, Any]] = [{"name": "results", "emptyDir": {}}]
    if template.claim is not None:
        claim = {"claimName": template.claim[0], "readOnly": True}
        volumes.append({"name": "data", "persistentVolumeClaim": claim})
    return volumes


def _literal(text: str) -> str:
    """Return a word that stays what it is: Kubernetes reads `$(NAME)` as a variable, and `$$` as `$`."""
    return text.replace("$", "$$")
