"""Kinds about networks, which nothing here acts on: what the API server fills in."""

from __future__ import annotations

from twin.admission.findings import Findings
from twin.records import Object


def ingress(obj: Object, findings: Findings) -> None:
    """Default and check an Ingress."""
    spec = obj.setdefault("spec", {})
    if not spec.get("rules") and not spec.get("defaultBackend"):
        findings.add("spec", "Invalid value: either `defaultBackend` or `rules` must be specified")
    for index, rule in enumerate(spec.get("rules") or ()):
        paths = (rule.get("http") or {}).get("paths") or ()
        for number, path in enumerate(paths):
            where = f"spec.rules[{index}].http.paths[{number}]"
            if not path.get("pathType"):
                findings.add(f"{where}.pathType", "Required value: pathType must be specified")
    obj.setdefault("status", {"loadBalancer": {}})


def policy(obj: Object, findings: Findings) -> None:
    """Default a NetworkPolicy."""
    del findings  # what can be wrong with one has no effect here
    spec = obj.setdefault("spec", {})
    for direction in ("ingress", "egress"):
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]


def endpoints(obj: Object, findings: Findings) -> None:
    """Default the ports of an Endpoints."""
    del findings
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def endpoint_slice(obj: Object, findings: Findings) -> None:
    """Default an EndpointSlice."""
    if obj.get("addressType") not in ("IPv4", "IPv6", "FQDN"):
        known = '"FQDN", "IPv4", "IPv6"'
        value = obj.get("addressType", "")
        findings.add("addressType", f'Unsupported value: "{value}": supported values: {known}')
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")
    for endpoint in obj.get("endpoints") or ():
        endpoint.setdefault("conditions", {})


def event(obj: Object, findings: Findings) -> None:
    """Fill in what an Event shows even when it says nothing."""
    del findings
    for name in ("eventTime", "firstTimestamp", "lastTimestamp"):
        obj.setdefault(name, None)
    for name in ("reportingComponent", "reportingInstance"):
        obj.setdefault(name, "")
    obj.setdefault("source", {})
