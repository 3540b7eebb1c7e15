"""Queries of `foresail doctor` to a Prometheus: each query, whose nodes they are, how old, by which clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bus.errors import ForesailError
from foresail.findings import Finding
from projections.figures import duration
from schemas.wording import count_text
from services.collector.settings import CollectorSettings
from services.prometheus import PrometheusRefused, PrometheusServer, values_by
from services.prometheus_queries import (
    NODE,
    NODE_SAMPLE,
    POD,
    POD_SAMPLE,
    PODS,
    POWER_SAMPLE,
    PURPOSES,
)

CLOCK_SECONDS = 5.0
"""Clocks further apart make fresh samples look old, or old ones fresh."""
NAMED_NODES = 3
TIMES = (NODE_SAMPLE, POWER_SAMPLE, POD_SAMPLE)
NAME = "Prometheus"


@dataclass(frozen=True)
class ClusterFacts:
    """What the cluster says that is asked beside."""

    nodes: frozenset[str]
    time_seconds: float


async def prometheus_findings(
    settings: CollectorSettings, cluster: ClusterFacts | None
) -> list[Finding]:
    """Return what is well and what is not, one finding for each query; each lack says what it costs.

    Args:
        settings: of the collector.
        cluster: None where none is known; nodes and clocks are then not compared.

    Raises:
        ConfigError: a file that the settings name cannot be used.
    """
    if not settings.prometheus.url:
        text = "none is named: usage comes from the Metrics Server, power from the model"
        return [Finding(NAME, ok=True, found=text)]
    server = PrometheusServer(settings.prometheus)
    try:
        now = await server.time_seconds()
    except PrometheusRefused as refused:
        remedy = "see collector.prometheus; without it nodes have no usage"
        return [Finding(NAME, ok=False, found=str(refused), remedy=remedy)]
    findings = [Finding(NAME, ok=True, found=f"answers at {settings.prometheus.url}")]
    if cluster is not None:
        findings.append(_clock(now - cluster.time_seconds))
    limit = settings.limits.node_usage_seconds
    asked = [await _query(server, name, now, limit, cluster) for name in server.queries]
    return [*findings, *asked]


async def cluster_facts(kubeconfig: str, context: str | None) -> ClusterFacts | None:
    """Return the cluster's nodes and clock; None where it does not answer."""
    # The Kubernetes client takes a second to import.
    from services.kube_lists import list_decoder, read_list  # noqa: PLC0415
    from services.kube_objects import Node  # noqa: PLC0415
    from services.official_client import OfficialClientTransport  # noqa: PLC0415

    try:
        transport = OfficialClientTransport(Path(kubeconfig), context)
        try:
            listed = await read_list(transport, "/api/v1/nodes", list_decoder(Node))
        finally:
            await transport.close()
    except ForesailError:
        return None
    names = frozenset(node.metadata.name for node in listed.items)
    return ClusterFacts(names, listed.cluster_time_seconds)


def _clock(ahead_seconds: float) -> Finding:
    far = abs(ahead_seconds)
    ok = far <= CLOCK_SECONDS
    where = "ahead of" if ahead_seconds > 0 else "behind"
    remedy = "" if ok else "set both by NTP; ages of samples are wrong by as much"
    return Finding(
        f"{NAME}: clock", ok, f"{duration(round(far, 1))} {where} the API server's", remedy
    )


async def _query(
    server: PrometheusServer,
    name: str,
    now: float,
    limit_seconds: float,
    cluster: ClusterFacts | None,
) -> Finding:
    purpose, query, check = PURPOSES[name], server.queries[name], f"{NAME}: {name}"
    costs = f"costs: {purpose.cost}"
    try:
        samples = await server.ask(query, {PODS: ".+"})
        values = values_by(samples, purpose.keys, query.labels)
    except PrometheusRefused as refused:
        return Finding(check, ok=False, found=str(refused), remedy=costs)
    if not values:
        text = "no sample" + (f"; {costs}" if purpose.optional else "")
        return Finding(check, purpose.optional, text, "" if purpose.optional else costs)
    parts, troubles = [_count(list(values), purpose.keys)], []
    if purpose.keys == (NODE,):
        joined, lacking = _joined([node for (node,) in values], cluster)
        parts.append(joined)
        if lacking and not purpose.optional:
            label = query.labels.get(NODE, NODE)
            troubles.append(f"nodes are told by the label {label!r}: give labels.node of [{name}]")
    if name in TIMES:
        ages = [now - value for value in values.values()]
        parts.append(f"{duration(round(min(ages), 1))} to {duration(round(max(ages), 1))} old")
        if min(ages) > limit_seconds:
            troubles.append(f"older than {duration(limit_seconds)} is stale: scrape more often")
    window = query.covered_seconds
    if window:
        parts.append(f"over {duration(window)}")
    remedy = "; ".join([*troubles, costs]) if troubles else ""
    return Finding(check, not troubles, ", ".join(part for part in parts if part), remedy)


def _count(keys: Sequence[tuple[str, ...]], names: tuple[str, ...]) -> str:
    """Say how many things have a value."""
    if names == POD:
        pods = len({key[:2] for key in keys})
        return f"{count_text(len(keys), 'container')} of {count_text(pods, 'pod')}"
    if names == (NODE,) or not names:
        return ""
    return count_text(len({key[:2] for key in keys}), "Service")


def _joined(found: Sequence[str], cluster: ClusterFacts | None) -> tuple[str, tuple[str, ...]]:
    """Say how many of the cluster's nodes have a value, and which have none."""
    if cluster is None:
        text = f"{count_text(len(found), 'node')}; give --kubeconfig to hold their names against the cluster's"
        return text, ()
    lacking = tuple(sorted(cluster.nodes - set(found)))
    strange = len(set(found) - cluster.nodes)
    text = f"{len(cluster.nodes) - len(lacking)} of {count_text(len(cluster.nodes), 'node')}"
    if lacking:
        more = len(lacking) - NAMED_NODES
        named = ", ".join(lacking[:NAMED_NODES]) + (f" and {more} more" if more > 0 else "")
        text += f" (not {named})"
    if strange:
        text += f", {strange} that the cluster does not have"
    return text, lacking
