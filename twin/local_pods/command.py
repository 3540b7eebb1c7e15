"""What a container's process is started with: its words, its environment, its files.

Pure: what is read of the cluster comes in as objects. The rules are those of Kubernetes
(kubernetes.io/docs/tasks/inject-data-application), with one addition: a process sees the whole machine and
not an image's file system, so paths below a volume's mountPath, and the termination message path, are those of
the container's own folder wherever they begin a word or a value.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING
from pathlib import PurePosixPath

from inputs.quantities import parse_quantity
from twin.records import Object

ENTRYPOINT = ("python", "-m")
"""What the image `foresail:local` runs before a container's args (deploy/Dockerfile)."""
_REFERENCE = re.compile(r"\$(\$|\(([A-Za-z_.][-A-Za-z0-9_.]*)\))")
_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*\Z")
_INDEXED = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]\Z")
Find = Callable[[str, str], Object | None]
"""(resource, name) of an object in the pod's namespace; None where there is none."""


class CannotStart(Exception):
    """A container's process cannot be started; the text is what its status says."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One container, ready to be started."""

    name: str
    words: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[str, bytes]
    """By path in the container's own folder, without a leading slash."""
    folders: tuple[str, ...]
    """Folders to be made there; the same emptyDir has the same name in every container of the pod."""
    message_path: str
    """Where its termination message is, in its own folder."""
    falls_back_to_log: bool
    """Whether its last lines are the message when it fails without one."""
    memory_bytes: int | None
    disk_bytes: int | None
    working_folder: str = ""
    links: Mapping[str, str] = field(default_factory=dict)
    """Mount path in its own folder, by the name of the pod's emptyDir behind it."""


def launch_of(pod: Object, container: Object, find: Find, own_folder: str) -> Launch:
    """Return how to start a container whose files will be in `own_folder`.

    Raises:
        CannotStart: it refers to something that is not there.
    """
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
    files: dict[str, bytes] = {}
    folders, links = [], {}
    mounts = [str(container.get("terminationMessagePath") or "/dev/termination-log")]
    for mount in container.get("volumeMounts") or ():
        volume, place = volumes.get(mount["name"]), _inside(str(mount["mountPath"]))
        if volume is None:
            raise CannotStart(f'volume "{mount["name"]}" is not in the pod\'s spec')
        mounts.append(str(mount["mountPath"]))
        if "emptyDir" in volume:
            links[place] = str(mount["name"])
            continue
        folders.append(place)
        for name, content in _volume_files(pod, volume, find):
            files[f"{place}/{name}"] = content
    own = _Places(own_folder, tuple(sorted(mounts, key=len, reverse=True)))
    environment = _environment(pod, container, find, own)
    command = [str(word) for word in container.get("command") or ()]
    arguments = [str(word) for word in container.get("args") or ()]
    words = [*(command or ENTRYPOINT), *arguments]
    limits = (container.get("resources") or {}).get("limits") or {}
    return Launch(
        name=str(container["name"]),
        words=tuple(own.put(_expand(word, environment)) for word in words),
        environment=environment,
        files=files,
        folders=tuple(folders),
        message_path=_inside(mounts[0]),
        falls_back_to_log=container.get("terminationMessagePolicy") == "FallbackToLogsOnError",
        memory_bytes=_bytes(limits.get("memory")),
        disk_bytes=_bytes(limits.get("ephemeral-storage")),
        working_folder=own.put(str(container.get("workingDir") or "")),
        links=links,
    )


@dataclass(frozen=True, slots=True)
class _Places:
    """Where a container's own paths are on this machine."""

    folder: str
    mounts: tuple[str, ...]  # the longest first

    def put(self, text: str) -> str:
        """Return a text that begins with one of the container's own paths with the path on this machine."""
        for mount in self.mounts:
            if text == mount or text.startswith(f"{mount.rstrip('/')}/"):
                return f"{self.folder}/{_inside(text)}"
        return text


def _environment(pod: Object, container: Object, find: Find, own: _Places) -> dict[str, str]:
    """Return the container's variables, in order, each with those before it filled in."""
    environment: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        environment |= {key: text for key, text in _all_keys(source, find) if _NAME.match(key)}
    for variable in container.get("env") or ():
        name = str(variable["name"])
        if "valueFrom" in variable:
            value = _value(pod, container, variable["valueFrom"], find)
            if value is None:
                continue
        else:
            value = _expand(str(variable.get("value") or ""), environment)
        environment[name] = own.put(value)
    return environment


