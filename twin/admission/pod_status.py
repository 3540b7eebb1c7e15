"""What is checked of a pod's status when a client writes it.

Upstream: ValidatePodStatusUpdate of pkg/apis/core/validation of kubernetes/kubernetes.
"""

from __future__ import annotations

import ipaddress

from twin.admission import rules
from twin.admission.findings import Findings
from twin.records import Object


def check_status(old: Object, new: Object, findings: Findings) -> None:
    """Complete and check a written status in place."""
    status, before = new.setdefault("status", {}), old.get("status") or {}
    qos = before.get("qosClass")
    if status.setdefault("qosClass", qos) != qos:
        findings.bad("status.qosClass", status["qosClass"], "field is immutable")
    if nominated := status.get("nominatedNodeName"):
        rules.subdomain("status.nominatedNodeName", nominated, findings)
    _check_addresses(status, findings)
    seen = status.get("observedGeneration") or 0
    if seen < 0:
        findings.bad("status.observedGeneration", seen, "must be a non-negative integer")
    for index, condition in enumerate(status.get("conditions") or ()):
        path = f"status.conditions[{index}].Type"
        rules.qualified_name(path, condition.get("type") or "", findings)


def _check_addresses(status: Object, findings: Findings) -> None:
    addresses = _given(status, "podIP", "podIPs")
    known = True
    for index, address in enumerate(addresses):
        if _family(address) is None:
            findings.bad(f"status.podIPs[{index}]", address, rules.IP_RULE)
            known = False
    if known and len({_family(address) for address in addresses}) < len(addresses):
        shown = [{"IP": address} for address in addresses]
        findings.bad("status.podIPs", shown, "may specify no more than one IP for each IP family")
    hosts = status.get("hostIPs") or ()
    if hosts and hosts[0].get("ip") != status.get("hostIP"):
        findings.bad("status.hostIPs[0].ip", hosts[0].get("ip") or "", "must be equal to `hostIP`")


def _given(status: Object, one: str, all_of_them: str) -> list[str]:
    """Return the addresses that count: who writes the first one alone means just that."""
    listed = [entry.get("ip") or "" for entry in status.get(all_of_them) or ()]
    first = status.get(one) or ""
    if first and (not listed or listed[0] != first):
        return [first]
    return listed


def _family(address: str) -> int | None:
    try:
        return ipaddress.ip_address(address).version
    except ValueError:
        return None
