"""Plays the runs of `cases.toml` through the API alone, and compares what it shows."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inputs.quantities import parse_millicores, parse_whole
from twin.api.messages import Request, Response
from twin.api.router import Router
from twin.config import TwinConfig
from twin.engine import Engine
from twin.workloads.arrival import NodeShape

Object = dict[str, Any]
TABLE: Object = tomllib.loads(Path(__file__).with_name("cases.toml").read_text(encoding="utf-8"))
GIB, MIB = 2**30, 2**20
_PATHS = {
    "pods": "/api/v1/namespaces/default/pods",
    "events": "/api/v1/namespaces/default/events",
    "deployments": "/apis/apps/v1/namespaces/default/deployments",
    "poddisruptionbudgets": "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "verticalpodautoscalers": "/apis/autoscaling.k8s.io/v1/namespaces/default/verticalpodautoscalers",
}


class VerticalRun:
    """One run on a cluster of its own."""

    def __init__(self, case: Object) -> None:
        self.case = case
        self.engine = Engine(TwinConfig(), seed=5)
        self.engine.add_nodes([NodeShape(f"n{i}", 8_000, 32 * GIB, 0, {}) for i in range(3)])
        self.router = Router(self.engine)
        self.began = self.engine.now
        self.events: dict[str, list[float]] = {}
        if "filler" in case:
            self._fill(case["filler"])
        self._deploy(case["app"])
        if "budget" in case:
            budget = {"minAvailable": case["budget"], "selector": {"matchLabels": {"app": "app"}}}
            self.create("poddisruptionbudgets", "b", budget)
        self.autoscale("v", case["vpa"])

    # ---- requests

    def send(self, method: str, resource: str, body: Object | None = None, name: str = "",
             media: str = "application/json") -> Object:  # fmt: skip
        """Send one request and return the answer, which has to be a success."""
        path = _PATHS[resource] + (f"/{name}" if name else "")
        text = b"" if body is None else json.dumps(body).encode()
        answer = self.router.handle(Request(method, path, {}, {"content-type": media}, text))
        raw = answer.body if isinstance(answer, Response) else b"".join(answer.chunks)  # type: ignore[union-attr]
        found: Object = json.loads(raw)
        assert found.get("kind") != "Status" or found["status"] == "Success", found
        return found

    def create(self, resource: str, name: str, spec: Object) -> None:
        """Create an object."""
        self.send("POST", resource, {"metadata": {"name": name}, "spec": spec})

    def autoscale(self, name: str, spec: Object) -> None:
        """Create a VerticalPodAutoscaler for the app."""
        target = {"apiVersion": "apps/v1", "kind": "Deployment"}
        ref = {**target, "name": self.case.get("target", "app")}
        self.create("verticalpodautoscalers", name, {"targetRef": ref, **spec})

    def _fill(self, cpu: str) -> None:
        resources = {"requests": {"cpu": cpu, "memory": "1Gi"}}
        for index in range(3):
            container = {"name": "c", "image": "i:1", "resources": resources}
            self.create(
                "pods", f"filler-{index}", {"nodeName": f"n{index}", "containers": [container]}
            )

    def _deploy(self, app: Object) -> None:
        requests = {"cpu": app["cpu"], "memory": app["memory"]}
        limits = {key: app[f"{key}_limit"] for key in requests if f"{key}_limit" in app}
        resources = {"requests": requests, **({"limits": limits} if limits else {})}
        notes = {
            "foresail.dev/cpu-usage-ratio": str(
                app["uses_cpu"] * 1000 / parse_millicores(app["cpu"])
            ),
            "foresail.dev/memory-usage-ratio": str(
                app["uses_memory"] * MIB / parse_whole(app["memory"])
            ),
        }
        container = {"name": "c", "image": "app:1", "resources": resources}
        head = {"labels": {"app": "app"}, "annotations": notes}
        self.create("deployments", "app", {
            "replicas": app["replicas"],
            "selector": {"matchLabels": {"app": "app"}},
            "template": {"metadata": head, "spec": {"containers": [container]}},
        })  # fmt: skip

    # ---- playing

    def play(self) -> None:
        """Play all steps and check every expectation at its minute."""
        moments = sorted(
            [(step["t"], 0, index, step) for index, step in enumerate(self.case.get("steps", ()))]
            + [(row["t"], 1, index, row) for index, row in enumerate(self.case["expect"])]
        )
        for minute, kind, _, entry in moments:
            self._run_to(minute)
            if kind == 0:
                self._do(entry)
            else:
                self.check(entry)

    def _run_to(self, minute: float) -> None:
        target = self.began + 60.0 * minute
        while self.engine.now < target:
            self.engine.advance(min(target, self.engine.now + 600.0))
            self._look()

    def _look(self) -> None:
        for event in self.send("GET", "events")["items"]:
            about = event["involvedObject"]
            text = f"{about['kind']}/{about['name']} {event['reason']}"
            times = self.events.setdefault(text, [])
            at = event["lastTimestamp"]
            if at not in times:
                times.append(at)

    def _do(self, step: Object) -> None:
        if "scale" in step:
            body = {"spec": {"replicas": step["scale"]}}
            self.send("PATCH", "deployments", body, "app", "application/merge-patch+json")
        else:
            self.autoscale(step["name"], step["vpa"])

    def check(self, row: Object) -> None:
        """Compare one row with what the API shows."""
        self._look()
        problems = [
            f"{name}: {found}, not {wanted}"
            for name, wanted in row.items()
            if name != "t" and (found := CHECKS[name](self, wanted)) is not None
        ]
        assert not problems, (f"minute {row['t']}", problems, self.events.keys())

    # ---- what it shows

    def pods(self) -> list[Object]:
        """Return the app's pods."""
        items = self.send("GET", "pods")["items"]
        return [pod for pod in items if pod["metadata"].get("labels", {}).get("app") == "app"]

    def amounts(self, field: str, resource: str) -> list[int]:
        """Return millicores or MiB of each pod."""
        found = []
        for pod in self.pods():
            amount = pod["spec"]["containers"][0]["resources"][field][resource]
            found.append(
                parse_millicores(amount) if resource == "cpu" else parse_whole(amount) // MIB
            )
        return found

    def status(self) -> Object:
        """Return the status of the object."""
        return dict(self.send("GET", "verticalpodautoscalers", name="v").get("status") or {})

    def recommended(self, field: str) -> Object:
        """Return a bound of the only container; empty without a recommendation."""
        rows = self.status().get("recommendation", {}).get("containerRecommendations", ())
        return dict(rows[0][field]) if rows else {}

    def times(self, reason: str) -> list[str]:
        """Return when something was said of pods, to the second, as the API shows it."""
        pattern = re.compile(rf"Pod/\S+ {reason}")
        return sorted(
            at for text, times in self.events.items() if pattern.fullmatch(text) for at in times
        )  # type: ignore[misc]


