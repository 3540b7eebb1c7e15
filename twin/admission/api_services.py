"""Defaults and checks of APIServices.

Source: kubernetes/kubernetes staging/src/k8s.io/kube-aggregator pkg/apis/apiregistration (defaults and validation at
1.36); the sentences are those of a real server.
"""

from __future__ import annotations

import json

from twin.admission.custom.definitions import LABEL, LABEL_RULE
from twin.admission.findings import Findings
from twin.records import Object

_GREATEST = {"groupPriorityMinimum": 20_000, "versionPriority": 1_000}


def admit(obj: Object, findings: Findings) -> None:
    """Default and check an APIService in place."""
    spec = obj.setdefault("spec", {})
    obj.setdefault("status", {})
    group, version = spec.get("group") or "", spec.get("version") or ""
    name = obj["metadata"].get("name", "")
    if name not in ("", f"{version}.{group}"):
        wanted = json.dumps(f"{version}.{group}")
        findings.bad("metadata.name", name, f'must be `spec.version+"."+spec.group`: {wanted}')
    if not group and version != "v1":
        why = "only v1 may have an empty group and it better be legacy kube"
        findings.add("spec.group", f"Required value: {why}")
    if not LABEL.match(version):
        findings.bad("spec.version", version, LABEL_RULE)
    for field, greatest in _GREATEST.items():
        number = spec.setdefault(field, 0)
        if not 0 < number <= greatest:
            why = f"must be positive and less than {greatest}"
            findings.bad(f"spec.{field}", number, why)
    service = spec.get("service")
    if service is None:
        _check_local(spec, findings)
        return
    service.setdefault("port", 443)
    for field in ("namespace", "name"):
        if not service.get(field):
            findings.require(f"spec.service.{field}")
    if not 1 <= service["port"] <= 65_535:
        why = "port is not valid: must be between 1 and 65535, inclusive"
        findings.bad("spec.service.port", service["port"], why)
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        why = "may not be true if caBundle is present"
        findings.bad("spec.insecureSkipTLSVerify", True, why)


def _check_local(spec: Object, findings: Findings) -> None:
    """Check one that the API server itself serves."""
    if spec.get("caBundle"):
        why = "local APIServices may not have a caBundle"
        findings.bad("spec.caBundle", "bytes", why)
    if spec.get("insecureSkipTLSVerify"):
        why = "local APIServices may not have insecureSkipTLSVerify"
        findings.bad("spec.insecureSkipTLSVerify", True, why)
