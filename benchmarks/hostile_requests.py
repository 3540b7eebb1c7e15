"""Single requests of a hostile client, for `benchmarks.twin_hostile`."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

from benchmarks.hostile_inputs import MAPS, PODS, Hostile, connections, heads, request

YAML = "application/yaml"
STEPS = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
STRATEGIC = "application/strategic-merge-patch+json"
PROTOBUF = "application/vnd.kubernetes.protobuf"


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _map(**more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hostile"}, **more}


def yaml_bodies() -> Iterator[Hostile]:
    """Yield YAML that is costly to read."""
    aliases = b"a: &a [x, x]\n" + b"".join(
        b"%c: &%c [*%c, *%c]\n" % (n, n, n - 1, n - 1) for n in range(ord("b"), ord("z"))
    )
    create = ("POST", MAPS)
    yield request("body", "YAML, 430 bytes of nested aliases", *create, aliases, YAML)
    yield request("body", "YAML, 20 kB of brackets", *create, b"[" * 20_000, YAML)
    yield request("body", "YAML, 20 kB of nested maps", *create, b"{a: " * 5_000, YAML)
    yield request("body", "YAML, 20 kB of nested lists", *create, b"- " * 10_000, YAML)
    yield request("body", "YAML, 400 kB of directives", *create, b"%TAG !a! b\n" * 40_000, YAML)
    yield request("body", "YAML, a number in base 60", *create, b"a: 1" + b":1" * 200_000, YAML)
    yield request(
        "body", "YAML, 1 MB in one text", *create, b"a: '" + b"x\n " * 300_000 + b"'", YAML
    )
    yield request("body", "YAML, 3 MB of comments", *create, b"#\n" * 1_500_000, YAML)
    flat = b"\n".join(b"k%d: v" % n for n in range(1_900))
    yield request("body", "YAML, as many values as are read", *create, flat, YAML)
    yield request("body", "YAML as an apply", "PATCH", f"{MAPS}/x?fieldManager=a", aliases, APPLY)


def json_bodies() -> Iterator[Hostile]:
    """Yield JSON and protobuf that is costly to read."""
    create = ("POST", MAPS)
    yield request("body", "JSON, 3 MB of empty lists", *create, b"[" + b"[]," * 900_000 + b"1]")
    yield request("body", "JSON, 100 kB of brackets", *create, b"[" * 100_000)
    yield request("body", "JSON, a number of 1 MB", *create, b'{"a":' + b"9" * 1_000_000 + b"}")
    yield request("body", "JSON, 3 MB of escapes", *create, b'{"a":"' + b"\\n" * 1_400_000 + b'"}')
    yield request("body", "JSON, 3 MB of quotes", *create, b'"' * 3_000_000)
    yield request(
        "body", "JSON, one key 9,000 times", *create, b"{" + b'"a":1,' * 9_000 + b'"b":1}'
    )
    yield request("body", "4 MB", *create, _json(_map(data={"a": "x" * 4_000_000})))
    yield request(
        "body",
        "gzip of 100 MB",
        *create,
        gzip.compress(b" " * 100_000_000, 1),
        "",
        "Content-Encoding: gzip",
    )
    many = b"k8s\0" + b"\x12\xfe\xff\x7f" + b"\x0a\x00" * 1_000_000
    yield request("body", "protobuf, a million records", *create, many, PROTOBUF)


def objects() -> Iterator[Hostile]:
    """Yield objects and patches that are costly to store."""
    create = ("POST", MAPS)
    full = _json(_map(data={f"k{n}": "v" for n in range(1_900)}))
    yield request("body", "as many values as are stored", *create, full)
    yield request(
        "body",
        "annotations of 300 kB",
        *create,
        _json(_map(metadata={"name": "a", "annotations": {"a": "x" * 300_000}})),
    )
    yield request(
        "body",
        "1,900 bad labels",
        *create,
        _json(_map(metadata={"name": "a", "labels": {f"k {n}": "v v" for n in range(1_900)}})),
    )
    yield request(
        "body",
        "a field name with a line break",
        *create,
        _json({"metadata": {"generateName": "odd-"}, "a\r\nb": 1}),
    )
    whole = _map(metadata={"name": "applied"}, data={f"k{n}": "v" for n in range(1_900)})
    yield request(
        "body",
        "apply of 1,900 fields",
        "PATCH",
        f"{MAPS}/applied?fieldManager=a",
        _json(whole),
        APPLY,
    )


def patches() -> Iterator[Hostile]:
    """Yield patches that are costly to apply, and odd options."""
    full = _json(_map(data={"a": "v"}))
    put = [{"op": "add", "path": "/data", "value": {"a": "x"}}]
    doubling = [{"op": "copy", "from": "/data", "path": f"/data/{n}"} for n in range(60)]
    target = f"{MAPS}/applied"
    yield request(
        "body",
        "JSON patch that doubles with each step",
        "PATCH",
        target,
        _json(put + doubling),
        STEPS,
    )
    yield request(
        "body",
        "JSON patch of 2,400 steps",
        "PATCH",
        target,
        _json([{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 2_400),
        STEPS,
    )
    yield request(
        "body",
        "JSON patch with a path of 100,000 parts",
        "PATCH",
        target,
        _json([{"op": "test", "path": "/a" * 100_000, "value": 1}]),
        STEPS,
    )
    names = [f"a/b{n}" for n in range(1_900)]
    yield request(
        "body",
        "strategic merge of 1,900 names",
        "PATCH",
        target,
        _json({"metadata": {"finalizers": names}}),
        STRATEGIC,
    )
    yield request(
        "body", "manager of 5,000 characters", "POST", f"{MAPS}?fieldManager={'m' * 5_000}", full
    )
    yield request("body", "an unknown dryRun", "POST", f"{MAPS}?dryRun=Maybe", full)


def paths() -> Iterator[Hostile]:
    """Yield paths and queries that are costly to answer."""
    brackets = "W1tb" * 700
    yield request("query", "continue of nested brackets", "GET", f"{PODS}?continue={brackets}")
    yield request(
        "query", "resourceVersion of 5,000 digits", "GET", f"{PODS}?resourceVersion={'9' * 5_000}"
    )
    yield request("query", "limit of 30 digits", "GET", f"{PODS}?limit={'9' * 30}")
    yield request("query", "limit=1000000", "GET", f"{PODS}?limit=1000000")
    yield request(
        "query",
        "timeoutSeconds of 30 digits",
        "GET",
        f"{PODS}?watch=true&timeoutSeconds={'9' * 30}",
    )
    yield request(
        "query", "selector of 16,000 commas", "GET", f"{PODS}?labelSelector={'a,' * 8_000}"
    )
    yield request(
        "query", "selector of 100 terms", "GET", f"{PODS}?labelSelector={'a!=b,' * 99}c!=d"
    )
    yield request(
        "query",
        "field selector on all pods",
        "GET",
        f"{PODS}?fieldSelector=spec.restartPolicy=Never",
    )
    yield request(
        "query",
        "the same, one page",
        "GET",
        f"{PODS}?limit=1&fieldSelector=spec.restartPolicy=Never",
    )
    yield request("query", "10,000 parameters", "GET", f"{PODS}?{'a=b&' * 7_000}")


def forms() -> Iterator[Hostile]:
    """Yield odd paths, and answers in forms that are costly to make; then the clock."""
    yield request("query", "a URL of 60 kB", "GET", f"{PODS}?a={'b' * 60_000}")
    yield request("query", "a name of 20 kB", "GET", f"{MAPS}/{'n' * 20_000}")
    yield request("query", "a method that is none", "BREW", PODS)
    accepted = ",".join(["application/json;as=Table;v=v9;g=x"] * 1_500)
    yield request(
        "query", "an Accept of 50 kB", "GET", f"{PODS}?limit=1", b"", "", f"Accept: {accepted}"
    )
    yield request(
        "query",
        "all pods as a table",
        "GET",
        PODS,
        b"",
        "",
        "Accept: application/json;as=Table;v=v1;g=meta.k8s.io",
    )
    yield request("query", "all pods as YAML", "GET", PODS, b"", "", "Accept: application/yaml")
    yield request(
        "query", "300 pods as YAML", "GET", f"{PODS}?limit=300", b"", "", "Accept: application/yaml"
    )
    yield request("query", "all pods with indents", "GET", f"{PODS}?pretty=true")
    yield request(
        "query",
        "upgrade to a WebSocket",
        "GET",
        f"{PODS}?watch=true&timeoutSeconds=1",
        b"",
        "",
        "Upgrade: websocket",
        "Connection: Upgrade",
    )
    clock = "/foresail/v1/clock"
    for step in (1e300, -1, 0, "x", True, None, [[]]):
        yield request(
            "clock",
            f"step_seconds {json.dumps(step)[:8]}",
            "POST",
            clock,
            _json({"step_seconds": step}),
        )
    yield request("clock", "speed 1e300", "POST", clock, b'{"speed":1e300}')
    yield request("clock", "a step of a year", "POST", clock, b'{"step_seconds":31536000}')
    yield request("clock", "as before again", "POST", clock, b'{"paused":false,"speed":1}')


def all_inputs() -> list[Hostile]:
    """Return every input, the slow ones last."""
    single = [*yaml_bodies(), *json_bodies(), *objects(), *patches(), *paths(), *forms()]
    return [*single, *heads(), *connections()]
