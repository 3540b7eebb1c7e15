"""What several kinds are warned of: names, labels of nodes, amounts and volumes that are out of date."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from inputs.quantities import parse_quantity

Object = dict[str, Any]
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST_LABEL = 63
STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
_REGION, _ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
OLD_LABELS: Mapping[str, str] = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": f'deprecated since v1.17; use "{_REGION}" instead',
    "failure-domain.beta.kubernetes.io/zone": f'deprecated since v1.17; use "{_ZONE}" instead',
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
}
OLD_VOLUMES: Mapping[str, str] = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}


def of_name(name: str, used: str) -> Iterator[str]:
    """Yield what is wrong with a name that becomes a host's; `used` says where."""
    wrong = []
    if len(name) > _LONGEST_LABEL:
        wrong.append(f"must be no more than {_LONGEST_LABEL} characters")
    if not _LABEL.fullmatch(name):
        wrong.append("must not contain dots")
    if wrong:
        why = "which can result in surprising behavior; a DNS label is recommended"
        yield f"metadata.name: this is used in {used}, {why}: [{' '.join(wrong)}]"


def of_node_selector(selector: Mapping[str, Any] | None, path: str) -> Iterator[str]:
    """Yield which labels of a node selector are old."""
    for key in sorted(selector or {}):
        if key in OLD_LABELS:
            yield f"{path}[{key}]: {OLD_LABELS[key]}"


def of_label(key: str, path: str) -> Iterator[str]:
    """Yield that the key of a label is old."""
    if key in OLD_LABELS:
        yield f"{path}: {key} is {OLD_LABELS[key]}"


def of_node_terms(terms: list[Object] | None, path: str) -> Iterator[str]:
    """Yield which keys of terms about nodes are old."""
    for index, term in enumerate(terms or ()):
        for number, rule in enumerate(term.get("matchExpressions") or ()):
            yield from of_label(
                rule.get("key", ""), f"{path}[{index}].matchExpressions[{number}].key"
            )


def of_bytes(amounts: Mapping[str, Any] | None, names: tuple[str, ...], path: str) -> Iterator[str]:
    """Yield which amounts are fractions of a byte."""
    for name in names:
        amount = (amounts or {}).get(name)
        if amount is not None and parse_quantity(amount) % 1:
            yield f'{path}[{name}]: fractional byte value "{amount}" is invalid, must be an integer'
