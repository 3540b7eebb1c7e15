"""What admission webhooks promise: who is asked about which write, in which order, and what their answers do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from tests.patience import HANGS_SECONDS
from twin.tests.contract.faces import MERGE, Answer, Face, Place, config_map, deployment, pod
from twin.tests.contract.webhook_server import SERVICE, WebhookServer, webhook_server

GROUP = "/apis/admissionregistration.k8s.io/v1"
_numbers = count(1)
MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebhookServer]:
    """Serve webhooks for this file."""
    with webhook_server(tmp_path_factory.mktemp("webhooks")) as made:
        yield made


class Hooks:
    """Configurations that are about one namespace alone."""

    def __init__(self, place: Place, server: WebhookServer) -> None:
        self.place = place
        self.server = server
        self._made: list[str] = []

    def add(self, path: str, *, kind: str = "Validating", name: str = "a", **more: Any) -> str:
        """Configure a webhook of the server's `path`; return its name."""
        body = self.body(path, kind=kind, name=name, **more)
        where = f"{GROUP}/{kind.lower()}webhookconfigurations"
        answer = self.place.face.ask("POST", where, body=body)
        assert answer.status == 201, answer.text
        self._made.append(f"{where}/{body['metadata']['name']}")
        return str(body["webhooks"][0]["name"])

    def body(self, path: str, *, kind: str, name: str, **more: Any) -> dict[str, Any]:
        """Return a configuration of one webhook."""
        selector = {"matchLabels": {"kubernetes.io/metadata.name": self.place.namespace}}
        hook = {
            "name": f"{name}.example.com.hooks",
            "clientConfig": self.server.client(path),
            "rules": [{**MAPS, "operations": ["CREATE", "UPDATE"]}],
            "namespaceSelector": selector,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **more,
        }
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": f"{name}-{self.place.namespace}"},
            "webhooks": [hook],
        }

    def remove(self) -> None:
        """Take all configurations away."""
        for path in self._made:
            self.place.face.ask("DELETE", path)

    def create(self, until: Callable[[Answer], bool], name: str = "m", **more: Any) -> Answer:
        """Create a ConfigMap, again and again until a server has noticed its new configurations."""
        end = time.monotonic() + (1 if self.place.face.simulated else HANGS_SECONDS)
        while True:
            body = config_map(name, **more)
            answer = self.place.ask("POST", "configmaps", body=body, query={"dryRun": "All"})
            if until(answer):
                return answer
            assert time.monotonic() < end, answer.text
            time.sleep(0.05)

    def asked(self, path: str) -> list[dict[str, Any]]:
        """Return what was asked about this namespace."""
        return [
            one
            for one in self.server.asked.get(path, ())
            if one.get("namespace") == self.place.namespace
        ]


@pytest.fixture
def hooks(place: Place, server: WebhookServer) -> Iterator[Hooks]:
    """Configure webhooks about a new namespace."""
    made = Hooks(place, server)
    yield made
    made.remove()


def _annotations(answer: Answer) -> dict[str, str]:
    return dict((answer.body.get("metadata") or {}).get("annotations") or {})


def test_a_denial_is_the_answer(hooks: Hooks) -> None:
    """Who refuses gives status, reason and message; without any it is 400."""
    name = hooks.add("deny/403/not-today")
    answer = hooks.create(lambda found: found.status == 403)
    said = f'admission webhook "{name}" denied the request: not-today'
    assert (answer.body["message"], answer.reason) == (said, "Forbidden")
    hooks.remove()
    hooks.create(lambda found: found.status == 201)
    hooks.add("deny")
    answer = hooks.create(lambda found: found.status == 400)
    assert (
        answer.body["message"]
        == f'admission webhook "{name}" denied the request without explanation'
    )


def test_changes_in_order_of_names(hooks: Hooks) -> None:
    """Changing webhooks are asked one after the other, by the names of their configurations."""
    for name in ("b", "a", "c"):
        hooks.add(f"annotate/{name}", kind="Mutating", name=name)
    hooks.create(lambda found: _annotations(found).get("order") == "abc")


def test_one_is_asked_again_if_needed(hooks: Hooks) -> None:
    """With reinvocationPolicy IfNeeded a webhook sees what later ones changed; otherwise it does not."""
    hooks.add("count/x", kind="Mutating", name="a", reinvocationPolicy="IfNeeded")
    hooks.add("count/y", kind="Mutating", name="b")
    hooks.add("annotate/c", kind="Mutating", name="c")
    hooks.create(lambda found: _annotations(found) == {"order": "c", "count": "1"})
    hooks.remove()
    hooks.add("count/x", kind="Mutating", name="a")
    hooks.add("annotate/c", kind="Mutating", name="c")
    hooks.create(lambda found: _annotations(found) == {"order": "c", "count": "0"})


