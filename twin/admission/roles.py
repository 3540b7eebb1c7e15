"""Roles and their bindings: defaults and validation, in the API server's words.

Upstream: pkg/apis/rbac/validation.
"""

from __future__ import annotations

import json
from typing import Any

from twin.admission.findings import Findings
from twin.admission.metadata import check_subdomain, path_segment_problem
from twin.records import Object

GROUP = "rbac.authorization.k8s.io"
_KINDS = ("ServiceAccount", "User", "Group")


def role(obj: Object, findings: Findings) -> None:
    """Check a Role."""
    _rules(obj, findings, namespaced=True)


def cluster_role(obj: Object, findings: Findings) -> None:
    """Check a ClusterRole."""
    _rules(obj, findings, namespaced=False)
    aggregation = obj.get("aggregationRule")
    if aggregation is not None and not aggregation.get("clusterRoleSelectors"):
        why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        findings.add("aggregationRule.clusterRoleSelectors", f"Required value: {why}")


def role_binding(obj: Object, findings: Findings) -> None:
    """Default and check a RoleBinding."""
    _binding(obj, findings, ("Role", "ClusterRole"))


def cluster_role_binding(obj: Object, findings: Findings) -> None:
    """Default and check a ClusterRoleBinding."""
    _binding(obj, findings, ("ClusterRole",))


def check_binding_unchanged(old: Object, new: Object, findings: Findings) -> None:
    """Refuse another roleRef."""
    if old.get("roleRef") == new.get("roleRef"):
        return
    reference = new.get("roleRef") or {}
    fields = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
    stated = {word: reference.get(name, "") for word, name in fields}
    findings.add("roleRef", f"Invalid value: {_json(stated)}: cannot change roleRef")


def _rules(obj: Object, findings: Findings, *, namespaced: bool) -> None:
    for index, rule in enumerate(obj.get("rules") or ()):
        path = f"rules[{index}]"
        if not rule.get("verbs"):
            findings.add(f"{path}.verbs", "Required value: verbs must contain at least one value")
        urls = rule.get("nonResourceURLs")
        if urls:
            stated = f"Invalid value: {_json(urls)}: "
            if namespaced:
                why = "namespaced rules cannot apply to non-resource URLs"
                findings.add(f"{path}.nonResourceURLs", stated + why)
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                why = "rules cannot apply to both regular resources and non-resource URLs"
                findings.add(f"{path}.nonResourceURLs", stated + why)
            continue
        for field, one in (("apiGroups", "api group"), ("resources", "resource")):
            if not rule.get(field):
                why = f"Required value: resource rules must supply at least one {one}"
                findings.add(f"{path}.{field}", why)


def _binding(obj: Object, findings: Findings, kinds: tuple[str, ...]) -> None:
    reference = obj.setdefault("roleRef", {})
    if not reference.get("apiGroup"):
        reference["apiGroup"] = GROUP
    if reference["apiGroup"] != GROUP:
        _unsupported(findings, "roleRef.apiGroup", reference["apiGroup"], (GROUP,))
    if reference.get("kind") not in kinds:
        _unsupported(findings, "roleRef.kind", reference.get("kind", ""), kinds)
    name = reference.get("name", "")
    if not name:
        findings.require("roleRef.name")
    elif problem := path_segment_problem(name):
        findings.bad("roleRef.name", name, problem)
    for index, subject in enumerate(obj.get("subjects") or ()):
        _subject(f"subjects[{index}]", subject, findings, namespaced=len(kinds) > 1)


def _subject(path: str, subject: Object, findings: Findings, *, namespaced: bool) -> None:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind in ("User", "Group") and not subject.get("apiGroup"):
        subject["apiGroup"] = GROUP
    if not name:
        findings.require(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            check_subdomain(f"{path}.name", name, findings)
        if subject.get("apiGroup"):
            _unsupported(findings, f"{path}.apiGroup", subject["apiGroup"], ("",))
        if not namespaced and not subject.get("namespace"):
            findings.require(f"{path}.namespace")
    elif kind not in _KINDS:
        _unsupported(findings, f"{path}.kind", kind, _KINDS)
    elif subject["apiGroup"] != GROUP:
        _unsupported(findings, f"{path}.apiGroup", subject["apiGroup"], (GROUP,))


def _unsupported(findings: Findings, path: str, value: str, allowed: tuple[str, ...]) -> None:
    listed = ", ".join(f'"{word}"' for word in allowed)
    findings.add(path, f'Unsupported value: "{value}": supported values: {listed}')


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
