"""ResourceQuotas and LimitRanges: refused at create, never Pending."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.errors import ApiError

Object = dict[str, Any]
Build = Callable[..., Object]


def bare(template: Build, name: str, **options: Any) -> Object:
    """Return a pod."""
    made = template("solo", **options)
    return {"metadata": {**made["metadata"], "name": name}, "spec": made["spec"]}


def limits(cluster: Any, name: str, **entry: Any) -> None:
    """Create a LimitRange for containers."""
    cluster.create("limitranges", name, {"limits": [{"type": "Container", **entry}]})


def test_a_pod_beyond_the_quota_is_forbidden(cluster: Any, template: Build) -> None:
    """403 in the API server's own words; nothing is created, nothing is charged."""
    cluster.create("resourcequotas", "q", {"hard": {"requests.cpu": "1", "pods": "5"}})
    store = cluster.engine.store
    store.create("pods", "default", bare(template, "a", cpu="700m"))
    with pytest.raises(ApiError) as caught:
        store.create("pods", "default", bare(template, "b", cpu="400m"))

    assert (caught.value.status, caught.value.reason) == (403, "Forbidden")
    assert caught.value.message == (
        'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=400m, '
        "used: requests.cpu=700m, limited: requests.cpu=1"
    )
    used = cluster.status("resourcequotas", "q")["used"]
    assert used == {"requests.cpu": "700m", "pods": "1"}


def test_a_deployment_says_why_it_is_short(cluster: Any, workload: Build) -> None:
    """FailedCreate on the ReplicaSet, ReplicaFailure on both; more quota mends it by itself."""
    cluster.create("resourcequotas", "q", {"hard": {"pods": "2"}})
    cluster.create("deployments", "web", workload("web", 4))
    cluster.run(30)
    assert len(cluster.pods(app="web")) == 2
    assert all(pod.node_name for pod in cluster.pods(app="web"))
    name = cluster.pods(app="web")[0].name.rpartition("-")[0]
    text = dict(cluster.kube_events(name))["FailedCreate"]
    assert text.startswith(f'Error creating: pods "{name}-')
    assert text.endswith(
        '" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'
    )
    failure = ("True", "FailedCreate")
    assert cluster.conditions("replicasets", name)["ReplicaFailure"] == failure
    assert cluster.conditions("deployments", "web")["ReplicaFailure"] == failure
    cluster.write("resourcequotas", "q", hard={"pods": "9"})
    cluster.run(600)

    assert len(cluster.pods(app="web")) == 4
    assert "ReplicaFailure" not in cluster.conditions("deployments", "web")
    assert cluster.status("resourcequotas", "q")["used"] == {"pods": "4"}


def test_what_goes_away_is_credited(cluster: Any, template: Build) -> None:
    """Deleted pods and pods that ended hold nothing of pods and compute, but of counts."""
    hard = {"pods": "3", "count/pods": "9", "limits.memory": "4Gi", "requests.memory": "3Gi"}
    cluster.create("resourcequotas", "q", {"hard": hard})
    store = cluster.engine.store
    notes = {"foresail.dev/work-seconds": "5"}
    for name, policy in (("ends", "Never"), ("stays", "Always")):
        made = bare(template, name, notes=notes, memory="1Gi", restartPolicy=policy)
        made["spec"]["containers"][0]["resources"]["limits"] = {"memory": "2Gi"}
        store.create("pods", "default", made)
    used = cluster.status("resourcequotas", "q")["used"]
    assert used == {"pods": "2", "count/pods": "2", "limits.memory": "4Gi",
                    "requests.memory": "2Gi"}  # fmt: skip
    cluster.run(60)
    used = cluster.status("resourcequotas", "q")["used"]
    assert used == {"pods": "1", "count/pods": "2", "limits.memory": "2Gi",
                    "requests.memory": "1Gi"}  # fmt: skip
    cluster.delete("pods", "stays")
    cluster.run(60)

    assert cluster.status("resourcequotas", "q")["used"]["pods"] == "0"