def test_who_refuses_sees_what_was_changed(hooks: Hooks) -> None:
    """Refusing webhooks come after changing ones, and see the object complete."""
    hooks.add("allow/seen")
    hooks.add("annotate/a", kind="Mutating")
    hooks.create(lambda found: _annotations(found) == {"order": "a"} and _seen(hooks))
    asked = hooks.asked("allow/seen")[-1]
    assert asked["object"]["metadata"]["annotations"] == {"order": "a"}
    assert asked["object"]["kind"] == "ConfigMap"
    assert asked["oldObject"] is None
    assert (asked["operation"], asked["name"], asked["dryRun"]) == ("CREATE", "m", True)
    assert asked["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert asked["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert asked["options"]["kind"] == "CreateOptions"
    assert "system:masters" in asked["userInfo"]["groups"]


def _seen(hooks: Hooks) -> bool:
    asked = hooks.asked("allow/seen")
    return bool(asked) and "annotations" in asked[-1]["object"]["metadata"]


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("break/uid", "received invalid webhook response: expected response.uid="),
        ("break/http", "the server is currently unable to handle the request"),
        ("break/slow", "failed calling webhook"),
    ],
)
def test_failures(hooks: Hooks, path: str, part: str) -> None:
    """A webhook that cannot be asked refuses with 500, or is passed over with failurePolicy Ignore."""
    name = hooks.add(path, timeoutSeconds=1)
    answer = hooks.create(lambda found: found.status == 500)
    assert answer.reason == "InternalError"
    begins = f'Internal error occurred: failed calling webhook "{name}": '
    assert answer.body["message"].startswith(begins), answer.text
    assert part in answer.body["message"]
    hooks.remove()
    hooks.create(lambda found: found.status == 201)
    hooks.add(path, timeoutSeconds=1, failurePolicy="Ignore")
    hooks.add("annotate/i", kind="Mutating", name="b")
    answer = hooks.create(lambda found: _annotations(found) == {"order": "i"})
    assert answer.status == 201


def test_nobody_answers(hooks: Hooks) -> None:
    """A webhook without a server refuses by default; one of an unknown authority as well."""
    hooks.add("allow", clientConfig={"url": "https://127.0.0.1:1/x"})
    answer = hooks.create(lambda found: found.status == 500)
    assert 'failed to call webhook: Post "https://127.0.0.1:1/x' in answer.body["message"]
    hooks.remove()
    hooks.create(lambda found: found.status == 201)
    trusted_by_nobody = {"url": hooks.server.client("allow")["url"]}
    hooks.add("allow", clientConfig=trusted_by_nobody)
    answer = hooks.create(lambda found: found.status == 500)
    assert "failed to verify certificate" in answer.body["message"]


@pytest.mark.parametrize(
    ("more", "denied", "passed"),
    [
        ({"objectSelector": {"matchLabels": {"a": "b"}}}, {"a": "b"}, {"a": "c"}),
        (
            {"matchConditions": [{"name": "x", "expression": "object.metadata.labels.a == 'b'"}]},
            {"a": "b"},
            {"a": "c"},
        ),
        (
            {
                "matchConditions": [
                    {"name": "x", "expression": "request.operation == 'CREATE'"},
                    {"name": "y", "expression": "!has(object.metadata.labels.skip)"},
                ]
            },
            {"a": "b"},
            {"skip": "c"},
        ),
    ],
)
def test_selected_writes(
    hooks: Hooks, more: dict[str, Any], denied: dict[str, str], passed: dict[str, str]
) -> None:
    """Selectors and conditions in CEL say about which objects a webhook is asked."""
    hooks.add("deny", **more)
    hooks.create(lambda found: found.status == 400, labels=denied)
    assert hooks.create(lambda _: True, labels=passed).status == 201


