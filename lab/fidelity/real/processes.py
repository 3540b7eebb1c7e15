"""Starts the control plane's real programs on loopback and free ports, and ends them."""

from __future__ import annotations

import json
import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from bus.clock import Clock
from bus.errors import InputError
from lab.fidelity.real.http_cluster import HttpCluster

START_SECONDS = 180.0
END_SECONDS = 20.0
CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "disruption-controller",
    "node-lifecycle-controller",
    "taint-eviction-controller",
    "pod-garbage-collector-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "horizontal-pod-autoscaler-controller",
)
VERSION_FILE = "versions.json"
"""{program: version} in the folder of binaries, for programs that do not say their version."""
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")


@dataclass(slots=True)
class ControlPlane:
    """A real control plane in a folder of its own; `close` ends what it started."""

    binaries: Path
    folder: Path
    controllers: Sequence[str] = CONTROLLERS
    scheduler: bool = True
    accounts: bool = False
    """Whether every pod has a service account, which a controller makes for its namespace."""
    server_flags: Sequence[str] = ()
    port: int = 0
    token: str = field(default_factory=secrets.token_hex)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)
    """Of each program, its place among the processes."""

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.folder / "kubeconfig"

    def binary(self, name: str) -> str:
        """Return the path of a program; raises InputError when it is not there."""
        found = shutil.which(name, path=str(self.binaries))
        if found is None:
            raise InputError("--binaries", str(self.binaries), f"put {name} into this folder")
        return found

    def version(self, name: str) -> str:
        """Return what a program says of its version, or else the file of versions."""
        run = subprocess.run(
            [self.binary(name), "--version"], capture_output=True, text=True, check=False
        )
        text = run.stdout.strip() if run.returncode == 0 else ""
        if text:
            return text.splitlines()[0].removeprefix("Kubernetes ")
        return self.noted_version(name)

    def noted_version(self, name: str) -> str:
        """Return what the file of versions says of a program."""
        file = self.binaries / VERSION_FILE
        known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        return str(known.get(name, "version not stated"))

    @property
    def _authority(self) -> Path:
        return self.folder / "certificates" / "apiserver.crt"  # the server signs for itself

    async def start(self, clock: Clock) -> HttpCluster:
        """Start etcd, kube-apiserver, kube-controller-manager and kube-scheduler; return the API."""
        self.folder.mkdir(parents=True)
        etcd, peer, self.port = (free_port() for _ in range(3))
        self.run("etcd", self._etcd(etcd, peer))
        self.run("kube-apiserver", self._server(etcd))
        cluster = HttpCluster(self.port, self.token)
        await self._wait(cluster, clock)
        self._write_kubeconfig()
        self.run("kube-controller-manager", [
            f"--kubeconfig={self.kubeconfig}",
            f"--controllers={','.join(self.controllers)}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
            f"--cert-dir={self.folder / 'controllers'}",
            f"--root-ca-file={self._authority}",
        ])  # fmt: skip
        if self.scheduler:
            self.run("kube-scheduler", [
                f"--kubeconfig={self.kubeconfig}",
                "--leader-elect=false",
                "--bind-address=127.0.0.1",
                f"--secure-port={free_port()}",
                f"--cert-dir={self.folder / 'scheduler'}",
            ])  # fmt: skip
        return cluster

    def run(
        self, name: str, flags: Sequence[str], environment: dict[str, str] | None = None
    ) -> None:
        """Start one program; its output goes to NAME.log in the folder."""
        with (self.folder / f"{name}.log").open("ab") as log:
            command = [self.binary(name), *flags]
            self._places[name] = len(self.processes)
            self.processes.append(
                subprocess.Popen(command, stdout=log, stderr=log, env=environment)
            )

    def restart(self, name: str) -> None:
        """Kill a program as a machine that fails does, and start it again with the same flags."""
        place = self._places[name]
        ended = self.processes[place]
        ended.kill()
        ended.wait()
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[place] = subprocess.Popen(ended.args, stdout=log, stderr=log)

    def freeze(self, name: str) -> None:
        """Let a program stand still: its connections stay open, and nothing is answered."""
        self.processes[self._places[name]].send_signal(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """Let a program go on that stood still."""
        self.processes[self._places[name]].send_signal(signal.SIGCONT)

    def check(self) -> None:
        """Raise RuntimeError when a program has ended."""
        for process in self.processes:
            if process.poll() is not None:
                raise RuntimeError(f"process {process.pid} ended: see the logs in {self.folder}")

    def close(self) -> None:
        """End what was started, last first."""
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    async def _wait(self, cluster: HttpCluster, clock: Clock) -> None:
        deadline = clock.monotonic() + START_SECONDS
        while clock.monotonic() < deadline:
            self.check()
            try:
                ready = [
                    cluster.request("GET", path)[0]
                    for path in ("/readyz", "/api/v1/namespaces/default")
                ]
            except OSError:
                ready = []
            if ready == [200, 200]:
                return
            await clock.sleep(0.3)
        raise RuntimeError(
            f"no API server after {START_SECONDS:g} s: see the logs in {self.folder}"
        )

    def _etcd(self, client: int, peer: int) -> list[str]:
        client_url, peer_url = (f"http://127.0.0.1:{port}" for port in (client, peer))
        return [
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client_url}",
            f"--advertise-client-urls={client_url}",
            f"--listen-peer-urls={peer_url}",
            f"--initial-advertise-peer-urls={peer_url}",
            f"--initial-cluster=default={peer_url}",
            "--unsafe-no-fsync",
            "--log-level=error",
        ]

    def _server(self, etcd: int) -> list[str]:
        key = self.folder / "service-account.key"
        command = ["openssl", "genrsa", "-out", str(key), "2048"]
        subprocess.run(command, check=True, capture_output=True)
        tokens = self.folder / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text(f'{self.token},tester,1,"system:masters"\n', encoding="utf-8")
        return [
            f"--etcd-servers=http://127.0.0.1:{etcd}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--cert-dir={self.folder / 'certificates'}",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.96.0.0/16",
            *(() if self.accounts else ("--disable-admission-plugins=ServiceAccount",)),
            *self.server_flags,
        ]

    def _write_kubeconfig(self) -> None:
        cluster = {
            "server": f"https://127.0.0.1:{self.port}",
            "certificate-authority": str(self._authority),
        }
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "real", "cluster": cluster}],
            "users": [{"name": "tester", "user": {"token": self.token}}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": "tester"}}],
            "current-context": "real",
        }
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(yaml.safe_dump(content), encoding="utf-8")


def free_port() -> int:
    """Return a port of loopback that nobody listens on now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
