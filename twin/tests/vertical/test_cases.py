"""The Vertical Pod Autoscaler does what its documentation and sources say, case by case."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inputs.quantities import parse_millicores
from twin.api.messages import Request, Response
from twin.config.vertical import VerticalConfig
from twin.tests.vertical.case_runner import TABLE, VerticalRun
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
            assert (amounts["cpu"] >= parse_millicores(cpu), amounts["memory"] >= memory) == (
                True,
                True,
            )
        else:
            assert (text_of("cpu", amounts["cpu"]), amounts["memory"]) == (cpu, memory), bound


@pytest.mark.parametrize("case", TABLE["case"], ids=[row["name"] for row in TABLE["case"]])
def test_case(case: Object) -> None:
    """Each row comes out as it says, through the API alone."""
    VerticalRun(case).play()


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
    ref = {} if "targetRef" in field else _REF
    status, answer, _ = _create({**ref, **spec})
    assert (status, answer["details"]["causes"][0]["field"]) == (422, field)


_REF: Object = {"targetRef": {"kind": "Deployment", "name": "app"}}


def _create(spec: Any, **query: str) -> tuple[int, Any, str]:
    """Create an object; return status, document and warnings."""
    run = VerticalRun(TABLE["case"][0])
    path = "/apis/autoscaling.k8s.io/v1/namespaces/default/verticalpodautoscalers"
    document = {"metadata": {"name": "w"}, **({} if spec is None else {"spec": spec})}
    headers = {"content-type": "application/json"}
    answer = run.router.handle(Request("POST", path, query, headers, json.dumps(document).encode()))
    assert isinstance(answer, Response)
    return answer.status, json.loads(answer.body), (answer.headers or {}).get("Warning", "")


def _policy(**fields: Any) -> Object:
    return {**_REF, "resourcePolicy": {"containerPolicies": [{"containerName": "c", **fields}]}}


_ROW = "spec.resourcePolicy.containerPolicies[0]"


@pytest.mark.parametrize(
    ("spec", "sentences"),
    [
        (None, ["spec: Required value"]),
        (
            {**_REF, "updatePolicy": {"minReplicas": "two"}},
            [('spec.updatePolicy.minReplicas: Invalid value: "string": spec.updatePolicy.minReplicas in body '
             'must be of type integer: "string"')],
        ),
        (
            {**_REF, "updatePolicy": []},
            [('spec.updatePolicy: Invalid value: "array": spec.updatePolicy in body must be of type object: '
             '"array"')],
        ),
        (
            {**_REF, "updatePolicy": {"updateMode": "Sometimes", "evictAfterOOMSeconds": 0}},
            [('spec.updatePolicy.updateMode: Unsupported value: "Sometimes": supported values: "Off", "Initial", '
             '"Recreate", "InPlaceOrRecreate", "InPlace", "Auto"'),
             ("spec.updatePolicy.evictAfterOOMSeconds: Invalid value: 0: spec.updatePolicy.evictAfterOOMSeconds "
             "in body should be greater than or equal to 1")],
        ),
        (
            _policy(maxAllowed={"cpu": 0.5}),
            [(f'{_ROW}.maxAllowed.cpu: Invalid value: "number": {_ROW}.maxAllowed.cpu in body must be of type '
             'integer,string: "number"'),
             f'<nil>: Invalid value: "": "{_ROW}.maxAllowed.cpu" must validate at least one schema (anyOf)',
             (f'{_ROW}.maxAllowed.cpu: Invalid value: "number": {_ROW}.maxAllowed.cpu in body must be of type '
             'integer: "number"')],
        ),
        (_policy(minAllowed={"memory": "lots"}), [f"{_ROW}.minAllowed.memory in body should match '^"]),
        (_policy(mode=True), [f'{_ROW}.mode: Invalid value: "boolean": {_ROW}.mode in body must be of type s']),
        ({**_REF, "updatePolicy": {"updateMode": "InPlace"}}, ["the feature gate InPlace is off"]),
        ({"targetRef": "app"}, ['spec.targetRef in body must be of type object: "string"']),
    ],
)  # fmt: skip
def test_the_schema_answers_as_a_real_server(spec: Any, sentences: list[str]) -> None:
    """422 names every field that the definition's schema refuses, with its value, in a server's words."""
    status, answer, _ = _create(spec)
    assert status == 422
    assert all(sentence in answer["message"] for sentence in sentences), answer["message"]
    assert len(answer["details"]["causes"]) == len(sentences)


def test_unknown_fields_are_dropped_and_said() -> None:
    """What the definition does not know is pruned with a warning, and refused when asked strictly."""
    spec = {**_policy(maxAllowed={"cpu": "1"}, limit="1"), "colour": "red"}
    status, made, warning = _create(spec)

    assert status == 201
    assert "colour" not in made["spec"]
    assert made["spec"]["resourcePolicy"]["containerPolicies"] == [
        {"containerName": "c", "maxAllowed": {"cpu": "1"}}
    ]
    assert 'unknown field \\"spec.colour\\"' in warning
    assert f'unknown field \\"{_ROW}.limit\\"' in warning
    status, answer, _ = _create(spec, fieldValidation="Strict")
    assert status == 400
    assert 'strict decoding error: unknown field "spec.colour"' in answer["message"]
