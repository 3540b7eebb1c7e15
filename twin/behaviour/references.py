"""What a pod's spec refers to and is not there: ConfigMaps, Secrets and their keys, and claims.

The words are the kubelet's: kubernetes/kubernetes pkg/kubelet/kubelet_pods.go (variables),
pkg/volume/{configmap,secret,projected} (volumes) and pkg/kubelet/volumemanager/populator (claims).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from twin.records import Object

Look = Callable[[str, str], Mapping[str, Any] | None]
"""(resource, name) of the pod's namespace to what is in that object, None when it is not there."""
_SOURCES = {"configMap": ("configmaps", "ConfigMap"), "secret": ("secrets", "Secret")}
_NO_KEY = {
    "configMap": "configmap references non-existent config key: ",
    "secret": "references non-existent secret key: ",
}


def missing_in_variables(containers: list[Object], namespace: str, look: Look) -> tuple[str, str]:
    """Return (container, what its environment lacks) of the first that cannot start, else empty."""
    for container in containers:
        for problem in _of_container(container, namespace, look):
            return str(container["name"]), problem
    return "", ""


def missing_in_volumes(spec: Object, look: Look) -> tuple[str, str]:
    """Return (volume, what it lacks) of the first that cannot be set up, else empty texts."""
    for volume in spec.get("volumes") or ():
        problems = list(_of_volume(volume, look))
        if problems:
            text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            return str(volume["name"]), text
    return "", ""


def refers(spec: Object) -> bool:
    """Say whether a pod's spec may refer to other objects at all."""
    return bool(spec.get("volumes")) or any(
        container.get("env") or container.get("envFrom")
        for container in (*(spec.get("initContainers") or ()), *spec["containers"])
    )


def _of_container(container: Object, namespace: str, look: Look) -> Iterator[str]:
    for source in container.get("envFrom") or ():
        for name, (resource, _) in _SOURCES.items():
            reference = source.get(f"{name}Ref")
            if not reference or reference.get("optional"):
                continue
            if look(resource, reference.get("name", "")) is None:
                yield _not_found(name, reference)
    for variable in container.get("env") or ():
        given = variable.get("valueFrom") or {}
        for name, (resource, kind) in _SOURCES.items():
            reference = given.get(f"{name}KeyRef")
            if not reference or reference.get("optional"):
                continue
            found = look(resource, reference.get("name", ""))
            if found is None:
                yield _not_found(name, reference)
            elif reference["key"] not in (found.get("data") or {}):
                place = f"{kind} {namespace}/{reference.get('name', '')}"
                yield f"couldn't find key {reference['key']} in {place}"


def _of_volume(volume: Object, look: Look) -> Iterator[str]:
    if "configMap" in volume:
        yield from _of_source("configMap", volume["configMap"], look)
    if "secret" in volume:
        secret = volume["secret"]
        yield from _of_source("secret", {**secret, "name": secret.get("secretName", "")}, look)
    for source in (volume.get("projected") or {}).get("sources") or ():
        for name in _SOURCES:
            if name in source:
                yield from _of_source(name, source[name], look)


def _of_source(name: str, source: Object, look: Look) -> Iterator[str]:
    if source.get("optional"):
        return
    found = look(_SOURCES[name][0], source.get("name", ""))
    if found is None:
        yield _not_found(name, source)
        return
    keys = {**(found.get("data") or {}), **(found.get("binaryData") or {})}
    for item in source.get("items") or ():
        if item["key"] not in keys:
            yield f"{_NO_KEY[name]}{item['key']}"
            return


def _not_found(name: str, reference: Object) -> str:
    return f'{name.lower()} "{reference.get("name", "")}" not found'
