"""Details of single kinds and requests that clients have met."""

from __future__ import annotations

from typing import Any

import pytest

from twin.tests.contract.faces import APPLY, JSON, MERGE, Face, Place, config_map, pod

RANGES = "/apis/networking.k8s.io/v1/servicecidrs"
CONDITION = {
    "type": "Watched",
    "status": "True",
    "reason": "Seen",
    "message": "m",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def test_a_namespaces_status_says_active_by_itself(place: Place) -> None:
    """A status without a phase is that of a living namespace; labels are taken along, its name stays one."""
    path, name = f"/api/v1/namespaces/{place.namespace}/status", place.namespace
    head = {"name": name, "labels": {"x": "y"}, "annotations": {"a": "b"}}
    body = {"metadata": head, "status": {"conditions": [CONDITION]}}
    answer = place.face.ask("PUT", path, body=body)
    assert answer.status == 200, answer.text
    assert answer.body["status"] == {"phase": "Active", "conditions": [CONDITION]}
    assert answer.body["metadata"]["labels"] == {"kubernetes.io/metadata.name": name, "x": "y"}
    patch = {"status": {"phase": None}}
    answer = place.face.ask("PATCH", path, body=patch, content_type=MERGE)
    assert (answer.status, answer.body["status"]["phase"]) == (200, "Active")
    refused = place.face.ask("PUT", path, body={**body, "status": {"phase": "Terminating"}})
    assert refused.status == 422
    (cause,) = refused.body["details"]["causes"]
    assert cause["field"] == "status.Phase"


@pytest.mark.parametrize(
    ("ranges", "field", "said"),
    [
        (["10.200.0.0/24", "10.201.0.0/24"], "spec.cidrs", "may specify no more than one IP for each IP family"),
        (["10.200.0.0/24", "fd00::/64", "fd01::/64"], "spec.cidrs",
         'Invalid value: {"CIDRs":["10.200.0.0/24","fd00::/64","fd01::/64"]}: may only hold up to 2 values'),
        (["10.200.0.1/24"], "spec.cidrs[0]", "must not have bits set beyond the prefix length"),
        (["::ffff:10.0.0.0/120"], "spec.cidrs[0]", "must not have an IPv4-mapped IPv6 address"),
        ([], "spec.cidrs", "Required value: at least one CIDR required"),
    ],
)  # fmt: skip
def test_ranges_of_addresses_are_checked(
    face: Face, ranges: list[str], field: str, said: str
) -> None:
    """One of each family, each a network."""
    body = {"metadata": {"name": "bad"}, "spec": {"cidrs": ranges}}
    answer = face.ask("POST", RANGES, body=body, query={"dryRun": "All"})
    assert answer.status == 422, answer.text
    causes = {cause["field"]: cause["message"] for cause in answer.body["details"]["causes"]}
    assert said in causes[field]


def test_ranges_of_addresses_stay(place: Place) -> None:
    """One of the other family may be added, and that is all."""
    path = f"{RANGES}/{place.namespace}"
    spec = {"cidrs": ["10.200.0.0/24"]}
    body = {"metadata": {"name": place.namespace}, "spec": spec}
    assert place.face.ask("POST", RANGES, body=body).status == 201
    for ranges, field, shown in (
        (["10.201.0.0/24"], "spec.cidrs[0]", '"10.201.0.0/24"'),
        ([], "spec.cidrs", "[]"),
    ):
        patch = {"spec": {"cidrs": ranges}}
        answer = place.face.ask("PATCH", path, body=patch, content_type=MERGE)
        (cause,) = answer.body["details"]["causes"]
        assert (answer.status, cause["field"]) == (422, field)
        assert cause["message"] == f"Invalid value: {shown}: field is immutable"
    patch = {"spec": {"cidrs": ["10.200.0.0/24", "fd00::/64"]}}
    assert place.face.ask("PATCH", path, body=patch, content_type=MERGE).status == 200
    assert place.face.ask("DELETE", path).status == 200


def test_events_are_deleted_in_their_own_form(place: Place) -> None:
    """A collection that is deleted by events.k8s.io comes back in its form."""
    about = {"kind": "Pod", "name": "p", "namespace": place.namespace}
    event = {"metadata": {"name": "e"}, "involvedObject": about, "reason": "R", "message": "m"}
    place.make("events", {**event, "type": "Normal"})
    path = f"/apis/events.k8s.io/v1/namespaces/{place.namespace}/events"
    answer = place.face.ask("DELETE", path)
    assert (answer.status, answer.body["apiVersion"]) == (200, "events.k8s.io/v1")
    (item,) = (one for one in answer.body["items"] if one["metadata"]["name"] == "e")
    assert (item["regarding"]["name"], item["note"]) == ("p", "m")
    assert not {"involvedObject", "message", "reportingController", "kind"} & set(item)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"apiVersion": "v1", "kind": "Secret"}, "invalid object type: /v1, Kind=Secret"),
        ({"apiVersion": "apps/v1", "kind": "ConfigMap"}, "invalid object type: apps/v1, Kind=ConfigMap"),
        ({}, "invalid object type: /, Kind="),
    ],
)  # fmt: skip
def test_an_apply_of_another_kind_is_refused(place: Place, body: dict[str, Any], said: str) -> None:
    """With the kind that it says it is of."""
    query = {"fieldManager": "me"}
    whole = {**body, "metadata": {"name": "a"}}
    answer = place.ask("PATCH", "configmaps", "a", body=whole, content_type=APPLY, query=query)
    assert (answer.status, answer.body["message"]) == (400, said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        ("99999999999999999999", 'strconv.ParseInt: parsing "99999999999999999999": value out of range'),
    ],
)  # fmt: skip
def test_a_grace_that_is_no_number(place: Place, given: str, said: str) -> None:
    """It is refused in the query and in the body, in words of their own."""
    name = place.make("configmaps", config_map("a"))["metadata"]["name"]
    answer = place.ask("DELETE", "configmaps", name, query={"gracePeriodSeconds": given})
    assert (answer.status, answer.body["message"]) == (400, said)
    options = {"gracePeriodSeconds": "x"}
    answer = place.ask("DELETE", "configmaps", name, body=options, content_type=JSON)
    why = "cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
    assert (answer.status, answer.body["message"]) == (400, f"json: {why}")


