"""Kinds of the core group that are served and not kept (`twin.api.server_kinds` answers for them)."""

from __future__ import annotations

from twin.api.messages import Object

BINDINGS, COMPONENTS = "bindings", "componentstatuses"
UNKEPT: tuple[Object, ...] = (
    {
        "name": BINDINGS,
        "singularName": "binding",
        "namespaced": True,
        "kind": "Binding",
        "verbs": ["create"],
    },
    {
        "name": COMPONENTS,
        "singularName": "componentstatus",
        "namespaced": False,
        "kind": "ComponentStatus",
        "verbs": ["get", "list"],
        "shortNames": ["cs"],
    },
)
"""What discovery says of them."""
