"""Writes the published contract: JSON Schemas, the AsyncAPI 3 document and two pages of docs, all
from the models.

`python -m schemas.export` writes them; nobody edits them, and a test fails when they differ from
the models.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema

from schemas.baseline_fields import BASELINE_FIELDS
from schemas.docstrings import DescribedJsonSchema
from schemas.envelope import CONTENT_TYPE, schema_uri
from schemas.model import (
    EVERY_AGENT,
    EVERY_PROCESS,
    EVERY_STATEFUL,
    NOBODY,
    EventData,
    Retention,
)
from schemas.registry import EVENT_TYPES

DIALECT = "https://json-schema.org/draft/2020-12/schema"
HERE = Path(__file__).parent
PARAMETERS = {"proposal": "agent", "prediction": "slot"}
"""What fills in a subject's open token, by layer; elsewhere the process."""
_MATTERS = {
    Retention.LOG: "in its place",
    Retention.FRAMED: "until the next keyframe",
    Retention.STANDING: "until the next one",
    Retention.STATE: "until the next one",
}
"""How long an event of a retention matters, beside the size and age that bound the log."""
HEADERS: dict[str, Any] = {
    "type": "object",
    "description": "CloudEvents 1.0 attributes in NATS binary mode.",
    "required": ["ce-specversion", "ce-id", "ce-type", "ce-source", "ce-time", "ce-correlationid"],
    "properties": {
        "ce-specversion": {"type": "string", "const": "1.0"},
        "ce-id": {
            "type": "string",
            "format": "uuid",
            "description": "UUIDv5 of what the event is about.",
        },
        "ce-type": {"type": "string"},
        "ce-source": {
            "type": "string",
            "description": "/foresail/<cluster>/<incarnation>/<process>",
        },
        "ce-time": {"type": "string", "format": "date-time", "description": "Cluster time."},
        "ce-dataschema": {"type": "string", "description": "urn:foresail:schema:<type>"},
        "ce-correlationid": {
            "type": "string",
            "description": "The cycle: <cluster>/<incarnation>/<number>",
        },
        "ce-causationid": {"type": "string", "description": "Ids of the events that led here."},
        "ce-traceparent": {
            "type": "string",
            "description": "W3C trace context, one trace per cycle.",
        },
        "ce-confighash": {
            "type": "string",
            "description": "Hash of the producer's effective settings.",
        },
        "content-type": {"type": "string", "const": CONTENT_TYPE},
    },
}


def json_schema(kind: type[EventData]) -> dict[str, Any]:
    """Return the JSON Schema of one event type's data."""
    schema = kind.model_json_schema(mode="serialization", schema_generator=DescribedJsonSchema)
    return {"$schema": DIALECT, "$id": schema_uri(kind.TYPE), **schema, "title": kind.TYPE}


def channel_address(kind: type[EventData]) -> tuple[str, dict[str, str]]:
    """Return the AsyncAPI channel address of a type and its parameters with a sentence each."""
    parameters = {"cluster": "Name of the cluster, escaped as one token."}
    tokens = []
    for token in kind.PATTERN:
        if token == "*":
            name = PARAMETERS.get(kind.PATTERN[0], "process")
            parameters[name] = "Number of the slot." if name == "slot" else f"Name of the {name}."
            tokens.append(f"{{{name}}}")
        else:
            tokens.append(token)
    return ".".join(("foresail", "{cluster}", *tokens)), parameters


def asyncapi() -> dict[str, Any]:
    """Return the AsyncAPI 3 document of every channel."""
    _, definitions = models_json_schema(
        [(kind, "serialization") for kind in EVENT_TYPES],
        ref_template="#/components/schemas/{model}",
        schema_generator=DescribedJsonSchema,
    )
    channels: dict[str, Any] = {}
    operations: dict[str, Any] = {}
    messages: dict[str, Any] = {}
    for kind in EVENT_TYPES:
        name = kind.__name__
        where, parameters = channel_address(kind)
        channels[name] = {
            "address": where,
            "description": _sentence(kind),
            "messages": {name: {"$ref": f"#/components/messages/{name}"}},
            "parameters": {key: {"description": text} for key, text in parameters.items()},
        }
        messages[name] = {
            "name": kind.TYPE,
            "title": name,
            "summary": _sentence(kind),
            "contentType": CONTENT_TYPE,
            "headers": {"$ref": "#/components/schemas/Headers"},
            "payload": {"$ref": f"#/components/schemas/{name}"},
        }
        operations[f"publish{name}"] = {
            "action": "send",
            "channel": {"$ref": f"#/channels/{name}"},
            "summary": f"Published by {_producer(kind)}.",
        }
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Foresail events",
            "version": "1.0.0",
            "description": "Every stored subject. Taps read the same subjects under the prefix `live.`.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": CONTENT_TYPE,
        "channels": channels,
        "operations": operations,
        "components": {
            "messages": messages,
            "schemas": {"Headers": HEADERS, **definitions["$defs"]},
        },
    }


