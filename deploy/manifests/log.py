"""The log of an installation: nats-server, who may say what there, and the step that prepares both."""

from __future__ import annotations

from typing import Any

from deploy.manifests.pieces import (
    PART_OF,
    PLAIN_ACCOUNT,
    container_security,
    from_settings,
    get_probe,
    meta,
    named,
    pod_security,
    scratch,
)
from deploy.manifests.tree import Document, Filled, Tree, When
from deploy.manifests.values import Chart
from services.rights.installation import ACCOUNTS

FILE = "log"
NAME = "foresail-nats"
PEERS = f"{NAME}-peers"
LARGEST = 3
CONF = """\
# The log's server. Who may say what, and the other servers, are written by the step `logins`.
server_name: $POD_NAME
listen: $FORESAIL_NATS_LISTEN
http: $FORESAIL_NATS_MONITOR
lame_duck_duration: "30s"
jetstream {
  store_dir: $FORESAIL_NATS_STORE
  sync_interval: $FORESAIL_SYNC_INTERVAL
}
include accounts/accounts.conf
include accounts/routes.conf
"""


STORAGE = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "foresail-simulated", "labels": PART_OF},
    "provisioner": "foresail.dev/simulated",
    "volumeBindingMode": "WaitForFirstConsumer",
}
"""The simulated cluster has no class of disks by itself."""


def environment(chart: Chart) -> dict[str, Tree]:
    """Return the variables that every process and nats-server read, with what is given over the defaults."""
    cluster, incarnation = chart.get("cluster"), chart.get("incarnation")
    stream = 'printf "FORESAIL_%s_%s" $.Values.cluster $.Values.incarnation'
    servers = chart.get("nats.servers")
    routes = ",".join(f"{NAME}-{number}.{PEERS}" for number in range(LARGEST))
    defaults: dict[str, Tree] = {
        "FORESAIL_CLUSTER": chart.fill("cluster"),
        "FORESAIL_INCARNATION": chart.fill("incarnation"),
        "FORESAIL_STREAM": Filled(stream, f"FORESAIL_{cluster}_{incarnation}"),
        "FORESAIL_NATS_URL": f"nats://{NAME}:4222",
        "FORESAIL_HEALTH_HOST": "0.0.0.0",  # noqa: S104 - the kubelet asks from outside of the pod
        "FORESAIL_HEALTH_PORT": "9100",
        "FORESAIL_WAIT_SECONDS": "300",
        "FORESAIL_REPLICAS": Filled("toString $.Values.nats.servers", str(servers)),
        "FORESAIL_NATS_ROUTES": Filled(
            f'ternary "{routes}" "" (gt (int $.Values.nats.servers) 1)',
            routes if servers > 1 else "",
        ),
        "FORESAIL_NATS_LISTEN": "0.0.0.0:4222",
        "FORESAIL_NATS_MONITOR": "0.0.0.0:8222",
        "FORESAIL_SYNC_INTERVAL": chart.fill("nats.syncInterval"),
    }
    given = chart.get("environment")
    return {name: _over(name, default, given) for name, default in defaults.items()}


def _over(name: str, default: Tree, given: dict[str, str]) -> Filled:
    go = f"({default.go})" if isinstance(default, Filled) else f'"{default}"'
    value = default.value if isinstance(default, Filled) else default
    return Filled(f'default {go} (index $.Values.environment "{name}")', given.get(name) or value)


def documents(chart: Chart) -> list[Document]:
    """Return the settings, nats-server and the step that prepares the log."""
    return [
        Document("settings", _config_map("foresail-environment", environment(chart))),
        Document(FILE, _config_map(NAME, {"nats.conf": CONF})),
        Document(FILE, _service(NAME, headless=False)),
        Document(FILE, _service(PEERS, headless=True)),
        Document(FILE, _budget()),
        Document(FILE, _stateful_set(chart)),
        Document("setup", _setup(chart)),
        Document(FILE, STORAGE, condition="$.Values.simulated", holds=chart.get("simulated")),
    ]


def _config_map(name: str, data: Tree) -> Tree:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta(name), "data": data}


