"""Plays the table of Kueue's cases with Kueue's own controller, at speed 1: what is expected may take a while."""

from __future__ import annotations

import time
from typing import Any

from proofs.real_programs import requests
from proofs.real_programs.requests import Api
from tests.patience import HANGS_SECONDS
from twin.tests.kueue.playing import CLUSTER_WIDE, Play
from twin.tests.kueue.ports import NODES, Refused

Object = dict[str, Any]
SETTLE_SECONDS = 1.1
"""Wall seconds after each step: the controller takes notice, and the next object is of another second."""
SHORTEST_SECONDS = 3.0
"""Of a longer wait of the table only so much is waited at once: what is expected is asked again and again."""
CHOSEN = (
    "a job of an empty flavor is admitted and starts",
    "a flavor's node labels become the pods' node selector",
    "a tainted flavor is for jobs that tolerate it, and gives them no toleration",
    "under StrictFIFO the older job blocks the newer one",
    "a queue preempts its own jobs of lower priority",
    "a queue takes back what was borrowed from it",
    "Hold admits nothing new and lets the rest finish",
    "a job that ends finishes its Workload and frees its quota",
    "of what waits, priority comes first and age second",
    "the visibility API has both versions",
)
"""The cases of the test suite."""
GIB = 2**30
_KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
_KEPT_NAMESPACES = frozenset(
    {"default", "kube-system", "kube-public", "kube-node-lease", "kueue-system"}
)
_OF_DEFAULT = (
    "/apis/batch/v1/namespaces/{}/jobs",
    f"{_KUEUE}/namespaces/{{}}/workloads",
    f"{_KUEUE}/namespaces/{{}}/localqueues",
    "/api/v1/namespaces/{}/pods",
    "/api/v1/namespaces/{}/limitranges",
)


class _Clock:
    """Stands where the other ports have their engine."""

    @property
    def now(self) -> float:
        """Wall time, unix seconds."""
        return time.time()


class RealPort:
    """A twin with Kueue's own program beside it."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.engine: Any = _Clock()

    def ask(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        """Send one request; see twin.tests.kueue.ports.Port."""
        try:
            return self.api.ask(method, path, body, **query)
        except requests.Refused as refusal:
            raise Refused(refusal.status, refusal.message) from None

    def run(self, seconds: float) -> None:
        """Let time pass; the table's two seconds after a step are fewer here."""
        time.sleep(min(seconds, SETTLE_SECONDS))


class RealPlay(Play):
    """Asks again until what is expected is there."""

    patience_seconds = HANGS_SECONDS

    def __init__(self, case: Object, port: RealPort) -> None:
        self._times_count = "configuration" in case  # what is waited for there may pass again
        super().__init__(case, port)

    def do_wait(self, seconds: float) -> None:
        """Wait a little, and have more patience with what is expected next."""
        time.sleep(seconds if self._times_count else min(seconds, SHORTEST_SECONDS))
        self.patience_seconds = HANGS_SECONDS + seconds

    def do_expect(self, said: Object) -> None:
        """Compare everything that is said, until it is so."""
        end = time.monotonic() + self.patience_seconds
        while True:
            try:
                super().do_expect(said)
            except (AssertionError, KeyError, IndexError, TypeError, Refused):
                if time.monotonic() > end:
                    raise
                time.sleep(0.4)
            else:
                self.patience_seconds = HANGS_SECONDS
                return

    def do_state(self, said: Object) -> None:
        """Let a check's controller answer, once the Workload has its checks."""
        end = time.monotonic() + HANGS_SECONDS
        while True:
            try:
                super().do_state(said)
            except (KeyError, TypeError, Refused):
                if time.monotonic() > end:
                    raise
                time.sleep(0.3)
            else:
                return


def make_nodes(api: Api) -> None:
    """Have the table's four machines and no others."""
    for node in api.items("/api/v1/nodes"):
        api.remove(f"/api/v1/nodes/{node['metadata']['name']}")
    amounts = {"cpu": "16", "memory": f"{64 * GIB}", "pods": "110"}
    for name in NODES:
        status = {"capacity": amounts, "allocatable": amounts}
        api.ask("POST", "/api/v1/nodes", {"metadata": {"name": name}, "status": status})


def prepare_nodes(api: Api, case: Object) -> None:
    """Give the machines the labels of a case, and no taints."""
    for name in NODES:
        path = f"/api/v1/nodes/{name}"
        head = api.ask("GET", path)["metadata"]
        wanted = case.get("nodes", {}).get(name, {}).get("labels", {})
        gone = {key: None for key in head.get("labels", {}) if key not in wanted}
        patch = {"metadata": {"labels": {**gone, **wanted}}, "spec": {"taints": None}}
        api.ask("PATCH", path, patch)


def clear(api: Api) -> None:
    """Take everything away that a case made."""
    places = [one["metadata"]["name"] for one in api.items("/api/v1/namespaces")]
    own = [one for one in places if one == "default" or one not in _KEPT_NAMESPACES]
    for path in _OF_DEFAULT:
        for place in own:
            api.ask("DELETE", path.format(place), propagationPolicy="Background")
        requests.until("no jobs", lambda: not api.items("/apis/batch/v1/jobs"), HANGS_SECONDS)
    requests.until("no workloads", lambda: not api.items(f"{_KUEUE}/workloads"), HANGS_SECONDS)
    for plural in ("clusterqueues", *CLUSTER_WIDE.values()):
        for one in api.items(f"{_KUEUE}/{plural}"):
            api.remove(f"{_KUEUE}/{plural}/{one['metadata']['name']}")
    for plural in CLUSTER_WIDE.values():
        requests.until(
            f"no {plural}", lambda p=plural: not api.items(f"{_KUEUE}/{p}"), HANGS_SECONDS
        )
    for place in places:
        if place not in _KEPT_NAMESPACES:
            api.remove(f"/api/v1/namespaces/{place}")
    for one in api.items("/apis/scheduling.k8s.io/v1/priorityclasses"):
        if not one["metadata"]["name"].startswith("system-"):
            api.remove(f"/apis/scheduling.k8s.io/v1/priorityclasses/{one['metadata']['name']}")
