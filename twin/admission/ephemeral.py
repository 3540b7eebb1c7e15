"""Containers that are added to a pod for a while, through its `ephemeralcontainers` subresource.

Upstream: pkg/apis/core/validation/validation.go ValidatePodEphemeralContainersUpdate.
"""

from __future__ import annotations

import json

from twin.admission import rules
from twin.admission.findings import Findings
from twin.records import Object

_NOT_SET = ("ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resizePolicy")
_PATH = "spec.ephemeralContainers"


def check_ephemeral(old: Object, new: Object, findings: Findings) -> None:
    """Keep of a change to a pod its ephemeral containers alone, and check them; specs are defaulted."""
    before = old["spec"].get("ephemeralContainers") or []
    after = new["spec"].get("ephemeralContainers") or []
    new["spec"] = {**old["spec"], **({"ephemeralContainers": after} if after else {})}
    if not after:
        new["spec"].pop("ephemeralContainers", None)
    taken = {
        container["name"]
        for kind in ("containers", "initContainers")
        for container in old["spec"].get(kind) or ()
    }
    own = frozenset(taken)
    for index, container in enumerate(after):
        _check(container, taken, own, findings, f"{_PATH}[{index}]")
    known = {container["name"]: container for container in after if container.get("name")}
    for container in before:
        name = container["name"]
        if name not in known:
            why = f"existing ephemeral containers {json.dumps(name)} may not be removed\n"
            findings.forbid(_PATH, why)
        elif known[name] != container:
            why = f"existing ephemeral containers {json.dumps(name)} may not be changed\n"
            findings.forbid(_PATH, why)


def _check(
    container: Object, taken: set[str], own: frozenset[str], findings: Findings, path: str
) -> None:
    name = container.get("name") or ""
    if not name:
        findings.require(f"{path}.name")
    else:
        rules.dns_label(f"{path}.name", name, findings)
    if name in taken:
        findings.duplicate(f"{path}.name", name)
    taken.add(name)
    if not container.get("image"):
        findings.require(f"{path}.image")
    for field in _NOT_SET:
        if container.get(field):
            findings.forbid(f"{path}.{field}", "cannot be set for an Ephemeral Container")
    if container.get("resources"):
        findings.forbid(f"{path}.resources", "cannot be set for an Ephemeral Container")
    target = container.get("targetContainerName")
    if target and target not in own:
        findings.add(f"{path}.targetContainerName", f"Not found: {json.dumps(target)}")
