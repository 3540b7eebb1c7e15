"""What the node agent may do at the API server: read Nodes, write their status, and tell of it.

One service account serves every agent of a DaemonSet, so RBAC cannot say "its own Node only"; where the API server
has admission policies, the one that is shipped with it does (`deploy/manifests/node_agent.py`).
"""

from __future__ import annotations

from services.rights import READ, Place, Right

RIGHTS: tuple[Right, ...] = (
    *(Right(verb, "nodes", why="annotations of its own node") for verb in ("list", "watch")),
    Right("patch", "nodes/status", why="the condition that says what is in force"),
    Right("create", "events", "events.k8s.io", Place.DEFAULT, why="events about its node"),
)


def required_rights(asked: str) -> tuple[Right, ...]:
    """Return what `FORESAIL_REQUIRE_RIGHTS` asks for: all of it, where it says `read`; else nothing."""
    return RIGHTS if READ in asked.split(",") else ()
