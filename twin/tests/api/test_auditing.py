"""The audit log: who asked for what, whether it was allowed, and what was answered."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from inputs.errors import ConfigError
from twin.api.auditing import AuditedServer, AuditLog
from twin.api.server import ApiServer
from twin.api.tokens import Tokens
from twin.engine import Engine

MAPS = "/api/v1/namespaces/default/configmaps"


async def _asked(
    folder: Path, method: str, path: str, *, who: str = "admin", **more: Any
) -> tuple[httpx.Response, list[dict[str, Any]]]:
    """Ask once as one of the twin's users; return the answer and the lines of the log."""
    tokens, file = Tokens.draw(), folder / "audit.jsonl"
    app = AuditedServer(ApiServer(Engine(seed=1), tokens), AuditLog(file))
    transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
    headers = {"authorization": f"Bearer {tokens.of_all().get(who, 'wrong')}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://twin") as client:
        answer = await client.request(method, path, headers=headers, **more)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    return answer, [json.loads(line) for line in file.read_text().splitlines()]


async def test_a_write_is_one_line_with_who_what_and_how(tmp_path: Path) -> None:
    """Its id is in the answer's header as well."""
    answer, (event,) = await _asked(tmp_path, "POST", MAPS, json={"metadata": {"name": "a"}})
    assert (answer.status_code, answer.headers["audit-id"]) == (201, event["auditID"])
    assert event["user"]["username"] == "foresail:admin"
    assert (event["stage"], event["verb"]) == ("ResponseComplete", "create")
    assert event["objectRef"] == {
        "resource": "configmaps",
        "namespace": "default",
        "apiVersion": "v1",
    }
    assert event["responseStatus"]["code"] == 201
    assert event["annotations"]["authorization.k8s.io/decision"] == "allow"


@pytest.mark.parametrize(
    ("who", "status", "decision"), [("reader", 403, "forbid"), ("", 401, None)]
)
async def test_what_is_refused_is_written(
    tmp_path: Path, who: str, status: int, decision: str | None
) -> None:
    """With the decision; of a stranger nothing is known but what it wanted."""
    _, (event,) = await _asked(tmp_path, "DELETE", f"{MAPS}/a", who=who)
    assert (event["responseStatus"]["code"], event["verb"]) == (status, "delete")
    assert event["annotations"].get("authorization.k8s.io/decision") == decision
    assert ("username" in event["user"]) == bool(who)


async def test_a_subresource_and_a_watch_are_named(tmp_path: Path) -> None:
    """As rights name them; a watch is written when it starts."""
    _, (event,) = await _asked(
        tmp_path, "PATCH", "/apis/apps/v1/namespaces/default/deployments/a/scale"
    )
    assert (event["verb"], event["objectRef"]["subresource"]) == ("patch", "scale")
    query = {"watch": "true", "timeoutSeconds": "1"}
    _, (_, event) = await _asked(tmp_path, "GET", MAPS, params=query)
    assert (event["verb"], event["stage"]) == ("watch", "ResponseStarted")
    assert event["requestURI"].startswith(f"{MAPS}?watch=true")


def test_a_log_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """Before anything starts."""
    with pytest.raises(ConfigError, match="--audit-log"):
        AuditLog(tmp_path / "nowhere" / "log")
