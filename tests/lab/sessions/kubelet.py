"""One node of a real cluster, as far as Jobs need it: containers are processes of this machine, and logs are served.

It speaks the kubelet's side of the API to a real kube-apiserver: it takes the pods that the scheduler bound to its
node, tells how their containers fare, and ends those that are deleted. It has one image; no other can be pulled.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import ssl
import subprocess
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from lab.fidelity.cluster import MERGE, STRATEGIC, Object
from lab.fidelity.real.http_cluster import HttpCluster
from twin.local_pods.command import launch_of

NODE = "worker"
IMAGE = "foresail:local"
LOOK_SECONDS = 0.1
PULL_PROBLEM = {"reason": "ImagePullBackOff", "message": "Back-off pulling image: not found"}


class Kubelet:
    """Keeps one node; `start` begins, `close` ends it with everything that it started."""

    def __init__(self, cluster: HttpCluster, folder: Path) -> None:
        """Reach the API by `cluster`, which nobody else may use, and keep containers' files in `folder`."""
        self._cluster, self._folder = cluster, folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._known: set[str] = set()
        self._ended = threading.Event()
        self._server = _log_server(folder)
        self._threads = [
            threading.Thread(target=self._keep, daemon=True),
            threading.Thread(target=self._server.serve_forever, daemon=True),
        ]

    def start(self) -> None:
        """Register the node and begin."""
        amounts = {"cpu": "64", "memory": "256Gi", "pods": "200"}
        port = {"kubeletEndpoint": {"Port": self._server.server_port}}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        node = {"metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE}}}
        assert self._cluster.request("POST", "/api/v1/nodes", node)[0] == 201
        status = {
            "capacity": amounts, "allocatable": amounts, "daemonEndpoints": port, "conditions": [ready],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        }  # fmt: skip
        node_path = f"/api/v1/nodes/{NODE}"
        self._cluster.request("PATCH", f"{node_path}/status", {"status": status}, MERGE)
        # The controller that takes the first taint away does not run: nobody renews this node's lease.
        self._cluster.request("PATCH", node_path, {"spec": {"taints": None}}, MERGE)
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End all containers."""
        self._ended.set()
        self._server.shutdown()
        for thread in self._threads:
            thread.join()
        self._server.server_close()
        for process in self._running.values():
            _kill(process)
        self._cluster.close()

    def _keep(self) -> None:
        path = f"/api/v1/pods?fieldSelector=spec.nodeName={NODE}"
        while not self._ended.wait(LOOK_SECONDS):
            with contextlib.suppress(OSError):
                for pod in self._cluster.request("GET", path)[1]["items"]:
                    self._look_at(pod)

    def _look_at(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        if "deletionTimestamp" in pod["metadata"]:
            self._end(pod)
        elif uid not in self._known:
            self._known.add(uid)
            self._begin(pod)
        elif uid in self._running and self._running[uid].poll() is not None:
            self._tell_end(pod, self._running.pop(uid))

    def _begin(self, pod: Object) -> None:
        (container,) = pod["spec"]["containers"]
        if container["image"] != IMAGE:
            self._tell(pod, "Pending", {"waiting": PULL_PROBLEM})
            return
        own = self._folder / pod["metadata"]["uid"]
        launch = launch_of(pod, container, lambda *_: None, str(own))
        for place in (*launch.folders, *launch.links, str(Path(launch.message_path).parent)):
            (own / place).mkdir(parents=True, exist_ok=True)
        log = _log_path(self._folder, pod["metadata"]["name"])
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            self._running[pod["metadata"]["uid"]] = subprocess.Popen(
                launch.words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env={"PATH": os.environ["PATH"], **launch.environment}, start_new_session=True,
            )  # fmt: skip
        self._tell(pod, "Running", {"running": {"startedAt": _now()}})

    def _tell_end(self, pod: Object, process: subprocess.Popen[bytes]) -> None:
        _kill(process)
        own = self._folder / pod["metadata"]["uid"]
        message = ""
        with contextlib.suppress(OSError):
            message = (own / "dev/termination-log").read_text(encoding="utf-8")[:4096]
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        ended = {"exitCode": code, "reason": "Completed" if code == 0 else "Error", "message": message,
                 "startedAt": _now(), "finishedAt": _now()}  # fmt: skip
        log = _log_path(self._folder, pod["metadata"]["name"])
        log.with_suffix(".ended").touch()
        self._tell(pod, "Succeeded" if code == 0 else "Failed", {"terminated": ended})
        shutil.rmtree(own, ignore_errors=True)

    def _end(self, pod: Object) -> None:
        meta = pod["metadata"]
        process = self._running.pop(meta["uid"], None)
        if process is not None:
            _kill(process)
            self._tell_end(pod, process)
        _log_path(self._folder, meta["name"]).unlink(missing_ok=True)
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
        self._cluster.request("DELETE", path, body)

    def _tell(self, pod: Object, phase: str, state: Object) -> None:
        meta, (container,) = pod["metadata"], pod["spec"]["containers"]
        ready = str("running" in state)
        row = {"name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0,
               "ready": "running" in state, "state": state}  # fmt: skip
        conditions = [{"type": kind, "status": ready} for kind in ("ContainersReady", "Ready")]
        status = {"phase": phase, "containerStatuses": [row], "conditions": conditions}
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status"
        self._cluster.request("PATCH", path, {"status": status}, STRATEGIC)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _log_path(folder: Path, pod: str) -> Path:
    return folder / "logs" / f"{pod}.log"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _log_server(folder: Path) -> ThreadingHTTPServer:
    """Serve `/containerLogs/NAMESPACE/POD/CONTAINER`, as a kubelet does for its API server."""
    folder.mkdir(parents=True, exist_ok=True)
    key, certificate = folder / "kubelet.key", folder / "kubelet.crt"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=kubelet",
    ]
    subprocess.run(
        [*command, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
    )

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = parse_qs(url.query)
            path = _log_path(folder, url.path.split("/")[3])
            self.send_response(200 if path.exists() else 404)
            self.end_headers()
            if not path.exists():
                return
            with path.open("rb") as log, contextlib.suppress(OSError):
                data = log.read()
                lines = int(query["tailLines"][0]) if "tailLines" in query else None
                self.wfile.write(
                    data if lines is None else b"".join(data.splitlines(True)[-lines:])
                )
                follow = query.get("follow") == ["true"]
                while follow:
                    follow = path.exists() and not path.with_suffix(".ended").exists()
                    self.wfile.write(log.read())
                    self.wfile.flush()
                    time.sleep(LOOK_SECONDS)

        def log_message(self, *values: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return server
