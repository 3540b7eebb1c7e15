"""Arms: who looks after the cluster in a trial. Built-in ones by name, own ones from one of them with other settings.

An arm may add controllers and settings; it cannot touch workload, machines that are there from the beginning,
seeds or length, so that no arm gets an easier world than another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from schemas.agents import agent_names
from schemas.model import DataModel
from twin.port.settings import Provisioner

NAME = r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,60}$"
CHANGEABLE = ("agents", "referee", "executor", "inference", "switchback")
"""Groups of settings that an arm may change; the others are the world's, or say how it is seen and scored."""
OF_THE_EXPERIMENT = ("executor.mode", "executor.namespaces", "executor.writable_nodes")
"""Settings of these groups that no arm may change: `acts` says whether it acts, and all look after the same things."""
OF_THE_WORLD = frozenset(
    (
        *("nodes", "warm_up", "length", "cycle", "weather", "machines", "prices", "score"),
        *("workload", "workloads", "plays", "scenario", "surge", "seed", "seeds", "start_time"),
        *("namespaces", "cordoned", "traffic", "stimulus", "metrics"),
    )
)
"""Names of what is the same for every arm: an arm that gives one is told so."""


class Autoscaling(DataModel):
    """A HorizontalPodAutoscaler on CPU for every Deployment, as the team that deploys it would write it."""

    cpu_percent: int = Field(default=70, ge=1, le=1_000)
    """Mean CPU use wanted, in percent of the request."""
    least_ratio: float = Field(default=0.5, gt=0)
    """Fewest replicas, as a ratio of those deployed; at least one."""
    most_ratio: float = Field(default=3.0)
    """Most replicas, likewise; above 1, and above `least_ratio`."""

    @model_validator(mode="after")
    def _check_room(self) -> Self:
        if not max(1.0, self.least_ratio) < self.most_ratio < float("inf"):
            raise ValueError(
                f"most_ratio: {self.most_ratio:g} leaves an HPA nothing to do; set it above 1 and above "
                f"least_ratio ({self.least_ratio:g}), or use an arm without autoscaling"
            )
        return self


class Foresight(DataModel):
    """Inputs of the oracle and how often; see `foresail.experiment.oracle`."""

    every_seconds: float = Field(default=300.0, ge=60)
    """Cluster seconds between two choices."""
    ahead_seconds: float = Field(default=900.0, ge=60)
    """Cluster seconds of the true future that each choice is tried on."""


class ScalingAhead(DataModel):
    """Replicas for the demand to come, of somebody who forecasts it; see `lab.rate_worlds.scaling_ahead`.

    Beside an HPA it raises the fewest replicas and leaves the rest to it, as a second metric would: the larger wins.
    """

    forecast: Literal["truth", "crane"]
    """What is taken for the demand to come: the rates that will come, or what Crane's DSP makes of those that came."""
    window_seconds: float = Field(default=300.0, ge=60, le=86_400)
    """From now on, over which the highest demand counts."""
    cpu_percent: int = Field(default=70, ge=1, le=1_000)
    """CPU use of the request at which replicas are to bear that demand."""
    shuffled: bool = False
    """Whether each hour gets the forecast of another hour: who does as well so is not helped by forecasts."""


class Queueing(DataModel):
    """Kueue with one queue for all Jobs; see `foresail.experiment.job_queues`."""

    quota_ratio: float = Field(default=1.0, gt=0, le=10)
    """Quota, as a ratio of what the machines that are there from the beginning offer to pods."""
    strategy: Literal["BestEffortFIFO", "StrictFIFO"] = "BestEffortFIFO"
    """Whether a Job that finds no quota lets later ones pass."""


Sizes = Literal["oracle", "shuffled"]
"""What Foresail is told that pods will use, instead of what inference says: see `foresail.experiment.told_sizes`."""
Planted = Literal["replicate-without-end", "shrink-demand"]
"""Harm on purpose (`foresail.experiment.planted`): an experiment that does not notice it is worth nothing."""


