"""The columns of Services, Endpoints and EndpointSlices (kubernetes pkg/printers/internalversion/printers.go)."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
NONE, UNSET = "<none>", "<unset>"
_MOST = 3


def service_ports(obj: Object, _now: float) -> str:
    """Return ports as `80/TCP`, or `80:31748/TCP` with the port on every node."""
    texts = []
    for port in (obj.get("spec") or {}).get("ports") or ():
        on_node = f":{port['nodePort']}" if port.get("nodePort") else ""
        texts.append(f"{port.get('port')}{on_node}/{port.get('protocol', 'TCP')}")
    return ",".join(texts) or NONE


def endpoint_addresses(obj: Object, _now: float) -> str:
    """Return the first addresses of an Endpoints with their ports, and how many more there are."""
    return _first([
        f"{address.get('ip')}:{port.get('port')}"
        for subset in obj.get("subsets") or ()
        for address in subset.get("addresses") or ()
        for port in subset.get("ports") or ()
    ]) or NONE  # fmt: skip


def slice_ports(obj: Object, _now: float) -> str:
    """Return the first ports of an EndpointSlice; one without a number is any."""
    return _first([str(port.get("port") or "*") for port in obj.get("ports") or ()]) or UNSET


def slice_addresses(obj: Object, _now: float) -> str:
    """Return the first addresses of an EndpointSlice, ready or not, and how many more there are."""
    found = [
        str(address)
        for endpoint in obj.get("endpoints") or ()
        for address in endpoint.get("addresses") or ()
    ]
    return _first(found) or UNSET


def _first(texts: list[str]) -> str:
    more = len(texts) - _MOST
    return ",".join(texts[:_MOST]) + (f" + {more} more..." if more > 0 else "")
