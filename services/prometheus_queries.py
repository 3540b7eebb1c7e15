"""Queries to a Prometheus: a query for each purpose, the default ones or those of a file.

The default queries are for node-exporter, whose `instance` is an address: they join the name that a node has
in Kubernetes (`node_uname_info`). `rate` comes before `sum`, since a sum of counters falls when one of them
goes; cores are summed over modes and CPUs, never averaged.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from bus.errors import ConfigError
from schemas.model import DataModel
from services.prometheus_settings import PrometheusSettings

FIELD = "collector.prometheus.queries_file"
WINDOW = "$window"
"""In a query, its `window_seconds`, such as `120s`."""
MOST_POINTS = 11_000
"""Of a range query, by which Prometheus refuses one."""
NODE = "node"
POD = ("namespace", "pod", "container")
PODS = "$pods"
"""In a query of pods, an expression for the names of those that are asked for."""
NODE_CPU, NODE_MEMORY, NODE_SAMPLE = "node_cpu_cores", "node_memory_bytes", "node_sample_seconds"
POWER, POWER_SAMPLE, PRICE = "node_watts", "node_watts_sample_seconds", "energy_price"
REQUESTS, DURATIONS = "service_requests", "service_durations"
OF_REQUESTS = ("namespace", "service", "code")
OF_DURATIONS = ("namespace", "service", "le")
WORKLOAD = ("namespace", "kind", "workload")
WORKLOAD_CPU, WORKLOAD_MEMORY = "workload_cpu_cores", "workload_memory_bytes"
REQUESTED = "requested_cores"
POD_CPU, POD_MEMORY, POD_SAMPLE = "pod_cpu_cores", "pod_memory_bytes", "pod_sample_seconds"


class Query(DataModel):
    """One question, asked for now or for a range of time."""

    query: str = Field(min_length=1, max_length=8_000)
    """PromQL."""
    window_seconds: float = Field(default=0.0, ge=0, le=86_400)
    """Seconds that a value covers; `$window` in the query stands for them."""
    labels: dict[str, str] = {}
    """Their label by ours, where it has another name."""
    range_seconds: float = Field(default=0.0, ge=0, le=604_800)
    """Asked for as a range that ends now; 0: as an instant."""
    step_seconds: float = Field(default=15.0, gt=0)
    """Between two points of a range."""
    take: Literal["newest", "mean", "largest"] = "newest"
    """What becomes of the points of a range."""

    @field_validator("query")
    @classmethod
    def _check_query(cls, query: str) -> str:
        if not query.strip():
            raise ValueError("write a query")
        return query

    @model_validator(mode="after")
    def _check_window(self) -> Self:
        if WINDOW in self.query and not self.window_seconds:
            raise ValueError(f"{WINDOW} stands for window_seconds: give them")
        if self.range_seconds > MOST_POINTS * self.step_seconds:
            raise ValueError(f"a range has at most {MOST_POINTS} steps: make step_seconds longer")
        return self

    @property
    def text(self) -> str:
        """Return the PromQL that is sent."""
        return self.query.replace(WINDOW, f"{self.window_seconds:g}s")

    @property
    def covered_seconds(self) -> float:
        """Return how many seconds before its time a value rests on."""
        over_range = self.range_seconds if self.take != "newest" else 0.0
        return self.window_seconds + over_range


@dataclass(frozen=True, slots=True)
class Purpose:
    """Purpose of a query."""

    unit: str
    about: str
    default: Query | None
    """None: it is asked only where a file says how."""
    keys: tuple[str, ...] = (NODE,)
    """Labels that tell its values apart."""
    cost: str = ""
    """What is lacking without an answer."""
    optional: bool = False
    """Many clusters have nothing that answers."""


_NAMED = "on (instance) group_left (nodename) node_uname_info"
_BY_NODENAME = {NODE: "nodename"}
_OF_SERVICE = 'namespace!="",service!=""'
"""Other series of these names are nobody's in particular."""
_CONTAINERS = 'container!="",container!="POD",pod=~"$pods"'
_BY_CONTAINER = "max by (namespace, pod, container)"


_OWNERS = (
    # A Deployment's pods belong to a ReplicaSet, whose name ends in the hash of the template.
    'label_replace(label_replace(kube_pod_owner{owner_kind="ReplicaSet"},'
    ' "workload", "$1", "owner_name", "(.+)-[^-]+"), "kind", "Deployment", "", "")'
    ' or label_replace(label_replace(kube_pod_owner{owner_kind!~"ReplicaSet|",owner_name!=""},'
    ' "workload", "$1", "owner_name", "(.+)"), "kind", "$1", "owner_kind", "(.+)")'
)
"""The workload of each pod, from kube-state-metrics; it says so of pods that are gone by now, too."""


