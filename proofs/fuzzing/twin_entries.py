"""The twin's readers of what clients send: bodies, patches, selectors, tokens and whole requests."""

from __future__ import annotations

from functools import cache
from urllib.parse import parse_qsl

from proofs.fuzzing.entry import Entry
from twin.api.bodies import read_body
from twin.api.json_patch import apply_json_patch
from twin.api.limits import read_json
from twin.api.messages import WatchResponse
from twin.api.ownership import read_owners, to_entries
from twin.api.patching import STRATEGIC, apply_patch
from twin.api.schema import root_of
from twin.api.schema.wire import decode_object
from twin.api.selecting import field_requirements, label_requirements
from twin.api.versions import list_options, watch_options
from twin.port.api import Request, Response, Router
from twin.port.engine import ApiError, Engine
from twin.port.workloads import open_workload

POD = (
    b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"}},'
    b'"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}'
)
YAML_POD = b"""apiVersion: v1
kind: Pod
metadata: {name: p, labels: {a: "b"}}
spec:
  containers:
  - name: c
    image: i
    resources: {requests: {cpu: 100m}}
"""
NESTED_ALIASES = b"a: &a [x, x]\n" + b"".join(
    b"%c: &%c [*%c, *%c]\n" % (n, n, n - 1, n - 1) for n in range(ord("b"), ord("z"))
)


def _expect_client_error(error: ApiError) -> None:
    if not 400 <= error.status < 500:
        raise AssertionError(f"refused with {error.status}") from error


def _body(content: bytes, media: str) -> None:
    try:
        read_body(Request("POST", "/api/v1/pods", headers={"content-type": media}, body=content))
    except ApiError as error:
        _expect_client_error(error)


def read_json_body(content: bytes) -> None:
    """Read a JSON body."""
    _body(content, "application/json")


def read_yaml(content: bytes) -> None:
    """Read a YAML body."""
    _body(content, "application/yaml")


def read_protobuf(content: bytes) -> None:
    """Read a protobuf body."""
    try:
        decode_object(content)
    except ApiError as error:
        _expect_client_error(error)


def read_json_patch(content: bytes) -> None:
    """Apply a JSON patch to a small document."""
    try:
        steps = read_json(content)
    except (ApiError, ValueError):
        return
    try:
        apply_json_patch({"a": {"b": [1, 2, {"c": "d"}]}}, steps)
    except ApiError as error:
        _expect_client_error(error)


def read_selectors(content: bytes) -> None:
    """Read a text as label selector and as field selector."""
    text = content.decode("latin-1")
    for read in (label_requirements, lambda content: field_requirements(content, "pods")):
        try:
            for requirement in read(text):
                if callable(requirement):
                    requirement({"a": "b", "n": "12"})
        except ApiError as error:
            _expect_client_error(error)


def read_strategic_patch(content: bytes) -> None:
    """Merge two bodies, split at a zero byte, strategically as a Deployment."""
    live, _, change = content.partition(b"\0")
    try:
        left, right = read_json(live), read_json(change)
        if isinstance(left, dict) and isinstance(right, dict):
            apply_patch(left, STRATEGIC, right, root_of("apps", "v1", "Deployment"))
    except ValueError:
        return
    except ApiError as error:
        _expect_client_error(error)


def read_fields(content: bytes) -> None:
    """Read managedFields, and write back what was read."""
    try:
        entries = read_json(content)
        owners = read_owners(entries if isinstance(entries, list) else [entries])
    except (ApiError, ValueError, AttributeError):
        return
    assert read_owners(to_entries(owners)) is not None


def read_list_options(content: bytes) -> None:
    """Read a query of a list and of a watch."""
    query = dict(parse_qsl(content.decode("latin-1"), keep_blank_values=True))
    for read in (list_options, watch_options):
        try:
            read(query)
        except ApiError as error:
            _expect_client_error(error)


