"""What the specs of pods, and of templates of pods, are warned of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from twin.advice.words import (
    OLD_VOLUMES,
    STORAGE_CLASS,
    of_bytes,
    of_label,
    of_node_selector,
    of_node_terms,
)

Object = dict[str, Any]
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF_ONE = "container.seccomp.security.alpha.kubernetes.io/"
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_NO_SELECTOR = "a null labelSelector results in matching no pod"
_BYTES = ("memory", "ephemeral-storage")
_LISTS = ("initContainers", "containers", "ephemeralContainers")


def of_pod(template: Object, path: str) -> Iterator[str]:
    """Yield the warnings about a pod or a template; `path` is where its metadata and spec stand."""
    spec, at = template.get("spec") or {}, f"{path}spec"
    yield from of_node_selector(spec.get("nodeSelector"), f"{at}.nodeSelector")
    affinity = spec.get("affinity") or {}
    yield from _of_node_affinity(affinity.get("nodeAffinity") or {}, f"{at}.affinity.nodeAffinity")
    for index, rule in enumerate(spec.get("topologySpreadConstraints") or ()):
        where = f"{at}.topologySpreadConstraints[{index}]"
        yield from of_label(rule.get("topologyKey", ""), f"{where}.topologyKey")
        if rule.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NO_SELECTOR}"
    yield from _of_annotations((template.get("metadata") or {}).get("annotations") or {}, path)
    yield from _of_aliases(spec.get("hostAliases") or (), f"{at}.hostAliases")
    yield from _of_pull_secrets(spec.get("imagePullSecrets") or (), f"{at}.imagePullSecrets")
    yield from _of_volumes(spec.get("volumes") or (), f"{at}.volumes")
    yield from _of_ports(spec, at)
    for each, where in _containers(spec, at):
        yield from _of_container(each, where)
    for name in ("podAffinity", "podAntiAffinity"):
        yield from _of_pod_affinity(affinity.get(name) or {}, f"{at}.affinity.{name}")


def _containers(spec: Object, path: str) -> Iterator[tuple[Object, str]]:
    for name in _LISTS:
        for index, each in enumerate(spec.get(name) or ()):
            yield each, f"{path}.{name}[{index}]"


def _of_container(container: Object, path: str) -> Iterator[str]:
    known: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name = variable.get("name", "")
        if name in known:
            why = f'hides previous definition of "{name}", which may be dropped when using apply'
            yield f"{path}.env[{index}]: {why}"
        known.add(name)
    resources = container.get("resources") or {}
    for part in ("limits", "requests"):
        yield from of_bytes(resources.get(part), _BYTES, f"{path}.resources.{part}")


def _of_ports(spec: Object, path: str) -> Iterator[str]:
    known: dict[tuple[Any, str], list[tuple[str, Object]]] = {}
    for container, at in _containers(spec, path):
        for index, port in enumerate(container.get("ports") or ()):
            where = f"{at}.ports[{index}]"
            key = (port.get("containerPort"), port.get("protocol", "TCP"))
            for other_at, other in known.setdefault(key, []):
                word = _clash(port, other)
                if word:
                    yield f"{where}: {word} port definition with {other_at}"
            known[key].append((where, port))


def _clash(port: Object, other: Object) -> str:
    """Return how two definitions of a port and protocol get into each other's way."""
    ports = (port.get("hostPort") or 0, other.get("hostPort") or 0)
    addresses = (port.get("hostIP") or "", other.get("hostIP") or "")
    if ports[0] == ports[1] and addresses[0] == addresses[1]:
        return "duplicate"
    if 0 in ports:
        return "overlapping"
    return "dangerously ambiguous" if ports[0] == ports[1] and "" in addresses else ""


def _of_node_affinity(affinity: Object, path: str) -> Iterator[str]:
    required = affinity.get(_REQUIRED) or {}
    where = f"{path}.{_REQUIRED}.nodeSelectorTerms"
    yield from of_node_terms(required.get("nodeSelectorTerms"), where)
    for index, term in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{path}.{_PREFERRED}[{index}].preference"
        for number, rule in enumerate((term.get("preference") or {}).get("matchExpressions") or ()):
            yield from of_label(rule.get("key", ""), f"{where}.matchExpressions[{number}].key")


def _of_pod_affinity(affinity: Object, path: str) -> Iterator[str]:
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        if term.get("labelSelector") is None:
            yield f"{path}.{_REQUIRED}[{index}].labelSelector: {_NO_SELECTOR}"
    for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
            yield f"{path}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NO_SELECTOR}"


def _of_annotations(annotations: Object, path: str) -> Iterator[str]:
    for name in sorted(annotations):
        where = f"{path}metadata.annotations[{name}]"
        if name.startswith(_APPARMOR):
            yield f'{where}: deprecated since v1.30; use the "appArmorProfile" field instead'
        if name == _SECCOMP or name.startswith(_SECCOMP_OF_ONE):
            yield f'{where}: non-functional in v1.27+; use the "seccompProfile" field instead'


def _of_aliases(aliases: Any, path: str) -> Iterator[str]:
    known: set[str] = set()
    for index, alias in enumerate(aliases):
        if alias.get("ip") in known:
            yield f'{path}[{index}].ip: duplicate ip "{alias["ip"]}"'
        known.add(alias.get("ip", ""))


def _of_pull_secrets(secrets: Any, path: str) -> Iterator[str]:
    known: set[str] = set()
    for index, secret in enumerate(secrets):
        name = secret.get("name") or ""
        if not name:
            yield f'{path}[{index}].name: invalid empty name ""'
        elif name in known:
            yield f'{path}[{index}].name: duplicate name "{name}"'
        known.add(name)


def _of_volumes(volumes: Any, path: str) -> Iterator[str]:
    for index, volume in enumerate(volumes):
        for name, why in OLD_VOLUMES.items():
            if volume.get(name) is not None:
                yield f"{path}[{index}].{name}: {why}"
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if template:
            yield from of_claim(template, f"{path}[{index}].ephemeral.volumeClaimTemplate.")


def of_claim(claim: Object, path: str) -> Iterator[str]:
    """Yield the warnings about a claim of a volume, or a template of one."""
    if STORAGE_CLASS in ((claim.get("metadata") or {}).get("annotations") or {}):
        why = 'deprecated since v1.8; use "storageClassName" attribute instead'
        yield f"{path}metadata.annotations[{STORAGE_CLASS}]: {why}"
    resources = (claim.get("spec") or {}).get("resources") or {}
    for part in ("limits", "requests"):
        yield from of_bytes(resources.get(part), ("storage",), f"{path}spec.resources.{part}")
