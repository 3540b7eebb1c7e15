"""Price of one unit of each component. docs/outcome-score.md has the reasons and the sources."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from schemas.model import DataModel
from schemas.work import LATENCY_BOUNDS


class ScorePrices(DataModel):
    """Prices of the outcome score, as money for one unit. All are positive; whether a unit earns or costs
    is part of the component.
    """

    currency: str = Field(default="USD", pattern="^[A-Z]{3}$")
    """The unit of all prices here, by its three letters (ISO 4217)."""
    request_served_million: float = Field(default=0.2, ge=0)
    """For a million requests served. Source: AWS Lambda's price of a million requests, 0.20 USD."""
    request_failed_million: float = Field(default=0.2, ge=0)
    """Cost of a million requests that timed out or were refused. Our own choice: a credit of the full price,
    beside what they do not earn.
    """
    request_lost_million: float = Field(default=0.4, ge=0)
    """Cost of a million requests that were begun and lost. Our own choice: twice a failed one, since their
    client has to find out by itself.
    """
    request_cpu_hour: float = Field(default=0.04048, ge=0)
    """Worth of a CPU-hour of served requests, where `request_cpu_seconds` says how long one takes. Source: AWS
    Fargate's price of a vCPU-hour (us-east-1, Linux, x86), 0.04048 USD.
    """
    request_cpu_seconds: float = Field(default=0.02, ge=0)
    """CPU-seconds that a served request stands for: the twin's default (docs/twin/serving.md); 0 pays for
    requests by their number alone.
    """
    job_completed: float = Field(default=0.0, ge=0)
    """For a completed Job. 0: its CPU-hours are what it is worth; set it where nobody counts these."""
    job_failed: float = Field(default=0.0, ge=0)
    """Cost of a failed Job, beside its lost CPU-hours."""
    job_dropped: float = Field(default=0.05, ge=0)
    """Cost of a Job that was removed before it had ended (rejected demand). Our own choice: a bit more than a
    CPU-hour, which is about what Jobs of the Google trace take.
    """
    job_cpu_hour_done: float = Field(default=0.04048, ge=0)
    """For a CPU-hour of Jobs that came to its end. Source: AWS Fargate, as above."""
    job_cpu_hour_lost: float = Field(default=0.031611, ge=0)
    """Cost of a CPU-hour that was thrown away and has to be done again: that of a core for an hour, as `core_hour`."""
    waiting_pod_hour: float = Field(default=0.02, ge=0)
    """Cost of a pod-hour Pending. Source: about what buyers give up by taking interruptible capacity, the
    difference of Compute Engine's list prices of a vCPU-hour on demand (0.0316 USD, n1) and spot (0.0100 USD).
    """
    waiting_class_factors: dict[str, float] = {}
    """By PriorityClass, by how much its waiting costs more; 1 for a class that is not named."""
    overdue_pod_hour: float = Field(default=0.02, ge=0)
    """Further cost of a pod-hour Pending beyond `collector.overdue_seconds`: the SLO of waiting. Our own choice:
    overdue waiting costs twice.
    """
    held_pod_hour: float = Field(default=0.04, ge=0)
    """Cost of a pod-hour of demand that is held back (suspended Jobs, Deployments we scaled down). Our own
    choice: as overdue waiting, so that hiding a queue never pays.
    """
    slo_latency_seconds: float = Field(default=0.5)
    """A request that took longer is bad for the SLO; one of the bounds 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
    0.5, 1, 2.5, 5, 10.
    """
    slo_bad_ratio: float = Field(default=0.01, ge=0, le=1)
    """A Service violates its SLO in a cycle when more than this share of its requests failed, were lost or
    took too long. Our own choice: 99 %.
    """
    slo_service_minute: float = Field(default=0.05, ge=0)
    """Cost of a minute in which a Service violates its SLO. Our own choice: 3 USD an hour, what some 75 vCPUs
    cost, so that saving a machine never pays for an outage.
    """
    eviction: float = Field(default=0.002, ge=0)
    """Cost of a running pod that was taken away and replaced, beside the work lost by it. Our own choice: three
    minutes of a vCPU.
    """
    restart: float = Field(default=0.002, ge=0)
    """Cost of a container's restart, likewise."""
    node_hour: float = Field(default=0.0, ge=0)
    """Cost of a Node for an hour, whatever its size, beside its cores and memory."""
    core_hour: float = Field(default=0.031611, ge=0)
    """Cost of an allocatable core for an hour, as long as its Node exists, asleep or not. Source: Compute Engine,
    n1 predefined vCPU, us-central1, 0.031611 USD.
    """
    memory_gib_hour: float = Field(default=0.004237, ge=0)
    """Cost of an allocatable GiB of memory for an hour. Source: the same list, 0.004237 USD."""
    energy_kwh: float | None = Field(default=None, ge=0)
    """Cost of a kWh, idle power included; unset: `collector.energy_price`. Where machines are rented their price
    holds it already: set it to 0.
    """

    @model_validator(mode="after")
    def _check_bound(self) -> Self:
        if self.slo_latency_seconds not in LATENCY_BOUNDS:
            bounds = ", ".join(map(str, LATENCY_BOUNDS))
            raise ValueError(f"slo_latency_seconds: use one of {bounds}")
        for name, factor in self.waiting_class_factors.items():
            if not 0 <= factor < float("inf"):
                raise ValueError(f"waiting_class_factors: give {name!r} 0 or more")
        return self
