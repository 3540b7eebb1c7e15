"""What a case is, and what it is given; each lies in a file of its own in `cases/`."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from pydantic import TypeAdapter

from proofs.real_cluster import cases
from proofs.real_cluster.audit import Request
from proofs.real_cluster.environment import RealCluster
from proofs.real_cluster.population import SHOP
from proofs.real_cluster.session import Session, Step, session
from proofs.real_programs.requests import Api, Object
from schemas.actions import Action, ActionKind, Target, TargetKind
from schemas.outcome import Mode

COMPARED = (
    "/api/v1/nodes", "/api/v1/pods", "/api/v1/namespaces", "/api/v1/resourcequotas", "/api/v1/limitranges",
    "/apis/apps/v1/deployments", "/apis/apps/v1/replicasets", "/apis/apps/v1/statefulsets",
    "/apis/batch/v1/jobs", "/apis/autoscaling/v2/horizontalpodautoscalers",
    "/apis/policy/v1/poddisruptionbudgets",
)  # fmt: skip
"""Lists whose resourceVersions are compared before and after shadow mode."""
_ACTION: TypeAdapter[Action] = TypeAdapter(Action)
Versions = dict[tuple[str, str, str], str]


@dataclass
class CaseEnvironment:
    """The cluster and what has been done on it in one case."""

    cluster: RealCluster
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Figures and sentences for the evidence page."""

    @property
    def api(self) -> Api:
        """The administrator."""
        return self.cluster.api

    def session(
        self, mode: Mode = Mode.ACTIVE, **options: Any
    ) -> AbstractAsyncContextManager[Session]:
        """Run collector and executor; `options` are settings of the executor."""
        return session(self.cluster, self.steps, mode, **options)

    def node(self, pool: str = "shop", number: int = 0) -> str:
        """Return the name of a node of a pool."""
        found = self.api.ask("GET", "/api/v1/nodes", labelSelector=f"pool={pool}")["items"]
        return str(sorted(one["metadata"]["name"] for one in found)[number])

    def pods_on(self, node: str) -> list[Object]:
        """Return the pods of a node that are not ending."""
        found = self.api.ask("GET", "/api/v1/pods", fieldSelector=f"spec.nodeName={node}")["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def versions(self) -> Versions:
        """Return the resourceVersion of every object that a write could touch."""
        found: Versions = {}
        for path in COMPARED:
            for item in self.api.items(path):
                meta = item["metadata"]
                key = (path.rpartition("/")[2], meta.get("namespace", ""), meta["name"])
                found[key] = meta["resourceVersion"]
        return found

    def changed_by_us(self, before: Versions, mark: int) -> tuple[int, list[str]]:
        """Return how many objects were compared, and those whose version changed with no write of another in the
        audit log since `mark`, or with one of ours.
        """
        after = self.versions()
        changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
        answered = self.cluster.audit.since(mark)
        ours = {one.key for one in answered if one.changed and _is_ours(one)}
        theirs = {one.key for one in answered if one.changed and not _is_ours(one)}
        # a write to a collection (a controller's create) names no object
        made = {key[:2] for key in theirs if not key[2]}
        unexplained = {key for key in changed if key not in theirs and key[:2] not in made}
        return len(after), sorted("/".join(key) for key in (ours | unexplained))


def _is_ours(request: Request) -> bool:
    return request.user.rpartition(":")[2].startswith("foresail-")


def at_node(kind: ActionKind, node: str, **parameters: Any) -> Action:
    """Return an action at a node."""
    return _action(kind, Target(kind=TargetKind.NODE, name=node), parameters)


def at_workload(name: str, replicas: int, namespace: str = SHOP) -> Action:
    """Return a wish for so many replicas of a Deployment."""
    target = Target(kind=TargetKind.WORKLOAD, name=f"{namespace}/Deployment/{name}")
    return _action(ActionKind.REPLICATE, target, {"replicas": replicas})


def at_queue(admission: str) -> Action:
    """Return an action at the queue of waiting work."""
    target = Target(kind=TargetKind.QUEUE, name="pending")
    return _action(ActionKind.ADMISSION, target, {"admission": admission})


def _action(kind: ActionKind, target: Target, parameters: dict[str, Any]) -> Action:
    content = {"agent": None, "kind": kind, "target": target, **parameters}
    action: Action = _ACTION.validate_python(content)
    return action


@dataclass(frozen=True, slots=True)
class Case:
    """One case; its name is that of its file."""

    title: str
    """What it shows, in one sentence."""
    run: Callable[[CaseEnvironment], Coroutine[Any, Any, None]]
    """Raises AssertionError where it does not hold."""
    order: int = 50
    """Smaller ones come first; what disturbs the server comes last."""


def all_cases() -> dict[str, Case]:
    """Return every case by name, in their order."""
    found: dict[str, Case] = {
        info.name: import_module(f"{cases.__name__}.{info.name}").CASE
        for info in pkgutil.iter_modules(cases.__path__)
    }
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))