def _service(name: str, *, headless: bool) -> Tree:
    ports = [{"name": "client", "port": 4222, "targetPort": "client"}]
    ports += [{"name": "route", "port": 6222, "targetPort": "route"}] if headless else []
    alone = {"clusterIP": "None", "publishNotReadyAddresses": True} if headless else {}
    spec = {**alone, "selector": named("nats"), "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta(name, "nats"), "spec": spec}


def _budget() -> Tree:
    """Return the budget of the servers: one at a time, which lets a node with the only one be drained, too."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": named("nats")}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta(NAME, "nats"),
        "spec": spec,
    }


def _stateful_set(chart: Chart) -> Tree:
    several = chart.get("nats.servers") > 1
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": named("nats")},
        }
        for key in ("topology.kubernetes.io/zone", "kubernetes.io/hostname")
    ]
    accounts = [
        {"key": f"{one}.conf", "path": f"accounts/{one}.conf"} for one in ("accounts", "routes")
    ]
    sources = [{"configMap": {"name": NAME}}, {"secret": {"name": NAME, "items": accounts}}]
    storage_class = chart.get("nats.storageClass")
    pod: dict[str, Tree] = {
        "serviceAccountName": PLAIN_ACCOUNT,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_security(),
        "terminationGracePeriodSeconds": 60,
        "topologySpreadConstraints": [
            When("gt (int $.Values.nats.servers) 1", several, tuple(spread))
        ],
        "containers": [_server(chart)],
        "volumes": [
            {"name": "conf", "projected": {"defaultMode": 0o440, "sources": sources}},
            scratch(),
        ],
    }
    claim: dict[str, Tree] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": chart.fill("nats.storage")}},
        # null and "" differ for Kubernetes: no class at all turns the cluster's default off.
        "storageClassName": Filled(
            'ternary nil $.Values.nats.storageClass (eq "" $.Values.nats.storageClass)',
            storage_class or None,
        ),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": meta(NAME, "nats"),
        "spec": {
            "replicas": chart.fill("nats.servers"),
            "serviceName": PEERS,
            "podManagementPolicy": "Parallel",  # servers of a cluster wait for one another
            "selector": {"matchLabels": named("nats")},
            "template": {"metadata": {"labels": meta(NAME, "nats")["labels"]}, "spec": pod},
            "volumeClaimTemplates": [{"metadata": {"name": "log"}, "spec": claim}],
        },
    }


def _server(chart: Chart) -> Tree:
    own = {
        "POD_NAME": {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        "FORESAIL_NATS_STORE": "/data",
    }
    return {
        "name": "nats",
        "image": chart.fill("nats.image"),
        "command": ["nats-server"],
        "args": ["--config", "/etc/foresail/nats.conf"],
        **from_settings(**own),
        "ports": [
            {"name": "client", "containerPort": 4222},
            {"name": "route", "containerPort": 6222},
            {"name": "monitor", "containerPort": 8222},
        ],
        # Up means that it serves; that its log is in order is not for a restart to mend.
        "startupProbe": get_probe("/healthz?js-server-only=true", "monitor", 5, 60),
        "livenessProbe": get_probe("/healthz?js-server-only=true", "monitor", 30, 3),
        "readinessProbe": get_probe("/healthz?js-server-only=true", "monitor", 5, 3),
        "resources": chart.fill("nats.resources"),
        "securityContext": container_security(),
        "volumeMounts": [
            {"name": "log", "mountPath": "/data"},
            {"name": "conf", "mountPath": "/etc/foresail", "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - of the container
        ],
    }


def _setup(chart: Chart) -> Tree:
    """Return the Job that makes the logins, then declares the log; running it again changes nothing."""

    def step(name: str, module: str, **variables: Tree) -> Tree:
        return {
            "name": name,
            "image": chart.fill("image"),
            "imagePullPolicy": chart.fill("imagePullPolicy"),
            "args": [module],
            **from_settings(FORESAIL_NATS_LOGIN_FILE="/login/login.env", **variables),
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "resources": {
                "requests": {"cpu": "50m", "memory": "96Mi"},
                "limits": {"memory": "256Mi"},
            },
            "securityContext": container_security(),
            "volumeMounts": [
                {"name": "login", "mountPath": "/login"},
                {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - of the container
            ],
        }

    here: dict[str, Any] = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}
    pod = {
        "serviceAccountName": ACCOUNTS["logins"],
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "restartPolicy": "OnFailure",
        "securityContext": pod_security(),
        "initContainers": [step("logins", "services.login_secrets", FORESAIL_NAMESPACE=here)],
        "containers": [step("log", "bus.bootstrap")],
        "volumes": [
            {"name": "login", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
            scratch(),
        ],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta("foresail-setup", "setup"),
        "spec": {
            "backoffLimit": 20,
            "ttlSecondsAfterFinished": 300,  # gone before the next version brings another one
            "template": {"metadata": {"labels": meta("", "setup")["labels"]}, "spec": pod},
        },
    }