def test_who_writes_a_pods_status_sees_it(place: Place) -> None:
    """As it was written, whatever its kubelet says of it afterwards."""
    place.make("pods", pod("written"))
    patch = {"status": {"message": "Patched", "reason": "Tried"}}
    path = ("pods", "written")
    answer = place.ask("PATCH", *path, subresource="status", body=patch, content_type=MERGE)
    assert answer.status == 200, answer.text
    assert (answer.body["status"]["message"], answer.body["status"]["reason"]) == (
        "Patched",
        "Tried",
    )
    body = place.ask("GET", *path).body
    body["metadata"].pop("resourceVersion")
    body["status"]["conditions"] = [{**CONDITION, "type": "Ready", "status": "False"}]
    answer = place.ask("PUT", *path, subresource="status", body=body)
    assert answer.status == 200, answer.text
    ready = [one for one in answer.body["status"]["conditions"] if one["type"] == "Ready"]
    assert [one["status"] for one in ready] == ["False"]


def test_a_review_is_no_table(face: Face) -> None:
    """Who accepts nothing but a table of it is told what there is."""
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}},
    }
    answer = face.ask("POST", path, body=body, accept=table)
    assert (answer.status, answer.reason) == (406, "NotAcceptable")
    media = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    assert answer.body["message"] == f"only the following media types are accepted: {media}"


@pytest.mark.parametrize(
    ("suspended", "given"),
    [(False, "2020-01-01T00:00:00Z"), (False, None), (True, "2020-01-01T00:00:00Z")],
)
def test_when_a_job_began_stays(place: Place, suspended: bool, given: str | None) -> None:
    """Nobody changes it while the Job is not suspended; who keeps another's Jobs writes it once."""
    template = {"spec": {**pod("j")["spec"], "restartPolicy": "Never"}}
    spec = {"managedBy": "example.com/keeper", "suspend": suspended, "template": template}
    place.make(
        "jobs", {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}
    )
    answers = []
    for began in ("2021-01-01T00:00:00Z", given):
        body = {"status": {"startTime": began}}
        more = {"subresource": "status", "body": body, "content_type": MERGE}
        answers.append(place.ask("PATCH", "jobs", "j", **more))
    assert [one.status for one in answers] == [200, 200 if suspended else 422], answers[-1].text
    if not suspended:
        value = "null" if given is None else f'"{given}"'
        why = "field is immutable for unsuspended job once set"
        said = f'Job.batch "j" is invalid: status.startTime: Invalid value: {value}: {why}'
        assert answers[-1].body["message"] == said
