"""One Deployment for each process: one writer per subject, so one replica, replaced and never doubled."""

from __future__ import annotations

from typing import Any

from deploy.manifests.pieces import (
    PLAIN_ACCOUNT,
    container_security,
    from_settings,
    get_probe,
    login_volume,
    meta,
    named,
    pod_security,
    scratch,
    scratch_on_disk,
)
from deploy.manifests.processes import DASHBOARD_PORT, PROCESSES, Process
from deploy.manifests.tree import Document, Filled, Tree, json_text
from deploy.manifests.values import Chart, merged
from services.rights import READ, REQUIRED
from services.rights.installation import ACCOUNTS

FILE = "processes"
SCRATCH_ON_DISK = {"dashboard": "1Gi"}
"""Of the dashboard: past states of its page, 384 MiB at most, and parts of logs that What if and Compare read."""


def documents(chart: Chart) -> list[Document]:
    """Return the Deployments, and the Service of the dashboard."""
    made = []
    for process in PROCESSES:
        optional = process.name == "tracing"
        made.append(
            Document(
                FILE,
                deployment(chart, process),
                condition="$.Values.tracing.otlpUrl" if optional else "",
                holds=bool(chart.get("tracing.otlpUrl")) or not optional,
            )
        )
    port = {"name": "http", "port": DASHBOARD_PORT, "targetPort": "http"}
    dashboard = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta("foresail-dashboard", "dashboard"),
        "spec": {"selector": named("dashboard"), "ports": [port]},
    }
    return [*made, Document(FILE, dashboard)]


def deployment(chart: Chart, process: Process) -> Tree:
    """Return the Deployment of a process."""
    account = ACCOUNTS[process.name] if process.reads_cluster else PLAIN_ACCOUNT
    on_disk = SCRATCH_ON_DISK.get(process.name)
    temporary = scratch_on_disk(on_disk) if on_disk else scratch()
    pod: dict[str, Tree] = {
        "serviceAccountName": account,
        "automountServiceAccountToken": process.reads_cluster,
        "enableServiceLinks": False,
        "securityContext": pod_security(),
        "terminationGracePeriodSeconds": 30,
        "containers": [_container(chart, process)],
        "volumes": [login_volume(process.name), temporary],
    }
    name = f"foresail-{process.name}"
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta(name, process.name),
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 3,
            "strategy": {"type": "Recreate"},  # a second writer of a subject is refused by the log
            "selector": {"matchLabels": named(process.name)},
            "template": {"metadata": {"labels": meta(name, process.name)["labels"]}, "spec": pod},
        },
    }


def _container(chart: Chart, process: Process) -> Tree:
    own: dict[str, Tree] = {
        "FORESAIL_NATS_LOGIN_FILE": "/login/login.env",
        "FORESAIL_SETTINGS": _settings(chart, process),
    }
    if process.reads_cluster:
        own[REQUIRED] = READ
    if process.name == "executor":
        words = ",".join([READ, *chart.get("actions")])
        own[REQUIRED] = Filled(f'join "," (prepend $.Values.actions "{READ}")', words)
    ports = [{"name": "health", "containerPort": 9100}]
    if process.name == "dashboard":
        ports.append({"name": "http", "containerPort": DASHBOARD_PORT})
    return {
        "name": process.name,
        "image": chart.fill("image"),
        "imagePullPolicy": chart.fill("imagePullPolicy"),
        "args": list(process.command),
        **from_settings(**own),
        "ports": ports,
        # Ready is caught up with the log, which takes longer than starting.
        "startupProbe": get_probe("/healthz", "health", 5, 60),
        "livenessProbe": get_probe("/healthz", "health", 10, 3),
        "readinessProbe": get_probe("/readyz", "health", 5, 3),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "resources": chart.fill(f"resources.{process.name}"),
        "securityContext": container_security(),
        "volumeMounts": [
            {"name": "login", "mountPath": "/login", "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - of the container
        ],
    }


def _settings(chart: Chart, process: Process) -> Filled:
    """Return a process' settings: those that follow from other values, and over them its own."""
    go, following = _following(chart, process)
    own = chart.get(f"settings.{process.name}")
    text = f'mergeOverwrite ({go}) (deepCopy (index $.Values.settings "{process.name}")) | toJson'
    return Filled(text, json_text(merged(following, own)))


def _following(chart: Chart, process: Process) -> tuple[str, dict[str, Any]]:
    if process.name == "executor":
        follows = {"mode": "mode", "namespaces": "namespaces", "writable_nodes": "writableNodes"}
    elif process.name == "tracing":
        follows = {"otlp_url": "tracing.otlpUrl"}
    else:
        follows = {}
    words = " ".join(f'"{name}" $.Values.{path}' for name, path in follows.items())
    return f"dict {words}".strip(), {name: chart.get(path) for name, path in follows.items()}
