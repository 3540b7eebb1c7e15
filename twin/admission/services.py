"""Services: what the API server fills in, and what it refuses.

Upstream: pkg/apis/core/validation/validation.go ValidateService and pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from twin.admission import metadata, rules
from twin.admission.findings import Findings
from twin.records import Object
from twin.request_settings import problems

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_OUTSIDE = ("NodePort", "LoadBalancer")
_POLICIES = ("Cluster", "Local")
_FAMILIES = ("SingleStack", "PreferDualStack", "RequireDualStack")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_STICKY_SECONDS, _LONGEST_STICKY = 10_800, 86_400
_ONLY_BALANCED = "may only be used when `type` is 'LoadBalancer'"
_CIDR_RULE = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def service(obj: Object, findings: Findings) -> None:
    """Fill in what a Service says of itself and check it; there is no network behind it."""
    spec = obj.setdefault("spec", {})
    kind = spec["type"] = spec.get("type") or "ClusterIP"
    rules.one_of("spec.type", kind, _TYPES, findings)
    _default(spec, kind)
    _check_ports(spec, kind, findings)
    _check_addresses(spec, kind, findings)
    _check_policies(spec, kind, findings)
    _check_balancer(spec, kind, findings)
    metadata.check_labels("spec.selector", spec.get("selector"), findings)
    for name, why in problems((obj.get("metadata") or {}).get("annotations") or {}):
        findings.add(f"metadata.annotations[{name}]", f"Invalid value: {why}")
    obj.setdefault("status", {"loadBalancer": {}})


_OF_BALANCERS = ("allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort")
_OF_ADDRESSES = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")


def carry_over(old: Object, new: Object) -> None:
    """Bring an update into the form in which it is checked: what belongs to the earlier type and is not
    changed goes, and of two fields for the address the one that a client changed counts.

    Upstream: pkg/registry/core/service/storage/storage.go, patchAllocatedValues and dropTypeDependentFields.
    """
    before, after = old.get("spec") or {}, new.setdefault("spec", {})
    kind = after.get("type") or "ClusterIP"
    if kind == "ExternalName":
        _drop_unchanged(before, after, _OF_ADDRESSES)
    elif after.get("clusterIP") != before.get("clusterIP"):
        _drop_unchanged(before, after, ("clusterIPs",))
    if kind != "ExternalName" and before.get("clusterIP") and not after.get("clusterIP"):
        after["clusterIP"] = before["clusterIP"]
        after["clusterIPs"] = before.get("clusterIPs") or [before["clusterIP"]]
    if kind not in _OUTSIDE:
        known = [port.get("nodePort") for port in before.get("ports") or ()]
        for port in after.get("ports") or ():
            if port.get("nodePort") in known:
                port.pop("nodePort", None)
        if not after.get("externalIPs"):
            _drop_unchanged(before, after, ("externalTrafficPolicy",))
    if kind != "LoadBalancer":
        _drop_unchanged(before, after, _OF_BALANCERS)
    elif after.get("externalTrafficPolicy") != "Local":
        _drop_unchanged(before, after, ("healthCheckNodePort",))


def check_same(old: Object, new: Object, findings: Findings) -> None:
    """Check what a balanced Service keeps for its life as one."""
    before, after = old.get("spec") or {}, new["spec"]
    if before.get("type") == after["type"] == "LoadBalancer":
        name = after.get("loadBalancerClass")
        if name != before.get("loadBalancerClass"):
            findings.bad("spec.loadBalancerClass", name, "may not change once set")


def _drop_unchanged(before: Object, after: Object, fields: tuple[str, ...]) -> None:
    for field in fields:
        if field in before and after.get(field) == before[field]:
            after.pop(field, None)


def _default(spec: Object, kind: str) -> None:
    sticky = spec.setdefault("sessionAffinity", "None")
    if sticky == "ClientIP":
        client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        client.setdefault("timeoutSeconds", _STICKY_SECONDS)
    elif sticky == "None":
        spec.pop("sessionAffinityConfig", None)
    if kind != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind in _OUTSIDE or (kind == "ClusterIP" and spec.get("externalIPs")):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)


def _check_ports(spec: Object, kind: str, findings: Findings) -> None:
    ports = spec.get("ports") or []
    headless = spec.get("clusterIP") == "None"
    if not ports and kind != "ExternalName" and not headless:
        findings.require("spec.ports")
    names: set[str] = set()
    pairs: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        where, name = f"spec.ports[{index}]", port.get("name") or ""
        if name:
            rules.dns_label(f"{where}.name", name, findings)
            if name in names:
                findings.add(f"{where}.name", f'Duplicate value: "{name}"')
            names.add(name)
        elif len(ports) > 1:
            findings.require(f"{where}.name")
        rules.port(f"{where}.port", port.get("port"), findings)
        protocols = ("SCTP", "TCP", "UDP")
        rules.one_of(f"{where}.protocol", port["protocol"], protocols, findings)
        if not headless:
            rules.port_or_name(f"{where}.targetPort", port["targetPort"], findings)
        if port.get("appProtocol") is not None:
            rules.qualified_name(f"{where}.appProtocol", port["appProtocol"], findings)
        if port.get("nodePort") and kind == "ClusterIP":
            findings.forbid(f"{where}.nodePort", "may not be used when `type` is 'ClusterIP'")
        pair = (port["protocol"], port.get("port"))
        if pair in pairs:
            shown = {"protocol": pair[0], "port": pair[1]}
            findings.duplicate(where, shown)
        pairs.add(pair)


def _check_addresses(spec: Object, kind: str, findings: Findings) -> None:
    given, several = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if kind == "ExternalName":
        if given or several:
            findings.forbid("spec.clusterIPs", "may not be set for ExternalName services")
        name = spec.get("externalName") or ""
        if name:
            rules.subdomain("spec.externalName", name.removesuffix("."), findings)
        else:
            findings.require("spec.externalName")
    elif several and not given:
        findings.bad("spec.clusterIPs", several, "must be empty when `clusterIP` is not specified")
    elif several and several[0] != given:
        findings.bad("spec.clusterIPs", several, "first value must match `clusterIP`")
    elif given == "None" and kind in _OUTSIDE:
        why = f"may not be set to 'None' for {kind} services"
        findings.bad("spec.clusterIPs[0]", given, why)
    elif given not in ("", "None"):
        rules.ip_address("spec.clusterIPs[0]", given, findings)
    _check_families(spec, findings)


def _check_families(spec: Object, findings: Findings) -> None:
    for index, address in enumerate(spec.get("externalIPs") or ()):
        check_address(address, findings, f"spec.externalIPs[{index}]")
    words = sorted(_FAMILIES)
    policy = spec.get("ipFamilyPolicy")
    rules.optional_word("spec.ipFamilyPolicy", policy, words, findings)
    if policy == "RequireDualStack":
        why = "this cluster is not configured for dual-stack services"
        findings.bad("spec.ipFamilyPolicy", policy, why)
    families = spec.get("ipFamilies") or []
    for index, family in enumerate(families):
        where = f"spec.ipFamilies[{index}]"
        if family not in ("IPv4", "IPv6"):
            findings.unsupported(where, family, ("IPv4", "IPv6"))
        elif family in families[:index]:
            findings.duplicate(where, family)
        elif family == "IPv6":
            findings.bad(where, family, "not configured on this cluster")


def check_address(
    address: Any, findings: Findings, path: str, *, may_be_local: bool = False
) -> None:
    """Check an address that others are sent to: not of everybody, nor of this machine unless it
    `may_be_local` (webhooks in development are reached by Endpoints there).
    """
    if not rules.is_ip(address):
        findings.bad(path, address, rules.ip_rule(address))
        return
    parsed = ipaddress.ip_address(address)
    if parsed.is_unspecified:
        findings.bad(path, address, f"may not be unspecified ({address})")
    elif parsed.is_loopback and not may_be_local:
        findings.bad(path, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    elif parsed.is_link_local:
        why = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
        findings.bad(path, address, why)
    elif parsed.is_multicast and (parsed.packed[:3] == b"\xe0\0\0" or parsed.packed[0] == 0xFF):
        why = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        findings.bad(path, address, why)


def _check_policies(spec: Object, kind: str, findings: Findings) -> None:
    sticky = spec["sessionAffinity"]
    rules.one_of("spec.sessionAffinity", sticky, ("ClientIP", "None"), findings)
    if sticky == "ClientIP":
        seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
        if not 0 < seconds <= _LONGEST_STICKY:
            where = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
            why = f"must be greater than 0 and less than {_LONGEST_STICKY}"
            findings.bad(where, seconds, why)
    inside, outside = spec.get("internalTrafficPolicy"), spec.get("externalTrafficPolicy")
    rules.optional_word("spec.internalTrafficPolicy", inside, _POLICIES, findings)
    reached = kind in _OUTSIDE or (kind == "ClusterIP" and bool(spec.get("externalIPs")))
    if outside is not None and not reached:
        why = "may only be set for externally-accessible services"
        findings.bad("spec.externalTrafficPolicy", outside, why)
    elif outside is not None:
        rules.one_of("spec.externalTrafficPolicy", outside, _POLICIES, findings)
    distribution = spec.get("trafficDistribution")
    rules.optional_word("spec.trafficDistribution", distribution, _DISTRIBUTIONS, findings)
    if spec.get("healthCheckNodePort") and not (kind == "LoadBalancer" and outside == "Local"):
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        findings.bad("spec.healthCheckNodePort", spec["healthCheckNodePort"], why)


def _check_balancer(spec: Object, kind: str, findings: Findings) -> None:
    ranges = spec.get("loadBalancerSourceRanges") or ()
    if ranges and kind != "LoadBalancer":
        findings.forbid("spec.LoadBalancerSourceRanges", _ONLY_BALANCED)
    for index, text in enumerate(ranges):
        if not is_cidr(text):
            findings.bad(f"spec.LoadBalancerSourceRanges[{index}]", text, _CIDR_RULE)
    if kind != "LoadBalancer":
        for field in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if spec.get(field) is not None:
                findings.forbid(f"spec.{field}", _ONLY_BALANCED)
    elif spec.get("loadBalancerClass") is not None:
        rules.qualified_name("spec.loadBalancerClass", spec["loadBalancerClass"], findings)


def is_cidr(text: str) -> bool:
    """Say whether a text is a range of addresses such as 10.0.0.0/24."""
    try:
        return "/" in text.strip() and bool(ipaddress.ip_network(text.strip(), strict=False))
    except ValueError:
        return False


def check_cidr(path: str, text: str, findings: Findings) -> None:
    """Check a range of addresses such as 10.0.0.0/24."""
    if not is_cidr(text):
        findings.bad(path, text, _CIDR_RULE)
