"""What a VerticalPodAutoscaler says, whom it is about, and what a pod's containers have now.

Source: utils/vpa/api.go and capping.go, target/fetcher.go, utils/resources/resourcehelpers.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from inputs.quantities import cpu_text, memory_text, parse_millicores, parse_whole
from twin.kinds import KINDS
from twin.provisioners.client import Client, controller_of
from twin.records import Object, ObjectRecord, PodRecord
from twin.selectors import matches
from twin.vertical.estimation import Amounts

RESOURCE, KIND = "verticalpodautoscalers", "VerticalPodAutoscaler"
CONTROLLED = ("cpu", "memory")
_TARGETS = {
    KINDS[name].kind: name
    for name in ("deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs")
}
_SUFFIXES = ((10**9, "G"), (10**6, "M"), (10**3, "k"))


def update_mode(vpa: ObjectRecord) -> str:
    """Return the update mode; Auto is the old name of Recreate."""
    mode = (vpa.body["spec"].get("updatePolicy") or {}).get("updateMode") or "Recreate"
    return "Recreate" if mode == "Auto" else str(mode)


def container_policy(vpa: ObjectRecord, container: str) -> Object:
    """Return the policy of a container: its own, else that of `*`, else an empty one."""
    policies = (vpa.body["spec"].get("resourcePolicy") or {}).get("containerPolicies") or ()
    named = {policy.get("containerName"): policy for policy in policies}
    found: Object = named.get(container) or named.get("*") or {}
    return found


def target_selector(client: Client, vpa: ObjectRecord) -> Object | str:
    """Return the label selector of the target's pods, or why there is none."""
    ref = vpa.body["spec"]["targetRef"]
    resource = _TARGETS.get(ref["kind"])
    if resource is None:
        return f"Unhandled targetRef {ref.get('apiVersion', '')} / {ref['kind']} / {ref['name']}"
    target = client.find(resource, vpa.namespace, ref["name"])
    if target is None:
        return f"{ref['kind']} {vpa.namespace}/{ref['name']} does not exist"
    if controller_of_object(target):
        name = f"{ref.get('apiVersion', '')}.{ref['kind']}/{ref['name']}"
        return (
            f"The target {name} has a parent controller but it should point to a topmost "
            "well-known or scalable controller"
        )
    spec = target.body["spec"]
    if resource == "cronjobs":
        head = spec["jobTemplate"]["spec"]["template"].get("metadata") or {}
        return {"matchLabels": head.get("labels") or {}}
    selector: Object = spec["selector"]
    return selector


def controller_of_object(record: ObjectRecord) -> Object | None:
    """Return the reference to the controller that manages an object."""
    return next((owner for owner in record.owners if owner.get("controller")), None)


def controlling_object(
    client: Client, namespace: str, labels: Mapping[str, str], owner: Object | None
) -> ObjectRecord | None:
    """Return the oldest object that targets the topmost controller of a pod and selects it."""
    top = _topmost(client, namespace, owner)
    if top is None:
        return None
    best: ObjectRecord | None = None
    for vpa in client.objects(RESOURCE, namespace):
        ref = vpa.body["spec"]["targetRef"]
        if (ref["kind"], ref["name"]) != top:
            continue
        selector = target_selector(client, vpa)
        if isinstance(selector, str) or not matches(selector, labels):
            continue
        if best is None or (vpa.created_at, vpa.name) < (best.created_at, best.name):
            best = vpa
    return best


def controlling_object_of(client: Client, pod: PodRecord) -> ObjectRecord | None:
    """Return the object that controls an existing pod."""
    return controlling_object(client, pod.namespace, pod.labels, controller_of(pod))


def _topmost(client: Client, namespace: str, owner: Object | None) -> tuple[str, str] | None:
    while owner is not None:
        resource = _TARGETS.get(owner["kind"])
        record = None if resource is None else client.find(resource, namespace, owner["name"])
        above = None if record is None else controller_of_object(record)
        if above is None:
            return owner["kind"], owner["name"]
        owner = above
    return None


