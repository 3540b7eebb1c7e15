"""What a world asked of its cluster, and when: one digest, so that two arms that met different demand are not compared.

Workloads are hashed as they come into the cluster, beside every arm: at which moment which Deployment, Job, pod or
Service with traffic came, and what it asks for. What arms and controllers create is not in it.
"""

from __future__ import annotations

import hashlib
import json

from twin.port.engine import Change, Engine
from twin.port.objects import FIRST_NAME, TRAFFIC, ObjectRecord

DEMAND = ("deployments", "jobs", "services")


class InputHash:
    """Hashes what comes into one engine."""

    def __init__(self, engine: Engine) -> None:
        """Watch an engine that has not begun to play."""
        self._digest = hashlib.sha256()
        engine.store.subscribe(self._follow)

    def digest(self) -> str:
        """Return what names everything that has come so far, in order."""
        return self._digest.hexdigest()[:24]

    def _follow(self, change: Change) -> None:
        record = change.record
        if change.type != "ADDED" or change.resource not in DEMAND:
            return
        assert isinstance(record, ObjectRecord)
        of_the_world = TRAFFIC if change.resource == "services" else FIRST_NAME
        if of_the_world not in record.annotations:
            return
        row = [
            *(record.created_at, change.resource, record.namespace, record.name),
            *(dict(record.annotations), _asked(record)),
        ]
        self._digest.update(json.dumps(row, sort_keys=True).encode())


def _asked(record: ObjectRecord) -> list[object]:
    """Return what is asked for: pods and their template; what a controller may set is not in it."""
    spec = record.body.get("spec", {})
    return [spec.get(name) for name in ("replicas", "parallelism", "completions", "template")]