def test_constrained_resources_must_be_named(cluster: Any, template: Build) -> None:
    """A quota on limits refuses pods without them, and names the containers."""
    cluster.create("resourcequotas", "q", {"hard": {"limits.cpu": "4", "requests.memory": "1Gi"}})
    with pytest.raises(ApiError) as caught:
        cluster.engine.store.create("pods", "default", bare(template, "a"))

    assert caught.value.message == (
        'pods "a" is forbidden: failed quota: q: must specify limits.cpu for: c'
    )


def test_object_counts_and_dry_runs(cluster: Any) -> None:
    """count/ names and their own names are counted; a dry run is refused but never charged."""
    hard = {"configmaps": "1", "count/deployments.apps": "0"}
    cluster.create("resourcequotas", "q", {"hard": hard})
    store = cluster.engine.store
    store.create("configmaps", "default", {"metadata": {"name": "a"}}, dry_run=True)
    assert cluster.status("resourcequotas", "q").get("used", {}).get("configmaps", "0") == "0"
    store.create("configmaps", "default", {"metadata": {"name": "a"}})
    with pytest.raises(ApiError, match="requested: configmaps=1, used: configmaps=1, limited: con"):
        store.create("configmaps", "default", {"metadata": {"name": "b"}}, dry_run=True)

    assert cluster.status("resourcequotas", "q")["used"]["configmaps"] == "1"


def test_scopes_choose_the_pods(cluster: Any, template: Build) -> None:
    """BestEffort counts pods without requests alone, and Terminating those with a deadline."""
    cluster.create("resourcequotas", "best", {"hard": {"pods": "1"}, "scopes": ["BestEffort"]})
    cluster.create("resourcequotas", "ends", {"hard": {"pods": "1"}, "scopes": ["Terminating"]})
    store = cluster.engine.store
    store.create("pods", "default", bare(template, "a"))
    store.create("pods", "default", bare(template, "b", activeDeadlineSeconds=60))
    effortless = bare(template, "c")
    effortless["spec"]["containers"][0]["resources"] = {}
    store.create("pods", "default", effortless)

    assert cluster.status("resourcequotas", "best")["used"] == {"pods": "1"}
    assert cluster.status("resourcequotas", "ends")["used"] == {"pods": "1"}
    with pytest.raises(ApiError, match="exceeded quota: ends"):
        store.create("pods", "default", bare(template, "d", activeDeadlineSeconds=60))


def test_a_limit_range_fills_in(cluster: Any, template: Build) -> None:
    """Containers that say nothing get default limits and requests, and an annotation says so."""
    limits(cluster, "l", default={"cpu": "500m"}, defaultRequest={"cpu": "250m"})
    made = bare(template, "a")
    made["spec"]["containers"][0]["resources"] = {}
    pod = cluster.engine.store.create("pods", "default", made)

    assert pod["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "250m"},
        "limits": {"cpu": "500m"},
    }
    note = pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"]
    assert note == (
        "LimitRanger plugin set: cpu request for container c; cpu limit for container c"
    )


@pytest.mark.parametrize(("entry", "text"), [
    ({"max": {"cpu": "50m"}}, "maximum cpu usage per Container is 50m, but limit is 80m"),
    ({"min": {"cpu": "200m"}}, "minimum cpu usage per Container is 200m, but request is 60m"),
    ({"maxLimitRequestRatio": {"cpu": "1"}},
     "cpu max limit to request ratio per Container is 1, but provided ratio is 1.333333"),
])  # fmt: skip
def test_bounds_of_a_limit_range(cluster: Any, template: Build, entry: Object, text: str) -> None:
    """Pods outside of the bounds are forbidden in the plugin's words."""
    limits(cluster, "l", **entry)
    made = bare(template, "a", cpu="60m")
    made["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "80m"}
    with pytest.raises(ApiError) as caught:
        cluster.engine.store.create("pods", "default", made)

    assert (caught.value.status, text in caught.value.message) == (403, True)


def test_both_can_be_switched_off(make_cluster: Callable[..., Any], template: Build) -> None:
    """Switched off, quotas and limit ranges are kept and mean nothing."""
    cluster = make_cluster(1, switched_off=("resourcequotas", "limitranges"))
    cluster.create("resourcequotas", "q", {"hard": {"pods": "0"}})
    limits(cluster, "l", max={"cpu": "1m"})
    cluster.engine.store.create("pods", "default", bare(template, "a"))

    assert len(cluster.pods()) == 1
