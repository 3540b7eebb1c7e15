"""The places that an installation is made for: what each sets, and what is to be changed in it first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LOCAL = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Overlay:
    """Values of one place."""

    purpose: str
    values: Mapping[str, Any]
    image: tuple[str, str] | None = None
    """Name and tag of the image there, where it is not the local one."""


OVERLAYS: Mapping[str, Overlay] = {
    "shadow": Overlay("Every write is a dry run, and no right to write is granted.", {}),
    "active": Overlay(
        "One kind of action in one namespace: change `shop` and `replicate` to yours.",
        {"mode": "active", "namespaces": ["shop"], "actions": ["replicate"]},
    ),
    "node-agent": Overlay(
        "Shadow mode, and an agent on each node that holds clock limits; it needs Kubernetes 1.30.",
        {"nodeAgent": {"enabled": True}},
    ),
    "kind": Overlay(
        "kind and k3d: the image is loaded into the nodes, never pulled; a small disk.",
        {
            "imagePullPolicy": "Never",
            "nats": {"storage": "1Gi", "syncInterval": "1s"},
        },
    ),
    "managed-cloud": Overlay(
        "Three servers keep the log, in different zones where there are some. Name your image.",
        {
            "imagePullPolicy": "Always",
            "nats": {"servers": 3, "storage": "20Gi"},
        },
        image=("registry.example.com/foresail", "0.1.0"),
    ),
    "twin": Overlay(
        "The simulated cluster (`foresail twin up --run-commands --authorization rbac`): its pods are processes "
        "of one machine, so they meet on loopback and serve no health port.",
        {
            "simulated": True,
            "nats": {
                "image": "foresail:local",
                "syncInterval": "1s",
                "storageClass": "foresail-simulated",
            },
            "environment": {
                "FORESAIL_NATS_URL": f"nats://{LOCAL}:4222",
                "FORESAIL_NATS_LISTEN": f"{LOCAL}:4222",
                "FORESAIL_NATS_MONITOR": f"{LOCAL}:8222",
                "FORESAIL_HEALTH_PORT": "0",
            },
            "settings": {"dashboard": {"host": LOCAL}},
        },
    ),
}