class Arm(DataModel):
    """One way to look after a cluster."""

    name: str = Field(pattern=NAME)
    base: str | None = None
    """A built-in arm whose values hold where this one names none."""
    acts: bool = False
    """Whether Foresail writes to the cluster; without, it looks on in shadow mode."""
    without_agents: tuple[str, ...] = ()
    """Agents that do not run."""
    autoscaling: Autoscaling | None = None
    """Whether every Deployment has an HPA; unset: those of the workload and scenario alone."""
    vertical: bool = False
    """Whether every Deployment and Job has a VerticalPodAutoscaler that resizes in place, else evicts, also its only
    pod.
    """
    provisioner: Provisioner = "none"
    """Who rents machines."""
    queues: Queueing | None = None
    """Whether Kueue holds Jobs back until their queue has quota."""
    predicts: bool = True
    """Whether inference runs; without, agents that wait for a prediction propose nothing."""
    oracle: Foresight | None = None
    """Whether one who knows the future scales and switches machines."""
    ahead: ScalingAhead | None = None
    """Whether somebody scales Deployments with traffic for the demand to come."""
    wrong_hours: bool = False
    """Whether Foresail gets the trained model's forecasts of another hour; see `foresail.experiment.wrong_hours`."""
    sizes: Sizes | None = None
    """Whether sizes are those that will be wanted, or those of another workload."""
    planted: Planted | None = None
    """Harm that is done on purpose."""
    settings: dict[str, Any] = {}
    """Settings of the stack by `group.field`, such as `executor.cool_down_seconds`."""

    @model_validator(mode="before")
    @classmethod
    def _take_base(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        easier = sorted(OF_THE_WORLD & given.keys())
        if easier:
            raise ValueError(
                f"{easier[0]}: an arm cannot have its own; what all arms meet stands in [world] and [[workloads]]"
            )
        if not isinstance(given.get("base"), str):
            return given
        base = BUILT_IN.get(given["base"])
        if base is None:
            raise ValueError(f"base: {why_no_arm(given['base'])}")
        settings = {**base.get("settings", {}), **(given.get("settings") or {})}
        return {**base, **given, "settings": settings}

    @model_validator(mode="after")
    def _check(self) -> Self:
        unknown = [name for name in self.without_agents if name not in agent_names()]
        if unknown:
            known = ", ".join(agent_names())
            raise ValueError(f"without_agents: {unknown[0]!r} is no agent; use one of {known}")
        for name in self.settings:
            if name in OF_THE_EXPERIMENT:
                raise ValueError(
                    f"settings.{name}: every arm looks after the whole cluster, and `acts` alone says whether it "
                    "writes; leave it out"
                )
            group, dot, _ = name.partition(".")
            if not dot or group not in CHANGEABLE:
                raise ValueError(
                    f"settings.{name}: an arm changes settings of {', '.join(CHANGEABLE)} alone; what the "
                    "world is stands in [world], and how it is seen and scored is the same for all"
                )
        if self.settings and not self.acts:
            raise ValueError(
                "settings: this arm does not act; give it base = 'baseline-rules' or acts = true"
            )
        if self.queues is not None and (self.acts or self.oracle is not None):
            raise ValueError(
                "queues: Kueue and this arm would both suspend and start Jobs; give queues to an arm that does "
                "not act and knows no future"
            )
        if self.wrong_hours and self.sizes:
            raise ValueError("sizes: an arm is told wrong hours or other sizes; make two of it")
        for name, told in (("wrong_hours", self.wrong_hours), ("sizes", self.sizes)):
            if told and not (self.acts and self.predicts):
                raise ValueError(f"{name}: nobody here acts on a forecast; leave it out")
        if not self.predicts and not self.acts:
            raise ValueError("predicts: this arm does not act, so nothing predicts; leave it out")
        return self


PROFILE = "agents.profile"
BASELINE = {PROFILE: "baseline-rules"}

BUILT_IN: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "hpa": {"autoscaling": {}},
    "hpa+ca": {"autoscaling": {}, "provisioner": "cluster-autoscaler"},
    "hpa+karpenter": {"autoscaling": {}, "provisioner": "karpenter"},
    "karpenter": {"provisioner": "karpenter"},
    "vpa+karpenter": {"vertical": True, "provisioner": "karpenter"},
    "kueue": {"queues": {}},
    "baseline-rules": {"acts": True, "settings": BASELINE},
    "baseline-rules+models": {
        "acts": True,
        "settings": {**BASELINE, "inference.model": "small-risk"},
    },
    "forecast": {
        "acts": True,
        "settings": {PROFILE: "forecast", "inference.model": "small-risk"},
    },
    "foresail": {"acts": True, "settings": {PROFILE: "foresail"}},
    "hpa+foresail": {
        "acts": True,
        "autoscaling": {},
        "settings": {PROFILE: "foresail"},
    },
    "karpenter+foresail": {
        "acts": True,
        "provisioner": "karpenter",
        "settings": {PROFILE: "foresail"},
    },
    "hpa+karpenter+foresail": {
        "acts": True,
        "autoscaling": {},
        "provisioner": "karpenter",
        "settings": {PROFILE: "foresail"},
    },
    "random": {"acts": True, "settings": {PROFILE: "random"}},
    "without-safety": {"acts": True, "without_agents": ["safety"], "settings": BASELINE},
    "without-efficiency": {"acts": True, "without_agents": ["efficiency"], "settings": BASELINE},
    "without-admission": {"acts": True, "without_agents": ["admission"], "settings": BASELINE},
    "without-prediction": {"acts": True, "predicts": False, "settings": BASELINE},
    "without-cool-down": {
        "acts": True,
        "settings": {
            **BASELINE,
            "executor.cool_down_seconds": 0.0,
            "executor.cool_down_after_failure_seconds": 0.0,
        },
    },
    "oracle": {"oracle": {}},
    "replicate-without-end": {"planted": "replicate-without-end"},
    "shrink-demand": {"planted": "shrink-demand"},
}
"""By name; values are those of `Arm`. A profile of the agents stands under its own name."""

NOT_YET: Mapping[str, str] = {
    "ppo": "no trained policy is shipped; 'baseline-rules+models' and 'forecast' are the arms with a trained model",
}
"""Arms that people ask for and that cannot be run, with the reason and what to use."""


def why_no_arm(name: str) -> str:
    """Return why a name is no built-in arm, and what to use instead."""
    reason = NOT_YET.get(name)
    if reason is not None:
        return f"{name!r} cannot be run yet: {reason}"
    return f"{name!r} is no built-in arm; use one of {', '.join(BUILT_IN)}"


def arm_of(name: str) -> dict[str, Any]:
    """Return a built-in arm's values; raises KeyError for another name."""
    return {"name": name, "base": name}
