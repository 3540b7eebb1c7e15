"""What a ResourceQuota counts of an object, and the words in which it refuses one.

Sources: kubernetes/kubernetes pkg/quota/v1/evaluator/core (pods, services, claims, object counts) and
staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go.
Guarantee: exact arithmetic (decimals), pure functions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from decimal import ROUND_CEILING, Decimal

from inputs.quantities import cpu_text, memory_text, parse_quantity
from twin.errors import ApiError, forbidden
from twin.kinds import Kind
from twin.records import Object

Amounts = dict[str, Decimal]
_OWN_NAME = ("services", "configmaps", "secrets", "resourcequotas", "replicationcontrollers",
             "persistentvolumeclaims")  # fmt: skip
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
STORAGE, NODE_PORTS, BALANCERS = "requests.storage", "services.nodeports", "services.loadbalancers"
OF_CLASS = ".storageclass.storage.k8s.io/"
"""Between the name of a class and what is counted of its claims."""
_CLASS_NOTE = "volume.beta.kubernetes.io/storage-class"
_ONE = Decimal(1)


def usage_of(kind: Kind, obj: Object) -> Amounts:
    """Return everything that one object uses of any quota."""
    name = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    used: Amounts = {f"count/{name}": _ONE}
    if kind.resource in _OWN_NAME:
        used[kind.resource] = _ONE
    if kind.resource == "services":
        used.update(_of_service(obj.get("spec") or {}))
    if kind.resource == "persistentvolumeclaims":
        used.update(_of_claim(obj))
    if kind.resource == "pods" and not holds_nothing(obj):
        used["pods"] = _ONE
        used.update(pod_compute(obj["spec"]))
    return used


def _of_service(spec: Object) -> Amounts:
    """Return what a Service uses by its type; a balancer may do without ports of the nodes."""
    kind, ports = spec.get("type", ""), spec.get("ports") or []
    if kind not in ("LoadBalancer", "NodePort"):
        return {}
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    used = {NODE_PORTS: Decimal(len(ports))}
    return used | ({BALANCERS: _ONE} if kind == "LoadBalancer" else {})


def _of_claim(claim: Object) -> Amounts:
    """Return the storage that a claim asks for, also under the name of its class."""
    spec = claim.get("spec") or {}
    asked = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    used = {} if asked is None else {STORAGE: parse_quantity(asked)}
    notes = claim["metadata"].get("annotations") or {}
    name = notes.get(_CLASS_NOTE, spec.get("storageClassName"))
    of_class: Amounts = {"persistentvolumeclaims": _ONE, **used} if name else {}
    return used | {f"{name}{OF_CLASS}{key}": amount for key, amount in of_class.items()}


def is_counted(name: str, served: Collection[str]) -> bool:
    """True for a name under which anything is counted; `served` are PLURAL or PLURAL.GROUP of all kinds."""
    if name.startswith("count/"):
        return name.removeprefix("count/") in served
    if OF_CLASS in name:
        return name.partition(OF_CLASS)[2] in (STORAGE, "persistentvolumeclaims")
    if name in (*_OWN_NAME, *_COMPUTE, "pods", STORAGE, NODE_PORTS, BALANCERS):
        return True
    kind, _, resource = name.partition(".")
    extended = kind == "requests" and ("/" in resource or resource.startswith("hugepages-"))
    return extended or (kind in ("requests", "limits") and resource in _COMPUTE)


def holds_nothing(pod: Object) -> bool:
    """True for a pod that has ended: it holds nothing."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def pod_compute(spec: Object) -> Amounts:
    """Return requests and limits of a pod under the names that quotas use."""
    used: Amounts = {}
    for container in spec["containers"]:
        resources = container.get("resources") or {}
        for field in ("requests", "limits"):
            for name, amount in (resources.get(field) or {}).items():
                if field == "limits" and name not in _COMPUTE:
                    continue
                value = parse_quantity(amount)
                names = [f"{field}.{name}", *([name] if field == "requests" else [])]
                for key in names:
                    used[key] = used.get(key, Decimal(0)) + value
    return used


def unspecified_resources(spec: Object, hard: Iterable[str]) -> str:
    """Return which constrained resources a pod's containers leave open, in the plugin's words."""
    missing: list[str] = []
    for name in sorted(hard):
        field, _, resource = (
            name.rpartition(".") if name not in _COMPUTE else ("requests", "", name)
        )
        if field not in ("requests", "limits") or resource not in _COMPUTE:
            continue
        names = [
            container["name"]
            for container in spec["containers"]
            if resource not in ((container.get("resources") or {}).get(field) or {})
        ]
        if names:
            missing.append(f"{name} for: {','.join(names)}")
    return "; ".join(missing)


def exceeded_names(
    used: Mapping[str, Decimal], hard: Mapping[str, Decimal], added: Amounts
) -> list[str]:
    """Return the names of which the addition would use more than there is."""
    return sorted(
        name
        for name, amount in added.items()
        if amount > 0 and name in hard and used.get(name, Decimal(0)) + amount > hard[name]
    )


def refusal(
    kind: Kind, name: str, quota: str, names: list[str], added: Amounts, used: Amounts,
    hard: Amounts,
) -> ApiError:  # fmt: skip
    """Return the 403 of an object that would exceed a quota."""
    parts = []
    for word, amounts in (("requested", added), ("used", used), ("limited", hard)):
        listed = ",".join(
            f"{key}={amount_text(key, amounts.get(key, Decimal(0)))}" for key in names
        )
        parts.append(f"{word}: {listed}")
    why = f"exceeded quota: {quota}, {', '.join(parts)}"
    return forbidden(kind.resource, name, why, group=kind.group)


def amount_text(name: str, amount: Decimal) -> str:
    """Return the canonical text of an amount of a quota's resource."""
    resource = name.rpartition(".")[2] if name.startswith(("requests.", "limits.")) else name
    if resource == "cpu":
        return cpu_text(int((amount * 1000).to_integral_value(ROUND_CEILING)))
    if resource in _COMPUTE or name.endswith(STORAGE):
        return memory_text(int(amount.to_integral_value(ROUND_CEILING)))
    return str(int(amount.to_integral_value(ROUND_CEILING)))


def parse_amounts(amounts: Mapping[str, object] | None) -> Amounts:
    """Return exact amounts of a quota's `hard` or `used`."""
    return {name: parse_quantity(str(amount)) for name, amount in (amounts or {}).items()}
