"""Shadow mode without any write right: plans and guards all the same, and the event says that nothing was tried."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from schemas.outcome import Mode
from schemas.reasons import Reason
from services.cluster import JSON, ApiResponse, ClusterRefused, Json, Method
from services.executor.cluster import apply_operation
from services.executor.refusals import PLAN_ONLY
from tests.executor.api_server import ApiServer
from tests.executor.plant import nothing_forbidden, on
from tests.executor.test_writes import CAP

NODE = "/api/v1/nodes/node-1"
LACKS = 'nodes "node-1" is forbidden: User "foresail" cannot patch resource "nodes"'
"""As the authorizer says it."""


@pytest.mark.parametrize("dry_run", [True, False])
async def test_a_dry_run_that_is_forbidden_is_a_plan(dry_run: bool) -> None:
    """Only a dry run: a write that is forbidden has failed."""
    server = ApiServer()
    server.add(NODE, spec={})
    operation = CAP.model_copy(update={"name": "node-1", "uid": "u", "resource_version": ""})
    server.fail("PATCH", NODE, ClusterRefused(403, "Forbidden", LACKS))
    server.fail("GET", NODE, ClusterRefused(403, "Forbidden", LACKS))
    done = await apply_operation(server, operation, dry_run=dry_run, check_guards=nothing_forbidden)
    assert done.reason is Reason.FORBIDDEN
    assert done.http_status == 403
    assert done.status == ("unchanged" if dry_run else "refused")
    assert done.message.startswith(PLAN_ONLY) is dry_run


async def test_the_event_says_that_it_was_only_planned() -> None:
    """It counts as if it had happened, as every dry run does, and its text says what was not asked."""
    plant = on(_Forbidding(), Mode.SHADOW)
    plant.node = "node-1"
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    await plant.act()
    done = plant.executions()[-1]
    assert done.succeeded
    assert PLAN_ONLY in done.text
    assert done.reason is None


class _Forbidding(ApiServer):
    """A server that lets its nodes be read and nothing be written, not even as a dry run."""

    def __init__(self) -> None:
        super().__init__()
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        self.add(NODE, spec={}, status=ready)

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Answer reads and reviews, and refuse the rest."""
        if method != "GET" and "access" not in path:
            raise ClusterRefused(403, "Forbidden", LACKS)
        return await super().request(method, path, query, body, content_type)
