"""FlowSchemas and priority levels that cannot be kept, and statuses of pods that cannot be written."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from tests.twin.contract.faces import MERGE, Answer, Face, Place

Object = dict[str, Any]
GROUP = "/apis/flowcontrol.apiserver.k8s.io/v1"
SCHEMAS, LEVELS = f"{GROUP}/flowschemas", f"{GROUP}/prioritylevelconfigurations"
USER = {"kind": "User", "user": {"name": "x"}}
PLAIN = {"verbs": ["get"], "apiGroups": ["*"], "resources": ["pods"], "namespaces": ["*"]}
PAGES = {"verbs": ["get"], "nonResourceURLs": ["/x"]}
RULE = "spec.rules[0]"
BELOW = f"{RULE}.resourceRules[0]"
PATHS = f"{RULE}.nonResourceRules[0].nonResourceURLs"
VERBS = '"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"'
NOTHING = "at least one of resourceRules and nonResourceRules has to be non-empty"


def _causes(answer: Answer) -> list[tuple[str, str]]:
    assert answer.status == 422, answer.text
    return [(cause["field"], cause["message"]) for cause in answer.body["details"]["causes"]]


def _rule(**parts: Any) -> Object:
    return {"rules": [{"subjects": [USER], **parts}]}


SCHEMA_ROWS: list[tuple[Object, list[tuple[str, str]]]] = [
    ({"matchingPrecedence": -1}, [("spec.matchingPrecedence", "Invalid value: -1: must be a positive value")]),
    ({"matchingPrecedence": 10001},
     [("spec.matchingPrecedence", "Invalid value: 10001: must not be greater than 10000")]),
    ({"matchingPrecedence": 1},
     [("spec.matchingPrecedence", "Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1")]),
    ({"priorityLevelConfiguration": None},
     [("spec.priorityLevelConfiguration.name", "Required value: must reference a priority level")]),
    ({"distinguisherMethod": {"type": "Odd"}},
     [("spec.distinguisherMethod.type",
       'Unsupported value: {"Type":"Odd"}: supported values: "ByNamespace", "ByUser"')]),
    ({"rules": [{}]},
     [(f"{RULE}.subjects", "Required value: subjects must contain at least one value"),
      (RULE, f"Required value: {NOTHING}")]),
    ({"rules": [{"subjects": [{"kind": "Odd"}]}]},
     [(f"{RULE}.subjects[0].kind", 'Unsupported value: "Odd": supported values: "Group", "ServiceAccount", "User"'),
      (RULE, f"Required value: {NOTHING}")]),
    ({"rules": [{"subjects": [{"kind": "User", "group": {"name": "x"}}], "nonResourceRules": [PAGES]}]},
     [(f"{RULE}.subjects[0].user", "Required value: user is required when subject kind is 'User'"),
      (f"{RULE}.subjects[0].group", "Forbidden: group is forbidden when subject kind is not 'Group'")]),
    ({"rules": [{"subjects": [{"kind": "ServiceAccount", "serviceAccount": {"name": "", "namespace": ""}}],
                 "nonResourceRules": [PAGES]}]},
     [(f"{RULE}.subjects[0].serviceAccount.name", "Required value"),
      (f"{RULE}.subjects[0].serviceAccount.namespace", "Required value: must specify namespace for service account")]),
    (_rule(resourceRules=[{"verbs": ["get"]}]),
     [(f"{BELOW}.apiGroups", "Required value: resource rules must supply at least one api group"),
      (f"{BELOW}.resources", "Required value: resource rules must supply at least one resource"),
      (f"{BELOW}.namespaces",
       "Required value: resource rules that are not cluster scoped must supply at least one namespace")]),
    (_rule(resourceRules=[{**PLAIN, "verbs": ["get", "x"]}]),
     [(f"{BELOW}.verbs", f'Unsupported value: ["get","x"]: supported values: {VERBS}')]),
    (_rule(resourceRules=[{**PLAIN, "resources": ["*", "pods"], "namespaces": ["*", "a"]}]),
     [(f"{BELOW}.resources", 'Invalid value: ["*","pods"]: if \'*\' is present, must not specify other resources'),
      (f"{BELOW}.namespaces", 'Invalid value: ["*","a"]: if \'*\' is present, must not specify other namespaces')]),
    (_rule(nonResourceRules=[{"verbs": ["get"], "nonResourceURLs": ["/a/*", "/a*", "/ a", "//", "x"]}]),
     [(f"{PATHS}[1]", 'Invalid value: "/a*": wildcard can only do suffix matching'),
      (f"{PATHS}[2]", 'Invalid value: "/ a": must not contain white-space'),
      (f"{PATHS}[3]", 'Invalid value: "//": must not contain double slash'),
      (f"{PATHS}[4]", 'Invalid value: "x": must start with slash')]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "causes"), SCHEMA_ROWS, ids=lambda row: str(row)[:50])
def test_a_schema_that_is_refused(
    face: Face, change: Object, causes: list[tuple[str, str]]
) -> None:
    """Each mistake has its field and its sentence."""
    good = {"priorityLevelConfiguration": {"name": "workload-low"}, **_rule(resourceRules=[PLAIN])}
    query = {"dryRun": "All"}
    made = face.ask("POST", SCHEMAS, query, {"metadata": {"name": "z"}, "spec": good})
    assert made.status == 201, made.text
    body = {"metadata": {"name": "z"}, "spec": {**good, **change}}
    assert _causes(face.ask("POST", SCHEMAS, query, body)) == causes


LIMIT = "spec.limited"
QUEUING = f"{LIMIT}.limitResponse.queuing"
KINDS = 'supported values: "Queue", "Reject"'
LEVEL_ROWS: list[tuple[Object, list[tuple[str, str]]]] = [
    ({}, [("spec.type", 'Unsupported value: "": supported values: "Exempt", "Limited"')]),
    ({"type": "Limited"}, [(LIMIT, "Required value: must not be empty when type is Limited")]),
    ({"type": "Exempt", "limited": {}},
     [("spec.type", "Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'"),
      (LIMIT, "Forbidden: must be nil if the type is not Limited")]),
    ({"type": "Limited", "limited": {"nominalConcurrencyShares": -1}},
     [(f"{LIMIT}.nominalConcurrencyShares", "Invalid value: -1: must be a non-negative integer"),
      (f"{LIMIT}.limitResponse.type", f'Unsupported value: "": {KINDS}')]),
    ({"type": "Limited", "limited": {"limitResponse": {"type": "Queue"}}},
     [(QUEUING, "Required value: must not be empty if limited.limitResponse.type is Limited")]),
    ({"type": "Limited", "limited": {"limitResponse": {"type": "Reject", "queuing": {}}}},
     [(QUEUING, "Forbidden: must be nil if limited.limitResponse.type is not Limited")]),
    ({"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {"queues": 2, "handSize": 3}}}},
     [(f"{QUEUING}.handSize", "Invalid value: 3: should not be greater than queues (2)")]),
    ({"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {"queues": 512, "handSize": 30}}}},
     [(f"{QUEUING}.handSize",
       "Invalid value: 30: required entropy bits of deckSize 512 and handSize 30 should not be greater than 60")]),
    ({"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}, "lendablePercent": 101,
                                     "borrowingLimitPercent": -1}},
     [(f"{LIMIT}.lendablePercent", "Invalid value: 101: must be between 0 and 100, inclusive"),
      (f"{LIMIT}.borrowingLimitPercent", "Invalid value: -1: if specified, must be a non-negative integer")]),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "causes"), LEVEL_ROWS, ids=lambda row: str(row)[:50])
def test_a_level_that_is_refused(face: Face, spec: Object, causes: list[tuple[str, str]]) -> None:
    """Each mistake has its field and its sentence."""
    body = {"metadata": {"name": "z"}, "spec": spec}
    assert _causes(face.ask("POST", LEVELS, {"dryRun": "All"}, body)) == causes


def _patch(face: Face, path: str, spec: Object) -> Answer:
    return face.ask("PATCH", path, {"dryRun": "All"}, {"spec": spec}, content_type=MERGE)


def test_what_a_server_needs_stays_as_it_is(face: Face) -> None:
    """Nobody changes `exempt` and `catch-all`, but the shares that the former lends."""
    answer = _patch(face, f"{LEVELS}/catch-all", {"limited": {"nominalConcurrencyShares": 77}})
    ((field, said),) = _causes(answer)
    assert field == "spec"
    assert said == (
        'Invalid value: {"Type":"Limited","Limited":{"NominalConcurrencyShares":77,"LimitResponse":'
        '{"Type":"Reject","Queuing":null},"LendablePercent":0,"BorrowingLimitPercent":null},"Exempt":null}: '
        "spec of 'catch-all' must equal the fixed value"
    )
    ((field, said),) = _causes(_patch(face, f"{SCHEMAS}/exempt", {"matchingPrecedence": 5}))
    assert field == "spec"
    assert said == (
        'Invalid value: {"PriorityLevelConfiguration":{"Name":"exempt"},"MatchingPrecedence":5,'
        '"DistinguisherMethod":null,"Rules":[{"Subjects":[{"Kind":"Group","User":null,"Group":'
        '{"Name":"system:masters"},"ServiceAccount":null}],"ResourceRules":[{"Verbs":["*"],"APIGroups":["*"],'
        '"Resources":["*"],"ClusterScope":true,"Namespaces":["*"]}],"NonResourceRules":[{"Verbs":["*"],'
        '"NonResourceURLs":["*"]}]}]}: spec of \'exempt\' must equal the fixed value'
    )
    shares = {"exempt": {"nominalConcurrencyShares": 3}}
    assert _patch(face, f"{LEVELS}/exempt", shares).status == 200


STATUS_ROWS: list[tuple[Object, str, str]] = [
    ({"qosClass": "Guaranteed"}, "status.qosClass", 'Invalid value: "Guaranteed": field is immutable'),
    ({"podIP": "x"}, "status.podIPs[0]",
     'Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'),
    ({"podIPs": [{"ip": "1.1.1.1"}, {"ip": "2.2.2.2"}]}, "status.podIPs",
     'Invalid value: [{"IP":"1.1.1.1"},{"IP":"2.2.2.2"}]: may specify no more than one IP for each IP family'),
    ({"observedGeneration": -1}, "status.observedGeneration", "Invalid value: -1: must be a non-negative integer"),
    ({"hostIP": "1.1.1.2", "hostIPs": [{"ip": "1.1.1.1"}]}, "status.hostIPs[0].ip",
     'Invalid value: "1.1.1.1": must be equal to `hostIP`'),
]  # fmt: skip


@pytest.mark.parametrize(("status", "field", "said"), STATUS_ROWS, ids=lambda row: str(row)[:40])
def test_a_status_of_a_pod_that_is_refused(
    place: Place, status: Object, field: str, said: str
) -> None:
    """What follows from its spec, or makes no sense, is not taken from a kubelet either."""
    spec = {"schedulerName": "nobody", "containers": [{"name": "c", "image": "i"}]}
    place.make("pods", {"metadata": {"name": "p"}, "spec": spec})

    def written(part: Object) -> Answer:
        more = {"subresource": "status", "content_type": MERGE, "body": {"status": part}}
        return place.ask("PATCH", "pods", "p", **more)

    assert _causes(written(status)) == [(field, said)]
    assert written({"qosClass": None}).body["status"]["qosClass"] == "BestEffort"


def test_a_schema_says_whether_its_level_is_there(face: Face) -> None:
    """Dangling is true until the priority level comes that it refers to."""
    name = f"dangling-{os.getpid()}"
    spec = {"priorityLevelConfiguration": {"name": name}, **_rule(nonResourceRules=[PAGES])}
    made = face.ask("POST", SCHEMAS, body={"metadata": {"name": name}, "spec": spec})
    assert made.status == 201, made.text
    about = f'This FlowSchema references the PriorityLevelConfiguration object named "{name}"'
    dangling = ("True", "NotFound", f"{about} but there is no such object")
    found = ("False", "Found", f"{about} and it exists")

    assert _dangling(face, name, dangling) == dangling
    level = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    made = face.ask("POST", LEVELS, body={"metadata": {"name": name}, "spec": level})
    assert made.status == 201, made.text
    assert _dangling(face, name, found) == found
    for kind in (SCHEMAS, LEVELS):
        assert face.ask("DELETE", f"{kind}/{name}").status == 200


def _dangling(face: Face, name: str, awaited: tuple[str, str, str]) -> tuple[str, ...]:
    """Return what the condition says, as soon as it is what is awaited."""
    said: tuple[str, ...] = ()
    deadline = time.monotonic() + 20.0
    while said != awaited and time.monotonic() < deadline:
        status = face.ask("GET", f"{SCHEMAS}/{name}").body["status"]
        for condition in status.get("conditions") or ():
            said = (condition["status"], condition["reason"], condition["message"])
        time.sleep(0.05)
    return said
