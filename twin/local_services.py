"""Where a Service is that a process of this machine stands for: the Endpoints that somebody wrote for it.

The simulation's own pods have no network, so only addresses on loopback can be reached.
"""

from __future__ import annotations

from typing import Any

from twin.store import Store


def local_address(store: Store, namespace: str, name: str) -> str | None:
    """Return `host:port` of a Service on loopback; None where its Endpoints have none."""
    record = store.find("endpoints", namespace, name)
    body: Any = getattr(record, "body", None) or {}
    for subset in body.get("subsets") or ():
        for address in subset.get("addresses") or ():
            for port in subset.get("ports") or ():
                if str(address.get("ip", "")).startswith("127."):
                    return f"{address['ip']}:{port['port']}"
    return None
