"""Requests one after the other, and what kube-apiserver 1.36 answered to each of them.

A flow is a name and its steps; `flow_answers.json` has the answers, without what every run draws anew.
`python -m twin.tests.contract.flows` asks a real server again and writes that file.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qsl

from twin.tests.contract.faces import APPLY, JSON, JSON_PATCH, MERGE, STRATEGIC, Face, OverHttp

FILE = Path(__file__).with_name("flow_answers.json")
FORMS = {
    "POST": ("POST", JSON), "PUT": ("PUT", JSON), "DELETE": ("DELETE", JSON), "GET": ("GET", JSON),
    "MERGE": ("PATCH", MERGE), "STRATEGIC": ("PATCH", STRATEGIC), "JSON": ("PATCH", JSON_PATCH),
    "APPLY": ("PATCH", APPLY),
}  # fmt: skip
"""What a step begins with: a method, or a patch by its sort."""
Step = tuple[Any, ...]
"""A word of FORMS, a path with its query, a body if there is one, what is accepted if it is not JSON."""
_UID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_DRAWN = frozenset({"resourceVersion", "clusterIP", "nodePort", "healthCheckNodePort", "continue"})
_DRAWN_LISTS = frozenset({"clusterIPs"})
_VERSION_TEXT = re.compile(r"(resource version: |current: |in record \()\d+")
_MADE = re.compile(r"(made-)[a-z0-9]{5}\b")


@dataclass(frozen=True, slots=True)
class Flow:
    """Some requests in a namespace of their own."""

    name: str
    steps: tuple[Step, ...]
    seen: tuple[str, ...] = ()
    """The parts of objects that are compared, by dotted paths; none: everything."""


def answers(face: Face, namespace: str, flow: Flow) -> Iterator[dict[str, Any]]:
    """Take each step and yield its answer without what is drawn."""
    known = {"ns": namespace}
    for step in flow.steps:
        word, target, *more = step
        body = more[0] if more else None
        accept = more[1] if len(more) > 1 else JSON
        path, _, text = _filled(target.replace("{}", namespace), known).partition("?")
        query = dict(parse_qsl(text, keep_blank_values=True))
        method, kind = FORMS[word]
        if isinstance(body, bytes):
            raw: Any = body
        else:
            raw = None if body is None else json.loads(_filled(json.dumps(body), known))
        found = face.ask(method, path, query, raw, kind, accept)
        _learn(known, found.body)
        answer: dict[str, Any] = {"status": found.status}
        if found.body is None:
            answer["text"] = _plain(found.text, namespace) if "protobuf" not in _type(found) else ""
        else:
            answer["body"] = _narrowed(_plain(found.body, namespace), flow.seen)
        if face.has_headers:
            answer["type"] = _type(found)
            if found.headers.get("warning"):
                answer["warning"] = _plain(found.headers["warning"], namespace)
        yield answer


def _type(found: Any) -> str:
    return str(found.headers.get("content-type", ""))


def _filled(text: str, known: dict[str, str]) -> str:
    """Return a text with what is known in the place of <ns>, <uid>, <version>, <continue> and <name>."""
    for name, value in known.items():
        text = text.replace(f"<{name}>", value)
    return text


def _learn(known: dict[str, str], body: Any) -> None:
    """Keep what later steps refer to as <uid>, <version> and <continue>."""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    if isinstance(metadata, dict):
        for name, key in (
            ("uid", "uid"),
            ("version", "resourceVersion"),
            ("continue", "continue"),
            ("name", "name"),
        ):
            if metadata.get(key):
                known[name] = str(metadata[key])


def _plain(value: Any, namespace: str) -> Any:
    """Return an answer without what is drawn anew each time."""
    if isinstance(value, dict):
        made = {}
        for name, each in value.items():
            if name in _DRAWN and each and each != "None":
                made[name] = name
            elif name == "managedFields" and isinstance(each, list):
                plain = [_plain(one, namespace) for one in each]
                made[name] = sorted(plain, key=lambda one: json.dumps(one, sort_keys=True))
            elif name in _DRAWN_LISTS and each != ["None"]:
                made[name] = [name]
            else:
                made[_text(name, namespace)] = _plain(each, namespace)
        return made
    if isinstance(value, list):
        return [_plain(each, namespace) for each in value]
    return _text(value, namespace) if isinstance(value, str) else value


def _text(text: str, namespace: str) -> str:
    text = _TIME.sub("TIME", _UID.sub("UID", text.replace(namespace, "{}")))
    return _MADE.sub(r"\1xxxxx", _VERSION_TEXT.sub(r"\1N", text))


def _narrowed(body: Any, seen: tuple[str, ...]) -> Any:
    if not seen or body.get("kind") == "Status":
        return body
    return {path: _at(body, path.split(".")) for path in seen}


def _at(value: Any, parts: list[str]) -> Any:
    for number, part in enumerate(parts):
        if isinstance(value, list):
            return [_at(each, parts[number:]) for each in value]
        value = value.get(part) if isinstance(value, dict) else None
    return value


def main() -> int:
    """Ask a real API server and write the file again."""
    from tests.real_api_server import real_server_in
    from twin.tests.contract.flow_rows import FLOWS, ON_THE_WIRE

    recorded = {}
    with TemporaryDirectory() as folder, real_server_in(Path(folder)) as server:
        face = OverHttp(server.kubeconfig, "real", simulated=False)
        for number, flow in enumerate([*FLOWS, *ON_THE_WIRE]):
            namespace = f"flow-{number}"
            face.ask("POST", "/api/v1/namespaces", body={"metadata": {"name": namespace}})
            recorded[flow.name] = list(answers(face, namespace, flow))
        face.close()
    write(recorded)
    return 0


def write(recorded: dict[str, Any]) -> None:
    """Write answers to the file, one a line."""
    lines = []
    for name, found in recorded.items():
        rows = ",\n".join(json.dumps(one, sort_keys=True) for one in found)
        lines.append(f"{json.dumps(name)}: [\n{rows}\n]")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
