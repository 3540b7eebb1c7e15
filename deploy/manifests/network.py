"""Who may talk to whom: nobody to us, we to the log, and to the API server only those that need it."""

from __future__ import annotations

from typing import Any

from deploy.manifests.pieces import PART_OF, meta, named
from deploy.manifests.processes import PROCESSES
from deploy.manifests.tree import Document, Filled, Tree
from deploy.manifests.values import Chart

FILE = "network"
API_PORTS = (443, 6443)
"""The API server's, as its Service has it and as it listens itself."""


def documents(chart: Chart) -> list[Document]:
    """Return the policies; they hold where the cluster's network plugin enforces them."""
    asking = sorted([*(one.name for one in PROCESSES if one.reads_cluster), "setup"])
    among = {"key": "app.kubernetes.io/component", "operator": "In", "values": asking}
    name_server = {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}
    both = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    everyone: dict[str, Any] = {"matchLabels": PART_OF}
    nats = {"matchLabels": named("nats")}
    tracing = egress_policy("foresail-tracing", named("tracing"))  # a receiver is anywhere
    return [
        Document(
            FILE,
            _policy(
                "foresail",
                everyone,
                "Ingress",
                "Egress",
                egress=[
                    {"to": [{"namespaceSelector": name_server}], "ports": both},
                    {"to": [{"podSelector": nats}], "ports": [_port(4222)]},
                ],
            ),
        ),
        Document(
            FILE,
            _policy(
                "foresail-nats",
                nats,
                "Ingress",
                "Egress",
                ingress=[
                    {"from": [{"podSelector": everyone}], "ports": [_port(4222)]},
                    {"from": [{"podSelector": nats}], "ports": [_port(6222)]},
                ],
                egress=[{"to": [{"podSelector": nats}], "ports": [_port(6222)]}],
            ),
        ),
        Document(
            FILE,
            _policy(
                "foresail-api-server",
                {"matchLabels": PART_OF, "matchExpressions": [among]},
                "Egress",
                egress=[{"ports": [_port(number) for number in API_PORTS]}],
            ),
        ),
        Document(
            FILE,
            tracing,
            condition="$.Values.tracing.otlpUrl",
            holds=bool(chart.get("tracing.otlpUrl")),
        ),
    ]


def egress_policy(name: str, labels: dict[str, str]) -> Tree:
    """Return the policy that lets pods of these labels talk to anybody."""
    return _policy(name, {"matchLabels": labels}, "Egress", egress=[{}])


def metrics_policy(namespace: Filled) -> Tree:
    """Return the policy that lets a namespace's Prometheus scrape every process."""
    there = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    scraping = [{"from": [{"namespaceSelector": there}], "ports": [_port(9100)]}]
    return _policy("foresail-metrics", {"matchLabels": PART_OF}, "Ingress", ingress=scraping)


def _port(number: int) -> dict[str, Any]:
    return {"protocol": "TCP", "port": number}


def _policy(name: str, selector: dict[str, Any], *types: str, **rules: Tree) -> Any:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": meta(name),
        "spec": {"podSelector": selector, "policyTypes": list(types), **rules},
    }
