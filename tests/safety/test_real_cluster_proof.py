"""The proof on a real control plane: what it reads of the audit log, what it compares, and some of its cases played."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proofs.real_cluster.audit import AuditLog, read_requests
from proofs.real_cluster.case import CaseEnvironment, all_cases
from proofs.real_cluster.environment import RealCluster, real_cluster
from proofs.real_cluster.page import Played, evidence, table
from proofs.real_cluster.population import Size
from proofs.real_programs.processes import Missing

PLAYED = ("migrate", "out_of_bounds", "pdb_at_zero", "others_taint")
"""Cases that show shadow mode, an undo, refusals and a late disturbance in a few seconds each."""


def audited(**fields: Any) -> bytes:
    """Return one line of an audit log."""
    event = {
        "stage": "ResponseComplete",
        "requestURI": "/api/v1/nodes/n?fieldManager=foresail",
        "verb": "patch",
        "user": {"username": "system:serviceaccount:foresail:foresail-executor"},
        "userAgent": "foresail/1 (linux)",
        "objectRef": {"resource": "nodes", "name": "n", "apiVersion": "v1"},
        "responseStatus": {"code": 200},
        **fields,
    }
    return json.dumps(event).encode()


@pytest.mark.parametrize(
    ("fields", "changed"),
    [
        ({}, True),
        ({"requestURI": "/api/v1/nodes/n?dryRun=All"}, False),
        ({"verb": "delete", "requestObject": {"dryRun": ["All"]}}, False),
        ({"responseStatus": {"code": 403}}, False),
        ({"verb": "get"}, False),
        ({"verb": "create", "objectRef": {"resource": "selfsubjectaccessreviews"}}, False),
    ],
)
def test_a_request_changes_something_unless_it_is_dry_refused_or_a_question(
    fields: dict[str, Any], changed: bool
) -> None:
    """A dry run may stand in the query, or in the body of a DELETE."""
    (request,) = read_requests([audited(**fields)])
    assert request.changed is changed
    assert request.agent == "foresail/1"


def test_each_request_counts_once_and_a_watch_when_it_begins() -> None:
    """Its end, minutes later, is no second request; a watch that is refused has no beginning."""
    watch = {"verb": "watch", "objectRef": {"resource": "pods"}}
    lines = [
        audited(**watch, stage="ResponseStarted"),
        audited(**watch),
        audited(**watch, responseStatus={"code": 410}),
    ]
    assert [one.code for one in read_requests(lines)] == [200, 410]


def test_a_log_is_read_from_a_mark_without_its_unfinished_line(tmp_path: Path) -> None:
    """Only what came after the mark, of one user, and whole lines."""
    file = tmp_path / "audit.log"
    file.write_bytes(audited() + b"\n")
    log = AuditLog(file)
    mark = log.mark()
    other = audited(user={"username": "someone"})
    file.write_bytes(file.read_bytes() + other + b"\n" + audited() + b"\n" + audited()[:40])
    assert len(log.since(mark)) == 2
    assert len(log.since(mark, "foresail-executor")) == 1


def test_a_case_that_did_not_hold_stands_on_the_page() -> None:
    """With its reason, and in the table's count."""
    played = [Played("a", "one", (), ("a note",), "", 1.0), Played("b", "two", (), (), "why", 1.0)]
    page = evidence(played, {"etcd": "3"}, Size())
    assert "1 of 2 cases held" in page
    assert "**Did not hold**: why" in page
    assert "- a note" in page
    assert table(played).endswith("1 of 2 cases held")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """Start a small real cluster; skip where a program is missing."""
    try:
        with real_cluster(tmp_path_factory.mktemp("real"), Size(nodes=12, pods=60)) as started:
            yield started
    except Missing as missing:
        pytest.skip(f"no real cluster here: {missing}")


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED)
def test_a_case_holds_on_a_real_control_plane(cluster: RealCluster, name: str) -> None:
    """Collector and executor do on a real API server what the case says; the audit log is the witness."""
    scene = CaseEnvironment(cluster)
    asyncio.run(all_cases()[name].run(scene))
    assert scene.steps
