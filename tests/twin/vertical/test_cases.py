"""The Vertical Pod Autoscaler does what its documentation and sources say, case by case."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.twin.vertical.case_runner import TABLE, VerticalRun
from twin.api.messages import Request, Response
from twin.config.vertical import VerticalConfig
from twin.quantity import millicores
from twin.vertical.estimation import ContainerState, Estimate, History, estimates
from twin.vertical.objects import text_of

Object = dict[str, Any]
NOON = 1_767_268_800.0


def played(case: Object) -> Estimate:
    """Return what is recommended after the samples of a row."""
    config = VerticalConfig()
    history, state = History.empty(config), ContainerState()
    kills = dict(case.get("oom", ()))
    series = {
        name: [value for value, minutes in case[name] for _ in range(minutes)]
        for name in ("cpu", "memory")
    }
    for minute in range(max(map(len, series.values()))):
        at = NOON + 60.0 * minute
        if minute < len(series["cpu"]):
            state.add_cpu(history, series["cpu"][minute], at)
        if minute < len(series["memory"]):
            state.add_memory(history, series["memory"][minute], at, config.peak_seconds)
        if minute in kills:
            state.add_oom(history, kills[minute], at, config)
    count = case.get("containers", 1)
    return estimates({f"c{index}": history for index in range(count)}, config)["c0"]


@pytest.mark.parametrize("case", TABLE["estimate"], ids=[row["name"] for row in TABLE["estimate"]])
def test_estimate(case: Object) -> None:
    """Samples in, the recommendation of the sources' formulas out, to the unit."""
    found = played(case)
    for bound, (cpu, memory) in case["expect"].items():
        name, _, least = bound.partition("_")
        amounts = getattr(found, name)
        if least:
            assert (amounts["cpu"] >= millicores(cpu), amounts["memory"] >= memory) == (True, True)
        else:
            assert (text_of("cpu", amounts["cpu"]), amounts["memory"]) == (cpu, memory), bound


@pytest.mark.parametrize("case", TABLE["case"], ids=[row["name"] for row in TABLE["case"]])
def test_case(case: Object) -> None:
    """Each row comes out as it says, through the API alone."""
    VerticalRun(case).play()


def test_clones_and_equal_seeds_agree() -> None:
    """With recommendations, evictions and resizes under way a clone has the same hash, and ends alike."""
    case = next(row for row in TABLE["case"] if "deferred" in row["name"])
    runs = [VerticalRun(case), VerticalRun(case)]
    for run in runs:
        run.engine.advance(run.began + 480.0)
    clone = runs[0].engine.clone()
    hashes = [engine.state_hash() for engine in (runs[0].engine, runs[1].engine, clone)]
    for engine in (runs[0].engine, clone):
        engine.advance(engine.now + 1_800.0)

    assert len(set(hashes)) == 1
    assert clone.state_hash() == runs[0].engine.state_hash()


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({}, "spec.targetRef"),
        ({"targetRef": {"kind": "Deployment"}}, "spec.targetRef.name"),
        ({"updatePolicy": {"updateMode": "Sometimes"}}, "spec.updatePolicy.updateMode"),
        ({"updatePolicy": {"minReplicas": 0}}, "spec.updatePolicy.minReplicas"),
        (
            {"resourcePolicy": {"containerPolicies": [{"containerName": "c", "mode": "x"}]}},
            "spec.resourcePolicy.containerPolicies[0].mode",
        ),
    ],
)
def test_objects_are_checked(spec: Object, field: str) -> None:
    """422 names the field that is missing or wrong."""
    run = VerticalRun(TABLE["case"][0])
    path = "/apis/autoscaling.k8s.io/v1/namespaces/default/verticalpodautoscalers"
    ref = {} if "targetRef" in field else {"targetRef": {"kind": "Deployment", "name": "app"}}
    body = json.dumps({"metadata": {"name": "w"}, "spec": {**ref, **spec}}).encode()
    answer = run.router.handle(
        Request("POST", path, {}, {"content-type": "application/json"}, body)
    )

    assert isinstance(answer, Response)
    causes = json.loads(answer.body)["details"]["causes"]
    assert (answer.status, causes[0]["field"]) == (422, field)
