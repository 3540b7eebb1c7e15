"""Arms: who looks after the cluster in a trial. Built-in ones by name, own ones from one of them with other settings.

An arm may add controllers and settings; it cannot touch workload, machines that are there from the beginning,
seeds or length, so that no arm gets an easier world than another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from agent_registry.discovery import agent_names
from schemas.model import DataModel
from twin.config.provisioning import Provisioner

NAME = r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,60}$"
CHANGEABLE = ("agents", "referee", "executor", "inference")
"""Groups of settings that an arm may change; the others are the world's, or say how it is seen and scored."""


class Autoscaling(DataModel):
    """A HorizontalPodAutoscaler on CPU for every Deployment, as the team that deploys it would write it."""

    cpu_percent: int = Field(default=70, ge=1, le=1_000)
    """Mean CPU use wanted, in percent of the request."""
    least_ratio: float = Field(default=0.5, gt=0)
    """Fewest replicas, as a ratio of those deployed; at least one."""
    most_ratio: float = Field(default=3.0, ge=1)
    """Most replicas, likewise."""


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
    """Whether every Deployment has a VerticalPodAutoscaler that evicts and resizes."""
    provisioner: Provisioner = "none"
    """Who rents machines."""
    settings: dict[str, Any] = {}
    """Settings of the stack by `group.field`, such as `executor.cool_down_seconds`."""

    @model_validator(mode="before")
    @classmethod
    def _take_base(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or not isinstance(given.get("base"), str):
            return given
        base = BUILT_IN.get(given["base"])
        if base is None:
            raise ValueError(
                f"base: {given['base']!r} is no built-in arm; use one of {', '.join(BUILT_IN)}"
            )
        settings = {**base.get("settings", {}), **(given.get("settings") or {})}
        return {**base, **given, "settings": settings}

    @model_validator(mode="after")
    def _check(self) -> Self:
        unknown = [name for name in self.without_agents if name not in agent_names()]
        if unknown:
            known = ", ".join(agent_names())
            raise ValueError(f"without_agents: {unknown[0]!r} is no agent; use one of {known}")
        for name in self.settings:
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
        return self


BUILT_IN: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "hpa": {"autoscaling": {}},
    "hpa+ca": {"autoscaling": {}, "provisioner": "cluster-autoscaler"},
    "hpa+karpenter": {"autoscaling": {}, "provisioner": "karpenter"},
    "karpenter": {"provisioner": "karpenter"},
    "vpa+karpenter": {"vertical": True, "provisioner": "karpenter"},
    "baseline-rules": {"acts": True},
    "forecast": {"acts": True, "settings": {"agents.profile": "forecast"}},
    "without-safety": {"acts": True, "without_agents": ["safety"]},
    "without-efficiency": {"acts": True, "without_agents": ["efficiency"]},
    "without-admission": {"acts": True, "without_agents": ["admission"]},
    "without-cool-down": {
        "acts": True,
        "settings": {
            "executor.cool_down_seconds": 0.0,
            "executor.cool_down_after_failure_seconds": 0.0,
        },
    },
}
"""By name; values are those of `Arm`."""


def arm_of(name: str) -> dict[str, Any]:
    """Return a built-in arm's values; raises KeyError for another name."""
    return {"name": name, "base": name}
