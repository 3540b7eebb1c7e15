"""Answers in the form that a person asks for: YAML, or JSON with indents."""

from __future__ import annotations

import json

import yaml

from twin.api.messages import JSON, Request, Response, StreamedResponse, WatchResponse

Answer = Response | StreamedResponse | WatchResponse
YAML = "application/yaml"


def presented(answer: Answer, request: Request) -> Answer:
    """Return an answer as `pretty` and `Accept` ask for it; watches stay lines of JSON."""
    in_yaml = request.headers.get("accept", "").strip().startswith(YAML)
    pretty = request.query.get("pretty", "") in {"true", "1"}
    if not (in_yaml or pretty) or isinstance(answer, WatchResponse):
        return answer
    if not answer.content_type.startswith(JSON):
        return answer
    if isinstance(answer, StreamedResponse):
        body = b"".join(answer.chunks)
        answer.close()
        answer = Response(200, body, answer.content_type)
    content = json.loads(answer.body)
    if in_yaml:
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
        return Response(answer.status, text.encode(), YAML, answer.headers)
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return Response(answer.status, text.encode(), answer.content_type, answer.headers)
