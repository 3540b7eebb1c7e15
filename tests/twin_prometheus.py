"""A twin in a process of its own, and how its Prometheus is asked."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from services.prometheus_settings import PrometheusSettings


@contextmanager
def running_twin(folder: Path) -> Iterator[dict[str, str]]:
    """Run a twin whose hour takes a minute; what it said when it was ready."""
    options = ("--nodes", "3", "--workload", "idle", "--speed", "60")
    command = [sys.executable, "-m", "twin", *options, "--kubeconfig-dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


def settings_of(kubeconfig: str, folder: Path) -> PrometheusSettings:
    """Return how to ask the Prometheus of a twin, by files made of its kubeconfig."""
    config = yaml.safe_load(Path(kubeconfig).read_text("utf-8"))
    server, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority, token = folder / "authority.pem", folder / "token"
    authority.write_bytes(base64.b64decode(server["certificate-authority-data"]))
    token.write_text(user["token"])
    return PrometheusSettings(url=server["server"], token_file=str(token), ca_file=str(authority))