def answer_request(content: bytes) -> None:
    """Answer `METHOD path?query`, a zero byte, a content type, a zero byte and a body."""
    line, _, rest = content.partition(b"\0")
    media, _, body = rest.partition(b"\0")
    method, _, target = line.decode("latin-1").partition(" ")
    path, _, text = target.partition("?")
    query = dict(parse_qsl(text, keep_blank_values=True))
    headers = {"content-type": media.decode("latin-1"), "accept": "application/json"}
    router = Router(_cluster().clone())
    answer = router.handle(Request(method, path or "/", query, headers, body))
    if isinstance(answer, WatchResponse):
        b"".join(answer.initial)
    elif isinstance(answer, Response) and answer.status >= 500 and answer.status not in (501, 504):
        raise AssertionError(f"{answer.status}: {answer.body[:200]!r}")


@cache
def _cluster() -> Engine:
    made = Engine(None, 1)
    made.add_nodes(open_workload("idle", nodes=2, seed=1).nodes)
    for name in ("a", "b"):
        made.store.create("configmaps", "default", {"metadata": {"name": name}})
    return made


MAPS = b"/api/v1/namespaces/default/configmaps"
ENTRIES = (
    Entry("twin-json", read_json_body, (POD, b"{}", b"[1e5]", b'{"a":"\\ud83d\\ude00"}')),
    Entry("twin-yaml", read_yaml, (YAML_POD, NESTED_ALIASES, b"a: {b: [c, 1, 0x10, ~]}\n--- \n")),
    Entry(
        "twin-protobuf", read_protobuf, (b"k8s\0\n\x09\n\x02v1\x12\x03Pod\x12\x05\n\x03\n\x01p",)
    ),
    Entry(
        "twin-json-patch",
        read_json_patch,
        (
            b'[{"op":"add","path":"/a/b/-","value":1},{"op":"test","path":"/a/b/0","value":1}]',
            b'[{"op":"copy","from":"/a","path":"/a/b/0"},{"op":"move","from":"/a/b","path":"/c"}]',
            b'[{"op":"remove","path":"/a/b/2/c"},{"op":"replace","path":"/a","value":{}}]',
        ),
    ),
    Entry(
        "twin-strategic-patch",
        read_strategic_patch,
        (
            b'{"spec":{"replicas":1}}\0{"spec":{"replicas":null,"$patch":"replace"}}',
            b'{"metadata":{"finalizers":["a"]}}\0{"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}}',
            b'{"a":{"finalizers":["a"]}}\0{"a":{"$setElementOrder/finalizers":["b"],"finalizers":["b"]}}',
        ),
    ),
    Entry(
        "twin-managed-fields",
        read_fields,
        (
            b'[{"manager":"m","operation":"Update","fieldsV1":{"f:data":{".":{},"k:{}":{"v:1":{}}}}}]',
            b'[{"operation":"Apply","apiVersion":"v1","time":"t","fieldsV1":{"f:a":{"i:1":{}}}}]',
        ),
    ),
    Entry(
        "twin-list-options",
        read_list_options,
        (
            b"limit=5&continue=WzEsImEiLCJiIl0=&resourceVersion=7&resourceVersionMatch=Exact",
            b"watch=1&timeoutSeconds=9&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
        ),
    ),
    Entry(
        "twin-request",
        answer_request,
        (
            b"GET " + MAPS + b"?watch=1&resourceVersion=1\0\0",
            b"GET /api/v1/pods?limit=1&continue=WzEsImEiLCJiIl0=\0\0",
            b"POST " + MAPS + b'\0application/json\0{"metadata":{"name":"c"},"data":{"a":"b"}}',
            b"POST /api/v1/namespaces/default/pods\0application/json\0" + POD,
            b"PUT " + MAPS + b'/a\0application/json\0{"metadata":{"name":"a"},"data":{"a":"b"}}',
            b"PATCH " + MAPS + b'/a\0application/merge-patch+json\0{"data":{"a":null}}',
            b"PATCH "
            + MAPS
            + b"/a?fieldManager=m\0application/apply-patch+yaml\0apiVersion: v1\nkind: ConfigMap\n",
            b"DELETE " + MAPS + b"/a?propagationPolicy=Orphan\0\0",
            b'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews\0application/json\0{"spec":{}}',
        ),
    ),
    Entry(
        "twin-selectors",
        read_selectors,
        (b"a=b,c!=d,e in (f,g),!h,i,j notin (k),n>3", b"metadata.name=a,status.phase!=Running"),
    ),
)
