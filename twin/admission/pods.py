"""Pod specs: the API server's defaults, and the checks that matter for what is simulated."""

from __future__ import annotations

from twin.admission.findings import Findings
from twin.admission.placement import admit_placement
from twin.admission.pod_parts import admit_parts, default_container
from twin.admission.resizing import check_resize_policy
from twin.quantity import parse_quantity
from twin.records import Object

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
TOLERATION_SECONDS = 300  # DefaultTolerationSeconds admission plugin
_DEFAULTS: Object = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "securityContext": {},
}


def admit(spec: Object, findings: Findings, path: str) -> None:
    """Default and check a pod's own spec in place (not a template's: that only gets defaults)."""
    admit_template(spec, findings, path)
    spec.setdefault("enableServiceLinks", True)
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    _default_tolerations(spec)


def admit_template(spec: Object, findings: Findings, path: str) -> None:
    """Default and check the spec of a pod or of a pod template in place."""
    for field, value in _DEFAULTS.items():
        if field not in spec:
            spec[field] = dict(value) if isinstance(value, dict) else value
    if spec["restartPolicy"] not in ("Always", "OnFailure", "Never"):
        findings.bad(f"{path}.restartPolicy", spec["restartPolicy"], "must be Always, OnFailure "
                     "or Never")  # fmt: skip
    findings.count(f"{path}.terminationGracePeriodSeconds", spec["terminationGracePeriodSeconds"])
    admit_placement(spec, findings, path)
    admit_parts(spec, findings, path)
    containers = spec.get("containers")
    if not isinstance(containers, list) or not containers:
        findings.require(f"{path}.containers")
        return
    names: list[str] = []
    for index, container in enumerate(containers):
        _admit_container(container, findings, f"{path}.containers[{index}]")
        policies = container.get("resizePolicy") or ()
        where = f"{path}.containers[{index}].resizePolicy"
        check_resize_policy(policies, findings, where, spec["restartPolicy"])
        name = container.get("name", "")
        if name in names:
            findings.add(f"{path}.containers[{index}].name", f'Duplicate value: "{name}"')
        names.append(name)


def _admit_container(container: Object, findings: Findings, path: str) -> None:
    for field in ("name", "image"):
        if not container.get(field):
            findings.require(f"{path}.{field}")
    default_container(container)
    resources = container["resources"]
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    before = len(findings.causes)
    findings.quantities(f"{path}.resources.limits", limits)
    findings.quantities(f"{path}.resources.requests", requests)
    if len(findings.causes) > before:
        return
    if limits:  # a limit without a request is the request too
        resources["requests"] = requests = {**limits, **requests}
    for name, limit in limits.items():
        if parse_quantity(requests[name]) > parse_quantity(limit):
            why = f"must be less than or equal to {name} limit of {limit}"
            findings.bad(f"{path}.resources.requests", str(requests[name]), why)
    for name, request in requests.items():
        if "/" in name and name not in limits:
            findings.require(f"{path}.resources.limits[{name}]")
        elif "/" in name and parse_quantity(request) != parse_quantity(limits[name]):
            findings.bad(f"{path}.resources.requests", str(request), f"must be equal to {name} "
                         f"limit of {limits[name]}")  # fmt: skip


def _default_tolerations(spec: Object) -> None:
    tolerations = spec.setdefault("tolerations", [])
    for key in (NOT_READY, UNREACHABLE):
        covered = any(
            entry.get("key", key) == key and entry.get("effect", "NoExecute") == "NoExecute"
            for entry in tolerations
        )
        if not covered:
            tolerations.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": TOLERATION_SECONDS,
                }
            )


_CHANGEABLE = (
    "containers",
    "initContainers",
    "activeDeadlineSeconds",
    "tolerations",
    "schedulingGates",
)


def keep_resolved(old: Object, new: Object) -> None:
    """Take over into an update what was resolved at the pod's creation and is not given."""
    for field in ("priority", "preemptionPolicy", "serviceAccountName", "serviceAccount"):
        if field in old:
            new.setdefault(field, old[field])


def check_unchanged(old: Object, new: Object, findings: Findings) -> None:
    """Check that a pod update touches only what a real API server lets it touch."""
    ours = {key: value for key, value in old.items() if key not in _CHANGEABLE}
    theirs = {key: value for key, value in new.items() if key not in _CHANGEABLE}
    why = (
        "Forbidden: pod updates may not change fields other than image, "
        "activeDeadlineSeconds and added tolerations"
    )
    if ours != theirs or len(old["containers"]) != len(new["containers"]):
        findings.add("spec", why)
        return
    for mine, other in zip(old["containers"], new["containers"], strict=True):
        if {**mine, "image": ""} != {**other, "image": ""}:
            findings.add("spec", why)
    gates = [gate["name"] for gate in old.get("schedulingGates") or ()]
    for gate in new.get("schedulingGates") or ():
        if gate.get("name") not in gates:
            name = gate.get("name")
            findings.add(
                "spec.schedulingGates",
                f"Forbidden: only deletion is allowed, but found new scheduling gate '{name}'",
            )
    if new["tolerations"][: len(old["tolerations"])] != old["tolerations"]:
        findings.add("spec.tolerations", "Forbidden: existing toleration can not be modified")