def test_a_condition_that_fails_counts_as_a_failure(hooks: Hooks) -> None:
    """What cannot be evaluated refuses, or passes with failurePolicy Ignore."""
    broken = [{"name": "x", "expression": "object.data.nowhere == 'b'"}]
    hooks.add("deny", matchConditions=broken)
    answer = hooks.create(lambda found: found.status >= 400, x="1")
    assert answer.status == 403
    why = "expression 'object.data.nowhere == 'b'' resulted in error: no such key: nowhere"
    assert answer.body["message"] == f'configmaps "m" is forbidden: {why}'
    hooks.remove()
    hooks.create(lambda found: found.status == 201)
    hooks.add("deny", matchConditions=broken, failurePolicy="Ignore")
    hooks.add("annotate/i", kind="Mutating", name="b")
    assert hooks.create(lambda found: _annotations(found) == {"order": "i"}).status == 201


def test_operations_and_old_objects(hooks: Hooks) -> None:
    """An update and a deletion are shown with what was there; other operations are not shown."""
    hooks.add("deny/403/kept", rules=[{**MAPS, "operations": ["DELETE"]}])
    made = hooks.place.make("configmaps", config_map("kept", x="1"))
    end = time.monotonic() + HANGS_SECONDS
    while hooks.place.ask("DELETE", "configmaps", "kept", query={"dryRun": "All"}).status != 403:
        assert time.monotonic() < end
    asked = hooks.asked("deny/403/kept")[-1]
    assert asked["object"] is None
    assert asked["oldObject"]["metadata"]["uid"] == made["metadata"]["uid"]
    assert (asked["operation"], asked["name"]) == ("DELETE", "kept")
    collection = hooks.place.ask("DELETE", "configmaps", query={"labelSelector": "!none"})
    assert collection.status == 403
    answer = hooks.place.ask(
        "PATCH", "configmaps", "kept", body={"data": {"x": "2"}}, content_type=MERGE
    )
    assert answer.status == 200


