"""Logs of simulated pods: they tell the pod's recorded life, and the same life tells the same."""

from __future__ import annotations

from typing import Any

import pytest

from twin.api.messages import Request, WatchResponse
from twin.tests.api.conftest import Api

PODS = "/api/v1/namespaces/default/pods"
LOG = f"{PODS}/one/log"


def _run(api: Api, seconds: float, **spec: Any) -> None:
    pod = {
        "metadata": {"name": "one"},
        "spec": {"containers": [{"name": "c", "image": "i:1"}], **spec},
    }
    assert api.ask("POST", PODS, pod)[0] == 201
    api.engine.advance(api.engine.now + seconds)


def test_a_log_tells_the_life_of_its_pod(api: Api) -> None:
    """It begins with the start, says when it is ready, and has a line for each minute."""
    _run(api, 200.0)
    status, text = api.ask("GET", LOG)
    lines = text.splitlines()
    assert status == 200
    assert "msg=starting image=i:1 attempt=1" in lines[0]
    assert [line.partition(" ")[2] for line in lines if "working" in line] == [
        f"level=info msg=working up_seconds={seconds}" for seconds in (60, 120, 180)
    ]
    assert text == api.ask("GET", LOG)[1]


def test_parts_of_a_log(api: Api) -> None:
    """tailLines, sinceSeconds, limitBytes and timestamps do what kubectl means by them."""
    _run(api, 200.0)
    whole = api.ask("GET", LOG)[1]
    assert api.ask("GET", LOG, tailLines="1")[1] == whole.splitlines(keepends=True)[-1]
    assert api.ask("GET", LOG, sinceSeconds="70")[1].count("\n") == 1
    assert api.ask("GET", LOG, limitBytes="7")[1] == whole[:7]
    stamped = api.ask("GET", LOG, timestamps="true", tailLines="1")[1]
    assert stamped.startswith("2026-01-01T00:03:")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"container": "x"}, "container x is not valid for pod one"),
        ({"previous": "true"}, "previous terminated container"),
        ({"tailLines": "x"}, "whole number"),
        ({"sinceTime": "x"}, "sinceTime"),
    ],
)
def test_refusals(api: Api, query: dict[str, str], words: str) -> None:
    """What cannot be told is 400 with the words of a real server."""
    _run(api, 60.0)
    status, refused = api.ask("GET", LOG, **query)
    assert status == 400
    assert words in refused["message"]


def test_a_pod_that_waits_has_no_log(api: Api) -> None:
    """A pod without a host, and a container that has not started, say so."""
    _run(api, 30.0, nodeSelector={"no": "where"})
    assert "does not have a host" in api.ask("GET", LOG)[1]["message"]
    assert api.ask("GET", f"{PODS}/two/log")[0] == 404


def test_a_followed_log_goes_on(api: Api) -> None:
    """A follower gets what is there, then each new line once, and the end with the pod."""
    _run(api, 30.0)
    request = Request("GET", LOG, {"follow": "true"}, {"accept": "*/*"})
    answer = api.router.handle(request)
    assert isinstance(answer, WatchResponse)
    assert answer.bookmark is not None
    assert answer.over is not None
    assert b"starting" in b"".join(answer.initial)
    api.engine.advance(api.engine.now + 60.0)
    assert answer.bookmark().count(b"working") == 1
    assert not answer.bookmark()
    assert not answer.over()
    api.ask("DELETE", f"{PODS}/one", gracePeriodSeconds="0")
    assert answer.over()
