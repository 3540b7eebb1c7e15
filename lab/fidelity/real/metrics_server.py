"""metrics.k8s.io beside a real API server: what Metrics Server would show of pods whose usage is written on them.

The twin reads the same annotation; a pod without it uses half of what it asks for. As in Metrics Server a pod has a
metric from its second scrape on.
"""

from __future__ import annotations

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from inputs.quantities import parse_quantity
from lab.fidelity.cluster import Cluster, Object, ask

RATIO = "foresail.dev/cpu-usage-ratio"
SCRAPE_SECONDS = 15.0
"""Metrics Server's resolution in its own manifests, and the twin's."""
USUAL_RATIO = 0.5
_GROUP = "metrics.k8s.io/v1beta1"


class MetricsServer:
    """Scrapes when it is told the pods, and answers over HTTPS on loopback from a thread of its own."""

    def __init__(self, certificates: Path, scrape_seconds: float = SCRAPE_SECONDS) -> None:
        """Serve with the certificate of the API server (folder of apiserver.crt and apiserver.key)."""
        self._rows: list[Object] = []
        self._seen: set[str] = set()
        self._scrape_seconds = scrape_seconds
        self._scraped = -scrape_seconds
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                code, body = outer.answer(self.path)
                raw = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates / "apiserver.crt", certificates / "apiserver.key")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def register(self, cluster: Cluster) -> None:
        """Make the API server ask here for metrics.k8s.io."""
        service = {
            "metadata": {"name": "metrics-server"},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        }
        ask(cluster, "POST", "/api/v1/namespaces/kube-system/services", service)
        spec = {
            "group": "metrics.k8s.io",
            "version": "v1beta1",
            "service": {
                "namespace": "kube-system",
                "name": "metrics-server",
                "port": self._server.server_port,
            },
            "insecureSkipTLSVerify": True,  # its certificate is made for 127.0.0.1 alone
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        }
        body: Object = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1beta1.metrics.k8s.io"},
            "spec": spec,
        }
        ask(cluster, "POST", "/apis/apiregistration.k8s.io/v1/apiservices", body)

    def scrape(self, now: float, stamp: str, pods: list[Object]) -> None:
        """Take new numbers when it is time: `now` in seconds, `stamp` the same moment for the API."""
        if now - self._scraped < self._scrape_seconds:
            return
        self._scraped = now
        running = [pod for pod in pods if pod.get("status", {}).get("phase") == "Running"]
        seen_before, self._seen = self._seen, {pod["metadata"]["uid"] for pod in running}
        known = [pod for pod in running if pod["metadata"]["uid"] in seen_before]
        self._rows = [pod_metrics(pod, stamp[:19] + "Z") for pod in known]

    def answer(self, target: str) -> tuple[int, Object]:
        """Answer a request for a path."""
        parts = urlsplit(target)
        if parts.path == f"/apis/{_GROUP}":
            resource = {
                "name": "pods",
                "namespaced": True,
                "kind": "PodMetrics",
                "verbs": ["get", "list"],
            }
            return 200, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": _GROUP,
                         "resources": [resource]}  # fmt: skip
        if parts.path.endswith("/pods"):
            wanted = parse_qs(parts.query).get("labelSelector", [""])[0]
            found = [
                row for row in self._rows if _selects(wanted, row["metadata"].get("labels", {}))
            ]
            return 200, {
                "kind": "PodMetricsList",
                "apiVersion": _GROUP,
                "metadata": {},
                "items": found,
            }
        own = [row for row in self._rows if parts.path.endswith(_path_of(row))]
        if own:
            return 200, {"kind": "PodMetrics", "apiVersion": _GROUP, **own[0]}
        return 404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404}

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()


def _path_of(row: Object) -> str:
    return f"/namespaces/{row['metadata']['namespace']}/pods/{row['metadata']['name']}"


def _selects(selector: str, labels: dict[str, str]) -> bool:
    pairs = (text.partition("=") for text in selector.split(",") if text)
    return all(labels.get(key) == value for key, _, value in pairs)


def pod_metrics(pod: Object, stamp: str) -> Object:
    """Return the PodMetrics of a pod of one container at a moment, an RFC 3339 time."""
    meta = pod["metadata"]
    container = pod["spec"]["containers"][0]
    request = float(parse_quantity(container["resources"]["requests"]["cpu"]))
    limit = float(parse_quantity(container["resources"].get("limits", {}).get("cpu", "1000")))
    cpu = min(limit, request * float(meta.get("annotations", {}).get(RATIO, USUAL_RATIO)))
    return {
        "metadata": {key: meta[key] for key in ("name", "namespace", "labels") if key in meta},
        "timestamp": stamp,
        "window": f"{SCRAPE_SECONDS:g}s",
        "containers": [
            {"name": container["name"], "usage": {"cpu": f"{round(cpu * 1e9)}n", "memory": "32Mi"}}
        ],
    }
