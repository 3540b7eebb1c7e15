"""The node agent, where it is asked for: one pod a node, in a namespace of its own that may mount files of the machine.

The restricted Pod Security Standard, and the baseline one, forbid every hostPath, and what the agent writes is the
machine's. So it lives apart from everything else, with two or three folders mounted, as root without any capability.
"""

from __future__ import annotations

from typing import Any

from deploy.manifests.network import API_PORTS
from deploy.manifests.pieces import PART_OF, container_security, get_probe, named, scratch
from deploy.manifests.tree import Document, Filled, Tree, When, json_text
from deploy.manifests.values import Chart, merged
from foresail.install_rights import (
    ACCOUNTS,
    AGENT,
    Grants,
    account_manifest,
    granted_rights,
    role_manifests,
)
from schemas.node_limits import CONDITION
from services.node_agent.settings import NODE_VARIABLE
from services.rights import READ, REQUIRED, Place, rules_of

FILE = "node-agent"
LEVEL = "pod-security.kubernetes.io"
STATE, CPUS = "/var/lib/foresail/node-agent", "/sys/devices/system/cpu"
INSIDE = "/machine"
"""Where the machine's folders are mounted: AppArmor's default profile denies writes below a container's /sys."""
_ENABLED = "$.Values.nodeAgent.enabled"
_CGROUP = "$.Values.nodeAgent.cgroup"
_NODE_NAME = "authentication.kubernetes.io/node-name"


def documents(chart: Chart) -> list[Document]:
    """Return everything of the node agent."""
    space = chart.fill("nodeAgent.namespace")
    account = ACCOUNTS[AGENT]
    rights = granted_rights(Grants(node_agent=True))[AGENT]
    made: list[Tree] = [_namespace(space), account_manifest(account, "SPACE")]
    for place in Place:
        rules = rules_of(right for right in rights if right.place is place)
        made += role_manifests(account, place, rules, Grants(home="SPACE"))
    made += [daemon_set(chart), *_policy(space, account), _network(space)]
    holds = bool(chart.get("nodeAgent.enabled"))
    return [Document(FILE, _filled(one, space), condition=_ENABLED, holds=holds) for one in made]


def _namespace(space: Filled) -> Tree:
    labels = {f"{LEVEL}/{mode}": "privileged" for mode in ("enforce", "audit", "warn")}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": space, "labels": {**PART_OF, **labels}},
    }


def daemon_set(chart: Chart) -> Tree:
    """Return the DaemonSet; a node's agent is replaced, never doubled."""
    pod: dict[str, Tree] = {
        "serviceAccountName": ACCOUNTS[AGENT],
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "terminationGracePeriodSeconds": 30,
        "nodeSelector": chart.fill("nodeAgent.nodeSelector"),
        # Nodes that we keep new pods from have their limits looked after, too.
        "tolerations": [{"key": "foresail.dev/capped", "operator": "Exists"}],
        "containers": [_container(chart)],
        "volumes": _volumes(chart),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": _meta("foresail-node-agent"),
        "spec": {
            "revisionHistoryLimit": 3,
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"},
            },
            "selector": {"matchLabels": named(AGENT)},
            "template": {
                "metadata": {"labels": _meta("foresail-node-agent")["labels"]},
                "spec": pod,
            },
        },
    }


def _container(chart: Chart) -> Tree:
    node = {"valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    return {
        "name": AGENT,
        "image": chart.fill("image"),
        "imagePullPolicy": chart.fill("imagePullPolicy"),
        "args": ["services.node_agent"],
        "env": [
            {"name": NODE_VARIABLE, **node},
            {"name": "FORESAIL_HEALTH_HOST", "value": "0.0.0.0"},  # noqa: S104 - of the pod
            {"name": "FORESAIL_HEALTH_PORT", "value": "9100"},
            {"name": REQUIRED, "value": READ},
            {"name": "FORESAIL_SETTINGS", "value": _settings(chart)},
        ],
        "ports": [{"name": "health", "containerPort": 9100}],
        "startupProbe": get_probe("/healthz", "health", 5, 60),
        "livenessProbe": get_probe("/healthz", "health", 10, 3),
        "readinessProbe": get_probe("/readyz", "health", 5, 3),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "resources": chart.fill("nodeAgent.resources"),
        # Files of the kernel belong to root, who needs no capability to write what is its own.
        "securityContext": {**container_security(), "runAsUser": 0, "runAsGroup": 0},
        "volumeMounts": _mounts(chart),
    }


