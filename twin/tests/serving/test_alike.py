"""Pods of a Service that are alike: what is worked out once holds for each of them."""

from __future__ import annotations

import numpy as np

from twin.chance import Chance
from twin.request_settings import TRAFFIC, read_request_settings
from twin.serving.backends import Backends
from twin.serving.service_requests import ServiceRequests, TrafficInterval


def _played(pods: int) -> Backends:
    """Return pods of a Service after three intervals: too much, nearly nothing, and too much for one worker."""
    settings = read_request_settings({TRAFFIC: "constant requests_per_second=1"})
    assert settings is not None
    player = ServiceRequests("default/web", settings, Chance(7), exact=False)
    backends = Backends(0.0)
    for number in range(pods):
        backends.add(f"pod-{number}", 1 + number // 2)
    backends.route(dict.fromkeys(backends.uids))
    for begin, each in ((0.0, 1_500.0), (15.0, 30.0), (30.0, 900.0)):
        player.play(backends, TrafficInterval(begin, begin + 15.0, each, np.ones(pods)))
    return backends


def test_overloaded_pods_that_are_alike_fare_as_one_alone() -> None:
    """Two of one worker have each the requests and the queue of a single such pod; two of two have others."""
    alone, several = _played(1), _played(4)
    for column in alone.columns:
        first, second, third, fourth = several[column].tolist()
        assert [first, second] == alone[column].tolist() * 2
        assert third == fourth
    assert several["served"][2] > several["served"][0]
    assert several["failed"][0] > several["failed"][2]
    first, second = (several.queues[uid] for uid in ("pod-0", "pod-1"))
    assert first.backlog == second.backlog == alone.queues["pod-0"].backlog != []
    assert first.backlog is not second.backlog