def current_resources(pod: PodRecord) -> dict[str, Object]:
    """Return `resources` by container: of running ones what is in force, else what is asked for."""
    ran = pod.container_state != "waiting" or pod.ended is not None
    spec = (pod.actual if ran else pod.shape).spec
    return {entry["name"]: entry.get("resources") or {} for entry in spec["containers"]}


def capped_recommendation(
    vpa: ObjectRecord, resources: Mapping[str, Object]
) -> dict[str, dict[str, Amounts]]:
    """Return target, lowerBound and upperBound by container of a pod, within policy and limits."""
    found: dict[str, dict[str, Amounts]] = {}
    recommendation = (vpa.body.get("status") or {}).get("recommendation") or {}
    for entry in recommendation.get("containerRecommendations") or ():
        name = entry["containerName"]
        if name not in resources:
            continue
        policy = container_policy(vpa, name)
        limits: Object = {}
        if policy.get("controlledValues") == "RequestsOnly":
            limits = resources[name].get("limits") or {}
        found[name] = {
            bound: {
                resource: _bound_by_limit(policy, limits, resource, amount_of(resource, text))
                for resource, text in (entry.get(bound) or {}).items()
            }
            for bound in ("target", "lowerBound", "upperBound")
        }
    return found


def _bound_by_limit(policy: Object, limits: Object, resource: str, amount: int) -> int:
    amount = capped(policy, resource, amount)
    return min(amount, amount_of(resource, limits[resource])) if resource in limits else amount


def capped(policy: Object, resource: str, amount: int) -> int:
    """Return an amount within minAllowed and maxAllowed."""
    least, most = (policy.get(field) or {} for field in ("minAllowed", "maxAllowed"))
    if resource in least:
        amount = max(amount, amount_of(resource, least[resource]))
    return min(amount, amount_of(resource, most[resource])) if resource in most else amount


def wanted_resources(
    vpa: ObjectRecord, resources: Mapping[str, Object]
) -> dict[str, dict[str, Object]]:
    """Return the requests and limits to write, by container; limits keep their proportion."""
    found: dict[str, dict[str, Object]] = {}
    for name, bounds in capped_recommendation(vpa, resources).items():
        target, now = bounds["target"], resources[name]
        requests = {key: text_of(key, amount) for key, amount in target.items()}
        wanted: dict[str, Object] = {"requests": requests}
        if container_policy(vpa, name).get("controlledValues") != "RequestsOnly":
            had, limits = now.get("requests") or {}, now.get("limits") or {}
            wanted["limits"] = {
                key: text_of(key, _proportional(key, limits[key], had.get(key), amount))
                for key, amount in target.items()
                if key in limits
            }
        found[name] = {field: amounts for field, amounts in wanted.items() if amounts}
    return found


def _proportional(resource: str, limit: Any, request: Any, target: int) -> int:
    was = amount_of(resource, request) if request is not None else 0
    most = amount_of(resource, limit)
    return target if not was or was == most else most * target // was


def merged(resources: Object, wanted: Mapping[str, Object]) -> Object:
    """Return `resources` with the wanted requests and limits written over them."""
    fields = [name for name in ("requests", "limits") if resources.get(name) or wanted.get(name)]
    changed = {name: {**(resources.get(name) or {}), **(wanted.get(name) or {})} for name in fields}
    return {**resources, **changed}


def amount_of(resource: str, text: Any) -> int:
    """Return millicores of CPU, and bytes of memory."""
    return parse_millicores(text) if resource == "cpu" else parse_whole(text)


def text_of(resource: str, amount: int) -> str:
    """Return the canonical text of an amount."""
    if resource != "cpu":
        return memory_text(amount)
    if not amount or amount % 1_000:
        return cpu_text(amount)
    cores = amount // 1_000
    for size, suffix in _SUFFIXES:
        if cores % size == 0:
            return f"{cores // size}{suffix}"
    return str(cores)


def texts_of(amounts: Amounts, names: Iterable[str] = CONTROLLED) -> dict[str, str]:
    """Return amounts as the API shows them, of the named resources."""
    return {name: text_of(name, amounts[name]) for name in names if name in amounts}
