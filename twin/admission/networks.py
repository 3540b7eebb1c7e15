"""Kinds about networks, which nothing here acts on: what the API server fills in and refuses.

Upstream: pkg/apis/{networking,discovery,core}/validation/validation.go of kubernetes/kubernetes.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from twin.admission import metadata, rules
from twin.admission.findings import Findings
from twin.admission.placement import check_selector
from twin.admission.services import check_address, check_cidr, is_cidr
from twin.records import Object

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_MOST_ADDRESSES = 100
_WILDCARD = re.compile(r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")


def ingress(obj: Object, findings: Findings) -> None:
    """Default and check an Ingress."""
    spec = obj.setdefault("spec", {})
    if not spec.get("rules") and not spec.get("defaultBackend"):
        findings.add(
            "spec", "Invalid value: null: either `defaultBackend` or `rules` must be specified"
        )
    if spec.get("defaultBackend"):
        _check_backend(spec["defaultBackend"], findings, "spec.defaultBackend")
    for index, rule in enumerate(spec.get("rules") or ()):
        where = f"spec.rules[{index}]"
        _check_host(rule.get("host") or "", findings, f"{where}.host")
        http = rule.get("http")
        if http is not None and not http.get("paths"):
            findings.require(f"{where}.http.paths")
        for number, path in enumerate((http or {}).get("paths") or ()):
            _check_path(path, findings, f"{where}.http.paths[{number}]")
    for index, secured in enumerate(spec.get("tls") or ()):
        for number, host in enumerate(secured.get("hosts") or ()):
            if "*" not in host:
                rules.subdomain(f"spec.tls[{index}].hosts[{number}]", host, findings)
        if secured.get("secretName"):
            rules.subdomain(f"spec.tls[{index}].secretName", secured["secretName"], findings)
    if spec.get("ingressClassName") is not None:
        rules.subdomain("spec.ingressClassName", spec["ingressClassName"], findings)
    obj.setdefault("status", {"loadBalancer": {}})


def _check_host(host: str, findings: Findings, path: str) -> None:
    if rules.is_ip(host):
        findings.bad(path, host, "must be a DNS name, not an IP address")
    elif "*" in host:
        if not _WILDCARD.match(host):
            findings.bad(path, host, _WILDCARD_RULE)
    elif host:
        rules.subdomain(path, host, findings)


_WILDCARD_RULE = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which "
    "must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric "
    "character (e.g. '*.example.com', regex used for validation is "
    "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def _check_path(path: Object, findings: Findings, where: str) -> None:
    kind, text = path.get("pathType"), path.get("path") or ""
    if not kind:
        findings.require(f"{where}.pathType", "pathType must be specified")
    elif kind not in _PATH_TYPES:
        findings.unsupported(f"{where}.pathType", kind, _PATH_TYPES)
    elif kind != "ImplementationSpecific" or text:
        if not text.startswith("/"):
            findings.bad(f"{where}.path", text, "must be an absolute path")
        if kind != "ImplementationSpecific":
            for sequence in _BAD_SEQUENCES:
                if sequence in text:
                    findings.bad(f"{where}.path", text, f"must not contain '{sequence}'")
    _check_backend(path.get("backend") or {}, findings, f"{where}.backend")


def _check_backend(backend: Object, findings: Findings, path: str) -> None:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        why = "cannot set both resource and service backends"
        findings.add(path, f"Invalid value: {why}")
    elif resource is not None:
        for field in ("name", "kind"):
            if not resource.get(field):
                findings.require(f"{path}.resource.{field}")
    elif service is None:
        findings.bad(path, "", "resource or service backend is required")
    else:
        port = service.get("port") or {}
        if not service.get("name"):
            findings.require(f"{path}.service.name")
        else:
            rules.dns_label(f"{path}.service.name", service["name"], findings)
        if port.get("name") and port.get("number"):
            findings.bad(path, "", "cannot set both port name & port number")
        elif port.get("name"):
            rules.port_name(f"{path}.service.port.name", port["name"], findings)
        elif port.get("number"):
            rules.port(f"{path}.service.port.number", port["number"], findings)
        else:
            findings.require(path, "port name or number is required")


def ingress_class(obj: Object, findings: Findings) -> None:
    """Check an IngressClass."""
    spec = obj.setdefault("spec", {})
    controller = spec.get("controller") or ""
    if not controller:
        findings.require("spec.controller")
    elif controller.count("/") < 1:
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        findings.bad("spec.controller", controller, why)
    else:
        rules.subdomain("spec.controller", controller.partition("/")[0], findings)
    parameters = spec.get("parameters")
    if parameters is not None:
        if parameters.get("apiGroup"):
            rules.subdomain("spec.parameters.apiGroup", parameters["apiGroup"], findings)
        for field in ("kind", "name"):
            if not parameters.get(field):
                findings.require(f"spec.parameters.{field}", f"{field} is required")
        scope = parameters.setdefault("scope", "Cluster")
        rules.one_of("spec.parameters.scope", scope, ("Cluster", "Namespace"), findings)
        if scope == "Namespace" and not parameters.get("namespace"):
            why = "`parameters.scope` is set to 'Namespace'"
            findings.require("spec.parameters.namespace", why)
        elif scope == "Cluster" and parameters.get("namespace"):
            why = "`parameters.scope` is set to 'Cluster'"
            findings.forbid("spec.parameters.namespace", why)


def policy(obj: Object, findings: Findings) -> None:
    """Default and check a NetworkPolicy."""
    spec = obj.setdefault("spec", {})
    check_selector(spec.setdefault("podSelector", {}), findings, "spec.podSelector")
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            where = f"spec.{direction}[{index}]"
            for number, port in enumerate(rule.get("ports") or ()):
                _check_policy_port(port, findings, f"{where}.ports[{number}]")
            for number, peer in enumerate(rule.get(peers) or ()):
                _check_peer(peer, findings, f"{where}.{peers}[{number}]")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]
    for index, kind in enumerate(spec["policyTypes"]):
        rules.one_of(f"spec.policyTypes[{index}]", kind, ("Egress", "Ingress"), findings)


def _check_policy_port(port: Object, findings: Findings, path: str) -> None:
    rules.one_of(f"{path}.protocol", port.setdefault("protocol", "TCP"), _PROTOCOLS, findings)
    number, last = port.get("port"), port.get("endPort")
    if number is not None:
        rules.port_or_name(f"{path}.port", number, findings)
    if last is not None:
        if number is None:
            why = "may not be specified when `port` is not specified"
            findings.bad(f"{path}.endPort", last, why)
        elif isinstance(number, str):
            why = "may not be specified when `port` is non-numeric"
            findings.bad(f"{path}.endPort", last, why)
        elif last < number:
            why = "must be greater than or equal to `port`"
            findings.bad(f"{path}.endPort", last, why)


def _check_peer(peer: Object, findings: Findings, path: str) -> None:
    block = peer.get("ipBlock")
    for field in ("podSelector", "namespaceSelector"):
        check_selector(peer.get(field), findings, f"{path}.{field}")
    selects = [
        field for field in ("podSelector", "namespaceSelector") if peer.get(field) is not None
    ]
    if block is None and not selects:
        findings.require(path, "must specify a peer")
    elif block is not None and selects:
        findings.forbid(path, "may not specify both ipBlock and another peer")
    if block is not None:
        if not block.get("cidr"):
            findings.require(f"{path}.ipBlock.cidr")
            return
        _check_range(f"{path}.ipBlock.cidr", block["cidr"], findings)
        for index, text in enumerate(block.get("except") or ()):
            where = f"{path}.ipBlock.except[{index}]"
            _check_range(where, text, findings)
            if is_cidr(text) and is_cidr(block["cidr"]) and not _is_inside(text, block["cidr"]):
                findings.bad(where, text, "must be a strict subset of `cidr`")


def _check_range(path: str, text: str, findings: Findings) -> None:
    """Check a range of addresses that begins with its first one."""
    check_cidr(path, text, findings)
    if is_cidr(text) and ipaddress.ip_interface(text).network[0] != ipaddress.ip_interface(text).ip:
        findings.bad(path, text, "must not have bits set beyond the prefix length")


def _is_inside(inner: str, outer: str) -> bool:
    """Say whether one range of addresses is a part of another, and not all of it."""
    part, whole = (ipaddress.ip_network(text, strict=False) for text in (inner, outer))
    if isinstance(part, ipaddress.IPv4Network) and isinstance(whole, ipaddress.IPv4Network):
        return part != whole and part.subnet_of(whole)
    if isinstance(part, ipaddress.IPv6Network) and isinstance(whole, ipaddress.IPv6Network):
        return part != whole and part.subnet_of(whole)
    return False


def endpoints(obj: Object, findings: Findings) -> None:
    """Default and check an Endpoints."""
    for index, subset in enumerate(obj.get("subsets") or ()):
        path = f"subsets[{index}]"
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            findings.require(path, "must specify `addresses` or `notReadyAddresses`")
        for field in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(subset.get(field) or ()):
                where = f"{path}.{field}[{number}]"
                check_address(address.get("ip", ""), findings, f"{where}.ip", may_be_local=True)
                if address.get("hostname"):
                    rules.dns_label(f"{where}.hostname", address["hostname"], findings)
                if address.get("nodeName") is not None:
                    rules.subdomain(f"{where}.nodeName", address["nodeName"], findings)
        ports = subset.get("ports") or ()
        for number, port in enumerate(ports):
            _check_port(port, findings, f"{path}.ports[{number}]", named=len(ports) > 1)


def _check_port(port: Object, findings: Findings, path: str, *, named: bool) -> None:
    if port.get("name"):
        rules.dns_label(f"{path}.name", port["name"], findings)
    elif named:
        findings.require(f"{path}.name")
    rules.port(f"{path}.port", port.get("port"), findings)
    rules.one_of(f"{path}.protocol", port["protocol"], _PROTOCOLS, findings)


def endpoint_slice(obj: Object, findings: Findings) -> None:
    """Default and check an EndpointSlice."""
    family = obj.get("addressType")
    if not family:
        findings.require("addressType")
    else:
        rules.one_of("addressType", family, ("FQDN", "IPv4", "IPv6"), findings)
    names: set[str] = set()
    for index, port in enumerate(obj.get("ports") or ()):
        where, name = f"ports[{index}]", port.setdefault("name", "")
        if name:
            rules.dns_label(f"{where}.name", name, findings)
        if name in names:
            findings.duplicate(f"{where}.name", name)
        names.add(name)
        rules.one_of(f"{where}.protocol", port.setdefault("protocol", "TCP"), _PROTOCOLS, findings)
        if port.get("appProtocol") is not None:
            rules.qualified_name(f"{where}.appProtocol", port["appProtocol"], findings)
    for index, endpoint in enumerate(obj.get("endpoints") or ()):
        endpoint.setdefault("conditions", {})
        _check_endpoint(endpoint, family, findings, f"endpoints[{index}]")


def _check_endpoint(endpoint: Object, family: Any, findings: Findings, path: str) -> None:
    addresses = endpoint.get("addresses") or []
    if not addresses:
        findings.require(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > _MOST_ADDRESSES:
        why = f"must have at most {_MOST_ADDRESSES} items"
        findings.add(f"{path}.addresses", f"Too many: {len(addresses)}: {why}")
    for index, address in enumerate(addresses):
        where = f"{path}.addresses[{index}]"
        if family == "FQDN":
            rules.subdomain(where, address, findings)
        elif family == "IPv6" and rules.is_ip(address) and ":" not in address:
            findings.bad(f"{path}.addresses", address, "must be an IPv6 address")
        elif family == "IPv4" and rules.is_ip(address) and ":" in address:
            findings.bad(f"{path}.addresses", address, "must be an IPv4 address")
        else:
            check_address(address, findings, where, may_be_local=True)
    if endpoint.get("hostname") is not None:
        rules.dns_label(f"{path}.hostname", endpoint["hostname"], findings)
    if endpoint.get("nodeName") is not None:
        rules.subdomain(f"{path}.nodeName", endpoint["nodeName"], findings)
    metadata.check_labels(
        f"{path}.deprecatedTopology", endpoint.get("deprecatedTopology"), findings
    )
