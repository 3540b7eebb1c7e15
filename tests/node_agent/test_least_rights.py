"""The agent starts with exactly the rights that are shipped, and names the one that is missing."""

from __future__ import annotations

import pytest

from bus.errors import ConfigError
from services.access_reviews import REVIEWS, require_rights
from services.cluster import ApiResponse
from services.node_agent.rights import RIGHTS, required_rights
from services.node_agent.service import NAME
from services.rights import Place, Right, review_spec
from tests.executor.plant import Plant
from tests.executor.test_means import Limited


class Without(Limited):
    """A cluster that answers reviews of one right with no."""

    def __init__(self, missing: Right) -> None:
        """Allow everything else."""
        super().__init__(Plant().transport)
        place = "default" if missing.place is Place.DEFAULT else ""
        self.missing = review_spec(missing, place)["resourceAttributes"]

    async def request(self, *arguments: object, **more: object) -> ApiResponse:
        """Answer one request."""
        answer = await super().request(*arguments, **more)  # type: ignore[arg-type]
        allowed = REVIEWS not in arguments or self.reviews[-1] != self.missing
        no = b'{"status": {"allowed": false}}'
        body = answer.body if allowed else no
        return ApiResponse(answer.status, body, answer.cluster_time_seconds)


@pytest.mark.parametrize("missing", RIGHTS, ids=lambda one: one.text)
async def test_it_does_not_start_without_any_one_of_its_rights(missing: Right) -> None:
    """One line names the right; with all of them it starts."""
    with pytest.raises(ConfigError, match=f"rights of node-agent = lacks {missing.text}"):
        await require_rights(NAME, Without(missing), required_rights("read"))
    await require_rights(NAME, Plant().transport, required_rights("read"))


def test_nothing_more_is_asked_for_than_it_does() -> None:
    """Reading nodes, their status, and events about them; no other node can be told apart by RBAC."""
    assert [one.text for one in RIGHTS] == [
        "list nodes",
        "watch nodes",
        "patch nodes/status",
        "create events.events.k8s.io",
    ]
