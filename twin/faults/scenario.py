"""The form of a scenario: what goes wrong, when, for how long and where.

Times are cluster time: `at_seconds` after the scenario was given to the twin, or `at_time`, an
absolute one. Where nodes are meant they are named, selected by label, or drawn by seed.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, field_validator, model_validator

from twin.config.health import Weather as WeatherLevel
from twin.kinds import KINDS
from twin.traffic import read_traffic

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?")
_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_SERVICE = re.compile(f"({_LABEL}/)?{_LABEL}")
Positive = Annotated[float, Field(gt=0)]
Ratio = Annotated[float, Field(gt=0, le=1)]
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class _Given(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
    )


class Nodes(_Given):
    """Which nodes: those that are named and those that the selector selects; all if neither is
    given.
    """

    names: tuple[str, ...] = ()
    """Names of nodes; one that does not exist then is left out."""
    selector: str = ""
    """A label selector: `key=value`, `key!=value`, `key` or `!key`, separated by commas."""
    pick: int | None = Field(default=None, ge=1)
    """Draw so many of them by the seed; none: take all."""

    @field_validator("selector")
    @classmethod
    def _readable(cls, text: str) -> str:
        read_selector(text)
        return text


class _Fault(_Given):
    at_seconds: float = Field(default=0.0, ge=0)
    """When it begins, after the scenario was given to the twin."""
    at_time: AwareDatetime | None = None
    """When it begins, as an absolute cluster time; one that is past means at once."""

    @model_validator(mode="after")
    def _one_time(self) -> Self:
        if self.at_time is not None and "at_seconds" in self.model_fields_set:
            raise ValueError("give at_seconds or at_time, not both")
        return self


class _Lasting(_Fault):
    duration_seconds: Positive | None = None
    """How long it lasts; none: for good."""


class NodeDeath(_Lasting):
    """Machines stop, and come back after the duration."""

    fault: Literal["node_death"]
    nodes: Nodes


class NodeShutdown(_Lasting):
    """Machines are shut down in an orderly way, and come back after the duration."""

    fault: Literal["node_shutdown"]
    nodes: Nodes
    grace_seconds: float = Field(default=30.0, ge=0)
    """Time that pods get to end (the kubelet's shutdownGracePeriod)."""


class SpotNotice(_Fault):
    """Machines are reclaimed: a taint and an event first, then they are gone for good."""

    fault: Literal["spot_notice"]
    nodes: Nodes
    notice_seconds: Positive | None = None
    """Time between notice and end; none: what the settings say (120 s)."""


class SlowNode(_Lasting):
    """Machines work slower."""

    fault: Literal["slow_node"]
    nodes: Nodes
    speed_ratio: Ratio
    """What is left of their speed."""


class ClockSkew(_Lasting):
    """Clocks of machines go wrong: all times that their kubelets write are off."""

    fault: Literal["clock_skew"]
    nodes: Nodes
    skew_seconds: float
    """How far they are ahead; negative: behind."""


class ImagePullFailure(_Lasting):
    """Images cannot be pulled."""

    fault: Literal["image_pull_failure"]
    nodes: Nodes = Nodes()
    images: tuple[str, ...] = ("*",)
    """Patterns of image names, with * and ?."""


class _OfApi(_Lasting):
    methods: tuple[Method, ...] = ()
    """HTTP methods that are hit; none named: all."""
    resources: tuple[str, ...] = ()
    """Resources that are hit, in the plural; none named: all."""
    ratio: Ratio = 1.0
    """Part of the requests that is hit, drawn by the seed."""


class ApiErrors(_OfApi):
    """The API server refuses requests."""

    fault: Literal["api_errors"]
    status: Literal[429, 500, 503, 504]
    retry_after_seconds: int = Field(default=1, ge=0)
    """What the Retry-After header of 429 and 503 says."""


class ApiLatency(_OfApi):
    """The API server answers late."""

    fault: Literal["api_latency"]
    latency_seconds: Positive
    """Wall seconds before an answer; clients wait in wall time."""


class Weather(_Lasting):
    """Machines and programs go wrong by themselves, as often as this level says (docs/twin/health.md)."""

    fault: Literal["weather"]
    level: WeatherLevel
    """off, mild or rough; of several at once the newest counts."""


class WatchCut(_Lasting):
    """Running watches end without a word, once or again and again."""

    fault: Literal["watch_cut"]
    resources: tuple[str, ...] = ()
    """Resources whose watches end, in the plural; none named: all."""
    every_seconds: Positive | None = None
    """Again after so long, for the duration; none: once."""


class WatchExpiry(_Fault):
    """The past of resources is forgotten: running and resumed watches get 410 and list again."""

    fault: Literal["watch_expiry"]
    resources: tuple[str, ...] = ()
    """Resources, in the plural; none named: all."""


class MetricsGap(_Lasting):
    """Metrics Server does not answer at all, or does not reach the nodes that are given."""

    fault: Literal["metrics_gap"]
    nodes: Nodes | None = None


class MetricsStale(_Lasting):
    """Metrics stay as they are, with their old time stamps."""

    fault: Literal["metrics_stale"]
    nodes: Nodes = Nodes()


class Burst(_Fault):
    """Many workloads arrive."""

    fault: Literal["burst"]
    name: str = "burst"
    """How they are called, with a number after it."""
    count: int = Field(ge=1, le=100_000)
    """How many."""
    over_seconds: float = Field(default=0.0, ge=0)
    """Time over which they arrive, evenly."""
    kind: Literal["task", "service"] = "task"
    """Jobs or Deployments."""
    replicas: int = Field(default=1, ge=1)
    """Pods of each."""
    cpu_cores: Positive = 0.5
    """CPU request of each pod."""
    memory_bytes: int = Field(default=536_870_912, ge=1)
    """Memory request of each pod."""
    gpus: int = Field(default=0, ge=0)
    """GPUs of each pod."""
    work_seconds: Positive = 300.0
    """How long each works at full speed; services are removed after it."""
    priority: int = 0
    """Priority of the pods."""
    namespace: str = "default"
    """Where they are created."""

    @field_validator("name", "namespace")
    @classmethod
    def _is_name(cls, text: str) -> str:
        if _NAME.fullmatch(text) is None:
            raise ValueError("use at most 42 small letters, digits and dashes")
        return text


class ScalingPolicy(_Given):
    """How many pods may come or go in a while."""

    type: Literal["Pods", "Percent"]
    """Pods, or percent of those that are there."""
    value: int = Field(ge=1)
    """How many."""
    period_seconds: int = Field(ge=1, le=1_800)
    """Length of the while."""


class ScalingRules(_Given):
    """How fast an autoscaler goes in one direction; what is not given is as Kubernetes has it."""

    stabilization_window_seconds: int | None = Field(default=None, ge=0, le=3_600)
    """How far back it looks for the mildest recommendation."""
    select_policy: Literal["Max", "Min", "Disabled"] | None = None
    """Which of several policies counts."""
    policies: tuple[ScalingPolicy, ...] = ()
    """Its policies."""

    def api_form(self) -> dict[str, Any]:
        """Return it as `HPAScalingRules` of the API."""
        policies = [
            {"type": one.type, "value": one.value, "periodSeconds": one.period_seconds}
            for one in self.policies
        ]
        rules = {
            "stabilizationWindowSeconds": self.stabilization_window_seconds,
            "selectPolicy": self.select_policy,
            "policies": policies or None,
        }
        return {name: value for name, value in rules.items() if value is not None}


class Autoscaler(_Fault):
    """A user puts a HorizontalPodAutoscaler on CPU over a Deployment."""

    fault: Literal["autoscaler"]
    deployment: str
    """The Deployment that it scales; it is called the same."""
    namespace: str = "default"
    """Where both are."""
    min_replicas: int = Field(default=1, ge=1)
    """Fewest pods."""
    max_replicas: int = Field(ge=1)
    """Most pods."""
    cpu_percent: int = Field(default=80, ge=1)
    """Mean CPU use wanted, in percent of the request."""
    scale_up: ScalingRules | None = None
    """How fast it adds pods: `stabilization_window_seconds`, `select_policy`, `policies` of `type`, `value` and
    `period_seconds`, as in `spec.behavior`."""
    scale_down: ScalingRules | None = None
    """How fast it takes them away, likewise."""

    @field_validator("deployment", "namespace")
    @classmethod
    def _is_name(cls, text: str) -> str:
        if _NAME.fullmatch(text) is None:
            raise ValueError("use at most 42 small letters, digits and dashes")
        return text


class Traffic(_Lasting):
    """People come otherwise: the requests of Services that have traffic change."""

    fault: Literal["traffic"]
    services: tuple[str, ...] = ()
    """Services, as NAME or NAMESPACE/NAME; none named: all."""
    factor: float = Field(default=1.0, ge=0, le=10_000)
    """Requests over those that would have come."""
    traffic: str = ""
    """The course instead of their own, as the annotation says it (docs/twin/serving.md), or `file RATES.csv` beside
    the scenario; times count from the begin of the fault."""

    @field_validator("services")
    @classmethod
    def _are_services(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if _SERVICE.fullmatch(name) is None:
                raise ValueError(f"{name[:80]!r} is no Service; give NAME or NAMESPACE/NAME")
        return names

    @field_validator("traffic")
    @classmethod
    def _is_traffic(cls, text: str) -> str:
        if text:
            read_traffic(text)
        return text

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set & {"factor", "traffic"}:
            raise ValueError("give factor or traffic; neither would change a thing")
        return self


class UserWrite(_Fault):
    """A user creates, changes or deletes an object; what the API refuses is left out and counted."""

    fault: Literal["user_write"]
    verb: Literal["create", "patch", "delete"]
    """`patch` is a JSON merge patch (RFC 7396)."""
    resource: str
    """Of the object, in the plural."""
    name: str
    """Of the object."""
    namespace: str = "default"
    """Where it is; of no meaning for what has none."""
    object: dict[str, Any] = {}
    """`create`: the object; `patch`: what is merged into it."""

    @field_validator("resource")
    @classmethod
    def _is_kept(cls, resource: str) -> str:
        if resource not in KINDS:
            raise ValueError(f"the cluster keeps no {resource[:80]!r}; known: {', '.join(KINDS)}")
        return resource

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        if bool(self.object) is (self.verb == "delete"):
            raise ValueError("give object to create and patch, and none to delete")
        return self


Fault = (
    NodeDeath | NodeShutdown | SpotNotice | SlowNode | ClockSkew | ImagePullFailure | ApiErrors
    | ApiLatency | WatchCut | WatchExpiry | MetricsGap | MetricsStale | Burst | Autoscaler | Weather
    | Traffic | UserWrite
)  # fmt: skip


class Scenario(_Given):
    """Faults, in any order."""

    name: str = "scenario"
    """What it is called."""
    description: str = ""
    """What it is for."""
    seed: int = Field(default=0, ge=0)
    """Draws the nodes and the requests that are hit, together with the cluster's own seed."""
    faults: tuple[Annotated[Fault, Field(discriminator="fault")], ...] = Field(min_length=1)

    def document(self) -> dict[str, Any]:
        """Return it as the JSON document that a running twin takes."""
        return self.model_dump(mode="json", exclude_unset=True)


Requirement = tuple[str, str, str]
"""(key, operator, value): the operator is `=`, `!=`, `exists` or `absent`."""


def read_selector(text: str) -> tuple[Requirement, ...]:
    """Read a label selector; raises ValueError for another form."""
    requirements: list[Requirement] = []
    for part in (word.strip() for word in text.split(",") if text.strip()):
        match = re.fullmatch(r"(!?)([^\s!=]+)(?:\s*(==?|!=)\s*([^\s!=]*))?", part)
        if match is None or (match[1] and match[3]):
            raise ValueError(f"{part!r} is no requirement; write key=value, key!=value, key, !key")
        operator = "!=" if match[3] == "!=" else "=" if match[3] else "exists"
        requirements.append((match[2], "absent" if match[1] else operator, match[4] or ""))
    return tuple(requirements)