def _expand(text: str, environment: Mapping[str, str]) -> str:
    """Fill in `$(NAME)`; `$$(NAME)` stays as `$(NAME)`, and so does a name that nobody set."""

    def fill(match: re.Match[str]) -> str:
        if match[1] == "$":
            return "$"
        return environment.get(match[2], match[0])

    return _REFERENCE.sub(fill, text)


def _all_keys(source: Object, find: Find) -> Iterator[tuple[str, str]]:
    prefix = str(source.get("prefix") or "")
    for kind, resource in (("configMapRef", "configmaps"), ("secretRef", "secrets")):
        if kind not in source:
            continue
        reference = source[kind]
        for key, content in (_data(resource, reference, find) or {}).items():
            yield f"{prefix}{key}", content.decode(errors="replace")


def _value(pod: Object, container: Object, source: Object, find: Find) -> str | None:
    """Return a variable's value; None for an optional one that is not there."""
    if "fieldRef" in source:
        return _field(pod, str(source["fieldRef"]["fieldPath"]))
    if "resourceFieldRef" in source:
        return _resource(container, source["resourceFieldRef"])
    for kind, resource in (("configMapKeyRef", "configmaps"), ("secretKeyRef", "secrets")):
        if kind in source:
            reference = source[kind]
            data = _data(resource, reference, find)
            if data is None:
                return None
            key = str(reference["key"])
            if key in data:
                return data[key].decode(errors="replace")
            if reference.get("optional"):
                return None
            home = pod["metadata"]["namespace"]
            what = "ConfigMap" if resource == "configmaps" else "Secret"
            raise CannotStart(f"couldn't find key {key} in {what} {home}/{reference['name']}")
    return ""


def _data(resource: str, reference: Object, find: Find) -> dict[str, bytes] | None:
    """Return what a ConfigMap or Secret holds; None for an optional one that is not there."""
    found = find(resource, str(reference["name"]))
    if found is None:
        if reference.get("optional"):
            return None
        raise CannotStart(f'{resource.removesuffix("s")} "{reference["name"]}" not found')
    if resource == "secrets":
        return {key: base64.b64decode(text) for key, text in (found.get("data") or {}).items()}
    plain = {key: str(text).encode() for key, text in (found.get("data") or {}).items()}
    binary = found.get("binaryData") or {}
    return plain | {key: base64.b64decode(text) for key, text in binary.items()}


def _volume_files(pod: Object, volume: Object, find: Find) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of a volume's files; one that cannot be had here has none."""
    for source in (volume.get("projected") or {}).get("sources") or (volume,):
        for kind, resource, named in (
            ("configMap", "configmaps", "name"),
            ("secret", "secrets", "secretName" if source is volume else "name"),
        ):
            if kind in source:
                given = source[kind]
                reference = {"name": given.get(named, ""), "optional": given.get("optional")}
                yield from _chosen_keys(_data(resource, reference, find) or {}, given.get("items"))
        for item in (source.get("downwardAPI") or {}).get("items") or ():
            if "fieldRef" in item:
                yield str(item["path"]), _field(pod, str(item["fieldRef"]["fieldPath"])).encode()


def _chosen_keys(data: Mapping[str, bytes], items: object) -> Iterator[tuple[str, bytes]]:
    if not isinstance(items, list):
        yield from data.items()
        return
    for item in items:
        if item["key"] in data:
            yield _inside(str(item["path"])), data[item["key"]]


def _field(pod: Object, path: str) -> str:
    """Return a field of the pod as the downward API gives it; empty for one that is not set."""
    indexed = _INDEXED.match(path)
    if indexed:
        return str((pod["metadata"].get(indexed[1]) or {}).get(indexed[2], ""))
    value: object = pod
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, dict):
        return "".join(f'{key}="{text}"\n' for key, text in sorted(value.items()))
    return "" if value is None else str(value)


def _resource(container: Object, reference: Object) -> str:
    """Return an amount of the container, rounded up to whole divisors."""
    amounts: object = container.get("resources") or {}
    for part in str(reference["resource"]).split(".", 1):
        amounts = amounts.get(part) if isinstance(amounts, dict) else None
    if amounts is None:
        return "0"
    divisor = parse_quantity(str(reference.get("divisor") or "1")) or 1
    return str((parse_quantity(str(amounts)) / divisor).to_integral_value(ROUND_CEILING))


def _bytes(quantity: object) -> int | None:
    return None if quantity is None else int(parse_quantity(str(quantity)))


def _inside(path: str) -> str:
    """Return a path as one inside a folder: without a leading slash and without `..`."""
    return "/".join(part for part in PurePosixPath(path).parts if part not in ("/", "..", "."))
