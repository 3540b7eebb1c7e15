"""Answers in forms for people: YAML, or JSON with indents."""

from __future__ import annotations

import json
from typing import Any, Literal

import yaml

from twin.api.messages import JSON, Request, Response, StreamedResponse, WatchResponse, respond
from twin.errors import ApiError

Answer = Response | StreamedResponse | WatchResponse
Style = Literal["yaml", "pretty"]
YAML = "application/yaml"
LARGEST = 2 << 20
"""Bytes of an answer that is rewritten; that takes seconds for longer ones."""


def response_style(answer: Answer, request: Request) -> Style | None:
    """Return how an answer is to be rewritten by `pretty` and `Accept`; watches stay lines of JSON."""
    if isinstance(answer, WatchResponse) or not answer.content_type.startswith(JSON):
        return None
    if request.headers.get("accept", "").strip().startswith(YAML):
        return "yaml"
    return "pretty" if request.query.get("pretty", "") in {"true", "1"} else None


def too_long() -> Response:
    """406 of an answer that is too long to be rewritten."""
    why = f"an answer of more than {LARGEST} bytes is served as compact JSON only; use limit"
    return respond(406, ApiError(406, "NotAcceptable", why).to_status())


def restyle(answer: Response, style: Style) -> Response:
    """Return an answer in another style. Slow: up to some seconds for the largest."""
    content = json.loads(answer.body)
    if style == "yaml":
        return Response(answer.status, _yaml(content).encode(), YAML, answer.headers)
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return Response(answer.status, text.encode(), answer.content_type, answer.headers)


def _yaml(content: Any) -> str:
    """Write YAML, the items of a list one by one: in between, other threads have their turn."""
    items = content.get("items") if isinstance(content, dict) else None
    if not isinstance(items, list) or not items:
        return _dump_yaml(content)
    rest = _dump_yaml({name: value for name, value in content.items() if name != "items"})
    return f"{rest}items:\n{''.join(_dump_yaml([item]) for item in items)}"


def _dump_yaml(content: Any) -> str:
    text: str = yaml.dump(
        content,
        Dumper=yaml.CSafeDumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
    )
    return text