Check = Callable[[VerticalRun, Any], Any]


def _equal(read: Callable[[VerticalRun], Any]) -> Check:
    return lambda run, wanted: None if (found := read(run)) == wanted else found


def _at_least(read: Callable[[VerticalRun], Any]) -> Check:
    return lambda run, wanted: None if (found := read(run)) >= wanted else found


def _within(read: Callable[[VerticalRun], list[int]]) -> Check:
    def check(run: VerticalRun, wanted: list[int]) -> Any:
        found = read(run)
        fits = bool(found) and all(wanted[0] <= amount <= wanted[1] for amount in found)
        return None if fits else found

    return check


def _some_cpu(run: VerticalRun, wanted: list[int]) -> Any:
    found = run.amounts("requests", "cpu")
    return None if any(wanted[0] <= amount <= wanted[1] for amount in found) else found


def _cpu(field: str) -> Callable[[VerticalRun], list[int]]:
    return lambda run: [parse_millicores(run.recommended(field).get("cpu", "0"))]


def _conditions(run: VerticalRun, wanted: Object) -> Any:
    found = {entry["type"]: entry["status"] for entry in run.status().get("conditions", ())}
    return None if wanted.items() <= found.items() else found


def _events(run: VerticalRun, wanted: list[str]) -> Any:
    missing = [
        text
        for text in wanted
        if not any(re.fullmatch(re.escape(text).replace(r"\*", ".*"), seen) for seen in run.events)
    ]
    return missing or None


def _most_a_minute(run: VerticalRun, wanted: int) -> Any:
    times = run.times("EvictedByVPA")
    most = max((times.count(at) for at in times), default=0)
    return None if most == wanted else most


def _limit_ratio(run: VerticalRun, wanted: Object) -> Any:
    found = {}
    for resource in wanted:
        pairs = zip(run.amounts("limits", resource), run.amounts("requests", resource), strict=True)
        found[resource] = [round(limit / request, 1) for limit, request in pairs]
    fits = all(value == wanted[key] for key, values in found.items() for value in values)
    return None if fits else found


def _annotated(run: VerticalRun, wanted: str) -> Any:
    found = [pod["metadata"]["annotations"].get("vpaUpdates") for pod in run.pods()]
    return None if wanted in found else found


def _restarts(run: VerticalRun) -> int:
    return sum(pod["status"]["containerStatuses"][0]["restartCount"] for pod in run.pods())


CHECKS: dict[str, Check] = {
    "evicted": _equal(lambda run: len(run.times("EvictedByVPA"))),
    "evicted_least": _at_least(lambda run: len(run.times("EvictedByVPA"))),
    "resized": _equal(lambda run: len(run.times("InPlaceResizedByVPA"))),
    "resized_least": _at_least(lambda run: len(run.times("InPlaceResizedByVPA"))),
    "restarts": _equal(_restarts),
    "cpu": _within(lambda run: run.amounts("requests", "cpu")),
    "cpu_limit": _within(lambda run: run.amounts("limits", "cpu")),
    "memory_least": _at_least(lambda run: min(run.amounts("requests", "memory"))),
    "some_cpu": _some_cpu,
    "target_cpu": _within(_cpu("target")),
    "uncapped_cpu": _within(_cpu("uncappedTarget")),
    "recommended": _equal(lambda run: sorted(run.recommended("target"))),
    "conditions": _conditions,
    "events": _events,
    "most_evicted_a_minute": _most_a_minute,
    "limit_ratio": _limit_ratio,
    "annotated": _annotated,
}
