"""Of everything that the run's audit log holds, no write of ours lies outside of what may be written."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseGround
from proofs.real_cluster.cases.namespace_ends import SPACE
from proofs.real_cluster.own_nodes import NODES
from proofs.real_cluster.population import SHOP, WRITABLE
from proofs.real_cluster.session import TOLD

EXECUTOR = "foresail-executor"
NODES_OF_CASES = frozenset({"going-0", *NODES})
"""Writable while their case lasted."""


async def run(scene: CaseGround) -> None:
    """Read the log from its beginning, after every other case."""
    asked = scene.cluster.audit.since(0, EXECUTOR)
    labelled = scene.api.ask("GET", "/api/v1/nodes", labelSelector=f"{WRITABLE}=true")["items"]
    nodes = {one["metadata"]["name"] for one in labelled} | NODES_OF_CASES
    changed = [one for one in asked if one.changed and one.resource not in TOLD]
    outside = [
        one.text
        for one in changed
        if one.namespace not in {SHOP, SPACE}
        and not (one.resource == "nodes" and one.name in nodes)
    ]
    assert not outside, outside
    unnamed = [one.text for one in changed if one.verb == "patch" and one.manager != "foresail"]
    assert not unnamed, unnamed
    dry = sum(one.writes and one.dry for one in asked)
    scene.notes.append(
        f"{len(asked)} requests of the executor, {dry} of them dry runs, {len(changed)} changes: all in namespace "
        f"{SHOP} or on labelled nodes"
    )


CASE = Case("nothing outside of what may be written was ever written", run, 99)
