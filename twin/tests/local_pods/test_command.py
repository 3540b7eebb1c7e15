"""What a container's process is started with, by Kubernetes' rules."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from twin.local_pods.command import CannotStart, launch_of

Object = dict[str, Any]
OBJECTS: dict[tuple[str, str], Object] = {
    ("configmaps", "map"): {"data": {"A": "1", "not a name": "2", "f.txt": "text"}},
    ("secrets", "secret"): {"data": {"PASSWORD": base64.b64encode(b"hidden").decode()}},
}


def launch(container: Object, **spec: Any) -> Any:
    """Return the launch of a container in pod shop/web."""
    pod = {
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "u",
            "labels": {"b": "2", "a": "1"},
        },
        "spec": {"nodeName": "node-1", **spec},
        "status": {"podIP": "10.1.2.3"},
    }
    whole = {"name": "main", "image": "foresail:local", **container}
    return launch_of(pod, whole, lambda kind, name: OBJECTS.get((kind, name)), "/own")


@pytest.mark.parametrize(
    ("container", "words"),
    [
        ({"args": ["bus.health_check"]}, ("python", "-m", "bus.health_check")),
        ({"command": ["foresail"], "args": ["tap"]}, ("foresail", "tap")),
        ({"command": ["a", "$(X)", "$$(X)", "$(Y)"]}, ("a", "one", "$(X)", "$(Y)")),
        ({"command": ["a", "/dev/termination-log"]}, ("a", "/own/dev/termination-log")),
        ({"command": ["a", "/dev/termination-logs"]}, ("a", "/dev/termination-logs")),
        ({"command": ["a", "--to=/data/x"]}, ("a", "--to=/data/x")),
        ({"command": ["a", "/data/../../x"]}, ("a", "/own/data/x")),
    ],
)
def test_words(container: Object, words: tuple[str, ...]) -> None:
    """References to variables are filled in, and own paths are put into the container's folder."""
    env = {"env": [{"name": "X", "value": "one"}]}
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/data"}]}
    volumes = [{"name": "v", "emptyDir": {}}]
    assert launch({**container, **env, **mount}, volumes=volumes).words == words


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ({"value": "$(FIRST)-2"}, "1-2"),
        ({"value": "$(LATER)"}, "$(LATER)"),
        ({"valueFrom": {"configMapKeyRef": {"name": "map", "key": "A"}}}, "1"),
        ({"valueFrom": {"secretKeyRef": {"name": "secret", "key": "PASSWORD"}}}, "hidden"),
        ({"valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}, "shop"),
        ({"valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}}, "1"),
        ({"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}, "10.1.2.3"),
        ({"valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}, "node-1"),
        ({"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}, "2"),
        (
            {"valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
            "191",
        ),
    ],
)
def test_variables(variable: Object, value: str) -> None:
    """Amounts are rounded up to whole divisors; a variable sees those before it alone."""
    env = [
        {"name": "FIRST", "value": "1"},
        {"name": "V", **variable},
        {"name": "LATER", "value": "3"},
    ]
    resources = {"limits": {"cpu": "1500m", "memory": "200M"}}
    assert launch({"env": env, "resources": resources}).environment["V"] == value


def test_all_keys_of_a_map_become_variables() -> None:
    """With a prefix; a key that is no name of a variable is left out, and `env` goes before."""
    sources = [{"prefix": "P_", "configMapRef": {"name": "map"}}, {"secretRef": {"name": "secret"}}]
    env = [{"name": "PASSWORD", "value": "mine"}]
    environment = launch({"envFrom": sources, "env": env}).environment
    assert environment == {"P_A": "1", "P_f.txt": "text", "PASSWORD": "mine"}


def test_an_optional_source_may_be_missing() -> None:
    """Then its variables are not set."""
    reference = {"name": "none", "key": "k", "optional": True}
    env = [{"name": "V", "valueFrom": {"configMapKeyRef": reference}}]
    sources = [{"configMapRef": {"name": "none", "optional": True}}]
    assert launch({"env": env, "envFrom": sources}).environment == {}


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ({"configMapKeyRef": {"name": "none", "key": "k"}}, 'configmap "none" not found'),
        (
            {"secretKeyRef": {"name": "secret", "key": "k"}},
            "couldn't find key k in Secret shop/secret",
        ),
    ],
)
def test_what_is_missing_is_named(reference: Object, message: str) -> None:
    """The container does not start."""
    with pytest.raises(CannotStart, match=message):
        launch({"env": [{"name": "V", "valueFrom": reference}]})


def test_volumes_become_files() -> None:
    """Chosen keys at chosen paths; fields of the pod as the downward API writes them."""
    items = [{"key": "f.txt", "path": "sub/../g.txt"}]
    downward = {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}
    sources = [{"configMap": {"name": "map", "items": items}}, {"downwardAPI": downward}]
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/etc/all"}]}
    found = launch(mount, volumes=[{"name": "v", "projected": {"sources": sources}}])
    assert found.files == {
        "etc/all/sub/g.txt": b"text",
        "etc/all/labels": b'a="1"\nb="2"\n',
    }
