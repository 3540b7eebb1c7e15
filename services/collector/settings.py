"""Settings of the collector."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from schemas.actions import AgentName
from schemas.agents import names_in_referee_order
from schemas.model import DataModel
from services.prometheus_settings import PrometheusSettings


class PowerModel(DataModel):
    """Watts of one node: `idle + cpu_scale * cpu_ratio * clock_scale + mem_scale * memory_ratio`.

    Defaults are the baseline's constants; the other names are those of its calibration file.
    """

    idle_watts: float = Field(default=80.0, ge=0)
    """Watts of a node that is on and does nothing."""
    cpu_full_scale_watts: float = Field(default=120.0, ge=0)
    """Watts on top of idle when all CPU is busy at the full clock."""
    mem_full_scale_watts: float = Field(default=60.0, ge=0)
    """Watts on top of idle when all memory is in use."""
    sleep_watts: float = Field(default=12.0, ge=0)
    """Watts of a sleeping node (suspend to RAM of a server; the baseline has no such state)."""
    source: str = "baseline constants"
    """Where the coefficients come from; change it together with them."""


class AgeLimits(DataModel):
    """Age in cluster seconds from which a signal counts as stale."""

    kubernetes_api_seconds: float = Field(default=30.0, gt=0)
    """Lists are read anew in every cycle, so only a read that took this long is stale."""
    watched_seconds: float = Field(default=120.0, gt=0)
    """Where they are watched instead: since the server was last heard; above `watch_silence_seconds`."""
    node_usage_seconds: float = Field(default=90.0, gt=0)
    """Metrics Server samples every 15 to 60 s and answers up to one window late; of measured power, too."""
    energy_price_seconds: float = Field(default=3600.0, gt=0)
    """Prices are set for an hour or a quarter of one."""


class CollectorSettings(DataModel):
    """Settings of the collector's process."""

    interval_seconds: float = Field(default=5.0, gt=0)
    """Wall seconds between two cycles; ticks that a slow API server makes us miss are skipped."""
    speed: float = Field(default=1.0, gt=0)
    """Cluster seconds per wall second: 1 for a real cluster, `--speed` for the embedded one."""
    keyframe_cycles: int = Field(default=20, ge=1)
    """A full state travels every so many cycles, deltas in between."""
    namespaces: tuple[str, ...] = ()
    """Prefixes of watched namespaces (queue, SLA, health); empty: all but Kubernetes' own."""
    expected_agents: tuple[AgentName, ...] = Field(default_factory=names_in_referee_order)
    """Agents that the referee waits for, in canonical order."""
    energy_price: float = Field(default=0.1, ge=0)
    """Price of a kWh; a constant nobody measured, published as `assumed`."""
    energy_price_file: str = ""
    """TOML file of prices by hour, in place of the constant (docs/prometheus.md)."""
    power: PowerModel = PowerModel()
    """Coefficients of the power model."""
    prometheus: PrometheusSettings = PrometheusSettings()
    """Who says what nodes use, if not the Metrics Server."""
    history_files: tuple[str, ...] = ()
    """Tables of `series,t_s,value` (CSV, also packed as .csv.gz; `foresail up` reads parquet and recordings, too)
    that the history of workloads begins with: times are Unix seconds, or all of a table's at most 0 and count back
    from the first cycle. Unset: `foresail up` takes those that a simulated cluster's workload names.
    """
    history_source: Literal["table", "recording"] = "table"
    """What the files were made from."""
    limits: AgeLimits = AgeLimits()
    """Ages from which signals are stale."""
    watch_silence_seconds: float = Field(default=90.0, ge=5)
    """Wall seconds without a byte after which a watch is opened anew; servers send bookmarks once a minute."""
    metrics_seconds: float = Field(default=15.0, ge=0)
    """Wall seconds between lists of node metrics, which cannot be watched and are sampled every 15 s at most."""
    failed_pod_seconds: float = Field(default=300.0, ge=0)
    """Cluster seconds for which a pod that Failed counts as unhealthy; by the baseline, as long as it is listed."""
    listed_pods: int = Field(default=500, ge=1)
    """Most single pods listed in a snapshot (its message stays under 1 MiB); the queue counts all."""
    overdue_seconds: float = Field(default=300.0, ge=0)
    """Cluster seconds Pending after which a pod is overdue (`outcome.score`): about what a new machine takes."""
    listed_reactions: int = Field(default=200, ge=1)
    """Most reactions listed in one cycle."""
    request_timeout_seconds: float = Field(default=10.0, gt=0)
    """Wall seconds after which a request to the API server is given up."""

    @property
    def cycle_seconds(self) -> float:
        """Cluster seconds between two cycles."""
        return self.interval_seconds * self.speed

    def announcement(self) -> dict[str, Any]:
        """Return everything that can change a result, for the config event."""
        content = self.model_dump(mode="json")
        # The events say what was filled in; a path says nothing.
        return {
            name: value
            for name, value in content.items()
            if name not in ("history_files", "history_source")
        }
