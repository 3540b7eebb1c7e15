"""Kinds that the cluster keeps and hardly acts on: runtime classes, addresses.

Upstream: pkg/apis/{node,networking,certificates,storage}/validation/validation.go of kubernetes/kubernetes.
"""

from __future__ import annotations

import ipaddress

from twin.admission import metadata, rules
from twin.admission.findings import Findings
from twin.admission.services import check_cidr, is_cidr
from twin.admission.workloads import template
from twin.records import Object

_MOST_PARAMETERS = 512


def pod_template(obj: Object, findings: Findings) -> None:
    """Default and check a PodTemplate."""
    template(obj, findings, "template")


def runtime_class(obj: Object, findings: Findings) -> None:
    """Check a RuntimeClass."""
    handler = obj.get("handler") or ""
    if not handler:
        findings.require("handler")
    else:
        rules.dns_label("handler", handler, findings)
    amounts = (obj.get("overhead") or {}).get("podFixed") or {}
    findings.quantities("overhead.limits", amounts)  # as upstream names it
    scheduling = obj.get("scheduling") or {}
    metadata.check_labels("scheduling.nodeSelector", scheduling.get("nodeSelector"), findings)


def attributes_class(obj: Object, findings: Findings) -> None:
    """Check a VolumeAttributesClass."""
    driver, parameters = obj.get("driverName") or "", obj.get("parameters") or {}
    if not driver:
        findings.require("driverName")
    else:
        rules.subdomain("driverName", driver.lower(), findings)
    if not parameters:
        findings.require("parameters", "must contain at least one key/value pair")
    elif len(parameters) > _MOST_PARAMETERS:
        why = f"must have at most {_MOST_PARAMETERS} items"
        findings.add("parameters", f"Too many: {len(parameters)}: {why}")
    if "" in parameters:
        findings.bad("parameters", "", "field can not be empty.")


def ip_address(obj: Object, findings: Findings) -> None:
    """Check an IPAddress, whose name is the address."""
    name, parent = obj["metadata"].get("name") or "", obj.setdefault("spec", {}).get("parentRef")
    if not rules.is_ip(name) or str(ipaddress.ip_address(name)) != name:
        findings.bad("metadata.name", name, "must be a valid IP address in canonical form")
    if parent is None:
        findings.require("spec.parentRef")
        return
    for field in ("resource", "name"):
        value = parent.get(field) or ""
        if not value:
            findings.require(f"spec.parentRef.{field}")
        elif problem := metadata.path_segment_problem(value):
            findings.bad(f"spec.parentRef.{field}", value, problem)
    if parent.get("group"):
        rules.subdomain("spec.parentRef.group", parent["group"], findings)
    if parent.get("namespace"):
        rules.dns_label("spec.parentRef.namespace", parent["namespace"], findings)


def service_cidr(obj: Object, findings: Findings) -> None:
    """Check a ServiceCIDR."""
    ranges = obj.setdefault("spec", {}).get("cidrs") or []
    if not ranges:
        findings.require("spec.cidrs", "at least one CIDR required")
    families = ["6" if ":" in text else "4" for text in ranges]
    if len(ranges) > 2:
        findings.bad("spec.cidrs", {"CIDRs": ranges}, "may only hold up to 2 values")
    elif len(set(families)) < len(families):
        why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        findings.bad("spec.cidrs", ranges, why)
    for index, text in enumerate(ranges):
        _check_range(f"spec.cidrs[{index}]", text, findings)
    obj.setdefault("status", {})


def _check_range(path: str, text: str, findings: Findings) -> None:
    """Check a range that the server gives addresses of: its network alone, of one family."""
    check_cidr(path, text, findings)
    if not is_cidr(text):
        return
    given = ipaddress.ip_interface(text)
    if given.version == 6 and given.ip.ipv4_mapped is not None:
        findings.bad(path, text, "must not have an IPv4-mapped IPv6 address")
    elif given.ip != given.network.network_address:
        findings.bad(path, text, "must not have bits set beyond the prefix length")


def check_ranges_unchanged(old: Object, new: Object, findings: Findings) -> None:
    """Check that the ranges of a ServiceCIDR stay; one of the other family may be added."""
    before, after = old["spec"].get("cidrs") or [], new["spec"].get("cidrs") or []
    if len(after) <= len(
        before
    ):  # what stays has been checked, and of a change it counts that it is one
        kept = [cause for cause in findings.causes if not cause[0].startswith("spec.cidrs")]
        findings.causes[:] = kept
    if len(after) < len(before):
        findings.bad("spec.cidrs", after, "field is immutable")
        return
    for index, text in enumerate(before):
        if after[index] != text:
            findings.bad(f"spec.cidrs[{index}]", after[index], "field is immutable")
