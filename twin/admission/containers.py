"""What a container says: name, image, variables, mounts, probes, hooks, security.

Upstream: pkg/apis/core/validation/validation.go of kubernetes/kubernetes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from twin.admission import rules
from twin.admission.findings import Findings
from twin.admission.security import check_container_security
from twin.records import Object

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName"),
    *("spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP"),
    "status.podIPs",
)
AMOUNTS = tuple(
    f"{kind}.{name}"
    for kind in ("limits", "requests")
    for name in ("cpu", "memory", "ephemeral-storage")
)
"""Amounts that a variable or a file of the downward API can show."""
_UNREADABLE = ("metadata.labels", "metadata.annotations")
"""Fields that files of the downward API have and variables have not."""


def check_containers(spec: Object, volumes: set[str], findings: Findings, path: str) -> None:
    """Check what the containers of a pod spec say."""
    names: set[str] = set()
    ports: set[str] = set()
    grace = spec.get("terminationGracePeriodSeconds", 0)
    init = spec.get("initContainers") or ()
    for kind, containers in (
        ("containers", spec.get("containers") or ()),
        ("initContainers", init),
    ):
        for index, container in enumerate(containers):
            where = f"{path}.{kind}[{index}]"
            once = kind == "initContainers" and container.get("restartPolicy") != "Always"
            _check_name(container, names, findings, where)
            _check_container(container, findings, where)
            _check_ports(container, ports if kind == "containers" else set(), findings, where)
            _check_mounts(container, volumes, findings, where)
            _check_life(container, grace, findings, where, once=once)


def _check_name(container: Object, names: set[str], findings: Findings, path: str) -> None:
    name = container.get("name") or ""
    if not name:
        findings.require(f"{path}.name")
        return
    rules.dns_label(f"{path}.name", name, findings)
    if name in names:
        findings.add(f"{path}.name", f"Duplicate value: {json.dumps(name)}")
    names.add(name)


def _check_container(container: Object, findings: Findings, path: str) -> None:
    image = container.get("image") or ""
    if not image:
        findings.require(f"{path}.image")
    elif image != image.strip():
        findings.bad(f"{path}.image", image, "must not have leading or trailing whitespace")
    policies = ("Always", "IfNotPresent", "Never")
    rules.one_of(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), policies, findings)
    messages = ("File", "FallbackToLogsOnError")
    where = f"{path}.terminationMessagePolicy"
    rules.one_of(where, container.get("terminationMessagePolicy"), messages, findings)
    for index, variable in enumerate(container.get("env") or ()):
        _check_variable(variable, findings, f"{path}.env[{index}]")
    for index, source in enumerate(container.get("envFrom") or ()):
        _check_source(source, findings, f"{path}.envFrom", index)
    check_container_security(container.get("securityContext") or {}, findings, path)


def _check_variable(variable: Object, findings: Findings, path: str) -> None:
    name = variable.get("name") or ""
    if name:
        rules.variable_name(f"{path}.name", name, findings)
    else:
        findings.require(f"{path}.name")
    source = variable.get("valueFrom")
    if source is None:
        return
    where = f"{path}.valueFrom"
    stated = [each for each in _SOURCES if source.get(each) is not None]
    for each in stated:
        _SOURCE_CHECKS[each](source[each], findings, f"{where}.{each}")
    if variable.get("value"):
        findings.bad(where, "", "may not be specified when `value` is not empty")
    elif not stated:
        words = ", ".join(f"`{each}`" for each in _SOURCES[:-1])
        findings.bad(where, "", f"must specify one of: {words} or `{_SOURCES[-1]}`")
    elif len(stated) > 1:
        findings.bad(where, "", "may not have more than one field specified at a time")


def _check_field(reference: Object, findings: Findings, path: str) -> None:
    field = reference.get("fieldPath") or ""
    where = f"{path}.fieldPath"
    if not field:
        findings.require(where)
    elif field.partition("['")[0] in _UNREADABLE:
        _, _, key = field.partition("['")
        if not key:
            findings.unsupported(where, field, _FIELDS)
        else:
            rules.qualified_name(where, key.removesuffix("']"), findings)
    elif field not in _FIELDS:
        findings.bad(
            where, field, f"error converting fieldPath: field label not supported: {field}"
        )


def _check_amount(reference: Object, findings: Findings, path: str) -> None:
    check_amount_name(reference.get("resource") or "", findings, f"{path}.resource")


def check_amount_name(name: str, findings: Findings, path: str) -> None:
    """Check an amount that the downward API can show."""
    if not name:
        findings.require(path)
    elif name not in AMOUNTS and ".hugepages-" not in name:
        findings.unsupported(path, name, AMOUNTS)


def _check_key(reference: Object, findings: Findings, path: str) -> None:
    rules.subdomain(f"{path}.name", reference.get("name") or "", findings)
    rules.config_key(f"{path}.key", reference.get("key"), findings)


def _check_file_key(reference: Object, findings: Findings, path: str) -> None:
    for field in ("key", "volumeName", "path"):
        if not reference.get(field):
            findings.require(f"{path}.{field}")


_SOURCE_CHECKS = {
    "fieldRef": _check_field,
    "resourceFieldRef": _check_amount,
    "configMapKeyRef": _check_key,
    "secretKeyRef": _check_key,
    "fileKeyRef": _check_file_key,
}


def _check_source(source: Object, findings: Findings, path: str, index: int) -> None:
    if source.get("prefix"):
        rules.variable_name(f"{path}[{index}].prefix", source["prefix"], findings)
    stated = [each for each in ("configMapRef", "secretRef") if source.get(each) is not None]
    for each in stated:
        if not source[each].get("name"):
            findings.require(f"{path}[{index}].{each}.name")
    if not stated:
        findings.bad(path, "", "must specify one of: `configMapRef` or `secretRef`")
    elif len(stated) > 1:
        findings.bad(path, "", "may not have more than one field specified at a time")


def _check_ports(container: Object, taken: set[str], findings: Findings, path: str) -> None:
    """Check ports; `taken` are the host ports of the containers before, and grows."""
    names: set[str] = set()
    for index, port in enumerate(container.get("ports") or ()):
        where, name = f"{path}.ports[{index}]", port.get("name") or ""
        if name:
            rules.port_name(f"{where}.name", name, findings)
            if name in names:
                findings.add(f"{where}.name", f"Duplicate value: {json.dumps(name)}")
            names.add(name)
        if not port.get("containerPort"):
            findings.require(f"{where}.containerPort")
        protocol = port.get("protocol")
        rules.one_of(f"{where}.protocol", protocol, ("SCTP", "TCP", "UDP"), findings)
        if port.get("hostPort"):
            place = f"{protocol}/{port.get('hostIP', '')}/{port['hostPort']}"
            if place in taken:
                findings.add(f"{where}.hostPort", f'Duplicate value: "{place}"')
            taken.add(place)


def _check_mounts(container: Object, volumes: set[str], findings: Findings, path: str) -> None:
    places: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        where, name = f"{path}.volumeMounts[{index}]", mount.get("name") or ""
        if not name:
            findings.require(f"{where}.name")
        elif name not in volumes:
            findings.add(f"{where}.name", f"Not found: {json.dumps(name)}")
        place = mount.get("mountPath") or ""
        if not place:
            findings.require(f"{where}.mountPath")
        elif place in places:
            findings.bad(f"{where}.mountPath", place, "must be unique")
        places.add(place)
        if mount.get("subPath"):  # upstream names this and the propagation without the index
            rules.inner_path(f"{path}.volumeMounts.subPath", mount["subPath"], findings)
        if mount.get("subPathExpr"):
            if mount.get("subPath"):
                why = "subPathExpr and subPath are mutually exclusive"
                findings.bad(f"{where}.subPathExpr", mount["subPathExpr"], why)
            rules.inner_path(f"{path}.volumeMounts.subPathExpr", mount["subPathExpr"], findings)
        propagations = ("Bidirectional", "HostToContainer", "None")
        stated, at = mount.get("mountPropagation"), f"{path}.volumeMounts.mountPropagation"
        rules.optional_word(at, stated, propagations, findings)


def _check_life(
    container: Object, grace: int, findings: Findings, path: str, *, once: bool
) -> None:
    """Check probes and hooks; a container that runs `once` has none."""
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is not None and once:
            findings.forbid(f"{path}.{name}", _ONCE)
        elif probe is not None:
            _check_probe(name, probe, findings, f"{path}.{name}")
    hooks = container.get("lifecycle") or {}
    if hooks and once:
        findings.forbid(f"{path}.lifecycle", _ONCE)
        return
    for name in ("postStart", "preStop"):
        if hooks.get(name) is not None:
            _check_handler(hooks[name], _HANDLERS, findings, f"{path}.lifecycle.{name}", grace)


_ONCE = "may not be set for init containers without restartPolicy=Always"


def _check_probe(name: str, probe: Object, findings: Findings, path: str) -> None:
    _check_handler(probe, _HANDLERS[:4], findings, path, 0)
    for field in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold",
                  "failureThreshold"):  # fmt: skip
        rules.not_negative(f"{path}.{field}", probe.get(field), findings)
    if name != "readinessProbe" and probe.get("successThreshold", 1) != 1:
        findings.bad(f"{path}.successThreshold", probe["successThreshold"], "must be 1")
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and name == "readinessProbe":
        why = "must not be set for readinessProbes"
        findings.bad(f"{path}.terminationGracePeriodSeconds", seconds, why)
    elif seconds is not None and seconds <= 0:
        findings.bad(f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than 0")


def _check_handler(
    handler: Object, known: Iterable[str], findings: Findings, path: str, grace: int
) -> None:
    """Check what a probe or a hook does; `grace` bounds how long a hook sleeps."""
    stated = [name for name in known if handler.get(name) is not None]
    for name in stated[1:]:
        findings.forbid(f"{path}.{name}", "may not specify more than 1 handler type")
    if not stated:
        findings.require(path, "must specify a handler type")
        return
    name, action = stated[0], handler[stated[0]]
    where = f"{path}.{name}"
    match name:
        case "exec" if not action.get("command"):
            findings.require(f"{where}.command")
        case "httpGet":
            rules.port_or_name(f"{where}.port", action.get("port"), findings)
            rules.one_of(f"{where}.scheme", action.get("scheme"), ("HTTP", "HTTPS"), findings)
        case "tcpSocket":
            rules.port_or_name(f"{where}.port", action.get("port"), findings)
        case "grpc":
            rules.port(f"{where}.port", action.get("port"), findings)
        case "sleep" if not 0 <= action.get("seconds", 0) <= grace:
            why = "must be non-negative and less than terminationGracePeriodSeconds"
            findings.bad(where, action.get("seconds", 0), f"{why} ({grace})")
