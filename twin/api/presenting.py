"""Answers in other forms than compact JSON: YAML and indented JSON for people, protobuf for who reads that alone."""

from __future__ import annotations

import json
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Literal

import yaml

from twin.api.messages import JSON, Request, Response, StreamedResponse, WatchResponse, respond
from twin.api.negotiation import PROTOBUF, YAML, accepted
from twin.api.schema.wire_out import encode_event, encode_object
from twin.changes import Change
from twin.errors import ApiError

Answer = Response | StreamedResponse | WatchResponse
Style = Literal["yaml", "pretty", "protobuf"]
_PLAIN = frozenset({"application/json", "*/*", YAML})
LARGEST = 2 << 20
"""Bytes of an answer that is rewritten; that takes seconds for longer ones."""


def response_style(answer: Answer, request: Request) -> Style | None:
    """Return how an answer is to be rewritten by `pretty` and `Accept`; watches stay lines of JSON."""
    if isinstance(answer, WatchResponse) or not answer.content_type.startswith(JSON):
        return None
    accept = request.headers.get("accept", "").strip()
    if accept.startswith(YAML):
        return "yaml"
    if reads_protobuf_alone(accept) and not _refuses_another_form(answer, accept):
        return "protobuf"
    return "pretty" if request.query.get("pretty", "") in {"true", "1"} else None


def reads_protobuf_alone(accept: str) -> bool:
    """Say whether a client accepts protobuf and nothing that costs less to write."""
    media = [part.partition(";")[0].strip() for part in accept.split(",")]
    return PROTOBUF in media and _PLAIN.isdisjoint(media)


def _refuses_another_form(answer: Response | StreamedResponse, accept: str) -> bool:
    """Say whether it is a refusal for who asked for a form of objects, which a refusal does not have: that is JSON."""
    refused = isinstance(answer, Response) and answer.status >= HTTPStatus.BAD_REQUEST
    return refused and not any(
        media == PROTOBUF and "as=" not in form for media, form in accepted(accept)
    )


def in_frames(answer: WatchResponse) -> WatchResponse:
    """Return a watch whose lines are frames of protobuf."""

    def frames(lines: bytes) -> bytes:
        return b"".join(encode_event(line) or b"" for line in lines.splitlines())

    def translate(change: Change) -> bytes | None:
        line = answer.translate(change)
        return None if line is None else frames(line)

    beat = answer.bookmark
    return replace(
        answer,
        initial=(frames(lines) for lines in answer.initial),
        translate=translate,
        bookmark=None if beat is None else lambda: frames(beat()),
        content_type=f"{PROTOBUF};stream=watch",
    )


def too_long() -> Response:
    """406 of an answer that is too long to be rewritten."""
    why = f"an answer of more than {LARGEST} bytes is served as compact JSON only; use limit"
    return respond(406, ApiError(406, "NotAcceptable", why).to_status())


def restyle(answer: Response, style: Style) -> Response:
    """Return an answer in another style. Slow: up to some seconds for the largest."""
    content = json.loads(answer.body)
    if style == "protobuf":
        encoded = encode_object(content)
        if encoded is None:
            return answer
        kind = answer.content_type.replace(JSON, PROTOBUF, 1)
        return Response(answer.status, encoded, kind, answer.headers)
    if style == "yaml":
        return Response(answer.status, _yaml(content).encode(), YAML, answer.headers)
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return Response(answer.status, text.encode(), answer.content_type, answer.headers)


def _yaml(content: Any) -> str:
    """Write YAML, the items of a list one by one: in between, other threads have their turn."""
    items = content.get("items") if isinstance(content, dict) else None
    if not isinstance(items, list) or not items:
        return _dump_yaml(content)
    first = {name: value for name, value in content.items() if name < "items"}
    rest = {name: value for name, value in content.items() if name > "items"}
    middle = "".join(_dump_yaml([item]) for item in items)
    return f"{_dump_yaml(first)}items:\n{middle}{_dump_yaml(rest)}"


def _dump_yaml(content: Any) -> str:
    text: str = yaml.dump(
        content,
        Dumper=yaml.CSafeDumper,
        sort_keys=True,
        allow_unicode=True,
        default_flow_style=False,
    )
    return text
