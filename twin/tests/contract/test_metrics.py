"""What an API server says of its own requests at /metrics."""

from __future__ import annotations

import re

from twin.tests.contract.faces import Place

LINE = re.compile(r"^(\w+)\{([^}]*)\} (\S+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="([^"]*)"')


def rows(place: Place, name: str, **wanted: str) -> list[tuple[dict[str, str], float]]:
    """Return labels and value of the series of a name that have these labels."""
    text = place.face.ask("GET", "/metrics", accept="*/*").text
    found = [
        (dict(LABEL.findall(labels)), float(value))
        for family, labels, value in LINE.findall(text)
        if family == name
    ]
    return [(labels, value) for labels, value in found if wanted.items() <= labels.items()]


def test_requests_are_counted_by_what_they_asked_for(over_http: Place) -> None:
    """Verb, group, version, resource, subresource, scope and code, and how long they took."""

    def count(**wanted: str) -> float:
        return sum(value for _, value in rows(over_http, "apiserver_request_total", **wanted))

    made = {
        "verb": "POST",
        "resource": "secrets",
        "version": "v1",
        "scope": "resource",
        "code": "201",
    }
    gone = {
        "verb": "GET",
        "resource": "leases",
        "group": "coordination.k8s.io",
        "scope": "resource",
    }
    before = (
        count(**made),
        count(**gone, code="404"),
        count(verb="LIST", resource="secrets", scope="namespace"),
    )
    over_http.make("secrets", {"metadata": {"name": "a"}})
    assert over_http.ask("GET", "leases", "none").status == 404
    assert over_http.ask("GET", "secrets").status == 200
    after = (
        count(**made),
        count(**gone, code="404"),
        count(verb="LIST", resource="secrets", scope="namespace"),
    )
    assert [new - old for new, old in zip(after, before, strict=True)] == [1, 1, 1]
    took = {"verb": "POST", "resource": "secrets", "scope": "resource"}
    buckets = rows(over_http, "apiserver_request_duration_seconds_bucket", **took)
    bounds = [labels["le"] for labels, _ in buckets if labels["dry_run"] == ""]
    assert bounds[:4] + bounds[-2:] == ["0.005", "0.025", "0.05", "0.1", "60", "+Inf"]
    values = [value for labels, value in buckets if labels["dry_run"] == ""]
    assert values == sorted(values)
    assert values[-1] >= 1


def test_what_is_under_way_is_shown(over_http: Place) -> None:
    """Requests by kind; the one that asks is one of those that read."""
    found = {
        labels["request_kind"]: value
        for labels, value in rows(over_http, "apiserver_current_inflight_requests")
    }
    assert set(found) == {"mutating", "readOnly"}
    over_http.face.events(over_http.path("configmaps"), {"resourceVersion": "0"})
    watches = rows(over_http, "apiserver_longrunning_requests", verb="WATCH", resource="configmaps")
    assert {labels["scope"] for labels, _ in watches} >= {"namespace"}
