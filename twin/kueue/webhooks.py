"""What happens to Jobs and Kueue's own objects on their way in: defaults that their definitions cannot say.

Source: tasks/run/jobs.md, setup_default_local_queue.md, troubleshooting_delete_clusterqueue.md.
"""

from __future__ import annotations

from twin.kinds import Kind
from twin.kueue.client import KueueClient
from twin.kueue.jobs import Jobs
from twin.kueue.objects import CLUSTER_QUEUES, IN_USE, LOCAL_QUEUES, QUEUE_LABEL
from twin.records import Object

DEFAULT_QUEUE = "default"
"""The LocalQueue of Jobs that name none."""


class Webhooks:
    """A gate of the store that changes new objects."""

    def __init__(self, client: KueueClient, jobs: Jobs) -> None:
        """Look at queues over a desk."""
        self._client = client
        self._jobs = jobs

    def prepare(self, kind: Kind, namespace: str, obj: Object) -> None:
        """Hold a new Job of a queue back; keep a ClusterQueue until nobody uses it."""
        if kind.resource == "jobs":
            self._prepare_job(namespace, obj)
        elif kind.resource == CLUSTER_QUEUES:
            head = obj["metadata"]
            finalizers = list(head.get("finalizers") or ())
            if IN_USE not in finalizers:
                head["finalizers"] = [*finalizers, IN_USE]

    def _prepare_job(self, namespace: str, obj: Object) -> None:
        head, spec, config = obj["metadata"], obj.get("spec"), self._client.config
        labels = head.get("labels") or {}
        if not isinstance(spec, dict) or not isinstance(labels, dict):
            return  # validation says so
        if namespace in config.unmanaged_namespaces:
            return
        if not labels.get(QUEUE_LABEL):
            if self._client.find(LOCAL_QUEUES, namespace, DEFAULT_QUEUE) is not None:
                head["labels"] = {**labels, QUEUE_LABEL: DEFAULT_QUEUE}
            elif not config.every_job:
                return
        spec["suspend"] = True

    def charge(
        self, kind: Kind, namespace: str, obj: Object, old: Object | None, *, dry_run: bool
    ) -> None:
        """Refuse nothing: the definitions do."""
        del kind, namespace, obj, old, dry_run
