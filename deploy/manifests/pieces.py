"""Pieces that objects of an installation share: names, labels, security, volumes, probes."""

from __future__ import annotations

from typing import Any

from deploy.manifests.tree import Filled, Tree

HOME = Filled("$.Release.Namespace", "foresail")
PLAIN_ACCOUNT = "foresail"
"""The account of processes that do not talk to the API server; it has no rights and its token is in no pod."""
PART_OF = {"app.kubernetes.io/part-of": "foresail"}
USER = 10001
"""The user of the image."""


def named(component: str) -> dict[str, str]:
    """Return the labels that a component is selected by."""
    return {"app.kubernetes.io/name": "foresail", "app.kubernetes.io/component": component}


def meta(name: str, component: str = "", **more: Any) -> dict[str, Tree]:
    """Return the metadata of an object."""
    labels = {**(named(component) if component else {}), **PART_OF}
    return {"name": name, "namespace": HOME, "labels": labels, **more}


def pod_security() -> dict[str, Any]:
    """Return the security of a pod, as the restricted Pod Security Standard asks for it."""
    return {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_security() -> dict[str, Any]:
    """Return the security of a container: no capability, no way to more rights, a root that is only read."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }


def scratch(size: str = "16Mi") -> dict[str, Any]:
    """Return the volume of files that nobody misses."""
    return {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": size}}


def scratch_on_disk(size: str) -> dict[str, Any]:
    """Return the volume of files that nobody misses and that are too large for memory."""
    return {"name": "tmp", "emptyDir": {"sizeLimit": size}}


def login_volume(identity: str) -> dict[str, Any]:
    """Return the volume of one identity's login, and nobody else's."""
    item = {"key": f"{identity}.env", "path": "login.env"}
    secret = {"secretName": "foresail-logins", "defaultMode": 0o440, "items": [item]}
    return {"name": "login", "secret": secret}


def get_probe(path: str, port: str, period: int, failures: int) -> dict[str, Any]:
    """Return a probe over HTTP; seconds between two, and how many in a row count."""
    return {
        "httpGet": {"path": path, "port": port},
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def from_settings(**more: Tree) -> dict[str, Tree]:
    """Return the environment of a container: the shared settings and its own variables."""
    return {
        "envFrom": [{"configMapRef": {"name": "foresail-environment"}}],
        "env": [
            {"name": name, **(value if isinstance(value, dict) else {"value": value})}
            for name, value in more.items()
        ],
    }
