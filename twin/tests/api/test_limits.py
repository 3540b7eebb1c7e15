"""What a client may send is bounded, and every bound refuses with a Status."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fuzz.mutation import ANY_JSON, FUZZ
from twin.api import limits
from twin.api.access import READER
from twin.api.bodies import ClientObject
from twin.api.limits import check_json, read_yaml
from twin.api.messages import JSON, Request, Response
from twin.api.versions import LONGEST_TIMEOUT_SECONDS, watch_options
from twin.errors import ApiError
from twin.tests.api.conftest import APPLY, MERGE, Api

MAPS = "/api/v1/namespaces/default/configmaps"
STEPS = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
ALIASES = b"a: &a [x, x]\n" + b"".join(
    b"%c: &%c [*%c, *%c]\n" % (n, n, n - 1, n - 1) for n in range(ord("b"), ord("z"))
)


def config_map(name: str = "a", **metadata: Any) -> dict[str, Any]:
    """Return a ConfigMap with two keys."""
    return {"metadata": {"name": name, **metadata}, "data": {"a": "x", "b": "y"}}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (ALIASES, 413),
        (b"[" * 20_000, 400),
        (b"{a: " * 500, 400),
        (b"- " * 10_000, 400),
        (b"%TAG !a! b\n" * 40_000, 400),
        (b"%YAML 1.1\n---\nmetadata: {name: b}\n", 400),
        (b"metadata: {name: b}\na: 1" + b":1" * 40, 400),
        (b"a: 1" + b":1" * 100_000, 400),
        (b"a: 1\n" * 1_000_000, 413),
        (b"a: &a [*a]\n", 400),
        (b"a: !!python/name:os.system x\n", 400),
        (b"a: !!binary aGVsbG8=\n", 400),
        (b"metadata: {name: b}\na: !!int '1'\n", 400),
        (b"? [a]\n: b\n", 400),
        (b'"\\ud800": b\n', 400),
        (b"\xff\xfea\x00:\x00 \x00b\x00", 400),
        (b"\n".join(b"k%d: v" % n for n in range(limits.MOST_VALUES + 1)), 413),
    ],
    ids=lambda value: str(value)[:30],
)
def test_yaml_is_read_within_limits(api: Api, body: bytes, status: int) -> None:
    """Aliases, depth, size, directives, tags and long numbers of YAML are refused, not followed."""
    assert api.ask("POST", MAPS, body, kind=YAML)[0] == status
    assert api.ask("PATCH", f"{MAPS}/a", body, kind=APPLY, fieldManager="m")[0] == status


def test_an_alias_that_stands_for_little_is_followed(api: Api) -> None:
    """Anchors and aliases as people write them are read."""
    body = b"metadata: {name: a, labels: &l {k: v}, annotations: *l}\ndata: {1: 'on', 2: '2026-01-01'}\n"
    status, made = api.ask("POST", MAPS, body, kind=YAML)

    assert (status, made["metadata"]["annotations"]) == (201, {"k": "v"})
    assert made["data"] == {"1": "on", "2": "2026-01-01"}


def test_an_alias_counts_as_much_as_what_it_repeats() -> None:
    """A list of a thousand values may be repeated once within the limits, and not twice."""
    base = f"a: &a [{', '.join('x' * 1_300)}]\nb: *a\nc: "
    assert len(read_yaml(f"{base}1".encode())["b"]) == 1_300
    with pytest.raises(ApiError) as refused:
        read_yaml(f"{base}[*a, *a]".encode())

    assert refused.value.status == 413


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[" + b"[]," * 900_000 + b"1]", 413),
        (b"[" * 1_000, 400),
        (b'{"a":' * 65 + b"1" + b"}" * 65, 400),
        (b'{"a":' + b"9" * 65 + b"}", 400),
        (b'{"a":NaN}', 400),
        (b'{"a":"\\ud800"}', 400),
        (b'"' * 3_000_000, 413),
        (b" " * (limits.LARGEST_BODY + 1), 413),
        ('{"a":1}'.encode("utf-16"), 400),
        (b"\x1f\x8b\x08\x00\x00\x00", 400),
    ],
    ids=lambda value: str(value)[:30],
)
def test_json_is_read_within_limits(api: Api, body: bytes, status: int) -> None:
    """Size, values, depth and long numbers of JSON are refused before it is parsed."""
    assert api.ask("POST", MAPS, body)[0] == status


def test_what_stands_in_texts_does_not_count(api: Api) -> None:
    """Brackets, commas, quotes and digits within a text are no values."""
    text = '[[{,"\\' * 20_000 + "9" * 500
    status, made = api.ask("POST", MAPS, {"metadata": {"name": "a"}, "data": {"a": text}})

    assert (status, made["data"]["a"]) == (201, text)


def _values(value: Any) -> int:
    """Count containers, and all members but the first of each."""
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(0, len(value) - 1) + sum(map(_values, inner))


def _depth(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, inner), default=0)


@FUZZ
@given(ANY_JSON.filter(lambda value: isinstance(value, dict | list)), st.booleans())
@example(["\\", [[], []]], True)
@example({'"': ['\\"', []], "[": {}}, False)
def test_values_and_depth_are_counted_exactly(value: Any, ascii_only: bool) -> None:
    """A limit of just what a JSON text holds lets it pass; one less refuses it."""
    text = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    values, depth = _values(value), _depth(value)
    check_json(text, values=values, deepest=depth)
    for less in ({"values": values - 1}, {"deepest": depth - 1}):
        with pytest.raises(ApiError):
            check_json(text, **less)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"continue": "W1tb" * 700}, 400),
        ({"continue": "x" * 5_000}, 400),
        ({"continue": "WzFlMywiYSIsImIiXQ=="}, 400),
        ({"continue": "Wy01LCJhIiwiYiJd"}, 410),
        ({"resourceVersion": "9" * 5_000}, 400),
        ({"resourceVersion": "9" * 20}, 400),
        ({"limit": "9" * 30}, 400),
        ({"watch": "true", "timeoutSeconds": "9" * 30}, 400),
        ({"labelSelector": "a," * 20_000}, 414),
        ({"labelSelector": "a," * 8_100}, 400),
        ({"labelSelector": ",".join(["a"] * 101)}, 400),
        ({"labelSelector": "a>" + "9" * 5_000}, 400),
        ({"fieldSelector": ",".join(["metadata.name=a"] * 17)}, 400),
        ({f"a{n}": "b" for n in range(65)}, 414),
        ({"a": "b" * 40_000}, 414),
    ],
    ids=lambda value: str(value)[:40],
)
def test_queries_are_read_within_limits(api: Api, query: dict[str, str], status: int) -> None:
    """Tokens, versions, numbers and selectors beyond the limits are refused, briefly."""
    response, content = api.ask("GET", "/api/v1/pods", None, **query)

    assert (response, content["kind"]) == (status, "Status")
    assert len(content["message"]) < 1_500


def test_selectors_at_the_limits_are_read(api: Api) -> None:
    """A hundred label terms and sixteen field terms select as they say."""
    labels = ",".join(["!a"] * 99 + ["b notin (c,d)"])
    fields = ",".join(["metadata.name!=x"] * 16)
    api.ask("POST", MAPS, config_map())

    response = api.ask("GET", MAPS, None, labelSelector=labels, fieldSelector=fields)[1]
    assert [item["metadata"]["name"] for item in response["items"]] == ["a"]


def test_a_watch_lasts_a_day_at_most() -> None:
    """A time-out that no timer can hold becomes a day."""
    assert watch_options({"timeoutSeconds": "9" * 17}).timeout_seconds == LONGEST_TIMEOUT_SECONDS


@pytest.mark.parametrize("manager", ["m" * 129, "a\nb"])
def test_a_field_manager_has_a_name(api: Api, manager: str) -> None:
    """A fieldManager that is too long or cannot be printed is refused as by a real server."""
    status, content = api.ask("POST", MAPS, config_map(), fieldManager=manager)

    assert (status, content["details"]["causes"][0]["field"]) == (422, "fieldManager")


def test_annotations_have_a_size(api: Api) -> None:
    """256 KiB of annotations are kept; a byte more is refused."""
    room = 256 * 1024 - len("a") - len("b")
    just = config_map(annotations={"a": "x" * (room - 5), "b": "y" * 5})
    over = config_map("over", annotations={"a": "x" * (room - 5), "b": "y" * 6})

    assert api.ask("POST", MAPS, just)[0] == 201
    assert api.ask("POST", MAPS, over)[0] == 422


@pytest.mark.parametrize("grow", ["values", "bytes"])
def test_an_object_does_not_grow_without_end(
    api: Api, deployment: Callable[..., dict[str, Any]], grow: str
) -> None:
    """Patches that each keep within the limits cannot make an object that does not."""
    path = "/apis/apps/v1/namespaces/default/deployments"
    api.ask("POST", path, deployment())
    statuses = []
    for field in ("args", "command", "env"):
        value: list[Any] = ["v"] * 1_900 if grow == "values" else ["v" * 700_000]
        if field == "env":
            value = [{"name": f"e{n}", "value": "v" * 700_000} for n in range(2)]
        change = {"spec": {"template": {"spec": {"containers": [{"name": "c", field: value}]}}}}
        statuses.append(api.ask("PATCH", f"{path}/web", change, kind=STRATEGIC)[0])
        if statuses[-1] != 200:
            break

    assert statuses == ([200, 413] if grow == "values" else [200, 200, 413])


def test_updaters_become_one_after_ten(api: Api) -> None:
    """The eleventh manager by Update joins the oldest; what each owns stays owned."""
    api.ask("POST", MAPS, config_map(), fieldManager="first")
    for number in range(14):
        api.engine.advance(api.engine.now + 1.0)
        change = {"data": {f"k{number}": "v"}}
        _, made = api.ask("PATCH", f"{MAPS}/a", change, kind=MERGE, fieldManager=f"m{number:02}")
    entries = made["metadata"]["managedFields"]
    owned = {key for entry in entries for key in entry["fieldsV1"]["f:data"]}

    assert len(entries) == 10
    assert "ancient-changes" in {entry["manager"] for entry in entries}
    assert {f"f:k{number}" for number in range(14)} <= owned


def test_a_copy_does_not_double_without_end(api: Api) -> None:
    """A JSON patch whose steps copy what they have copied is refused."""
    api.ask("POST", MAPS, config_map())
    steps = [{"op": "copy", "from": "/data", "path": f"/data/{n}"} for n in range(40)]

    assert api.ask("PATCH", f"{MAPS}/a", steps, kind=STEPS)[0] == 413


def test_long_texts_are_not_copied_without_end(api: Api) -> None:
    """A few steps that each copy a megabyte are refused, too."""
    api.ask("POST", MAPS, {"metadata": {"name": "a"}, "data": {"a": "x" * 1_000_000}})
    steps = [{"op": "copy", "from": "/data/a", "path": f"/data/{n}"} for n in range(2_000)]

    assert api.ask("PATCH", f"{MAPS}/a", steps, kind=STEPS)[0] == 413


@pytest.mark.parametrize(
    "step",
    [
        {"op": "test", "path": "/a" * 100_000, "value": 1},
        {"op": "add", "path": "/metadata/finalizers/" + "9" * 5_000, "value": "a/b"},
        {"op": "move", "from": "/data", "path": "/data/a"},
    ],
    ids=["parts", "index", "into itself"],
)
def test_a_step_that_fits_nothing_is_refused(api: Api, step: dict[str, Any]) -> None:
    """Pointers of any length are refused with a short sentence."""
    api.ask("POST", MAPS, config_map(finalizers=["a/c"]))
    status, content = api.ask("PATCH", f"{MAPS}/a", [step], kind=STEPS)

    assert status == 422
    assert len(content["message"]) < 2_000


def test_a_protobuf_of_a_million_records_is_refused(api: Api) -> None:
    """Records of a protobuf body count as values."""
    labels = b"\x5a\x06\x0a\x01a\x12\x01b" * 40_000  # ObjectMeta.labels is field 11
    metadata = b"\x0a" + _length(labels) + labels
    envelope = b"\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12" + _length(metadata) + metadata
    status, content = api.ask("POST", MAPS, b"k8s\0" + envelope, kind=PROTOBUF)

    assert status == 413, content


def _length(content: bytes) -> bytes:
    size, found = len(content), bytearray()
    while size >= 0x80:
        found.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*found, size])


def test_a_refusal_names_a_hundred_problems(api: Api) -> None:
    """Of more problems the first hundred are named, and how many are left."""
    labels = {f"k {n}": "v" for n in range(150)}
    _, content = api.ask("POST", MAPS, config_map(labels=labels))

    assert len(content["details"]["causes"]) == 101
    assert "50 problems more" in content["message"]


def test_warnings_fit_into_a_header() -> None:
    """Names of unknown fields reach the header without line breaks, 4,096 characters at most."""
    client_object = ClientObject(
        {}, ('unknown field "a\r\nb"', *(f'unknown field "{n}"' for n in range(9_000)))
    )
    header = client_object.headers()["Warning"]

    assert header.startswith('299 - "unknown field \\"a??b\\""')
    assert header.isprintable()
    assert len(header) < 8_192


def test_strategic_lists_of_many_items_are_merged_in_order(api: Api) -> None:
    """Merging by key replaces, deletes and appends, each item where it belongs."""
    env = [{"name": f"e{n}", "value": "old"} for n in range(6)]
    spec = {"containers": [{"name": "c", "image": "i", "env": env}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    path = "/apis/apps/v1/namespaces/default/deployments"
    body = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    assert api.ask("POST", path, {"metadata": {"name": "p"}, "spec": body})[0] == 201
    change = [
        {"name": "e9", "value": "new"},
        {"name": "e2", "$patch": "delete"},
        {"name": "e4", "value": "new"},
        {"name": "e9", "value": "newer"},
    ]
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "c", "env": change}]}}}}
    _, made = api.ask("PATCH", f"{path}/p", patch, kind=STRATEGIC)
    actual = made["spec"]["template"]["spec"]["containers"][0]["env"]

    assert {one["name"]: one["value"] for one in actual} == {
        "e0": "old", "e1": "old", "e3": "old", "e4": "new", "e5": "old", "e9": "newer"
    }  # fmt: skip


def test_who_may_not_write_hears_that_first(api: Api) -> None:
    """A body that cannot be read is refused as forbidden to somebody who may not write."""
    fault = ApiError(400, "BadRequest", "no YAML")
    headers = {"content-type": JSON}
    for identity, status in ((READER, 403), (None, 400)):
        request = Request("POST", MAPS, {}, headers, b"", fault)
        answer = api.router.handle(request, *([identity] if identity else []))
        assert isinstance(answer, Response)
        assert answer.status == status