def test_subresources_are_named(hooks: Hooks) -> None:
    """A rule about `deployments/scale` is shown the Scale, one about `deployments` is not asked then."""
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"]}
    hooks.place.make("deployments", deployment("web"))
    hooks.add("deny/403/scale", rules=[{**rule, "resources": ["deployments/scale"]}])
    end = time.monotonic() + HANGS_SECONDS
    scale = {"subresource": "scale", "body": {"spec": {"replicas": 0}}, "content_type": MERGE}
    while hooks.place.ask("PATCH", "deployments", "web", **scale).status != 403:
        assert time.monotonic() < end
    asked = hooks.asked("deny/403/scale")[-1]
    assert asked["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert asked["subResource"] == "scale"
    assert asked["oldObject"]["spec"] == {} or asked["oldObject"]["spec"]["replicas"] == 0
    whole = {"body": {"metadata": {"labels": {"x": "y"}}}, "content_type": MERGE}
    assert hooks.place.ask("PATCH", "deployments", "web", **whole).status == 200


def test_a_job_selects_its_pods_after_webhooks(hooks: Hooks) -> None:
    """Changing webhooks see a Job without the selector that is made of its uid; it has it afterwards."""
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"]}
    hooks.add("annotate/j", kind="Mutating", rules=[{**rule, "operations": ["CREATE"]}])
    inner = {**pod("j")["spec"], "restartPolicy": "Never"}
    body = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": inner}}}
    end = time.monotonic() + HANGS_SECONDS
    made: Answer | None = None
    for number in count():
        whole = {**body, "metadata": {"name": f"j-{number}"}}
        made = hooks.place.ask("POST", "jobs", body=whole)
        if made.status != 201 or _annotations(made) or time.monotonic() > end:
            break
    assert made is not None
    assert (made.status, _annotations(made)) == (201, {"order": "j"}), made.text
    shown = hooks.asked("annotate/j")[-1]["object"]["spec"]
    assert "selector" not in shown
    assert not shown["template"]["metadata"].get("labels")
    uid = made.body["metadata"]["uid"]
    wanted = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert made.body["spec"]["selector"] == wanted
    assert made.body["spec"]["template"]["metadata"]["labels"]["controller-uid"] == uid


def test_warnings_reach_the_client(over_http: Place, server: WebhookServer) -> None:
    """What a webhook warns of is a header of the answer."""
    hooks = Hooks(over_http, server)
    hooks.add("warn/careful")
    try:
        answer = hooks.create(lambda found: "warning" in found.headers)
    finally:
        hooks.remove()
    assert answer.headers["warning"] == '299 - "careful"'


def test_a_patch_that_does_not_fit(hooks: Hooks) -> None:
    """A patch that cannot be applied is an error of the webhook, not of the client."""
    hooks.add("break/patch", kind="Mutating")
    assert hooks.create(lambda found: found.status >= 400).status == 500


def test_services_are_reached_by_their_endpoints(
    simulated_face: Face, server: WebhookServer
) -> None:
    """A service whose Endpoints say a loopback address is called there, with its own name in the certificate."""
    name, _, namespace = SERVICE.removesuffix(".svc").partition(".")
    place = Place(simulated_face, namespace)
    simulated_face.ask("POST", "/api/v1/namespaces", body={"metadata": {"name": namespace}})
    client = {
        "service": {"namespace": namespace, "name": name, "path": "/deny/403/service"},
        "caBundle": server.bundle,
    }
    hooks = Hooks(place, server)
    hooks.add("deny", clientConfig=client)
    try:
        answer = hooks.create(lambda found: found.status == 500)
        assert f'service "{name}" not found' in answer.body["message"]
        place.make("services", {"metadata": {"name": name}, "spec": {"ports": [{"port": 443}]}})
        answer = hooks.create(lambda found: found.status == 500)
        assert f'no endpoints available for service "{name}"' in answer.body["message"]
        subset = {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": server.port}]}
        place.make("endpoints", {"metadata": {"name": name}, "subsets": [subset]})
        answer = hooks.create(lambda found: found.status == 403)
        assert answer.body["message"].endswith("denied the request: service")
    finally:
        hooks.remove()


WRONG: list[tuple[str, dict[str, Any], str, str]] = [
    ("no side effects", {"sideEffects": None}, "sideEffects", "must specify one of None, NoneOnDryRun"),
    ("side effects", {"sideEffects": "Some"}, "sideEffects", 'Unsupported value: "Some"'),
    ("versions", {"admissionReviewVersions": []}, "admissionReviewVersions", "Required value"),
    ("old versions", {"admissionReviewVersions": ["v2"]}, "admissionReviewVersions", "at least one of v1"),
    ("time", {"timeoutSeconds": 31}, "timeoutSeconds", "between 1 and 30 seconds"),
    ("policy", {"failurePolicy": "Maybe"}, "failurePolicy", 'Unsupported value: "Maybe"'),
    ("http", {"clientConfig": {"url": "http://a.b/c"}}, "clientConfig.url", "'https' is the only allowed"),
    ("query", {"clientConfig": {"url": "https://a.b/c?d=e"}}, "clientConfig.url", "query parameters are not"),
    ("nobody", {"clientConfig": {}}, "clientConfig", "exactly one of url or service is required"),
    ("name", {"name": "short"}, "name", "at least three segments"),
    ("operations", {"rules": [{**MAPS, "operations": ["*", "CREATE"]}]}, "rules[0].operations",
     "if '*' is present, must not specify other operations"),
    ("no resources", {"rules": [{**MAPS, "operations": ["*"], "resources": []}]}, "rules[0].resources",
     "Required value"),
    ("condition", {"matchConditions": [{"name": "x", "expression": "1 +"}]},
     "matchConditions[0].expression", "Invalid value"),
    ("no boolean", {"matchConditions": [{"name": "x", "expression": "'a'"}]},
     "matchConditions[0].expression", "must evaluate to bool"),
]  # fmt: skip


@pytest.mark.parametrize("row", WRONG, ids=lambda row: row[0])
def test_wrong_configurations_are_refused(
    hooks: Hooks, row: tuple[str, dict[str, Any], str, str]
) -> None:
    """What cannot be configured is 422 with its field."""
    _, more, field, part = row
    body = hooks.body("allow", kind="Validating", name="w")
    body["webhooks"][0] |= more
    where = f"{GROUP}/validatingwebhookconfigurations"
    answer = hooks.place.face.ask("POST", where, body=body)
    assert answer.status == 422, answer.text
    said = {one["field"]: one["message"] for one in answer.body["details"]["causes"]}
    assert part in said.get(f"webhooks[0].{field}", ""), said


def test_defaults_of_a_configuration(hooks: Hooks) -> None:
    """What a configuration leaves out is what a real server fills in."""
    body = hooks.body("allow", kind="Mutating", name="d")
    del body["webhooks"][0]["namespaceSelector"]
    where = f"{GROUP}/mutatingwebhookconfigurations"
    answer = hooks.place.face.ask("POST", where, body=body, query={"dryRun": "All"})
    assert answer.status == 201, answer.text
    made = answer.body["webhooks"][0]
    expected = {
        "failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10,
        "reinvocationPolicy": "Never", "namespaceSelector": {}, "objectSelector": {},
    }  # fmt: skip
    assert {name: made[name] for name in expected} == expected
    assert made["rules"][0]["scope"] == "*"
