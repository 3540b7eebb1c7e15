"""Looks at the Lease before a stack starts: does another one act on the cluster?"""

from __future__ import annotations

import asyncio
import json

from projections.figures import duration
from services.cluster import ClusterRefused, Transport
from services.executor.lease import NAME, lease_path, read_record

CLOSE_SECONDS = 2.0
"""Clocks that differ by less are taken as one."""
AGAIN_SHARE = 0.5
"""Of the duration after which a Lease is looked at again; it is renewed every fifth."""


async def held_by_another(transport: Transport, namespace: str) -> str | None:
    """Return who holds the Lease, since when and how long ago it was renewed; None where nobody does.

    By the server's clock and the holder's, which may differ; an executor that has started waits by its own alone.

    Raises:
        ClusterUnavailable, ClusterRefused: it cannot be read.
    """
    try:
        answer = await transport.request("GET", lease_path(namespace, NAME))
    except ClusterRefused as error:
        if error.status == 404:
            return None
        raise
    record = read_record(json.loads(answer.body))
    renewed = record.renewed_seconds
    if not record.holder or renewed is None:
        return None
    age_seconds = answer.cluster_time_seconds - renewed
    if age_seconds >= record.duration_seconds:
        return None
    if age_seconds < -CLOSE_SECONDS:  # clocks too far apart to say: a holder that lives renews it
        await asyncio.sleep(record.duration_seconds * AGAIN_SHARE)
        again = await transport.request("GET", lease_path(namespace, NAME))
        if read_record(json.loads(again.body)) == record:
            return None
    text = f"Lease {namespace}/{NAME}, {record.held_text()}"
    return f"{text}, renewed {duration(max(0.0, age_seconds))} ago"
