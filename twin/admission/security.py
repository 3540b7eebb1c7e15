"""Security contexts of pods and containers.

Upstream: pkg/apis/core/validation/validation.go of kubernetes/kubernetes.
"""

from __future__ import annotations

import re

from twin.admission import rules
from twin.admission.findings import Findings
from twin.records import Object

_SYSCTL = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?\Z")
_SYSCTL_RULE = (
    "must have at most 253 characters and match regex "
    "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
)
_LONGEST_SYSCTL = 253
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_NO_ESCALATION = "cannot set `allowPrivilegeEscalation` to false and "


def check_container_security(context: Object, findings: Findings, path: str) -> None:
    """Check `securityContext` of a container at `path`."""
    where = f"{path}.securityContext"
    _check_users(context, ("runAsUser", "runAsGroup"), findings, where)
    rules.optional_word(
        f"{where}.procMount", context.get("procMount"), ("Default", "Unmasked"), findings
    )
    _check_profile(context.get("seccompProfile"), findings, f"{where}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            findings.bad(where, context, f"{_NO_ESCALATION}`privileged` to true")
        for capability in (context.get("capabilities") or {}).get("add") or ():
            if capability == "CAP_SYS_ADMIN":
                why = f"{_NO_ESCALATION}`capabilities.Add` CAP_SYS_ADMIN"
                findings.bad(where, context, why)


def check_pod_security(spec: Object, findings: Findings, path: str) -> None:
    """Check `securityContext` of a pod spec, and what goes with it."""
    context, where = spec.get("securityContext") or {}, f"{path}.securityContext"
    _check_users(context, ("runAsUser", "runAsGroup", "fsGroup"), findings, where)
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        place = f"{where}.supplementalGroups[{index}]"
        rules.between(place, group, 0, rules.MOST_INT32, findings)
    for index, setting in enumerate(context.get("sysctls") or ()):
        name, place = setting.get("name") or "", f"{where}.sysctls[{index}].name"
        if not name:
            findings.require(place)
        elif len(name) > _LONGEST_SYSCTL or not _SYSCTL.match(name):
            findings.bad(place, name, _SYSCTL_RULE)
    policies = {
        "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
        "supplementalGroupsPolicy": ("Merge", "Strict"),
        "seLinuxChangePolicy": ("MountOption", "Recursive"),
    }
    for field, words in policies.items():
        rules.optional_word(f"{where}.{field}", context.get(field), words, findings)
    _check_profile(context.get("seccompProfile"), findings, f"{where}.seccompProfile")
    credential = (context.get("windowsOptions") or {}).get("gmsaCredentialSpecName")
    if credential:
        place = f"{where}.windowsOptions.gmsaCredentialSpecName"
        rules.subdomain(place, credential, findings)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        findings.bad(f"{where}.shareProcessNamespace", True, why)


def _check_users(context: Object, fields: tuple[str, ...], findings: Findings, path: str) -> None:
    for field in fields:
        rules.between(f"{path}.{field}", context.get(field), 0, rules.MOST_INT32, findings)


def _check_profile(profile: Object | None, findings: Findings, path: str) -> None:
    if profile is None:
        return
    rules.one_of(f"{path}.type", profile.get("type"), _PROFILES, findings)
    if profile.get("type") == "Localhost" and not profile.get("localhostProfile"):
        why = "must be set when seccomp type is Localhost"
        findings.require(f"{path}.localhostProfile", why)
