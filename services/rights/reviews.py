"""Asks the API server whether this account may do something, without doing it.

By SelfSubjectAccessReviews, which every authenticated user may create (`system:basic-user`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence

from bus.errors import ConfigError
from services.cluster import ClusterRefused, Transport
from services.rights import Right, places_to_ask, review_spec

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
AT_ONCE = 8
"""Reviews that are asked for at a time."""


async def may(transport: Transport, right: Right, namespace: str = "") -> bool | None:
    """Return the server's answer; None where it gives none.

    Raises:
        ClusterUnavailable: the server does not answer at all.
    """
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": review_spec(right, namespace),
    }
    try:
        answer = json.loads((await transport.request("POST", REVIEWS, {}, body)).body)
        return bool(answer["status"]["allowed"])
    except (ClusterRefused, ValueError, KeyError, TypeError):
        return None


async def missing_rights(
    transport: Transport, rights: Iterable[Right], namespaces: Sequence[str] = (), own: str = ""
) -> list[str]:
    """Return what this account may not do, in words, in the order of the rights.

    What the server does not answer counts as granted: the request itself is refused then.

    Raises:
        ClusterUnavailable: the server does not answer at all.
    """
    asked = places_to_ask(rights, namespaces, own)
    limit = asyncio.Semaphore(AT_ONCE)

    async def ask(right: Right, namespace: str) -> bool | None:
        async with limit:
            return await may(transport, right, namespace)

    answers = await asyncio.gather(*(ask(*one) for one in asked))
    return [
        f"{right.text} in {namespace}" if namespace else right.text
        for (right, namespace), allowed in zip(asked, answers, strict=True)
        if allowed is False
    ]


async def require_rights(
    process: str,
    transport: Transport,
    rights: Iterable[Right],
    namespaces: Sequence[str] = (),
    own: str = "",
) -> None:
    """Refuse to start with less than a process needs.

    Raises:
        ConfigError: rights are missing; the line names each of them.
        ClusterUnavailable: the server does not answer.
    """
    missing = await missing_rights(transport, rights, namespaces, own)
    if missing:
        lacking = f"lacks {', '.join(missing)}"
        remedy = "grant what is missing; `foresail rbac` prints the least rights of each process"
        raise ConfigError(f"rights of {process}", lacking, remedy)
