"""What kubectl shows of Kueue's objects: columns, short names, warnings of the older version."""

from __future__ import annotations

import json
from typing import Any

import pytest

from twin.api.messages import Request, Response
from twin.api.router import Router
from twin.config.kueue import KueueConfig
from twin.tests.kueue.playing import Play
from twin.tests.kueue.ports import InProcessPort, build_engine

Object = dict[str, Any]
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
STEPS: list[Object] = [
    {"flavor": {"name": "f"}},
    {"class": {"name": "high", "value": 9}},
    {"queue": {"name": "cq", "cohortName": "team", "quotas": {"f": {"cpu": 2}}}},
    {"job": {"name": "a", "queue": "cq", "pods": 2, "cpu": 1, "class": "high"}},
    {"job": {"name": "b", "queue": "cq", "pods": 2, "cpu": 1}},
]
INSIDE = "namespaces/default/"


@pytest.fixture(scope="module")
def router() -> Router:
    """Return a cluster in which one Job runs and one waits."""
    engine = build_engine({}, KueueConfig(served=True))
    Play({"case": "shown", "steps": STEPS}, InProcessPort(engine))
    return Router(engine)


def _get(router: Router, path: str, accept: str = "application/json") -> Response:
    answer = router.handle(Request("GET", path, {}, {"accept": accept}))
    assert isinstance(answer, Response)
    return answer


@pytest.mark.parametrize(
    ("where", "heads", "rows"),
    [
        (
            "clusterqueues",
            [
                ("Name", 0),
                ("Cohort", 0),
                ("Strategy", 1),
                ("Pending Workloads", 0),
                ("Admitted Workloads", 1),
            ],
            [["cq", "team", "BestEffortFIFO", 1, 1]],
        ),
        (
            f"{INSIDE}localqueues",
            [("Name", 0), ("ClusterQueue", 0), ("Pending Workloads", 0), ("Admitted Workloads", 0)],
            [["cq", "cq", 1, 1]],
        ),
        (
            f"{INSIDE}workloads",
            [
                ("Name", 0),
                ("Queue", 0),
                ("Reserved in", 0),
                ("Admitted", 0),
                ("Finished", 0),
                ("Age", 0),
            ],
            [["job-a", "cq", "cq", "True", None, "4s"], ["job-b", "cq", None, "False", None, "2s"]],
        ),
        ("workloadpriorityclasses", [("Name", 0), ("Value", 0)], [["high", 9]]),
    ],
)
@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_columns(
    router: Router, version: str, where: str, heads: list[tuple[str, int]], rows: list[list[Any]]
) -> None:
    """Columns are those of Kueue's own definitions, in both versions."""
    table = json.loads(_get(router, f"/apis/kueue.x-k8s.io/{version}/{where}", TABLE).body)
    shown = [(head["name"], head["priority"]) for head in table["columnDefinitions"]]
    assert shown == heads
    cells = [row["cells"] for row in table["rows"]]
    for row in cells:
        row[0] = str(row[0]).rpartition("-")[0] or row[0]
    assert cells == rows


def test_short_names(router: Router) -> None:
    """`kubectl get cq`, `lq`, `wl` and the other short names find their kinds."""
    found = json.loads(_get(router, "/apis/kueue.x-k8s.io/v1beta2").body)["resources"]
    short = {word: item["name"] for item in found for word in item.get("shortNames", ())}
    assert short == {
        "ac": "admissionchecks",
        "co": "cohorts",
        "cq": "clusterqueues",
        "flavor": "resourceflavors",
        "flavors": "resourceflavors",
        "kueueworkload": "workloads",
        "kueueworkloads": "workloads",
        "kwl": "workloads",
        "lq": "localqueues",
        "queue": "localqueues",
        "queues": "localqueues",
        "rf": "resourceflavors",
        "wl": "workloads",
        "wpc": "workloadpriorityclasses",
    }


def test_the_older_version_is_deprecated(router: Router) -> None:
    """Reading v1beta1 warns, reading v1beta2 does not; v1beta2 is preferred."""
    older = _get(router, "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/cq")
    assert "This version is deprecated. Use v1beta2 instead." in older.headers["Warning"]
    assert "Warning" not in _get(router, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq").headers
    group = json.loads(_get(router, "/apis/kueue.x-k8s.io").body)
    assert group["preferredVersion"]["version"] == "v1beta2"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("v1beta2/clusterqueues/nowhere/pendingworkloads", 404),
        ("v1beta2/clusterqueues/cq", 404),
        ("v1beta2/namespaces/default/clusterqueues/cq/pendingworkloads", 404),
        ("v1beta3/clusterqueues/cq/pendingworkloads", 404),
    ],
)
def test_no_such_list(router: Router, path: str, status: int) -> None:
    """What the visibility API does not have is not found."""
    assert _get(router, f"/apis/visibility.kueue.x-k8s.io/{path}").status == status


def test_a_wrong_limit(router: Router) -> None:
    """A limit that is no number is refused by name."""
    path = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/cq/pendingworkloads"
    answer = router.handle(Request("GET", path, {"limit": "-1"}, {}))
    assert isinstance(answer, Response)
    assert answer.status == 400
    assert b"limit: '-1'" in answer.body
