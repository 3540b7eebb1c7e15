"""Prometheus' HTTP API of the twin: shapes of answers and refusals, over the server's own application."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from twin.api.server import ApiServer
from twin.api.tokens import Tokens
from twin.samples.scraper import SampleSettings, Scraper
from twin.tests.serving.web import Web

FORM = {"content-type": "application/x-www-form-urlencoded"}


class Asked:
    """A twin with ten minutes of samples behind its application."""

    def __init__(self, *, samples: bool = True) -> None:
        self.web = Web("constant requests_per_second=40")
        scraper = Scraper(self.web.engine, SampleSettings())
        scraper.advance(self.web.engine, self.web.engine.now + 600.0)
        tokens = Tokens.draw()
        self.tokens = tokens.of_all()
        server = ApiServer(self.web.engine, tokens, samples=scraper.store if samples else None)
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=server), base_url="http://twin"
        )
        self.start = self.web.engine.config.start_time

    async def get(self, path: str, who: str = "admin", **words: Any) -> tuple[int, Any]:
        """Send a GET with parameters; `_` in a name stands for itself, `match` for match[]."""
        pairs = [("match[]" if key == "match" else key, value) for key, value in words.items()]
        headers = {"authorization": f"Bearer {self.tokens[who]}"}
        answer = await self.client.get(f"{path}?{urlencode(pairs, doseq=True)}", headers=headers)
        return answer.status_code, answer.json()

    async def post(self, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, Any]:
        """Send a POST."""
        told = {"authorization": f"Bearer {self.tokens['admin']}", **headers}
        answer = await self.client.post(path, content=body, headers=told)
        return answer.status_code, answer.json()


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    """Return a twin with samples."""
    made = Asked()
    yield made
    await made.client.aclose()


async def test_an_instant_query_has_prometheus_shape(asked: Asked) -> None:
    """Vector, scalar, string and matrix, at cluster time unless said."""
    query = "count(kube_pod_info)"
    now = asked.web.engine.now
    assert await asked.get("/api/v1/query", query=query) == (
        200,
        {
            "status": "success",
            "data": {"resultType": "vector", "result": [{"metric": {}, "value": [now, "2"]}]},
        },
    )
    for time in (asked.start + 300, "2026-01-01T00:05:00Z", "2026-01-01T01:05:00+01:00"):
        _, answer = await asked.get("/api/v1/query", query="time()", time=time)
        assert answer["data"] == {
            "resultType": "scalar",
            "result": [asked.start + 300, f"{asked.start + 300:.0f}"],
        }
    _, answer = await asked.get("/api/v1/query", query='"a"')
    assert answer["data"] == {"resultType": "string", "result": [now, "a"]}
    _, answer = await asked.get("/api/v1/query", query="kube_node_created[1m]")
    assert answer["data"]["resultType"] == "matrix"
    assert [len(one["values"]) for one in answer["data"]["result"]] == [5, 5, 5]
    _, answer = await asked.get("/api/v1/query", query="kube_node_created", limit=2)
    assert len(answer["data"]["result"]) == 2


async def test_a_form_asks_the_same(asked: Asked) -> None:
    """POST with a form is a read: it is answered alike and changes nothing."""
    version = asked.web.engine.store.resource_version
    words = {"query": "sum(rate(http_requests_total[1m]))", "start": asked.start + 300,
             "end": asked.start + 600, "step": "1m"}  # fmt: skip
    got = await asked.get("/api/v1/query_range", **words)
    posted = await asked.post("/api/v1/query_range", urlencode(words).encode(), FORM)
    assert posted == got
    [series] = got[1]["data"]["result"]
    assert [at for at, _ in series["values"]] == [asked.start + at for at in range(300, 601, 60)]
    assert float(series["values"][-1][1]) == pytest.approx(40.0, rel=0.01)
    assert asked.web.engine.store.resource_version == version


@pytest.mark.parametrize(
    ("path", "words", "status", "kind", "why"),
    [
        ("query", {}, 400, "bad_data", "no expression"),
        ("query", {"query": "sum("}, 400, "bad_data", "parse error"),
        ("query", {"query": "nosuch(up)"}, 400, "bad_data", "nosuch"),
        ("query", {"query": "mad_over_time(up[5m])"}, 400, "bad_data", "mad_over_time"),
        ("query", {"query": "up", "time": "noon"}, 400, "bad_data", 'invalid parameter "time"'),
        ("query", {"query": "up", "time": "nan"}, 400, "bad_data", 'invalid parameter "time"'),
        ("query", {"query": "up", "time": "1e300"}, 400, "bad_data", 'invalid parameter "time"'),
        ("query", {"query": "up", "limit": "-1"}, 400, "bad_data", 'invalid parameter "limit"'),
        ("query", {"query": "up", "lookback_delta": "x"}, 400, "bad_data", "lookback_delta"),
        ("query", {"query": "up * on(job) kube_pod_info"}, 422, "execution", "many-to-many"),
        ("query", {"query": 'up{job=~"("}'}, 400, "bad_data", "regex"),
        ("query_range", {"query": "up"}, 400, "bad_data", 'invalid parameter "start"'),
        ("query_range", {"query": "up", "start": 0, "end": 9, "step": 0}, 400, "bad_data", "step"),
        ("query_range", {"query": "up", "start": 9, "end": 0, "step": 1}, 400, "bad_data", "end"),
        ("query_range", {"query": "up", "start": 0, "end": 11_001, "step": 1}, 400, "bad_data", "11,000"),
        ("query_range", {"query": "up[5m]", "start": 0, "end": 9, "step": 1}, 400, "bad_data", "range vector"),
        ("series", {}, 400, "bad_data", "match[]"),
        ("series", {"match": "rate(up[5m])"}, 400, "bad_data", "no selector"),
        ("label/a-b/values", {}, 400, "bad_data", "invalid label name"),
    ],
)  # fmt: skip
async def test_a_refusal_has_prometheus_shape(
    asked: Asked, path: str, words: dict[str, Any], status: int, kind: str, why: str
) -> None:
    """status, errorType and error; 400 for the request, 422 for what cannot be evaluated."""
    code, answer = await asked.get(f"/api/v1/{path}", **words)
    assert (code, answer["status"], answer["errorType"]) == (status, "error", kind)
    assert why in answer["error"]
    assert set(answer) == {"status", "errorType", "error"}


async def test_a_body_that_is_no_form_is_refused(asked: Asked) -> None:
    """Another type, a form that is too long, and other methods."""
    code, answer = await asked.post("/api/v1/query", b"{}", {"content-type": "application/json"})
    assert (code, answer["errorType"]) == (400, "bad_data")
    code, answer = await asked.post("/api/v1/query", b"query=" + b"x" * 70_000, FORM)
    assert (code, answer["errorType"]) == (400, "bad_data")
    code, answer = await asked.post("/api/v1/query", b"&a" * 200, FORM)
    assert (code, answer["errorType"]) == (400, "bad_data")
    headers = {"authorization": f"Bearer {asked.tokens['admin']}"}
    gone = await asked.client.delete("/api/v1/query", headers=headers)
    assert gone.status_code == 400


async def test_names_and_series_are_listed(asked: Asked) -> None:
    """Labels, values, series, metadata and what a data source asks at first."""
    _, names = await asked.get("/api/v1/labels", match='{job="node-exporter"}')
    labels = ["__name__", "chip", "cpu", "instance", "job", "mode", "nodename", "sensor"]
    assert names["data"] == labels
    _, nodes = await asked.get("/api/v1/label/node/values")
    assert nodes["data"] == ["n0", "n1", "n2"]
    _, metrics = await asked.get("/api/v1/label/__name__/values")
    assert {"up", "kube_pod_info", "http_request_duration_seconds_bucket"} <= set(metrics["data"])
    _, series = await asked.get("/api/v1/series", match=["kube_node_created", "node_load1"])
    assert len(series["data"]) == 6
    assert series["data"][0] == {
        "__name__": "kube_node_created", "instance": "kube-state-metrics:8080",
        "job": "kube-state-metrics", "node": "n0",
    }  # fmt: skip
    _, none = await asked.get("/api/v1/series", match="up", end=asked.start - 1)
    assert none["data"] == []
    _, metadata = await asked.get("/api/v1/metadata", metric="http_requests_total")
    [entry] = metadata["data"]["http_requests_total"]
    assert entry["type"] == "counter"
    _, build = await asked.get("/api/v1/status/buildinfo")
    assert build["data"]["version"] == "2.42.0"
    assert (await asked.get("/api/v1/rules"))[1]["data"] == {"groups": []}
    headers = {"authorization": f"Bearer {asked.tokens['admin']}"}
    assert (await asked.client.get("/-/ready", headers=headers)).status_code == 200


async def test_only_who_may_scrape_may_ask(asked: Asked) -> None:
    """As for /metrics: an administrator, also by impersonation; nobody without a token."""
    code, answer = await asked.get("/api/v1/query", who="reader", query="up")
    assert (code, answer["kind"]) == (403, "Status")
    assert (await asked.client.get("/api/v1/query?query=up")).status_code == 401
    headers = {
        "authorization": f"Bearer {asked.tokens['admin']}",
        "impersonate-user": "foresail:reader",
    }
    refused = await asked.client.get("/api/v1/query?query=up", headers=headers)
    assert refused.status_code == 403


async def test_without_samples_it_says_how_to_get_them() -> None:
    """503 with the setting; the Kubernetes API beside it is untouched."""
    asked = Asked(samples=False)
    code, answer = await asked.get("/api/v1/query", query="up")
    assert (code, answer["errorType"]) == (503, "unavailable")
    assert "--metrics-scrape-seconds" in answer["error"]
    assert (await asked.get("/-/ready"))[0] == 503
    assert (await asked.get("/api/v1/nodes"))[1]["kind"] == "NodeList"
    await asked.client.aclose()


async def test_a_shortage_of_memory_is_told(asked: Asked) -> None:
    """An answer from a store that had to drop samples early carries Prometheus' warnings."""
    web = Web()
    scraper = Scraper(web.engine, SampleSettings(most_bytes=60_000))
    scraper.advance(web.engine, web.engine.now + 600.0)
    tokens = Tokens.draw()
    server = ApiServer(web.engine, tokens, samples=scraper.store)
    token = next(iter(tokens.of_all().values()))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=server), base_url="http://t"
    ) as client:
        headers = {"authorization": f"Bearer {token}"}
        answer = json.loads((await client.get("/api/v1/query?query=up", headers=headers)).content)
    assert answer["status"] == "success"
    assert any("room" in sentence for sentence in answer["warnings"])
