"""Values of an installation: each value with its default, its rule and a sentence, once.

From this are made the chart's values.yaml and values.schema.json, and kustomize's base (all defaults) and overlays.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from deploy.manifests.processes import PROCESSES
from deploy.manifests.tree import Filled
from schemas.actions import ActionKind
from services.executor.settings import NODE_LABEL

Values = Mapping[str, Any]
Schema = dict[str, Any]
KINDS = tuple(sorted(kind.value for kind in ActionKind if kind is not ActionKind.NOOP))
NAME = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
TOKEN = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,40}$"
QUANTITY = r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$"


def _text(pattern: str) -> Schema:
    return {"type": "string", "pattern": pattern}


def _closed(properties: Mapping[str, Schema], *required: str) -> Schema:
    closed: Schema = {
        "type": "object",
        "properties": dict(properties),
        "additionalProperties": False,
    }
    return {**closed, "required": list(required)} if required else closed


_AMOUNTS = _closed({"cpu": _text(QUANTITY), "memory": _text(QUANTITY)})
_RESOURCES = _closed({"requests": _AMOUNTS, "limits": _AMOUNTS})


def resources(cpu: str, memory: str, most: str) -> dict[str, Any]:
    """Return requests and a limit of memory; CPU has none, since a throttled process misses its cycle."""
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": most}}


_MEASURED: Mapping[str, tuple[str, str, str]] = {
    "collector": ("100m", "128Mi", "512Mi"),
    "inference": ("100m", "192Mi", "512Mi"),
    "executor": ("50m", "128Mi", "512Mi"),
    "scoreboard": ("50m", "128Mi", "512Mi"),
    "dashboard": ("50m", "128Mi", "512Mi"),
    "referee": ("50m", "96Mi", "256Mi"),
    "tracing": ("50m", "96Mi", "256Mi"),
}
"""Requests of CPU and memory, and the limit of memory: docs/install.md says where they were measured."""
_AGENT = ("50m", "128Mi", "256Mi")

DEFAULTS: dict[str, Any] = {
    "image": "foresail:local",
    "imagePullPolicy": "IfNotPresent",
    "cluster": "main",
    "incarnation": "main",
    "mode": "shadow",
    "namespaces": [],
    "actions": [],
    "writableNodes": "",
    "settings": {process.name: process.settings for process in PROCESSES},
    "environment": {},
    "resources": {
        process.name: resources(*_MEASURED.get(process.name, _AGENT)) for process in PROCESSES
    },
    "nats": {
        "image": "nats:2.12-alpine",
        "servers": 1,
        "storage": "10Gi",
        "storageClass": "",
        "syncInterval": "always",
        "resources": resources("100m", "128Mi", "1Gi"),
    },
    "tracing": {"otlpUrl": ""},
    "monitoring": {"enabled": False, "namespace": "monitoring"},
    "simulated": False,
}
SENTENCES: dict[str, str] = {
    "image": "The image of every process. No registry has it: build it (deploy/Dockerfile) and name yours.",
    "imagePullPolicy": "IfNotPresent, Always, or Never where the image was loaded into the nodes.",
    "cluster": "Name of the cluster in every subject; letters, digits, - and _.",
    "incarnation": "Name of the log's world; another one begins a new log.",
    "mode": "shadow: every write is a dry run; active: writes are real.",
    "namespaces": "Exact names of the namespaces that may be written.",
    "actions": "Kinds of action whose rights are granted; active mode does no other.",
    "writableNodes": "key=value of the nodes that may be written; empty: none.",
    "settings": "Settings of each process, as in docs/settings.md (the part behind its name).",
    "environment": "Variables of every process and of NATS that differ from the defaults.",
    "resources": "Requests and limits of each process.",
    "nats": "The log's server: 1 or 3 of them, their disks, and how soon a write is on disk.",
    "tracing": "Where traces go (OTLP over HTTP); empty: no tracing process.",
    "monitoring": "ServiceMonitor, PrometheusRule and Grafana dashboard; needs the Prometheus operator.",
    "simulated": "For `foresail twin up --run-commands` alone: what only the simulated cluster serves is read.",
}

SCHEMA: Schema = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Values of the chart foresail",
    **_closed(
        {
            "image": _text(r"^[^\s]+$"),
            "imagePullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
            "cluster": _text(TOKEN),
            "incarnation": _text(TOKEN),
            "mode": {"enum": ["shadow", "active"]},
            "namespaces": {"type": "array", "uniqueItems": True, "items": _text(NAME)},
            "actions": {"type": "array", "uniqueItems": True, "items": {"enum": list(KINDS)}},
            "writableNodes": _text(NODE_LABEL),
            "settings": _closed({one.name: {"type": "object"} for one in PROCESSES}),
            "environment": {
                "type": "object",
                "patternProperties": {r"^FORESAIL_[A-Z_]+$": {"type": "string"}},
                "additionalProperties": False,
            },
            "resources": _closed({one.name: _RESOURCES for one in PROCESSES}),
            "nats": _closed(
                {
                    "image": _text(r"^[^\s]+$"),
                    "servers": {"enum": [1, 3]},
                    "storage": _text(QUANTITY),
                    "storageClass": {"type": "string"},
                    "syncInterval": _text(r"^(always|[0-9]+(ms|s|m))$"),
                    "resources": _RESOURCES,
                }
            ),
            "tracing": _closed({"otlpUrl": _text(r"^$|^https?://[^\s]+$")}),
            "monitoring": _closed({"enabled": {"type": "boolean"}, "namespace": _text(NAME)}),
            "simulated": {"type": "boolean"},
            "global": {"type": "object"},
        }
    ),
    "if": {"properties": {"mode": {"const": "active"}}, "required": ["mode"]},
    "then": {"properties": {"namespaces": {"minItems": 1}, "actions": {"minItems": 1}}},
}


class Chart:
    """Values at hand, and how a template asks for them."""

    def __init__(self, given: Values | None = None) -> None:
        """Put what is given over the defaults."""
        self.values = merged(DEFAULTS, given or {})

    def get(self, path: str) -> Any:
        """Return a value by its dotted path."""
        found: Any = self.values
        for word in path.split("."):
            found = found[word]
        return found

    def fill(self, path: str) -> Filled:
        """Return the place of a value."""
        return Filled(go(path), self.get(path))


def go(path: str) -> str:
    """Return how a template asks for a value; a name with a dash needs its index."""
    words = path.split(".")
    if any("-" in word for word in words):
        return f"index $.Values {' '.join(f'{chr(34)}{word}{chr(34)}' for word in words)}"
    return f"$.Values.{path}"


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return one mapping over another, as Helm merges values: tables are merged, the rest is replaced."""
    result = deepcopy(dict(under))
    for key, value in over.items():
        known = result.get(key)
        both = isinstance(known, dict) and isinstance(value, Mapping)
        result[key] = merged(known, value) if both else deepcopy(value)
    return result