def _settings(chart: Chart) -> Filled:
    """Return the agent's settings: where things are mounted, and over them its own."""
    cgroup = chart.get("nodeAgent.cgroup")
    fixed = {"cpu_folder": f"{INSIDE}/cpu", "state_folder": f"{INSIDE}/state"}
    following = {**fixed, "cgroup_folder": f"{INSIDE}/cgroup" if cgroup else ""}
    words = " ".join(f'"{name}" "{path}"' for name, path in fixed.items())
    go = (
        f'mergeOverwrite (dict {words} "cgroup_folder" (ternary "{INSIDE}/cgroup" "" '
        f'(ne {_CGROUP} ""))) (deepCopy $.Values.nodeAgent.settings) | toJson'
    )
    own = chart.get("nodeAgent.settings")
    return Filled(go, json_text(merged(following, own)))


def _mounts(chart: Chart) -> Tree:
    cgroup = {"mountPath": f"{INSIDE}/cgroup", "name": "cgroup"}
    return [
        {"mountPath": f"{INSIDE}/cpu", "name": "cpu"},
        {"mountPath": f"{INSIDE}/state", "name": "state"},
        {"mountPath": "/tmp", "name": "tmp"},  # noqa: S108 - of the container
        When(_CGROUP, bool(chart.get("nodeAgent.cgroup")), (cgroup,)),
    ]


def _volumes(chart: Chart) -> Tree:
    cgroup = _host_path("cgroup", chart.fill("nodeAgent.cgroup"), "Directory")
    return [
        _host_path("cpu", CPUS, "Directory"),
        _host_path("state", STATE, "DirectoryOrCreate"),
        scratch(),
        When(_CGROUP, bool(chart.get("nodeAgent.cgroup")), (cgroup,)),
    ]


def _host_path(name: str, path: Tree, kind: str) -> Tree:
    return {"name": name, "hostPath": {"path": path, "type": kind}}


def _policy(space: Filled, account: str) -> list[Tree]:
    """Return the admission policy by which an agent writes the condition of its own Node and nothing else."""
    user = Filled(
        f"printf \"request.userInfo.username == 'system:serviceaccount:%s:{account}'\" {space.go}",
        f"request.userInfo.username == 'system:serviceaccount:{space.value}:{account}'",
    )
    own = (
        f"has(request.userInfo.extra) && '{_NODE_NAME}' in request.userInfo.extra && "
        f"request.userInfo.extra['{_NODE_NAME}'][0] == object.metadata.name"
    )
    unchanged = (
        "{0}.metadata.?labels.orValue({{}})",
        "{0}.metadata.?annotations.orValue({{}})",
        "{0}.status.?allocatable.orValue({{}})",
        "{0}.status.?capacity.orValue({{}})",
        f"{{0}}.status.?conditions.orValue([]).filter(c, c.type != '{CONDITION}')",
    )
    same = [f"{one.format('object')} == {one.format('oldObject')}" for one in unchanged]
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["UPDATE"],
                    "resources": ["nodes", "nodes/status"],
                }
            ]
        },
        "matchConditions": [{"name": "by-a-node-agent", "expression": user}],
        "validations": [
            {"expression": own, "message": "a node agent writes its own Node alone"},
            {
                "expression": " && ".join(same),
                "message": f"a node agent writes the condition {CONDITION} alone",
            },
        ],
    }
    head = {"apiVersion": "admissionregistration.k8s.io/v1"}
    meta = {"name": account, "labels": PART_OF}
    bound = {"policyName": account, "validationActions": ["Deny"]}
    return [
        {**head, "kind": "ValidatingAdmissionPolicy", "metadata": meta, "spec": spec},
        {**head, "kind": "ValidatingAdmissionPolicyBinding", "metadata": meta, "spec": bound},
    ]


def _network(space: Filled) -> Tree:
    """Return who may talk to whom: nobody to an agent, an agent to the API server."""
    ports = [{"protocol": "TCP", "port": number} for number in API_PORTS]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "foresail-node-agent", "namespace": space, "labels": PART_OF},
        "spec": {
            "podSelector": {"matchLabels": named(AGENT)},
            "policyTypes": ["Ingress", "Egress"],
            "egress": [{"ports": ports}],
        },
    }


def _meta(name: str) -> dict[str, Any]:
    return {"name": name, "namespace": "SPACE", "labels": {**named(AGENT), **PART_OF}}


def _filled(tree: Tree, space: Filled) -> Tree:
    """Return a tree with the agent's namespace in the places that say SPACE."""
    if tree == "SPACE":
        return space
    if isinstance(tree, dict):
        return {key: _filled(value, space) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_filled(value, space) for value in tree]
    return tree
