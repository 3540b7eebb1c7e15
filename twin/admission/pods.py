"""Pod specs: the API server's defaults, and the checks that matter for what is simulated."""

from __future__ import annotations

from collections.abc import Collection

from twin.admission.amounts import check_amounts, default_requests
from twin.admission.containers import check_containers
from twin.admission.findings import Findings
from twin.admission.placement import admit_placement
from twin.admission.pod_fields import check_fields
from twin.admission.pod_parts import default_parts
from twin.admission.resizing import check_resize_policy
from twin.admission.security import check_pod_security
from twin.admission.volumes import check_volumes
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
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1  # as the API server reads it
    default_requests(spec)
    admit_template(spec, findings, path)
    spec.setdefault("enableServiceLinks", True)
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    _default_tolerations(spec)


def admit_template(
    spec: Object, findings: Findings, path: str, claimed: Collection[str] = ()
) -> None:
    """Default and check the spec of a pod or of a pod template in place.

    `claimed` are the volumes that a StatefulSet's claim templates give each of its pods.
    """
    for field, value in _DEFAULTS.items():
        if field not in spec:
            spec[field] = dict(value) if isinstance(value, dict) else value
    if not spec.get("containers"):
        findings.require(f"{path}.containers")
    default_parts(spec)
    admit_placement(spec, findings, path)
    check_fields(spec, findings, path)
    check_pod_security(spec, findings, path)
    volumes = check_volumes(spec, findings, path)
    check_containers(spec, volumes | set(claimed), findings, path)
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            where = f"{path}.{kind}[{index}]"
            check_amounts(container["resources"], findings, f"{where}.resources")
            policies = container.get("resizePolicy") or ()
            check_resize_policy(policies, findings, f"{where}.resizePolicy", spec["restartPolicy"])


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
    ours, theirs = _fixed(old), _fixed(new)
    why = (
        "Forbidden: pod updates may not change fields other than image, "
        "activeDeadlineSeconds and added tolerations"
    )
    if len(old["containers"]) != len(new.get("containers") or ()):
        findings.forbid("spec.containers", "pod updates may not add or remove containers")
        return
    _check_deadline(old, new, findings)
    if ours != theirs:
        findings.add("spec", why)
        return
    for mine, other in zip(old["containers"], new["containers"], strict=True):
        if {**mine, "image": ""} != {**other, "image": ""}:
            findings.add("spec", why)
    gates = [gate["name"] for gate in old.get("schedulingGates") or ()]
    for index, gate in enumerate(new.get("schedulingGates") or ()):
        if gate.get("name") not in gates:
            name = gate.get("name")
            findings.add(
                f"spec.schedulingGates[{index}].name",
                f"Forbidden: only deletion is allowed, but found new scheduling gate '{name}'",
            )
    kept = [_timeless(toleration) for toleration in new["tolerations"]]
    if any(_timeless(toleration) not in kept for toleration in old["tolerations"]):
        findings.add("spec.tolerations", "Forbidden: existing toleration can not be modified")


def _fixed(spec: Object) -> Object:
    """Return what of a pod never changes; an empty map or list is none."""
    return {
        key: value
        for key, value in spec.items()
        if key not in _CHANGEABLE and value not in ({}, [], None)
    }


def _check_deadline(old: Object, new: Object, findings: Findings) -> None:
    path, why = "spec.activeDeadlineSeconds", "must be less than or equal to previous value"
    before, after = (spec.get("activeDeadlineSeconds") for spec in (old, new))
    if before is None:
        return
    if after is None:
        findings.bad(path, None, "must not update from a positive integer to nil value")
    elif after > before:
        findings.bad(path, after, why)


def _timeless(toleration: Object) -> Object:
    """Return a toleration without its seconds, which may change."""
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}
