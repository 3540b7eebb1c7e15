"""What the Prometheus operator and Grafana are told: from the rules and the dashboard in deploy/grafana."""

from __future__ import annotations

from pathlib import Path

import yaml

from deploy.manifests.network import metrics_policy
from deploy.manifests.pieces import PART_OF, meta
from deploy.manifests.tree import Document, Tree
from deploy.manifests.values import Chart

FILE = "monitoring"
GRAFANA = Path(__file__).parents[1] / "grafana"
OPERATOR = "monitoring.coreos.com/v1"


def documents(chart: Chart) -> list[Document]:
    """Return a Service over every process, what scrapes it, rules, the dashboard, and the way in."""
    port = {"name": "health", "port": 9100, "targetPort": "health"}
    endpoint = {
        "port": "health",
        "interval": "15s",
        # Panels and rules group by `job`, which is the process.
        "relabelings": [
            {
                "sourceLabels": ["__meta_kubernetes_pod_label_app_kubernetes_io_component"],
                "targetLabel": "job",
            }
        ],
    }
    selector = {"matchLabels": {**PART_OF, "foresail.dev/metrics": "true"}}
    service = _object("v1", "Service", {"clusterIP": "None", "selector": PART_OF, "ports": [port]})
    service["metadata"]["labels"] = selector["matchLabels"]
    service["metadata"]["name"] = "foresail-metrics"
    rules = yaml.safe_load((GRAFANA / "alerts.yml").read_text(encoding="utf-8"))
    dashboard = (GRAFANA / "foresail.json").read_text(encoding="utf-8")
    shown = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta("foresail-grafana"),
        "data": {"foresail.json": dashboard},
    }
    shown["metadata"]["labels"] = {**PART_OF, "grafana_dashboard": "1"}  # Grafana's sidecar
    trees = (
        service,
        _object(OPERATOR, "ServiceMonitor", {"selector": selector, "endpoints": [endpoint]}),
        _object(OPERATOR, "PrometheusRule", rules),
        shown,
        metrics_policy(chart.fill("monitoring.namespace")),
    )
    enabled = chart.get("monitoring.enabled")
    condition = "$.Values.monitoring.enabled"
    return [Document(FILE, tree, condition=condition, holds=enabled) for tree in trees]


def _object(version: str, kind: str, spec: Tree) -> Tree:
    return {"apiVersion": version, "kind": kind, "metadata": meta("foresail"), "spec": spec}
