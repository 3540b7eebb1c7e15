"""Plays the cases of `cases/*.toml` through the API and compares what it shows with what they expect."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from twin.api.messages import Request, Response
from twin.api.router import Router
from twin.config import TwinConfig
from twin.config.provisioning import (
    CloudConfig,
    ClusterAutoscalerConfig,
    KarpenterConfig,
    MachineType,
    NodeGroup,
    ProvisioningConfig,
)
from twin.engine import Engine
from twin.tests.provisioners.case_checks import CHECKS

Object = dict[str, Any]
CASES = Path(__file__).with_name("cases")
GIB = 2**30
MERGE = "application/merge-patch+json"
GROUP = "foresail.dev/node-group"
TYPE = "node.kubernetes.io/instance-type"
_PATHS = {
    "pods": "/api/v1/namespaces/{}/pods",
    "configmaps": "/api/v1/namespaces/{}/configmaps",
    "nodes": "/api/v1/nodes",
    "events": "/api/v1/namespaces/{}/events",
    "deployments": "/apis/apps/v1/namespaces/{}/deployments",
    "daemonsets": "/apis/apps/v1/namespaces/{}/daemonsets",
    "poddisruptionbudgets": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "priorityclasses": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "nodepools": "/apis/karpenter.sh/v1/nodepools",
    "nodeclaims": "/apis/karpenter.sh/v1/nodeclaims",
}


def read_cases(name: str) -> tuple[list[Object], list[Object]]:
    """Return the machines and the cases of a table."""
    document = tomllib.loads((CASES / f"{name}.toml").read_text(encoding="utf-8"))
    return document["machine"], document["case"]


class CaseRun:
    """One case on a cluster of its own, driven and read by requests alone."""

    def __init__(self, provisioner: str, machines: list[Object], case: Object) -> None:
        settings = case.get("settings", {})
        own = provisioner == "cluster-autoscaler"
        config = ProvisioningConfig(
            provisioner=provisioner,  # type: ignore[arg-type]
            machines=tuple(_machine(one) for one in machines),
            groups=tuple(_group(one) for one in case.get("groups", ())),
            cloud=CloudConfig(
                **{key: tuple(value) for key, value in case.get("cloud", {}).items()}
            ),
            cluster_autoscaler=ClusterAutoscalerConfig(**(settings if own else {})),
            karpenter=KarpenterConfig(
                default_pool="pools" not in case, **({} if own else settings)
            ),
        )
        self.case = case
        self.engine = Engine(TwinConfig(provisioning=config), seed=5)
        self.router = Router(self.engine)
        self.began = self.engine.now
        self.events: set[str] = set()
        self.claims_seen: set[str] = set()
        self.tainted: Counter[str] = Counter()
        self.marked_and_cordoned: set[str] = set()
        self.machines = machines
        if provisioner == "karpenter":
            for pool in case.get("pools", ()):
                self.send("POST", "nodepools", _pool(pool))
            self.group_label = TYPE
        else:
            self.group_label = GROUP

    # ---- requests

    def send(self, method: str, resource: str, body: Object | None = None, *, name: str = "",
             namespace: str = "default", media: str = "application/json", ok: bool = True) -> Object:  # fmt: skip
        """Send one request and return the answer."""
        path = _PATHS[resource].format(namespace) + (f"/{name}" if name else "")
        text = b"" if body is None else json.dumps(body).encode()
        answer = self.router.handle(Request(method, path, {}, {"content-type": media}, text))
        raw = answer.body if isinstance(answer, Response) else b"".join(answer.chunks)  # type: ignore[union-attr]
        found: Object = json.loads(raw)
        assert not ok or found.get("kind") != "Status" or found["status"] == "Success", found
        return found

    def items(self, resource: str, namespace: str = "default") -> list[Object]:
        """Return all objects of a kind."""
        return list(self.send("GET", resource, namespace=namespace)["items"])

    def rented(self) -> list[Object]:
        """Return the nodes that a provisioner brought, by name."""
        nodes = [
            one for one in self.items("nodes") if self.group_label in one["metadata"]["labels"]
        ]
        return sorted(nodes, key=lambda one: str(one["metadata"]["name"]))

    # ---- playing

    def play(self) -> None:
        """Play all steps and check every expectation at its time."""
        steps = [one for step in self.case.get("steps", ()) for one in _spread_out(step)]
        moments = sorted(
            [(one["t"], 0, index, one) for index, one in enumerate(steps)]
            + [(one["at"], 1, index, one) for index, one in enumerate(self.case["expect"])]
        )
        for when, kind, _, entry in moments:
            self.run_to(when)
            if kind == 0:
                self.do(entry)
            else:
                self.look()
                self.check(entry)

    def run_to(self, seconds: float) -> None:
        """Let time pass until so many seconds after the start, looking once a second."""
        target = self.began + seconds
        while self.engine.now < target:
            self.engine.advance(min(target, self.engine.now + 1.0))
            self.look()

    def look(self) -> None:
        """Take note of what comes and goes."""
        for event in self.items("events") + self.items("events", "kube-system"):
            about = event["involvedObject"]
            self.events.add(
                f"{about['kind']}/{about['name']} {event['reason']}: {event['message']}"
            )
        if self.group_label == TYPE:
            self.claims_seen |= {one["metadata"]["name"] for one in self.items("nodeclaims")}
        marks: Counter[str] = Counter()
        for node in self.rented():
            spec = node["spec"]
            for taint in spec.get("taints", ()):
                marks[taint["key"]] += 1
                if spec.get("unschedulable"):
                    self.marked_and_cordoned.add(f"{taint['key']}:{taint['effect']}")
        for key, count in marks.items():
            self.tainted[key] = max(self.tainted[key], count)

    def do(self, step: Object) -> None:
        """Carry out one step."""
        kinds = [key for key in _STEPS if key in step]
        assert len(kinds) == 1, f"unclear step {step}"
        _STEPS[kinds[0]](self, step)

    def resolve(self, name: str) -> str:
        """Return the name that `@0` stands for: a node (or NodeClaim) by number, in order of name."""
        if not name.startswith("@"):
            return name
        return str(self.rented()[int(name[1:])]["metadata"]["name"])

    # ---- checking

    def check(self, expected: Object) -> None:
        """Compare one expectation with what the API shows; AssertionError names every difference."""
        wrong: list[str] = []
        for key, value in expected.items():
            if key != "at":
                wrong += [f"{key}: {text}" for text in CHECKS[key](self, value)]
        assert not wrong, f"at {expected['at']} s: " + "; ".join(wrong)

    def count_by(self, label: str) -> dict[str, int]:
        """Return how many rented nodes have each value of a label."""
        return dict(Counter(one["metadata"]["labels"].get(label, "") for one in self.rented()))

    def seen(self, pattern: str) -> bool:
        """True when an event like this has been seen."""
        text = ".*".join(map(re.escape, pattern.split("*")))
        return any(re.fullmatch(text, event) for event in self.events)


# ---- steps


def _pods(run: CaseRun, step: Object) -> None:
    count = step.get("count", 1)
    for number in range(count):
        name = step["pods"] if count == 1 else f"{step['pods']}-{number}"
        run.send(
            "POST", "pods", {"metadata": {"name": name, **_notes(step)}, "spec": _spec(run, step)}
        )


def _deployment(run: CaseRun, step: Object) -> None:
    name = step["deployment"]
    labels = {"app": name}
    template = {"metadata": {"labels": labels, **_notes(step)}, "spec": _spec(run, step, name)}
    spec = {"replicas": step["replicas"], "selector": {"matchLabels": labels}, "template": template}
    body = {"metadata": {"name": name}, "spec": spec}
    run.send("POST", "deployments", body, namespace=step.get("namespace", "default"))


def _daemon_set(run: CaseRun, step: Object) -> None:
    labels = {"app": step["daemonset"]}
    template = {"metadata": {"labels": labels}, "spec": _spec(run, step)}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    run.send("POST", "daemonsets", {"metadata": {"name": step["daemonset"]}, "spec": spec})


def _budget(run: CaseRun, step: Object) -> None:
    selector = {"matchLabels": {"app": step["app"]}}
    spec = {"minAvailable": step["min_available"], "selector": selector}
    run.send("POST", "poddisruptionbudgets", {"metadata": {"name": step["budget"]}, "spec": spec})


def _priority_class(run: CaseRun, step: Object) -> None:
    body = {"metadata": {"name": step["priority_class"]}, "value": step["value"]}
    run.send("POST", "priorityclasses", body)


def _scale(run: CaseRun, step: Object) -> None:
    body = {"spec": {"replicas": step["replicas"]}}
    run.send("PATCH", "deployments", body, name=step["scale"], media=MERGE)


def _delete(run: CaseRun, step: Object) -> None:
    resource, _, name = step["delete"].partition("/")
    if name.startswith("@"):
        name = sorted(one["metadata"]["name"] for one in run.items(resource))[int(name[1:])]
    run.send("DELETE", resource, name=name)


def _annotate(run: CaseRun, step: Object) -> None:
    body = {"metadata": {"annotations": step["with"]}}
    run.send("PATCH", "nodes", body, name=run.resolve(step["annotate"]), media=MERGE)


def _untaint(run: CaseRun, step: Object) -> None:
    name = run.resolve(step["untaint"])
    taints = run.send("GET", "nodes", name=name)["spec"].get("taints", [])
    body = {"spec": {"taints": [one for one in taints if one["key"] != step["key"]]}}
    run.send("PATCH", "nodes", body, name=name, media=MERGE)


def _fail(run: CaseRun, step: Object) -> None:
    path = f"/foresail/v1/nodes/{run.resolve(step['fail'])}/fail"
    text = json.dumps({"seconds": step["seconds"]}).encode()
    answer = run.router.handle(
        Request("POST", path, {}, {"content-type": "application/json"}, text)
    )
    assert isinstance(answer, Response)
    assert answer.status < 300, answer.body


def _notice(run: CaseRun, step: Object) -> None:
    fault = {"fault": "spot_notice", "nodes": {"names": [run.resolve(step["notice"])]}}
    text = json.dumps({"faults": [{**fault, "at_seconds": 0}]}).encode()
    answer = run.router.handle(
        Request("POST", "/foresail/v1/scenario", {}, {"content-type": "application/json"}, text)
    )
    assert isinstance(answer, Response)
    assert answer.status < 300, answer.body


def _patch(run: CaseRun, step: Object) -> None:
    resource, _, name = step["patch"].partition("/")
    run.send("PATCH", resource, step["with"], name=name, media=MERGE)


_STEPS = {
    "pods": _pods,
    "deployment": _deployment,
    "daemonset": _daemon_set,
    "budget": _budget,
    "priority_class": _priority_class,
    "scale": _scale,
    "delete": _delete,
    "annotate": _annotate,
    "untaint": _untaint,
    "fail": _fail,
    "notice": _notice,
    "patch": _patch,
}


def _spread_out(step: Object) -> list[Object]:
    """Return a step once for each of its pods when they come one `every` so many seconds."""
    if "every" not in step:
        return [step]
    rest = {key: value for key, value in step.items() if key not in ("count", "every")}
    return [
        {**rest, "t": step["t"] + number * step["every"], "pods": f"{step['pods']}-{number}"}
        for number in range(step["count"])
    ]


def _notes(step: Object) -> Object:
    return {"annotations": step["annotations"]} if "annotations" in step else {}


def _spec(run: CaseRun, step: Object, app: str = "") -> Object:
    requests = {"cpu": step["cpu"], "memory": step["memory"]}
    container = {"name": "c", "image": "app:1", "resources": {"requests": requests}}
    spec: Object = {"containers": [container], **step.get("spec", {})}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    if step.get("apart"):
        rule: Object = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec["affinity"] = {"podAntiAffinity": rule}
    if step.get("apart_softly"):
        weighed = {"weight": 100, "podAffinityTerm": term}
        rule = {"preferredDuringSchedulingIgnoredDuringExecution": [weighed]}
        spec["affinity"] = {"podAntiAffinity": rule}
    if "spread" in step:
        selector = {"matchLabels": {"app": app}}
        spec["topologySpreadConstraints"] = [
            {"maxSkew": 1, "topologyKey": step["spread"], "whenUnsatisfiable": "DoNotSchedule",
             "labelSelector": selector}
        ]  # fmt: skip
    if "empty_dir" in step:
        spec["volumes"] = [{"name": step["empty_dir"], "emptyDir": {}}]
    if "on" in step:
        node = run.resolve(step["on"])
        preference = {"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}  # fmt: skip
        wish = [{"weight": 100, "preference": preference}]
        spec["affinity"] = {
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wish}
        }
    return spec


# ---- settings


def _machine(row: Object) -> MachineType:
    return MachineType(
        name=row["name"],
        cpu_millicores=row["cpu"] * 1000,
        memory_bytes=row["memory_gib"] * GIB,
        price_per_hour=row["price"],
        spot_price_per_hour=row.get("spot_price", 0.0),
        zones=tuple(row.get("zones", ("a",))),
        boot_median_seconds=row["boot_seconds"],
        boot_sigma=0.0,
    )


def _group(row: Object) -> NodeGroup:
    taints = []
    for text in row.get("taints", ()):
        pair, _, effect = text.rpartition(":")
        key, _, value = pair.partition("=")
        taints.append((key, value, effect))
    return NodeGroup(
        row["name"],
        row["machine"],
        row.get("min", 0),
        row["max"],
        row.get("start", 0),
        labels=tuple(row.get("labels", {}).items()),
        taints=tuple(taints),
    )


def _pool(row: Object) -> Object:
    """Return a NodePool: the default one's class, with what the row asks for."""
    wanted = {
        "karpenter.sh/capacity-type": row.get("capacity"),
        "node.kubernetes.io/instance-type": row.get("types"),
        "topology.kubernetes.io/zone": row.get("zones"),
    }
    requirements = [
        {"key": key, "operator": "In", "values": values} for key, values in wanted.items() if values
    ]
    reference = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    spec: Object = {"template": {"spec": {"requirements": requirements, "nodeClassRef": reference}}}
    return {"metadata": {"name": row["name"]}, "spec": _merged(spec, row.get("spec", {}))}


def _merged(base: Object, added: Object) -> Object:
    result = dict(base)
    for key, value in added.items():
        known = result.get(key)
        both = isinstance(known, dict) and isinstance(value, dict)
        result[key] = _merged(known, value) if both else value  # type: ignore[arg-type]
    return result
