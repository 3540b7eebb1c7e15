"""The CustomResourceDefinitions of Kueue's kinds in v1beta2 and, converted, in v1beta1.

Names, columns and versions are those of Kueue's own definitions, and `wl`, which earlier ones had. v1beta1 is
deprecated there, too. Pure but for `install`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from twin.custom.kueue_versions import SERVICE
from twin.kueue import schemas
from twin.kueue.objects import GROUP
from twin.kueue.schema_words import Schema, rows, text
from twin.kueue.schema_words import name as name_schema
from twin.records import Object
from twin.store import Store

WARNING = "This version is deprecated. Use v1beta2 instead."
Columns = tuple[tuple[str, str, str, int], ...]
"""Name, type, path and priority."""
_ACTIVE = ".status.conditions[?(@.type=='{}')].status"


def _column(name: str, kind: str, path: str, priority: int) -> Object:
    column: Object = {"name": name, "type": kind, "jsonPath": path, "description": f"{name}."}
    return {**column, "priority": priority} if priority else column


def _definition(
    kind: str,
    plural: str,
    short: tuple[str, ...],
    schema: Callable[[], Schema],
    columns: Columns = (),
    *,
    namespaced: bool = False,
    has_status: bool = True,
    older: Callable[[Schema], None] | None = None,
) -> Object:
    newer = schema()
    before = deepcopy(newer)
    if older is not None:
        older(before)
    versions = []
    for version, found in (("v1beta1", before), ("v1beta2", newer)):
        shown = [_column(*column) for column in columns]
        if version == "v1beta1":
            for column in shown:
                column["jsonPath"] = column["jsonPath"].replace("cohortName", "cohort")
        entry: Object = {
            "name": version,
            "served": True,
            "storage": version == "v1beta2",
            "schema": {"openAPIV3Schema": _whole(found)},
        }
        if version == "v1beta1":
            entry |= {"deprecated": True, "deprecationWarning": WARNING}
        if has_status:
            entry["subresources"] = {"status": {}}
        if shown:
            entry["additionalPrinterColumns"] = shown
        versions.append(entry)
    names = {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": plural,
        "singular": kind.lower(),
        "shortNames": list(short),
    }
    service = {"name": SERVICE, "namespace": "kueue-system", "path": "/convert"}
    webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": names,
            "scope": "Namespaced" if namespaced else "Cluster",
            "conversion": {"strategy": "Webhook", "webhook": webhook},
            "versions": versions,
        },
    }


def _whole(schema: Schema) -> Schema:
    """Return a schema with the members that every object has; cluster queues and such carry no rules
    of the version that writes are converted to.
    """
    common: dict[str, Any] = {
        "apiVersion": {"type": "string", "description": "Group and version of this form."},
        "kind": {"type": "string", "description": "What the object is."},
        "metadata": {"type": "object"},
    }
    return {**schema, "properties": {**common, **schema["properties"]}}


def _older_queue(schema: Schema) -> None:
    """Turn a ClusterQueue's schema into that of v1beta1: other names, and two more words."""
    spec = schema["properties"]["spec"]
    fields = spec["properties"]
    fields["cohort"] = fields.pop("cohortName")
    fields["admissionChecks"] = rows("Checks for every flavor.", name_schema("A check."), most=64)
    fungible = fields["flavorFungibility"]["properties"]
    fungible["whenCanBorrow"]["enum"].insert(0, "Borrow")
    fungible["whenCanPreempt"]["enum"].insert(0, "Preempt")
    spec.pop("x-kubernetes-validations")
    fields["flavorFungibility"].pop("x-kubernetes-validations")


def _older_local(schema: Schema) -> None:
    status = schema["properties"]["status"]["properties"]
    status["flavorUsage"] = status.pop("flavorsUsage")


def _older_workload(schema: Schema) -> None:
    spec, status = (schema["properties"][part]["properties"] for part in ("spec", "status"))
    spec.pop("priorityClassRef")
    spec["priorityClassName"] = text("The class of its priority.", maxLength=253)
    spec["priorityClassSource"] = text("Where the class is.", maxLength=253)
    status["accumulatedPastExexcutionTimeSeconds"] = status.pop(
        "accumulatedPastExecutionTimeSeconds"
    )
    schema.pop("x-kubernetes-validations")
    schema["properties"]["spec"].pop("x-kubernetes-validations")


def definitions() -> list[Object]:
    """Return all definitions."""
    pending = ("Pending Workloads", "integer", ".status.pendingWorkloads", 0)
    admitted = ("Admitted Workloads", "integer", ".status.admittedWorkloads")
    return [
        _definition("AdmissionCheck", "admissionchecks", ("ac",), schemas.admission_check),
        _definition(
            "ClusterQueue", "clusterqueues", ("cq",), schemas.cluster_queue,
            (("Cohort", "string", ".spec.cohortName", 0),
             ("Strategy", "string", ".spec.queueingStrategy", 1), pending, (*admitted, 1)),
            older=_older_queue,
        ),
        _definition("Cohort", "cohorts", ("co",), schemas.cohort),
        _definition(
            "LocalQueue", "localqueues", ("queue", "queues", "lq"), schemas.local_queue,
            (("ClusterQueue", "string", ".spec.clusterQueue", 0), pending, (*admitted, 0)),
            namespaced=True, older=_older_local,
        ),
        _definition("ResourceFlavor", "resourceflavors", ("flavor", "flavors", "rf"),
                    schemas.resource_flavor, has_status=False),
        _definition("WorkloadPriorityClass", "workloadpriorityclasses", ("wpc",),
                    schemas.priority_class, (("Value", "integer", ".value", 0),), has_status=False),
        _definition(
            "Workload", "workloads", ("wl", "kwl", "kueueworkload", "kueueworkloads"), schemas.workload,
            (("Queue", "string", ".spec.queueName", 0),
             ("Reserved in", "string", ".status.admission.clusterQueue", 0),
             ("Admitted", "string", _ACTIVE.format("Admitted"), 0),
             ("Finished", "string", _ACTIVE.format("Finished"), 0),
             ("Age", "date", ".metadata.creationTimestamp", 0)),
            namespaced=True, older=_older_workload,
        ),
    ]  # fmt: skip


def install(store: Store) -> None:
    """Have the kinds served."""
    for definition in definitions():
        store.create("customresourcedefinitions", "", definition)
