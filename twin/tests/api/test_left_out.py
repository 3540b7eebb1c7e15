"""What is left out of the API, and what a client sees then: the table of docs/twin/api.md, asked of the twin."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from twin.api.messages import JSON, Request, Response
from twin.api.router import Router
from twin.engine import Engine
from twin.workloads.arrival import NodeShape

PAGE = Path(__file__).parents[3] / "docs" / "twin" / "api.md"
ROW = re.compile(
    r"^\| (?P<what>[^|]+) \| `(?P<method>[A-Z]+) (?P<path>/[^`]*)` \| (?P<status>\d{3}): (?P<said>[^|]+) \|$"
)


def rows() -> list[dict[str, str]]:
    """Return the rows of the page's table that name a request."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [match.groupdict() for line in lines if (match := ROW.match(line))]


@pytest.fixture(scope="module")
def router() -> Router:
    """A cluster of one node with a pod `p` and a Service `s`."""
    engine = Engine(seed=1)
    engine.add_nodes([NodeShape("n0", 4_000, 2**33, 0, {})])
    spec = {"containers": [{"name": "c", "image": "i"}]}
    engine.store.create("pods", "default", {"metadata": {"name": "p"}, "spec": spec})
    ports = {"ports": [{"port": 80}]}
    engine.store.create("services", "default", {"metadata": {"name": "s"}, "spec": ports})
    engine.advance(engine.now + 60)
    return Router(engine)


def test_the_page_has_the_table() -> None:
    """A table that cannot be read would be checked by nothing."""
    assert len(rows()) >= 8


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["path"])
def test_what_is_left_out_says_so(router: Router, row: dict[str, str]) -> None:
    """With the status of the table, and a sentence that holds its words."""
    path, _, _ = row["path"].partition("?")
    kind = {"content-type": "application/json"}
    data = b"" if row["method"] == "GET" else b"{}"
    answer = router.handle(Request(row["method"], path, {}, kind, data))
    assert answer.status == int(row["status"])
    assert isinstance(answer, Response)
    of_a_kind = (
        answer.content_type == JSON
    )  # of a group that nobody has there is but a line of text
    said = json.loads(answer.body)["message"] if of_a_kind else answer.body.decode()
    assert row["said"] in said
