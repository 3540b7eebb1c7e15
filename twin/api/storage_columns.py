"""The columns of volumes, networks and configuration (kubernetes pkg/printers/internalversion/printers.go)."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
NONE, UNSET = "<none>", "<unset>"
_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_MOST_HOSTS = 3
_WIDEST_ADDRESS = 16
_DEFAULT_CLASSES = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
    "ingressclass.kubernetes.io/is-default-class",
)
CLASS = "volume.beta.kubernetes.io/storage-class"


def class_name(obj: Object, _now: float) -> str:
    """Return the name of a storage or ingress class, and whether it is the default one."""
    name = str(obj["metadata"]["name"])
    pairs = obj["metadata"].get("annotations") or {}
    return f"{name} (default)" if "true" in map(pairs.get, _DEFAULT_CLASSES) else name


def phase(obj: Object, _now: float) -> str:
    """Return the phase of a volume or a claim."""
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return str((obj.get("status") or {}).get("phase", ""))


def claim_modes(obj: Object, _now: float) -> str:
    """Return how a bound claim may be used."""
    return _modes((obj.get("status") or {}).get("accessModes")) if _is_bound(obj) else ""


def claim_capacity(obj: Object, _now: float) -> str:
    """Return the size of a bound claim."""
    amounts = (obj.get("status") or {}).get("capacity") or {}
    return str(amounts.get("storage", "0")) if _is_bound(obj) else ""


def volume_modes(obj: Object, _now: float) -> str:
    """Return how a volume may be used."""
    return _modes(obj["spec"].get("accessModes"))


def storage_class(obj: Object, _now: float) -> str:
    """Return the class of a volume or a claim."""
    pairs = obj["metadata"].get("annotations") or {}
    return str(pairs.get(CLASS) or obj["spec"].get("storageClassName") or "")


def claim(obj: Object, _now: float) -> str:
    """Return the claim of a volume."""
    reference = obj["spec"].get("claimRef")
    return f"{reference.get('namespace', '')}/{reference.get('name', '')}" if reference else ""


def hosts(obj: Object, _now: float) -> str:
    """Return the first hosts of an Ingress."""
    rules = (obj.get("spec") or {}).get("rules") or ()
    named: list[str] = []
    more = False
    for rule in rules:
        more = more or len(named) == _MOST_HOSTS
        if rule.get("host") and not more:
            named.append(rule["host"])
    if not named:
        return "*"
    return ",".join(named) + (f" + {len(rules) - _MOST_HOSTS} more..." if more else "")


def addresses(obj: Object, _now: float) -> str:
    """Return where an Ingress is reached."""
    entries = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    text = ",".join(sorted({str(one.get("ip") or one.get("hostname") or "") for one in entries}))
    return text if len(text) <= _WIDEST_ADDRESS else f"{text[: _WIDEST_ADDRESS - 3]}..."


def ports(obj: Object, _now: float) -> str:
    """Return the ports of an Ingress."""
    return "80, 443" if (obj.get("spec") or {}).get("tls") else "80"


def parameters(obj: Object, _now: float) -> str:
    """Return what an ingress class refers to."""
    reference = (obj.get("spec") or {}).get("parameters")
    if not reference:
        return NONE
    group = f".{reference['apiGroup']}" if reference.get("apiGroup") else ""
    return f"{reference.get('kind', '')}{group}/{reference.get('name', '')}"


def controller(obj: Object, _now: float) -> str:
    """Return the controller of an object, as kind.group/name."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            group = owner.get("apiVersion", "").rpartition("/")[0]
            kind = owner.get("kind", "").lower()
            return f"{kind}.{group}/{owner['name']}" if group else f"{kind}/{owner['name']}"
    return NONE


def _is_bound(obj: Object) -> bool:
    return bool(obj["spec"].get("volumeName"))


def _modes(modes: Any) -> str:
    given = modes or ()
    return ",".join(short for mode, short in _MODES.items() if mode in given)
