"""Which kind of cluster answers: the embedded one, or another."""

from __future__ import annotations

import msgspec

from services.cluster import ClusterUnavailable, Transport
from services.kube_objects import KubeStruct

SIMULATED_VERSION = "+foresail"
"""The embedded cluster's gitVersion ends so."""


class _Version(KubeStruct, frozen=True):
    git_version: str = ""


async def is_simulated(transport: Transport) -> bool:
    """Say whether the embedded cluster answers.

    Raises:
        ClusterUnavailable, ClusterRefused: the version could not be read.
    """
    answer = await transport.request("GET", "/version")
    try:
        version = msgspec.json.decode(answer.body, type=_Version)
    except (msgspec.DecodeError, ValueError) as error:
        raise ClusterUnavailable(f"/version: unreadable answer: {error}") from error
    return version.git_version.endswith(SIMULATED_VERSION)
