"""Priority classes: what is served, what is refused, and how pods get their priority."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from twin.controllers.priority import add_system_classes
from twin.errors import ApiError
from twin.tests.scheduler.cluster import Cluster

Object = dict[str, Any]
LOWER = "PreemptLowerPriority"
REFUSED = (
    "must not be provided in pod spec; priority admission controller computed {} from the given "
    "PriorityClass name"
)


def create(cluster: Cluster, name: str, value: Any = 100, **fields: Any) -> Object:
    """Create a priority class."""
    obj = {"metadata": {"name": name}, "value": value, **fields}
    return cluster.store.create("priorityclasses", "", obj)


def resolve_class(cluster: Cluster, name: str) -> tuple[str | None, int, str]:
    """Return class name, priority and policy of a pod."""
    spec = cluster.store.get("pods", "default", name)["spec"]
    return spec.get("priorityClassName"), spec["priority"], spec["preemptionPolicy"]


def test_a_pod_gets_value_and_policy_of_its_class() -> None:
    """Resolved at creation; later changes of the class do not matter, nor does an update."""
    cluster = Cluster()
    create(cluster, "polite", 7, preemptionPolicy="Never")
    cluster.pod("p", priorityClassName="polite")
    assert resolve_class(cluster, "p") == ("polite", 7, "Never")
    cluster.store.delete("priorityclasses", "", "polite")
    served = copy.deepcopy(cluster.store.get("pods", "default", "p"))
    for field in ("priority", "preemptionPolicy"):  # a client need not send them back
        del served["spec"][field]
    served["metadata"]["labels"] = {"new": "label"}
    cluster.store.replace("pods", "default", "p", served)

    assert resolve_class(cluster, "p") == ("polite", 7, "Never")


def test_the_default_class_is_for_pods_without_one() -> None:
    """globalDefault gives its name and value; without such a class priority is 0."""
    cluster = Cluster()
    cluster.pod("before")
    create(cluster, "normal", 5, globalDefault=True)
    cluster.pod("after")

    assert resolve_class(cluster, "before") == (None, 0, "PreemptLowerPriority")
    assert resolve_class(cluster, "after") == ("normal", 5, "PreemptLowerPriority")


def test_the_system_classes_are_there_and_count() -> None:
    """system-node-critical and system-cluster-critical have upstream's values."""
    cluster = Cluster()
    add_system_classes(cluster.store)
    served = {
        item["metadata"]["name"]: item["value"] for item in cluster.store.list("priorityclasses")
    }
    assert served == {
        "system-cluster-critical": 2_000_000_000,
        "system-node-critical": 2_000_001_000,
    }
    cluster.pod("p", priorityClassName="system-node-critical")

    assert resolve_class(cluster, "p")[1] == 2_000_001_000


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        ({"priority": 3}, f"the integer value of priority (3) {REFUSED.format(0)}"),
        (
            {"preemptionPolicy": "Never"},
            f"the string value of PreemptionPolicy (Never) {REFUSED.format(LOWER)}",
        ),
    ],
)
def test_what_a_pod_may_not_ask_for(spec: Object, why: str) -> None:
    """403 as the Priority admission plugin words it."""
    with pytest.raises(ApiError) as refused:
        Cluster().pod("p", **spec)

    assert (refused.value.status, refused.value.message) == (403, f'pods "p" is forbidden: {why}')


@pytest.mark.parametrize(
    ("name", "fields", "status", "text"),
    [
        ("big", {"value": 1_000_000_001}, 422,
         "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"),
        ("system-mine", {}, 422, "system-mine is not a known system priority class"),
        ("odd", {"value": "7"}, 422, "must be a 32-bit integer"),
        ("odd", {"preemptionPolicy": "Sometimes"}, 422, "supported values"),
        ("second", {"globalDefault": True}, 403,
         "PriorityClass normal is already marked as default. Only one default can exist"),
    ],
)  # fmt: skip
def test_classes_that_are_refused(name: str, fields: Object, status: int, text: str) -> None:
    """Values above a billion, reserved names, bad policies and a second default."""
    cluster = Cluster()
    create(cluster, "normal", globalDefault=True)
    with pytest.raises(ApiError) as refused:
        create(cluster, name, **fields)

    assert refused.value.status == status
    assert text in refused.value.message


def test_value_and_policy_cannot_be_changed() -> None:
    """A class is made anew to change them; its description may change."""
    cluster = Cluster()
    made = create(cluster, "c", 5)
    cluster.store.replace("priorityclasses", "", "c", {**made, "description": "new"})
    for change in ({"value": 6}, {"preemptionPolicy": "Never"}):
        obj = {**cluster.store.get("priorityclasses", "", "c"), **change}
        with pytest.raises(ApiError, match=r"value|preemptionPolicy"):
            cluster.store.replace("priorityclasses", "", "c", obj)