def events_page() -> str:
    """Return docs/events.md: each type with subject, producer and fields."""
    lines = [
        "# Events",
        "",
        "Generated by `python -m schemas.export` from the models in `schemas/`; do not edit.",
        "Attributes of the envelope travel as `ce-*` headers (see `schemas/envelope.py`), data as JSON.",
        "",
        "| type | subject | published by | matters |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| [`{kind.TYPE}`](#{_anchor(kind)}) | `{channel_address(kind)[0]}` "
        f"| {_producer(kind)} | {_MATTERS[kind.RETENTION]} |"
        for kind in EVENT_TYPES
    ]
    for kind in EVENT_TYPES:
        schema = json_schema(kind)
        lines += [
            "",
            f"## {kind.TYPE}",
            "",
            _sentence(kind),
            "",
            "| field | form | meaning |",
            "| --- | --- | --- |",
        ]
        for name, field in schema["properties"].items():
            lines.append(
                f"| `{name}` | {_field_type(field)} | {_on_one_line(field.get('description', ''))} |"
            )
    return "\n".join(lines) + "\n"


def baseline_fields_page() -> str:
    """Return docs/baseline-fields.md: the baseline's fields and ours."""
    lines = [
        "# Where every field of the baseline systems lives",
        "",
        "Generated by `python -m schemas.export` from `schemas/baseline_fields.py`; do not edit.",
        "",
        "| baseline field | event type | field | note |",
        "| --- | --- | --- | --- |",
    ]
    for field in BASELINE_FIELDS:
        event_type, _, path = field.path.partition(":")
        lines.append(f"| `{field.baseline}` | {_code(event_type)} | {_code(path)} | {field.note} |")
    return "\n".join(lines) + "\n"


def generated_files() -> Mapping[Path, str]:
    """Return every generated file, relative to the repository, with its content."""
    files = {
        Path("schemas/exported") / f"{kind.TYPE}.json": _pretty(json_schema(kind))
        for kind in EVENT_TYPES
    }
    files[Path("schemas/exported/asyncapi.json")] = _pretty(asyncapi())
    files[Path("docs/events.md")] = events_page()
    files[Path("docs/baseline-fields.md")] = baseline_fields_page()
    return files


def main() -> None:
    """Write every generated file below the repository's root."""
    for path, text in generated_files().items():
        target = HERE.parent / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    sys.stdout.write(f"wrote {len(generated_files())} files\n")


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _producer(kind: type[EventData]) -> str:
    families = {
        EVERY_PROCESS: "every process",
        EVERY_STATEFUL: "every process that keeps state",
        EVERY_AGENT: "each agent",
        NOBODY: "nobody; it stands in imported recordings",
    }
    return families.get(kind.WRITER, f"the {kind.WRITER}")


def _sentence(kind: type[EventData]) -> str:
    return _on_one_line((kind.__doc__ or "").split("\n\n", maxsplit=1)[0])


def _on_one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _anchor(kind: type[EventData]) -> str:
    return kind.TYPE.replace(".", "")


def _field_type(field: Mapping[str, Any]) -> str:
    if "$ref" in field:
        return str(field["$ref"]).rsplit("/", 1)[-1]
    if "oneOf" in field:
        return str(field.get("title", "one of several"))
    if "anyOf" in field:
        return " or ".join(_field_type(option) for option in field["anyOf"])
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if field.get("type") == "array":
        return f"list of {_field_type(field.get('items', {}))}"
    return str(field.get("type", "any"))


if __name__ == "__main__":
    main()
