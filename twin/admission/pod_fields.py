"""What a pod spec says besides containers, volumes and placement: policies, names, DNS.

Upstream: pkg/apis/core/validation/validation.go of kubernetes/kubernetes.
"""

from __future__ import annotations

from typing import Any

from twin.admission import metadata, rules
from twin.admission.findings import Findings
from twin.records import Object

_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MOST_NAMESERVERS, _MOST_SEARCHES = 3, 32


def check_fields(spec: Object, findings: Findings, path: str) -> None:
    """Check the plain fields of the spec of a pod or a pod template."""
    policies = ("Always", "OnFailure", "Never")
    rules.one_of(f"{path}.restartPolicy", spec.get("restartPolicy"), policies, findings)
    seconds = spec.get("activeDeadlineSeconds")
    rules.between(f"{path}.activeDeadlineSeconds", seconds, 1, rules.MOST_INT32, findings)
    for key, value in (spec.get("nodeSelector") or {}).items():
        rules.qualified_name(f"{path}.nodeSelector", key, findings)
        metadata.check_label_value(f"{path}.nodeSelector", value, findings)
    for name in ("nodeName", "serviceAccountName"):
        if spec.get(name):
            rules.subdomain(f"{path}.{name}", spec[name], findings)
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            rules.dns_label(f"{path}.{name}", spec[name], findings)
    rules.optional_word(f"{path}.preemptionPolicy", spec.get("preemptionPolicy"),
                        ("Never", "PreemptLowerPriority"), findings)  # fmt: skip
    system = spec.get("os")
    if system is not None:
        rules.one_of(f"{path}.os", system.get("name"), ("linux", "windows"), findings)
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        where = f"{path}.readinessGates[{index}].conditionType"
        rules.qualified_name(where, gate.get("conditionType") or "", findings)
    _check_aliases(spec, findings, path)
    _check_dns(spec, findings, path)
    _check_host_network(spec, findings, path)
    _check_claims(spec, findings, path)
    for field in ("limits", "requests"):
        for name in (spec.get("resources") or {}).get(field) or {}:
            if name not in ("cpu", "memory") and not name.startswith("hugepages-"):
                words = ("cpu", "hugepages-", "memory")
                findings.unsupported(f"{path}.resources.{field}[{name}]", name, words)


def _check_aliases(spec: Object, findings: Findings, path: str) -> None:
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        where = f"{path}.hostAliases[{index}]"
        rules.ip_address(f"{where}.ip", alias.get("ip"), findings)
        for place, name in enumerate(alias.get("hostnames") or ()):
            rules.subdomain(f"{where}.hostnames[{place}]", name, findings)


def _check_dns(spec: Object, findings: Findings, path: str) -> None:
    rules.one_of(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES, findings)
    config, where = spec.get("dnsConfig") or {}, f"{path}.dnsConfig"
    servers: list[Any] = config.get("nameservers") or []
    if spec.get("dnsPolicy") == "None":
        if spec.get("dnsConfig") is None:
            findings.require(where, "must provide `dnsConfig` when `dnsPolicy` is None")
        elif not servers:
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            findings.require(f"{where}.nameservers", why)
    if len(servers) > _MOST_NAMESERVERS:
        why = f"must not have more than {_MOST_NAMESERVERS} nameservers"
        findings.bad(f"{where}.nameservers", servers, why)
    for index, server in enumerate(servers):
        rules.ip_address(f"{where}.nameservers[{index}]", server, findings)
    searches = config.get("searches") or []
    if len(searches) > _MOST_SEARCHES:
        why = f"must not have more than {_MOST_SEARCHES} search paths"
        findings.bad(f"{where}.searches", searches, why)
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            findings.require(f"{where}.options[{index}]", "must not be empty")


def _check_host_network(spec: Object, findings: Findings, path: str) -> None:
    if not spec.get("hostNetwork"):
        return
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            for place, port in enumerate(container.get("ports") or ()):
                if port.get("hostPort") != port.get("containerPort"):
                    why = "must match `containerPort` when `hostNetwork` is true"
                    where = f"{path}.{kind}[{index}].ports[{place}].hostPort"
                    findings.bad(where, port.get("hostPort"), why)


def _check_claims(spec: Object, findings: Findings, path: str) -> None:
    """Check claims of devices, and that containers name those that there are."""
    known: list[str] = []
    for index, claim in enumerate(spec.get("resourceClaims") or ()):
        where, name = f"{path}.resourceClaims[{index}]", claim.get("name") or ""
        rules.dns_label(f"{where}.name", name, findings)
        if name in known:
            findings.add(f"{where}.name", f'Duplicate value: "{name}"')
        known.append(name)
        sources = ("resourceClaimName", "resourceClaimTemplateName")
        stated = [field for field in sources if claim.get(field) is not None]
        if not stated:
            listed = ", ".join(f"`{field}`" for field in sources)
            findings.bad(where, claim, f"must specify one of: {listed}")
        elif len(stated) > 1:
            listed = " or ".join(f"`{field}`" for field in sources)
            findings.bad(where, claim, f"at most one of {listed} may be specified")
    for index, container in enumerate(spec.get("containers") or ()):
        for place, claim in enumerate((container.get("resources") or {}).get("claims") or ()):
            if claim.get("name") not in known:
                where = f"{path}.containers[{index}].resources.claims[{place}]"
                text = "which is empty" if not known else ", ".join(known)
                why = f"must be one of the names in pod.spec.resourceClaims {text}"
                findings.add(where, f'Not found: "{claim.get("name")}": {why}')


def check_of_pod(spec: Object, findings: Findings) -> None:
    """Check what a pod that is created may not say, and templates may."""
    if spec.get("ephemeralContainers"):
        findings.forbid("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("schedulingGates") and spec.get("nodeName"):
        why = "cannot be set until all schedulingGates have been cleared"
        findings.forbid("spec.nodeName", why)
