"""Serving: requests of all Services with traffic, from their endpoints' point of view.

Requests of a Service are split evenly over the pods that its EndpointSlices call ready, which is what
kube-proxy does on average; so a slice that is late sends requests to a pod that is gone. Each step of
contention closes an interval, and so does every change of who is routed to or who runs. Speeds are those of
the last step: what a node grants makes its pods' workers slower, and that is latency.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from twin.behaviour.usage_table import UsageTable
from twin.changes import Change
from twin.part import Part
from twin.records import ObjectRecord, PodRecord
from twin.request_settings import RequestSettings, read_request_settings
from twin.serving.backends import Account, Backends
from twin.serving.service_requests import ServiceRequests, TrafficInterval
from twin.serving.traffic_changes import TrafficChange, TrafficChanges
from twin.serving.warmth import request_cost
from twin.world import World

SERVICE_NAME = "kubernetes.io/service-name"
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_LEAST_PACE = 1e-9


class Serving(Part):
    """Plays the requests of every Service that has traffic."""

    KEEPS = ("services", "stepped_at")
    LEAVES = ("_requests", "_routes", "_routed_to", "_rows", "_places")

    def __init__(self, world: World, usage: UsageTable) -> None:
        self._world = world
        self._usage = usage
        self.services: dict[str, Backends] = {}
        """By `namespace/name`, of Services with traffic."""
        self.stepped_at = world.now
        """Time of the last step of contention, unix seconds."""
        self._changes = TrafficChanges()
        self._requests: dict[str, ServiceRequests] = {}
        self._routes: dict[str, dict[str, None]] = {}  # pods that requests go to, by Service
        self._routed_to: dict[str, list[str]] = {}  # Services whose requests go to a pod
        self._rows: dict[str, Ints] = {}  # of the usage table, by Service
        self._places: dict[str, list[tuple[Backends, int]]] | None = None  # by pod, once asked for

    def restored(self) -> None:
        """Read settings and routes from the store anew."""
        for cache in (self._requests, self._routes, self._routed_to, self._rows):
            cache.clear()
        self._places = None
        for key in self.services:
            namespace, name = key.split("/", 1)
            record = self._world.store.find("services", namespace, name)
            settings = None if record is None else _settings_of(record)
            if settings is not None:
                self._requests[key] = self._player(key, settings)
                self._set_routes(key, self._find_routes(namespace, name))

    # ---- what it hears

    def follow(self, change: Change) -> None:
        """Take in a change of a Service or an EndpointSlice."""
        record = change.record
        if change.resource == "services":
            self._follow_service(record, gone=change.type == "DELETED")
        elif change.resource == "endpointslices" and self.services:
            name = record.labels.get(SERVICE_NAME, "")
            key = f"{record.namespace}/{name}"
            if key in self.services:
                self._reroute(key, self._find_routes(record.namespace, name))

    def _follow_service(self, record: object, *, gone: bool) -> None:
        assert isinstance(record, ObjectRecord)
        key = f"{record.namespace}/{record.name}"
        settings = None if gone else _settings_of(record)
        if key in self.services:
            self.settle(key)
        if settings is None:
            self._set_routes(key, {})
            self._places = None
            for cache in (self.services, self._requests, self._routes, self._rows):
                cache.pop(key, None)
            return
        self._requests[key] = self._player(key, settings)
        if key not in self.services:
            self.services[key] = Backends(self._world.now)
            self._reroute(key, self._find_routes(record.namespace, record.name))

    @property
    def now(self) -> float:
        """Cluster time, unix seconds."""
        return self._world.now

    def change_traffic(self, number: int, change: TrafficChange) -> None:
        """Let the requests of Services change from now on, until `end_change(number)`."""
        self._settle_all()
        self._changes.begin(number, change)

    def end_change(self, number: int) -> None:
        """Let them be as before; nothing happens for an unknown number."""
        self._settle_all()
        self._changes.end(number)

    def pod_started(self, uid: str) -> None:
        """A container runs from now on."""
        for key in self._routed_to.get(uid, ()):
            self.settle(key)
            self._admit(key, uid)

    def pod_stops(self, uid: str) -> None:
        """A container ends now, and with it every request in it."""
        for key, backends in self.services.items():
            if uid in backends.uids:
                self.settle(key)
                backends.account.lost += backends.remove(uid)
                self._rows.pop(key, None)
                self._places = None

    # ---- routes

    def _find_routes(self, namespace: str, name: str) -> dict[str, None]:
        found: dict[str, None] = {}
        for record in self._world.store.records("endpointslices", namespace):
            assert isinstance(record, ObjectRecord)
            if record.labels.get(SERVICE_NAME) != name:
                continue
            for entry in record.body.get("endpoints") or ():
                uid = (entry.get("targetRef") or {}).get("uid")
                if uid and (entry.get("conditions") or {}).get("ready", True):
                    found[uid] = None
        return found

    def _reroute(self, key: str, routes: dict[str, None]) -> None:
        if routes == self._routes.get(key):
            return
        self.settle(key)
        self._set_routes(key, routes)
        for uid in routes:
            if uid in self._usage.row_of:
                self._admit(key, uid)
        self.services[key].route(routes)

    def _set_routes(self, key: str, routes: dict[str, None]) -> None:
        for uid in self._routes.get(key, {}):
            others = [entry for entry in self._routed_to.get(uid, ()) if entry != key]
            if others:
                self._routed_to[uid] = others
            else:
                self._routed_to.pop(uid, None)
        self._routes[key] = routes
        for uid in routes:
            self._routed_to.setdefault(uid, []).append(key)

    def _admit(self, key: str, uid: str) -> None:
        backends = self.services[key]
        if uid not in backends.uids:
            pod = self._world.pods[uid]
            workers = self._requests[key].settings.workers or _cores_of(pod)
            backends.add(uid, workers)
            backends.route(self._routes[key])
            self._rows.pop(key, None)
            self._places = None

    # ---- time

    def _settle_all(self) -> None:
        for key in self.services:
            self.settle(key)

    def settle(self, key: str) -> None:
        """Play a Service's requests up to now."""
        backends, player, world = self.services[key], self._requests[key], self._world
        begin, end = backends.now, world.now
        if end <= begin:
            return
        backends.now = end
        expected = self._changes.expected(player, begin, end, world.config.start_time)
        routes, account = self._routes.get(key, {}), backends.account
        if not routes:
            requests = player.drawn("", begin, end, expected)
            account.arrived += requests
            account.refused += requests
        each = expected / max(1, len(routes))
        running = frozenset(backends.uids)
        for uid in routes:
            if uid not in running:
                self._turn_away(backends, uid, player.drawn(uid, begin, end, each))
        if backends.uids:
            speed = self._speed(key, (begin, end))
            player.play(backends, TrafficInterval(begin, end, each, speed))

    def _turn_away(self, backends: Backends, uid: str, requests: float) -> None:
        """Let requests come to a pod whose container does not run."""
        pod, account = self._world.pods.get(uid), backends.account
        account.arrived += requests
        if pod is not None and pod.node_name in self._world.down:
            account.lost += requests  # nobody answers, not even with a refusal
        else:
            account.refused += requests

    def _speed(self, key: str, span: tuple[float, float]) -> Floats:
        """Return what a worker of each pod gets done in a second, in CPU-seconds of warm pods, over a
        span of unix times.
        """
        backends, usage, rows = self.services[key], self._usage, self._rows_of(key)
        workers = backends["workers"]
        ceiling = np.minimum(usage["cpu_limit"][rows] / 1_000.0, workers)
        speed = usage["rate"][rows] * ceiling / workers
        return np.asarray(speed / self._cost(key, span))

    def _cost(self, key: str, span: tuple[float, float]) -> Floats:
        """Return the CPU that a request costs each pod, over what it costs a warm one."""
        warm_up = self._requests[key].settings.warm_up_seconds
        rows, config = self._rows_of(key), self._world.config
        return request_cost(self._usage, rows, config, warm_up, span)

    def _rows_of(self, key: str) -> Ints:
        found = self._rows.get(key)
        if found is None:
            row_of = self._usage.row_of
            uids = self.services[key].uids
            found = self._rows[key] = np.array([row_of[uid] for uid in uids], np.int64)
        return found

    def step(self) -> None:
        """Close the interval of every Service: a step of contention begins."""
        seconds = self._world.config.scrape_seconds
        self.stepped_at = self._world.now
        for key, backends in self.services.items():
            self.settle(key)
            backends.mark(seconds)

    def demands(self, seconds: float) -> tuple[Ints, Floats, Floats] | None:
        """Return rows of the usage table with the millicores that each wants over the next `seconds` and
        takes at most; None when no pod serves. A pod behind two Services has two lines.
        """
        rows: list[Ints] = []
        demand: list[Floats] = []
        most: list[Floats] = []
        world = self._world
        for key, backends in self.services.items():
            if not backends.uids:
                continue
            player, routes = self._requests[key], self._routes.get(key, {})
            expected = self._changes.expected(player, world.now, world.now + seconds,
                                              world.config.start_time)  # fmt: skip
            wanted = player.demand(backends, expected / max(1, len(routes)), seconds)
            wanted = wanted * self._cost(key, (world.now, world.now + seconds))
            here = self._rows_of(key)
            limit = np.minimum(self._usage["cpu_limit"][here], backends["workers"] * 1_000.0)
            rows.append(here)
            most.append(limit)
            demand.append(np.minimum((wanted + player.settings.idle_cores) * 1_000.0, limit))
        if not rows:
            return None
        return np.concatenate(rows), np.concatenate(demand), np.concatenate(most)

    # ---- what others read

    def waits(self) -> tuple[Ints, Floats] | None:
        """Return rows of the usage table with the seconds that a request which came now would wait there
        for a worker; None when no pod serves. A pod behind two Services has two lines.
        """
        now = self._world.now
        rows: list[Ints] = []
        seconds: list[Floats] = []
        for key, backends in self.services.items():
            if backends.uids:
                workers = backends["workers"]
                queued = np.maximum(0.0, backends["present"] - workers)
                rows.append(self._rows_of(key))
                if not queued.any():  # as nearly always
                    seconds.append(queued)
                    continue
                pace = np.maximum(self._speed(key, (now, now)) * workers, _LEAST_PACE)
                seconds.append(queued * self._requests[key].settings.cpu_seconds / pace)
        return (np.concatenate(rows), np.concatenate(seconds)) if rows else None

    def places_of(self, uid: str) -> list[tuple[Backends, int]]:
        """Return the Services that a pod serves, each with the pod's place in their columns."""
        if self._places is None:
            self._places = {}
            for backends in self.services.values():
                for place, entry in enumerate(backends.uids):
                    self._places.setdefault(entry, []).append((backends, place))
        return self._places.get(uid, [])

    def accounts(self) -> Mapping[str, Account]:
        """Return what came of the requests of each Service, as of its last interval."""
        return {key: backends.account for key, backends in self.services.items()}

    def _player(self, key: str, settings: RequestSettings) -> ServiceRequests:
        exact = self._world.config.serving.mode == "exact"
        return ServiceRequests(key, settings, self._world.chance, exact=exact)


def _settings_of(record: object) -> RequestSettings | None:
    assert isinstance(record, ObjectRecord)
    try:
        return read_request_settings(record.annotations)
    except ValueError:  # admission refuses these
        return None


def _cores_of(pod: PodRecord) -> int:
    """Return the cores that a pod may use, rounded up: of its limit, or else of its request."""
    shape = pod.allocated
    millicores = shape.cpu_limit_millicores or shape.cpu_request_millicores
    return max(1, -(-millicores // 1_000))