def _by_workload(amount: str) -> str:
    """Return the query that sums an amount of containers by the workload of their pods."""
    by_pod = f"sum by (namespace, pod) ({amount})"
    owners = f"max by (namespace, pod, kind, workload) ({_OWNERS})"
    joined = f"{by_pod} * on (namespace, pod) group_left (kind, workload) {owners}"
    return f"sum by (namespace, kind, workload) ({joined})"


_METERS = (
    ("platform", 'kepler_node_platform_joules_total{source!="trained_power_model"}', "instance"),
    ("platform", 'node_hwmon_power_average_watt{chip=~".*acpi000d.*"}', ""),
    ("package", 'kepler_node_cpu_watts{zone="package"}', "node_name"),
    ("package", 'kepler_node_package_joules_total{source!="trained_power_model"}', "instance"),
    ("package", 'node_rapl_package_joules_total{path!~".*mmio.*"}', ""),
)
"""What it measures, its series, and their label with the node's name (empty: joined), the best first: a whole
machine before its CPUs, instruments only (Kepler's model would look measured), and each package once."""


def _first_meter(value: Callable[[str], str], total: str) -> str:
    """Return the query of `value` of the first meter that a node has, by `total` where it has several."""
    choices = []
    for scope, series, label in _METERS:
        if label:
            by_label = f"{total} by ({label}) ({value(series)})"
            named = f'label_replace({by_label}, "nodename", "$1", "{label}", "(.*)")'
        else:
            named = f"{total} by (nodename) ({value(series)} * {_NAMED})"
        choices.append(f'label_replace({named}, "scope", "{scope}", "", "")')
    return " or on (nodename) ".join(choices)


def _watts(series: str) -> str:
    # A power meter that is there and cannot measure says 0.
    watts = f"rate({series}[$window])" if "_joules_total" in series else series
    return f"({watts} > 0)"


PURPOSES: Mapping[str, Purpose] = {
    NODE_CPU: Purpose(
        "cores",
        "CPU in use",
        Query(
            query='sum by (nodename) (rate(node_cpu_seconds_total{mode!~"idle|iowait|steal"}[$window])'
            f" * {_NAMED})",
            window_seconds=120,
            labels=_BY_NODENAME,
        ),
        cost="nodes have no usage: power is modelled from requests",
    ),
    NODE_MEMORY: Purpose(
        "bytes",
        "memory in use that cannot be given up",
        Query(
            query="max by (nodename) ((node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes)"
            f" * {_NAMED})",
            labels=_BY_NODENAME,
        ),
        cost="nodes have no usage: power is modelled from requests",
    ),
    NODE_SAMPLE: Purpose(
        "Unix seconds",
        "when the newest sample of a node was scraped",
        Query(
            query=f"max by (nodename) (timestamp(node_memory_MemAvailable_bytes) * {_NAMED})",
            labels=_BY_NODENAME,
        ),
        cost="nodes have no usage: nothing says how old a value is",
    ),
    POWER: Purpose(
        "watts",
        "electrical power; the label `scope` says of what",
        Query(query=_first_meter(_watts, "sum"), window_seconds=120, labels=_BY_NODENAME),
        cost="power is modelled",
        optional=True,
    ),
    POWER_SAMPLE: Purpose(
        "Unix seconds",
        "when a node's power was measured",
        Query(query=_first_meter("timestamp({})".format, "max"), labels=_BY_NODENAME),
        cost="power is modelled",
        optional=True,
    ),
    PRICE: Purpose(
        "price of a kWh",
        "one number",
        None,
        (),
        cost="energy_price_file or the constant energy_price holds",
        optional=True,
    ),
    REQUESTS: Purpose(
        "requests/s",
        "requests of a Service by status code; codes that begin with 5 failed",
        Query(
            query="sum by (namespace, service, code) "
            f'(rate(http_requests_total{{{_OF_SERVICE},code!=""}}[$window]))',
            window_seconds=120,
        ),
        OF_REQUESTS,
        cost="Services have no requests: agents judge by pods and nodes alone",
        optional=True,
    ),
    DURATIONS: Purpose(
        "answers/s",
        "answers of a Service within `le` seconds",
        Query(
            # A histogram without codes counts all; one with codes must not count failures as answers.
            query="sum by (namespace, service, le) "
            f'(rate(http_request_duration_seconds_bucket{{{_OF_SERVICE},code!~"5.."}}[$window]))',
            window_seconds=120,
        ),
        OF_DURATIONS,
        cost="nothing is known of latencies",
        optional=True,
    ),
    WORKLOAD_CPU: Purpose(
        "cores",
        "CPU that the pods of a workload use together",
        Query(
            query=_by_workload(
                'rate(container_cpu_usage_seconds_total{container!="",container!="POD"}[$window])'
            ),
            window_seconds=120,
        ),
        WORKLOAD,
        cost="nothing is known of what workloads use, nor of what a replica bears by its CPU",
        optional=True,
    ),
    WORKLOAD_MEMORY: Purpose(
        "bytes",
        "memory of the pods of a workload that cannot be given up",
        Query(
            query=_by_workload('container_memory_working_set_bytes{container!="",container!="POD"}')
        ),
        WORKLOAD,
        cost="nothing is known of the memory that workloads use",
        optional=True,
    ),
    REQUESTED: Purpose(
        "cores",
        "CPU that pods on nodes request",
        Query(
            # Pods that have ended request nothing more, though they are still told of.
            query='sum (kube_pod_container_resource_requests{resource="cpu",node!=""}'
            " * on (namespace, pod) group_left ()"
            ' (max by (namespace, pod) (kube_pod_status_phase{phase=~"Pending|Running"}) == 1))'
        ),
        (),
        cost="at a start nothing is known of what was requested before",
        optional=True,
    ),
    POD_CPU: Purpose(
        "cores",
        "CPU that a container uses",
        Query(
            # A container that was restarted has two cgroups for some minutes.
            query=f"{_BY_CONTAINER} (sum by (namespace, pod, container, id) "
            f"(rate(container_cpu_usage_seconds_total{{{_CONTAINERS}}}[$window])))",
            window_seconds=120,
        ),
        POD,
        cost="running pods are not resized",
    ),
    POD_MEMORY: Purpose(
        "bytes",
        "memory of a container that cannot be given up",
        Query(query=f"{_BY_CONTAINER} (container_memory_working_set_bytes{{{_CONTAINERS}}})"),
        POD,
        cost="running pods are not resized",
    ),
    POD_SAMPLE: Purpose(
        "Unix seconds",
        "when the newest sample of a container was scraped",
        Query(
            query=f"{_BY_CONTAINER} (timestamp(container_memory_working_set_bytes{{{_CONTAINERS}}}))"
        ),
        POD,
        cost="running pods are not resized",
    ),
}
"""By name in the file."""
_INLINE = {NODE_CPU: "cpu_cores", NODE_MEMORY: "memory_bytes", NODE_SAMPLE: "sample_seconds"}
"""Settings of old that hold a query, by its name in the file."""


