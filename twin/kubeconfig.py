"""The embedded cluster's own kubeconfig files; the user's is never touched."""

from __future__ import annotations

import base64
from pathlib import Path

import yaml

from twin.api.tokens import write_secret

CLUSTER = "foresail-twin"


def write_kubeconfig(path: Path, *, url: str, token: str, user: str, authority_pem: bytes) -> None:
    """Write one kubeconfig, readable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_secret(path, kubeconfig_of(url, token, user, authority_pem))


def kubeconfig_of(url: str, token: str, user: str, authority_pem: bytes) -> bytes:
    """Return the content of a kubeconfig."""
    cluster = {
        "server": url,
        "certificate-authority-data": base64.b64encode(authority_pem).decode(),
    }
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CLUSTER, "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": CLUSTER, "context": {"cluster": CLUSTER, "user": user}}],
        "current-context": CLUSTER,
    }
    return yaml.safe_dump(content, sort_keys=False).encode()
