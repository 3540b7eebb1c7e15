"""Pages of discovery that clients keep: they ask again each time, also a twin whose clock is ahead of theirs."""

from __future__ import annotations

import httpx

from twin.api.server import ApiServer
from twin.api.tokens import Tokens
from twin.tests.serving.web import Web

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def test_discovery_is_asked_again_each_time() -> None:
    """Go's cache takes a page with a Date in its future for fresh unless it says no-cache."""
    tokens = Tokens.draw()
    server = ApiServer(Web("constant requests_per_second=1").engine, tokens)
    transport = httpx.ASGITransport(app=server)
    async with httpx.AsyncClient(transport=transport, base_url="http://twin") as client:
        headers = {"authorization": f"Bearer {tokens.of_all()['admin']}", "accept": AGGREGATED}
        first = await client.get("/apis", headers=headers)
        again = await client.get(
            "/apis", headers={**headers, "if-none-match": first.headers["etag"]}
        )

    assert "no-cache" in first.headers["cache-control"]
    assert (first.status_code, again.status_code) == (200, 304)
