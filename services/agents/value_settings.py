"""Settings of the policies that judge by expected value. Money is that of the outcome score's prices."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from schemas.model import DataModel
from schemas.surge import SURGE_PODS
from services.agents.calibration import FACTORS, KINDS

PRICES_OF_VALUE = (
    *("currency", "slo_service_minute", "slo_latency_seconds", "slo_bad_ratio"),
    *("core_hour", "memory_gib_hour", "waiting_pod_hour", "overdue_pod_hour", "held_pod_hour"),
    *("eviction", "job_cpu_hour_lost"),
)
"""Fields that are the outcome score's own, by the same names."""


class ValueSettings(DataModel):
    """Settings of the profile `foresail`: prices, horizons, reserves, and how sure it is before it has learned."""

    currency: str = Field(default="USD", pattern="^[A-Z]{3}$")
    """Of all prices here, as `score.currency`; `foresail up` takes the prices from `score`."""
    slo_service_minute: float = Field(default=0.05, ge=0)
    """Cost of a minute in which a Service violates its objective."""
    slo_latency_seconds: float = 0.5
    """A slower answer is bad for the objective."""
    slo_bad_ratio: float = Field(default=0.01, ge=0, le=1)
    """Share of bad requests from which the objective is violated."""
    core_hour: float = Field(default=0.031611, ge=0)
    """Worth of a core that is not taken, for an hour."""
    memory_gib_hour: float = Field(default=0.004237, ge=0)
    """Worth of a GiB of memory that is not taken, for an hour."""
    waiting_pod_hour: float = Field(default=0.02, ge=0)
    """Cost of a pod-hour Pending."""
    overdue_pod_hour: float = Field(default=0.02, ge=0)
    """Further cost of a pod-hour Pending beyond `overdue_seconds`."""
    overdue_seconds: float = Field(default=300.0, ge=0)
    """A pod that is Pending for longer is overdue, as `collector.overdue_seconds`."""
    held_pod_hour: float = Field(default=0.04, ge=0)
    """Cost of a pod-hour of demand that is held back."""
    eviction: float = Field(default=0.002, ge=0)
    """Cost of moving one pod."""
    job_cpu_hour_lost: float = Field(default=0.031611, ge=0)
    """Cost of a CPU-hour of a Job that is to be done again."""
    horizon_seconds: float = Field(default=600.0, gt=0)
    """How far the effect of more replicas, and of waking a machine, is looked at."""
    saving_horizon_seconds: float = Field(default=1_800.0, gt=0)
    """How long a machine that is put to sleep is expected to be left so, before any was seen to wake, and
    replicas that are given back."""
    forecast_seconds: float = Field(default=0.0, ge=0)
    """How far ahead the trend of a Service's requests is followed; 180 is about what new replicas take, twice. 0
    follows none, since no workload has shown that it helps (docs/experiments.md).
    """
    forecast: bool = True
    """Whether forecasts raise replicas beyond what is seen, hold them before a rise and keep a reserve awake; the
    agents then wait for `prediction.demand`. Without, the trend over two minutes where `forecast_seconds` follows one,
    and the largest rise so far.
    """
    settle_seconds: float = Field(default=120.0, ge=0)
    """How long after a change of replicas the same workload is left alone, so that its effect shows."""
    quiet_seconds: float = Field(default=900.0, ge=0)
    """How long a Service must have kept its objective before replicas are given back."""
    headroom_ratio: float = Field(default=0.15, ge=0, lt=1)
    """Share of the rate that a replica is known to bear that is kept free."""
    most_growth: float = Field(default=2.0, gt=1)
    """Replicas after one step, at most so many times those before."""
    most_surge: float = Field(default=12.0, gt=1)
    """Replicas at most so many times the owner's number; `foresail up` takes it from `executor.caps.surge_ratio`."""
    spare_ratio: float = Field(default=0.05, ge=0, le=1)
    """Share of all cores that more replicas leave free, so that other work does not wait for its place."""
    machines_rented: bool = False
    """Whether a node autoscaler rents machines for pods without a place, so that more replicas need no free place;
    `foresail up --provisioner` sets it.
    """
    rented_seconds: float = Field(default=300.0, gt=0)
    """None can be rented, it seems, while a pod waits for capacity for longer than this."""
    surge_pods: str = Field(default="80%", pattern=SURGE_PODS)
    """Pods more than their owners set, of all workloads together; `foresail up` takes it from `executor.caps`."""
    changes: int = Field(default=3, ge=1)
    """Changes of one workload's replicas within `changes_seconds` at most, as `executor.caps.per_workload`."""
    changes_seconds: float = Field(default=600.0, gt=0)
    """Window of `changes`, as `executor.caps.window_seconds`."""
    cured_prior: float = Field(default=7.0, gt=0)
    """How often more replicas ended a violation, in ten times, before anything was seen here: our own guess."""
    persists_ratio: float = Field(default=0.9, ge=0, le=1)
    """Chance that a violation goes on by itself over the horizon: our own guess."""
    reserve_ratio: float = Field(default=0.1, ge=0, le=1)
    """Least share of the requested cores and memory that stays free on machines that are awake."""
    reserve_nodes: int = Field(default=2, ge=0)
    """Empty machines that stay awake at least."""
    least_awake_ratio: float = Field(default=0.5, ge=0, le=1)
    """Share of the machines that stays awake at least; `executor.least_ready_ratio` is the guard rail."""
    warm_up_seconds: float = Field(default=600.0, ge=0)
    """Demand has to be known for so long before a machine is put to sleep."""
    idle_watts: float = Field(default=80.0, ge=0)
    """What an empty machine draws that is awake, as `collector.power.idle_watts`."""
    sleep_watts: float = Field(default=12.0, ge=0)
    """What a sleeping machine draws, as `collector.power.sleep_watts`."""
    budget_ratio: float = Field(default=0.1, gt=0, le=1)
    """Share of the machines that are put to sleep or emptied within `budget_seconds`, as `executor.budgets`."""
    budget_seconds: float = Field(default=600.0, gt=0)
    """Window of `budget_ratio`."""
    pods_moved: int = Field(default=2, ge=0)
    """A machine with more pods is not emptied to save its energy, as `executor.pods_per_migration`."""
    room_pods: int = Field(default=4, ge=0)
    """At most so many pods move so that one that waits has a place; `foresail up` takes it from
    `executor.named_pods_per_migration`."""
    moves: int = Field(default=6, ge=0)
    """Machines emptied within `changes_seconds` at most; 0: none."""
    rested_seconds: float = Field(default=900.0, ge=0)
    """A pod that has run for less, or whose workload was moved since, is not moved, and a machine that woke since is
    not put to sleep, as `executor.ping_pong_seconds`."""
    right_size: bool = False
    """Whether running pods get the requests that fit what their workload will use at most, where machines are rented.
    """
    marks: bool = True
    """Whether, with `right_size`, the machines that a node autoscaler will give back next get no new pods while others
    have room.
    """
    size_margin: float = Field(default=0.1, ge=0)
    """By how much what a pod requests lies above the peak that is expected of it."""
    size_known_seconds: float = Field(default=300.0, ge=300)
    """For how long what a workload uses must be known before its pods request less."""
    size_returned_ratio: float = Field(default=0.5, ge=0, le=1)
    """Share of what is not requested any more that the node autoscaler gives back within the horizon: our own guess."""
    switch_cost: float = Field(default=0.0003, ge=0)
    """Cost of putting a machine to sleep and waking it: about three minutes of its idle power, twice."""
    retry_seconds: float = Field(default=600.0, ge=0)
    """How long an action is not proposed again that was wanted for `tries` cycles and was not done."""
    tries: int = Field(default=6, ge=1)
    """Cycles for which an action is proposed without any sign of it in the cluster."""
    untouched_ratio: float = Field(default=0.05, ge=0, le=0.5)
    """Share of the eligible targets that are left untouched in an epoch, so that effects and labels stay estimable: the
    least of what is usual (5 to 10 %), since each of them forgoes what acting is expected to bring; 0: none.
    """
    untouched_epoch_seconds: float = Field(default=3_600.0, gt=0)
    """How long a target is left untouched; longer than both horizons, so that an effect can be seen within."""
    untouched_seed: int = Field(default=7, ge=0)
    """What is drawn from; unset: `run.seed`."""
    most_wishes: int = Field(default=12, ge=1)
    """Actions in one proposal at most: a rush on forty Services is answered within a minute."""
    calibration: dict[str, Annotated[float, Field(ge=0)]] = {}
    """By what expectations of a kind (`foresail experiment calibrate --help`) are multiplied; 0 switches it off.
    The agents' processes take what was measured (docs/calibration.md) for each kind that is not named here."""

    def with_measured(self) -> Self:
        """Return the settings with what was measured, for each kind whose factor is not named."""
        return self.model_copy(update={"calibration": {**FACTORS, **self.calibration}})

    @model_validator(mode="after")
    def _check_kinds(self) -> Self:
        unknown = sorted({*self.calibration} - {*KINDS})
        if unknown:
            raise ValueError(f"calibration: {unknown[0]} is no kind; use {', '.join(KINDS)}")
        return self

    @model_validator(mode="after")
    def _check_epoch(self) -> Self:
        longest = max(self.horizon_seconds, self.saving_horizon_seconds)
        if self.untouched_ratio and self.untouched_epoch_seconds <= longest:
            raise ValueError(
                f"untouched_epoch_seconds: use more than the longest horizon ({longest:g} s), or untouched_ratio = 0"
            )
        return self