def parse_queries(
    settings: PrometheusSettings, tables: Mapping[str, Any] | None = None
) -> dict[str, Query]:
    """Return the query of each purpose: of the settings, else of the file's tables, else the default one.

    Raises:
        ConfigError: a table or field is unknown, or a value does not fit.
    """
    queries = {
        name: purpose.default for name, purpose in PURPOSES.items() if purpose.default is not None
    }
    for name, table in (tables or {}).items():
        queries[name] = _query(name, table)
    for name, inline in _INLINE.items():
        given = getattr(settings, inline)
        if given:
            labels = queries[name].labels
            queries[name] = Query(query=given, labels=labels)
    if settings.node_label:
        named = {"labels": {NODE: settings.node_label}}
        queries |= {
            name: query.model_copy(update=named)
            for name, query in queries.items()
            if PURPOSES[name].keys == (NODE,)
        }
    return queries


def _query(name: str, table: object) -> Query:
    if name not in PURPOSES:
        raise ConfigError(FIELD, f"[{name}]", f"use one of the tables {_near(name, PURPOSES)}")
    if not isinstance(table, dict):
        raise ConfigError(f"{FIELD}: {name}", table, f"write it as a table [{name}]")
    default = PURPOSES[name].default
    try:
        query = Query.model_validate(table)
    except ValidationError as error:
        raise _refusal(name, error) from error
    unknown = sorted(set(query.labels) - set(PURPOSES[name].keys))
    if unknown:
        known = ", ".join(PURPOSES[name].keys) or "none"
        raise ConfigError(f"{FIELD}: {name}.labels", unknown[0], f"labels of ours: {known}")
    return query.model_copy(
        update={"labels": {**({} if default is None else default.labels), **query.labels}}
    )


def _refusal(name: str, error: ValidationError) -> ConfigError:
    first = error.errors(include_url=False)[0]
    where = [str(part) for part in first["loc"]]
    fields = Query.model_fields
    if first["type"] == "extra_forbidden":
        return ConfigError(
            f"{FIELD}: {name}.{where[0]}",
            first["input"],
            f"unknown key; did you mean {_near(where[0], fields)}?",
        )
    value = first["input"] if where else "(table)"
    if first["type"] == "missing":
        value = "(none)"
    message = first["msg"].removeprefix("Value error, ")
    return ConfigError(".".join([f"{FIELD}: {name}", *where]), value, message)


def _near(word: str, known: Mapping[str, Any]) -> str:
    return ", ".join(difflib.get_close_matches(word, known, n=3, cutoff=0.4) or sorted(known))
