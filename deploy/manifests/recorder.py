"""The recorder, where it is asked for: one pod that writes the whole log as sealed recordings to a volume of its own.

A StatefulSet, so that the volume outlives the pod and a recorder that comes back goes on where it was killed. It has
no token: it reads the log and talks to nobody else but, where one is named, a bucket.
"""

from __future__ import annotations

from deploy.manifests.network import egress_policy
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
)
from deploy.manifests.tree import Document, Filled, Tree, When, json_text
from deploy.manifests.values import Chart, merged
from services.recorder.settings import FOLDER_VARIABLE

FILE = "recorder"
IDENTITY = "recorder"
NAME = "foresail-recorder"
FOLDER = "/recordings"
_ENABLED = "$.Values.recorder.enabled"
_BUCKET = "$.Values.recorder.settings.bucket"


def documents(chart: Chart) -> list[Document]:
    """Return the StatefulSet, and the way out to a bucket."""
    enabled = bool(chart.get("recorder.enabled"))
    bucket = enabled and bool(chart.get("recorder.settings").get("bucket"))
    to_bucket = egress_policy(NAME, named(IDENTITY))  # a bucket is anywhere
    return [
        Document(FILE, stateful_set(chart), condition=_ENABLED, holds=enabled),
        Document(FILE, to_bucket, condition=f"and {_ENABLED} {_BUCKET}", holds=bucket),
    ]


def stateful_set(chart: Chart) -> Tree:
    """Return the recorder with its volume."""
    storage_class = chart.get("recorder.storageClass")
    claim: dict[str, Tree] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": chart.fill("recorder.storage")}},
        # null and "" differ for Kubernetes: no class at all turns the cluster's default off.
        "storageClassName": Filled(
            'ternary nil $.Values.recorder.storageClass (eq "" $.Values.recorder.storageClass)',
            storage_class or None,
        ),
    }
    pod: dict[str, Tree] = {
        "serviceAccountName": PLAIN_ACCOUNT,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_security(),
        "terminationGracePeriodSeconds": 60,  # the open recording is sealed
        "containers": [_container(chart)],
        "volumes": [login_volume(IDENTITY), scratch()],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": meta(NAME, IDENTITY),
        "spec": {
            "replicas": 1,  # a folder has one writer
            "serviceName": NAME,
            "revisionHistoryLimit": 3,
            "selector": {"matchLabels": named(IDENTITY)},
            "template": {"metadata": {"labels": meta(NAME, IDENTITY)["labels"]}, "spec": pod},
            "volumeClaimTemplates": [{"metadata": {"name": "recordings"}, "spec": claim}],
        },
    }


def _container(chart: Chart) -> Tree:
    secret = chart.get("recorder.bucketSecret")
    own = from_settings(
        FORESAIL_NATS_LOGIN_FILE="/login/login.env",
        FORESAIL_SETTINGS=_settings(chart),
        **{FOLDER_VARIABLE: FOLDER},
    )
    keys = {"secretRef": {"name": chart.fill("recorder.bucketSecret")}}
    named_secret = When("$.Values.recorder.bucketSecret", bool(secret), (keys,))
    return {
        "name": IDENTITY,
        "image": chart.fill("image"),
        "imagePullPolicy": chart.fill("imagePullPolicy"),
        "args": ["services.recorder"],
        "envFrom": [*own["envFrom"], named_secret],
        "env": own["env"],
        "ports": [{"name": "health", "containerPort": 9100}],
        "startupProbe": get_probe("/healthz", "health", 5, 60),
        "livenessProbe": get_probe("/healthz", "health", 10, 3),
        "readinessProbe": get_probe("/readyz", "health", 5, 3),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "resources": chart.fill("recorder.resources"),
        "securityContext": container_security(),
        "volumeMounts": [
            {"name": "login", "mountPath": "/login", "readOnly": True},
            {"name": "recordings", "mountPath": FOLDER},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - of the container
        ],
    }


def _settings(chart: Chart) -> Filled:
    """Return the recorder's settings; a bucket without a folder is none, and the folder is the volume's place."""
    go = f'mergeOverwrite (dict "folder" "{FOLDER}") (deepCopy $.Values.recorder.settings) | toJson'
    return Filled(go, json_text(merged({"folder": FOLDER}, chart.get("recorder.settings"))))
